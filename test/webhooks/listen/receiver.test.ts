import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, test } from 'vitest';
import { startReceiver } from '../../../src/webhooks/listen/receiver.ts';
import { clock } from '../../support/clock.ts';
import { requireCondition } from '../../support/conditions.ts';
import { forEachTest } from '../../support/each-test.ts';
import { API_TOKEN, accepted, post } from '../../support/listening.ts';
import { ask } from '../../support/server.ts';

const rejected: string[] = [];
beforeEach(() => void rejected.splice(0));

/** A receiver of deliveries, which `accept` decides about. */
const startAccepting = (host: string, accept = async (_eventId: string) => {}) =>
  startReceiver({
    host,
    port: 0,
    path: '/',
    token: () => API_TOKEN,
    isExpected: async (token) => token === API_TOKEN,
    maxBody: 1000,
    requestTimeout: 60_000,
    accept: async ({ eventId }) => {
      await accept(eventId);
      return { outcome: 'accepted' };
    },
    onRejected: (status, message) => rejected.push(`${status} ${message}`),
    onAnswer: () => undefined,
    report: () => ({}),
    clock,
  });

/** A receiver whose deliveries wait until the test accepts them. */
const at = forEachTest(async () => {
  let accept = () => {};
  const isAccepted = new Promise<void>((resolve) => {
    accept = resolve;
  });
  const held: string[] = [];
  const receiver = await startAccepting('127.0.0.1', async (eventId) => {
    held.push(eventId);
    await isAccepted;
  });
  return {
    receiver,
    rejected,
    held,
    accept,
    [Symbol.asyncDispose]: async () => {
      accept();
      receiver.destroy();
      await receiver.stop();
    },
  };
});

const HEAD = `POST / HTTP/1.1\r\nHost: x\r\nApi-Token: ${API_TOKEN}\r\nContent-Length: 15\r\n`;

/** A sender that has begun a request, and what it hears until its connection is closed. */
async function startSending(begun: string) {
  const socket = connect(at.receiver.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(begun);
  // Connections are taken in their order: that of the sender is, when a later one has its answer.
  expect((await post(at.receiver.port, '', { 'api-token': undefined }, { path: '/other' })).status).toBe(404);
  return { socket, heard: text(socket).catch((error) => String(error)) };
}

test('a request that is finished while the receiver stops is refused with 503, and its connection closed', async () => {
  const { receiver, rejected, held, accept } = at;
  const delivered = post(receiver.port, '{"eventId":"a"}');
  await expect.poll(() => held).toEqual(['a']);
  const { socket, heard } = await startSending(HEAD);
  const stopped = receiver.stop();
  socket.write('\r\n{"eventId":"b"}');
  const answer = await heard;
  expect(answer).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nConnection: close\r\n/);
  expect(answer).toContain('{"code":"receiver.stopping","message":"the receiver is being stopped"}');
  expect(rejected).toEqual(['503 the receiver is being stopped']);
  accept();
  expect(await delivered).toMatchObject(accepted);
  await stopped;
  expect(held).toEqual(['a']);
});

test('a second after the stop only senders whose delivery is whole are waited for', async () => {
  const { receiver, held, accept } = at;
  const delivered = post(receiver.port, '{"eventId":"a"}');
  await expect.poll(() => held).toEqual(['a']);
  const half = await startSending(`${HEAD}\r\n{"eventId`);
  await expect.poll(() => receiver.underWay).toBe(2);
  const stopped = receiver.stop();
  clock.advance(999);
  expect(receiver.underWay).toBe(2);
  clock.advance(1);
  expect(await half.heard).toBe('');
  accept();
  expect(await delivered).toMatchObject(accepted);
  await stopped;
});

test('a receiver on localhost is reached at both loopback addresses', async (context) => {
  await requireCondition(context, 'IPv6');
  const receiver = await startAccepting('localhost');
  for (const host of ['127.0.0.1', '[::1]']) {
    const answer = await ask(`http://${host}:${receiver.port}/`, {
      method: 'POST',
      headers: { 'api-token': API_TOKEN, cookie: 'x'.repeat(60_000) },
      body: '{"eventId":"a"}',
    });
    expect(answer).toMatchObject(accepted);
  }
  await receiver.stop();
});
