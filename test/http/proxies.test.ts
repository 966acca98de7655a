import http from 'node:http';
import { expect, test } from 'vitest';
import { proxyFor } from '../../src/http/proxy.ts';
import type { TransportError } from '../../src/http/transport.ts';
import { createTransport } from '../../src/http/undici-client.ts';
import { requireCondition } from '../support/conditions.ts';
import { freePort } from '../support/ports.ts';
import { onLoopback, startProxy } from '../support/server.ts';

/** Returns the body of the answer, or what a person reads of the error. */
async function ask(url: URL, environment: Record<string, string>): Promise<string> {
  return (await answerOf(url, environment)).text;
}

async function answerOf(url: URL, environment: Record<string, string>) {
  const transport = createTransport({ environment });
  try {
    return { text: (await transport.send({ method: 'GET', url })).body.toString() };
  } catch (error) {
    return { text: (error as Error).message, next: (error as TransportError).next };
  } finally {
    await transport.close();
  }
}

const HTTPS = new URL('https://events.invalid/path');
const UNRESOLVED = 'the name events.invalid could not be resolved (ENOTFOUND)';

test('HTTPS_PROXY is used for a tunnel, HTTP_PROXY for nothing', async (context) => {
  await requireCondition(context, 'a resolver, which knows that a name does not exist');
  await using proxy = await startProxy();
  expect(await ask(HTTPS, { HTTPS_PROXY: proxy.origin })).toBe(
    `the proxy ${new URL(proxy.origin).host} did not connect to events.invalid (502)`,
  );
  expect(await ask(HTTPS, { https_proxy: proxy.origin.replace('http://', '') })).toBe(
    `the proxy ${new URL(proxy.origin).host} did not connect to events.invalid (502)`,
  );
  expect(await ask(HTTPS, { HTTP_PROXY: proxy.origin })).toBe(UNRESOLVED);
  expect(proxy.asked).toEqual(['CONNECT events.invalid:443', 'CONNECT events.invalid:443']);
});

test('a proxy without TLS that is given with https:// is named, with the address that works', async () => {
  await using proxy = await startProxy();
  const { host } = new URL(proxy.origin);
  expect(await answerOf(HTTPS, { HTTPS_PROXY: `https://${host}` })).toEqual({
    text: expect.stringMatching(
      new RegExp(
        `^the proxy ${host} does not answer as one that speaks TLS does \\((EPROTO|ERR_SSL_\\w+)\\)$`,
      ),
    ),
    next: 'give HTTPS_PROXY with http:// in place of https://, as most proxies take it: what goes through is encrypted all the same',
  });
});

test('loopback never goes to a proxy', async () => {
  await using proxy = await startProxy();
  await using server = await onLoopback(http.createServer((_, response) => void response.end('direct')));
  const url = new URL(`${server.origin}/path?limit(1,2)`);
  const environment = { HTTP_PROXY: proxy.origin, http_proxy: proxy.origin, HTTPS_PROXY: proxy.origin };
  expect(await ask(url, environment)).toBe('direct');
  for (const host of ['127.0.0.1', '127.8.8.8', 'localhost', '[::1]'])
    expect(proxyFor(new URL(`https://${host}:8443/`), environment)).toBeUndefined();
  expect(proxy.asked).toEqual([]);
});

test.each([
  ['events.example.com', true],
  ['EXAMPLE.com', true],
  ['.example.com', true],
  ['*.example.com', true],
  ['a, b example.com', true],
  ['*', true],
  ['events.example.com:443', true],
  ['events.example.com:8443', false],
  ['xample.com', false],
  ['other.example.com', false],
  ['', false],
  [',', false],
])('NO_PROXY=%j: events.example.com is reached directly: %s', (NO_PROXY, direct) => {
  const environment = { HTTPS_PROXY: 'http://proxy.example.com:3128', NO_PROXY };
  expect(proxyFor(new URL('https://events.example.com/x'), environment) === undefined).toBe(direct);
});

test('TLS through the tunnel is with the service itself', async () => {
  const tunnel = http.createServer();
  const first = new Promise<number | undefined>((resolve) => {
    tunnel.on('connect', (_, client) => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.once('data', (bytes: Buffer) => {
        resolve(bytes[0]);
        client.destroy();
      });
    });
  });
  await using proxy = await onLoopback(tunnel);
  expect(await ask(HTTPS, { HTTPS_PROXY: proxy.origin })).toMatch(/^the connection to events.invalid broke/);
  // RFC 8446 section 5.1: a handshake record.
  expect(await first).toBe(22);
});

test('a proxy that requires a user is an error, and gets the user in its URL', async () => {
  const given: unknown[] = [];
  const proxy = http.createServer();
  proxy.on('connect', (request, client) => {
    given.push(request.headers['proxy-authorization']);
    client.end('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n');
  });
  await using loopback = await onLoopback(proxy);
  const { port } = loopback;
  expect(await ask(HTTPS, { HTTPS_PROXY: `http://127.0.0.1:${port}` })).toBe(
    `the proxy 127.0.0.1:${port} requires a user name and a password (407)`,
  );
  expect(await ask(HTTPS, { HTTPS_PROXY: `http://me:p%40ss@127.0.0.1:${port}` })).toBe(
    `the proxy 127.0.0.1:${port} does not accept the user name and password (407)`,
  );
  // Not valid in a URL, but people type it.
  await ask(HTTPS, { HTTPS_PROXY: `http://me:100%@127.0.0.1:${port}` });
  const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;
  expect(given).toEqual([undefined, basic('me:p@ss'), basic('me:100%')]);
});

test('a proxy that cannot be reached is named, not the service behind it', async (context) => {
  await requireCondition(context, 'a resolver, which knows that a name does not exist');
  const port = await freePort();
  for (const scheme of ['http', 'https'])
    expect(await answerOf(HTTPS, { HTTPS_PROXY: `${scheme}://127.0.0.1:${port}` })).toEqual({
      text: `the proxy 127.0.0.1:${port} does not accept connections (ECONNREFUSED)`,
      next: 'check HTTPS_PROXY and that the proxy runs',
    });
  expect(await answerOf(HTTPS, { HTTPS_PROXY: 'http://proxy.invalid:3128' })).toEqual({
    text: 'the name proxy.invalid could not be resolved (ENOTFOUND)',
    next: 'check HTTPS_PROXY: http://user:password@proxy.example.com:3128',
  });
});

test.each(['http://', 'ftp://proxy:21', 'socks5://proxy:1080', 'a b'])(
  'HTTPS_PROXY=%s is refused by its name',
  async (proxy) => {
    expect(await ask(HTTPS, { HTTPS_PROXY: proxy })).toBe(
      `HTTPS_PROXY: invalid value '${proxy}': must be the address of a proxy, such as http://proxy.example.com:3128`,
    );
  },
);

test('messages about a proxy do not contain its password', async () => {
  expect(await ask(HTTPS, { https_proxy: 'ftp://user:secret@proxy' })).toBe(
    'https_proxy: invalid value: must be the address of a proxy, such as http://proxy.example.com:3128',
  );
});
