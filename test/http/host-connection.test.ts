import http from 'node:http';
import { expect, test } from 'vitest';
import type { RequestLimits } from '../../src/context.ts';
import { createTransport } from '../../src/http/undici-client.ts';
import { requireCondition } from '../support/conditions.ts';
import { freePort } from '../support/ports.ts';
import { onLoopback } from '../support/server.ts';
import { startSlowAddress } from '../support/slow-address.ts';

/** The body of an answer, or the error's message, of a request for a host with these addresses. */
async function ask(
  url: string,
  resolveHost: (host: string) => Promise<readonly string[]>,
  requestLimits: Partial<RequestLimits> = {},
): Promise<string> {
  const transport = createTransport({ environment: {}, requestLimits, resolveHost });
  try {
    return (await transport.send({ method: 'GET', url: new URL(url) })).body.toString();
  } catch (error) {
    return (error as Error).message;
  } finally {
    await transport.close();
  }
}

const serve = () => onLoopback(http.createServer((_, response) => void response.end('here')));

test.each([
  // Node would give the first address 250 ms, and then none.
  ['another of its addresses refuses', '127.0.0.2'],
  ['another of its addresses has no route', '::ffff:0:1'],
])('a host is reached on an address that takes long, although %s', async (_, other) => {
  await using slow = await startSlowAddress();
  const answer = ask(`http://events.invalid:${slow.port}`, async () => ['127.0.0.1', other]);
  // The other address has failed by then: it is tried after 250 ms.
  setTimeout(slow.accept, 400);
  expect(await answer).toBe('late');
});

test('an address that does not answer hides no other one', async () => {
  await using slow = await startSlowAddress();
  await using server = await onLoopback(
    http.createServer((_, response) => void response.end('here')),
    slow.port,
    '127.0.0.2',
  );
  const addresses = async () => ['127.0.0.1', '127.0.0.2'];
  expect(await ask(`http://events.invalid:${server.port}`, addresses)).toBe('here');
});

test('a host none of whose addresses answers is given up after the limit, however many there are', async () => {
  await using slow = await startSlowAddress();
  const addresses = async () => ['127.0.0.1', '127.0.0.1', '127.0.0.1'];
  const url = `http://events.invalid:${slow.port}`;
  expect(await ask(url, addresses, { connect: 600 })).toBe(
    `no connection to events.invalid:${slow.port} in time (ETIMEDOUT)`,
  );
});

test('a resolver that does not answer is given up after the limit', async () => {
  const never = () => new Promise<never>(() => undefined);
  expect(await ask('http://events.invalid', never, { connect: 100 })).toBe(
    'no connection to events.invalid in time (ETIMEDOUT)',
  );
});

test('localhost is connected to loopback addresses, whatever a resolver answers', async (context) => {
  await requireCondition(context, 'IPv6');
  const asked: string[] = [];
  const resolver = async (host: string) => {
    asked.push(host);
    return ['192.0.2.1'];
  };
  await using server = await serve();
  expect(await ask(`http://localhost:${server.port}`, resolver)).toBe('here');
  await using other = await onLoopback(
    http.createServer((_, response) => void response.end('by IPv6')),
    0,
    '::1',
  );
  expect(await ask(`http://localhost:${other.port}`, resolver)).toBe('by IPv6');
  expect(asked).toEqual([]);
});

test('of several addresses that refuse, the first one is reported', async () => {
  const port = await freePort();
  expect(await ask(`http://events.invalid:${port}`, async () => ['127.0.0.1', '127.0.0.2'])).toBe(
    `events.invalid:${port} does not accept connections (ECONNREFUSED)`,
  );
});
