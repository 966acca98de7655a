import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Delivery } from '../../../src/webhooks/delivery.ts';
import type { Acceptance } from '../../../src/webhooks/journal.ts';
import { type ReceiverOptions, startReceiver } from '../../../src/webhooks/listen/receiver.ts';
import { clock, clockWith } from '../../support/clock.ts';
import { addressBesidesLoopback, requireCondition } from '../../support/conditions.ts';
import { forEachTest } from '../../support/each-test.ts';
import { API_TOKEN, accepted, duplicate, post } from '../../support/listening.ts';
import { freePort } from '../../support/ports.ts';
import { ask } from '../../support/server.ts';

const rejected: string[] = [];
const answers: string[] = [];
beforeEach(() => {
  for (const lines of [rejected, answers]) lines.splice(0);
});

/** A receiver that accepts each delivery, unless the options say something else. */
const startAccepting = (options: Partial<ReceiverOptions> = {}) =>
  startReceiver({
    host: '127.0.0.1',
    port: 0,
    path: '/',
    token: () => API_TOKEN,
    isExpected: async (token) => token === API_TOKEN,
    maxBody: 1000,
    requestTimeout: 60_000,
    accept: async () => ({ outcome: 'accepted' }),
    onRejected: (status, message) => rejected.push(`${status} ${message}`),
    onAnswer: (line) => answers.push(line),
    report: () => ({}),
    clock,
    ...options,
  });

/** Such a receiver until the end of the test. */
async function receiving(options?: Partial<ReceiverOptions>) {
  const receiver = await startAccepting(options);
  onTestFinished(async () => {
    receiver.destroy();
    await receiver.stop();
  });
  return receiver;
}

/** A receiver whose deliveries wait until the test accepts them. */
const at = forEachTest(async () => {
  let accept = () => {};
  const isAccepted = new Promise<void>((resolve) => {
    accept = resolve;
  });
  const held: string[] = [];
  const receiver = await startAccepting({
    accept: async ({ eventId }) => {
      held.push(eventId);
      await isAccepted;
      return { outcome: 'accepted' };
    },
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
  const receiver = await startAccepting({ host: 'localhost' });
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

test('a receiver is reached at its host and port, and at no other address', async (context) => {
  await requireCondition(context, 'an address besides loopback');
  const port = await freePort();
  const receiver = await receiving({ port });
  expect(receiver.port).toBe(port);
  expect(await post(port, '{"eventId":"a"}')).toMatchObject(accepted);
  await expect(ask(`http://${addressBesidesLoopback()}:${port}/`)).rejects.toThrow('ECONNREFUSED');
  await expect(startAccepting({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('a stop that has nobody to wait for ends at once, and leaves no timer', async () => {
  const timers: (readonly [milliseconds: number, isCancelled: boolean])[] = [];
  const startTimer = (milliseconds: number) => () => void timers.push([milliseconds, true]);
  const receiver = await startAccepting({ clock: clockWith({ startTimer }) });
  await receiver.stop();
  expect(timers).toEqual([[1_000, true]]);
  await expect(post(receiver.port, '{"eventId":"a"}')).rejects.toThrow();
});

test('senders whose delivery waits for its outcome lose their connection when the receiver is destroyed', async () => {
  const { receiver, held } = at;
  const delivered = post(receiver.port, '{"eventId":"a"}').catch((error) => error.code);
  await expect.poll(() => held).toEqual(['a']);
  receiver.destroy();
  expect(await delivered).toBe('ECONNRESET');
  await expect.poll(() => receiver.underWay).toBe(0);
});

test('a sender that disconnects in mid-body is no longer under way, and nobody hears of it', async () => {
  const { receiver, held } = at;
  const { socket, heard } = await startSending(`${HEAD}\r\n{"eventId`);
  await expect.poll(() => receiver.underWay).toBe(1);
  socket.destroy();
  await heard;
  await expect.poll(() => receiver.underWay).toBe(0);
  expect([held, rejected]).toEqual([[], []]);
});

describe('a delivery', () => {
  test('is given on with its bytes, its type and the expected token, and its answer is JSON', async () => {
    const deliveries: Delivery[] = [];
    const { port } = await receiving({
      token: () => 'another by now',
      accept: async (delivery) => {
        deliveries.push(delivery);
        return { outcome: 'accepted' };
      },
    });
    const body = '\ufeff{ "eventId": "a", "eventType": "b.c" }\r\n';
    const answer = await post(port, body, { 'content-type': 'application/cloudevents+json' });
    expect(answer).toMatchObject({
      ...accepted,
      headers: { 'content-type': 'application/json', 'content-length': String(accepted.body.length) },
    });
    expect(deliveries).toEqual([
      {
        eventId: 'a',
        key: expect.any(String),
        body: Buffer.from(body),
        contentType: 'application/cloudevents+json',
        apiToken: 'another by now',
        type: 'b.c',
      },
    ]);
    expect(rejected).toEqual([]);
  });

  test.each<[Acceptance, object]>([
    [{ outcome: 'duplicate' }, duplicate],
    [
      { outcome: 'refused', answer: { status: 422 } },
      {
        status: 502,
        body: '{"code":"handler.failed","message":"the handler did not accept the delivery"}',
      },
    ],
    [
      { outcome: 'refused', error: new Error('a full disk') },
      {
        status: 502,
        body: '{"code":"delivery.not_accepted","message":"the delivery could not be accepted"}',
      },
    ],
  ])('with the outcome %j is answered so, and is not rejected', async (outcome, answer) => {
    const { port } = await receiving({ accept: async () => outcome });
    expect(await post(port, '{"eventId":"a"}')).toMatchObject(answer);
    expect(rejected).toEqual([]);
  });

  test('is a line with its target, its status and its milliseconds', async () => {
    const { port } = await receiving({
      accept: async () => {
        clock.advance(7);
        return { outcome: 'accepted' };
      },
    });
    await post(port, '{"eventId":"a"}', {}, { path: '/?x=1' });
    await post(port, '', {}, { method: 'PUT' });
    await expect.poll(() => answers).toEqual(['POST /?x=1 200 7', 'PUT / 405 0']);
  });

  test.each([
    ['accept', { accept: () => Promise.reject(new Error('a defect')) }],
    ['isExpected', { isExpected: () => Promise.reject(new Error('a defect')) }],
  ])('during which %s fails gets no answer: its sender sends it again', async (_, defect) => {
    const receiver = await receiving(defect);
    await expect(post(receiver.port, '{"eventId":"a"}')).rejects.toMatchObject({ code: 'ECONNRESET' });
    await expect.poll(() => receiver.underWay).toBe(0);
  });

  const sized = (bytes: number) => '{"eventId":"a"}'.padEnd(bytes);
  const chunked = { 'transfer-encoding': 'chunked' };

  test.each([
    ['of as many bytes as there may be', sized(1000), {}, '/'],
    ['of as many bytes, in chunks', sized(1000), chunked, '/'],
    ['that is marked as not compressed', sized(15), { 'content-encoding': 'Identity' }, '/'],
    ['with an empty mark', sized(15), { 'content-encoding': '' }, '/'],
    ['whose target has a query', sized(15), {}, '/?in=1?x'],
    ['whose target is a whole URL', sized(15), {}, 'http://hooks.example.com?x=1'],
  ])('%s is accepted', async (_, body, headers, path) => {
    const { port } = await receiving();
    expect(await post(port, body, headers, { path })).toMatchObject(accepted);
  });

  test.each([
    [
      'of one byte too many',
      sized(1001),
      {},
      413,
      'body.too_large',
      'the body is larger than this receiver accepts',
    ],
    [
      'of one byte too many, in chunks',
      sized(1001),
      chunked,
      413,
      'body.too_large',
      'the body is larger than this receiver accepts',
    ],
    [
      'that is compressed',
      sized(15),
      { 'content-encoding': 'gzip' },
      415,
      'body.encoded',
      'compressed bodies are not accepted',
    ],
    [
      'that is compressed after a mark that it is not',
      sized(15),
      { 'content-encoding': 'identity, gzip' },
      415,
      'body.encoded',
      'compressed bodies are not accepted',
    ],
    [
      'that is compressed before a mark that it is not',
      sized(15),
      { 'content-encoding': 'gzip, identity' },
      415,
      'body.encoded',
      'compressed bodies are not accepted',
    ],
    [
      'with a wrong token',
      sized(15),
      { 'api-token': 'wrong' },
      401,
      'api_token.invalid',
      'the Api-Token header is missing or is not the expected one',
    ],
    [
      'without a token',
      sized(15),
      { 'api-token': undefined },
      401,
      'api_token.invalid',
      'the Api-Token header is missing or is not the expected one',
    ],
    ['without an id', '{}', {}, 400, 'body.invalid', "the body has no 'eventId'"],
    ['that is no JSON', 'x', {}, 400, 'body.invalid', 'the body is not JSON'],
  ])('%s is rejected', async (_, body, headers, status, code, message) => {
    const { port } = await receiving({ accept: () => expect.fail('accepted') });
    const answer = await post(port, body, headers);
    expect([answer.status, JSON.parse(answer.body)]).toEqual([status, { code, message }]);
    expect(answer.headers.allow).toBeUndefined();
    expect(rejected).toEqual([`${status} ${message}`]);
  });

  test('without a token is compared as an empty one', async () => {
    const tokens: string[] = [];
    const { port } = await receiving({ isExpected: async (token) => tokens.push(token) === 0 });
    await post(port, sized(15), { 'api-token': undefined });
    expect(tokens).toEqual(['']);
  });

  test.each([
    ['is too large', '1001', API_TOKEN, 413],
    ['has a wrong token', '1000', 'wrong', 401],
  ])('that %s is refused before its body is there', async (_, length, token, status) => {
    const { port } = await receiving();
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nApi-Token: ${token}\r\nContent-Length: ${length}\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toContain(`HTTP/1.1 ${status} `);
  });

  const large = ' '.repeat(1_000_000);
  test.each([
    ['that is refused by its length', `Content-Length: ${large.length}\r\n\r\n${large}`],
    [
      'that is refused while it comes in',
      `Transfer-Encoding: chunked\r\n\r\n${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`,
    ],
  ])('%s is read to its end: its sender gets the answer, and can send the next', async (_, rest) => {
    const { port } = await receiving();
    const socket = connect(port, '127.0.0.1');
    const heard = text(socket);
    const head = `POST / HTTP/1.1\r\nHost: x\r\nApi-Token: ${API_TOKEN}\r\n`;
    socket.write(`${head}${rest}${head}Connection: close\r\nContent-Length: 15\r\n\r\n{"eventId":"a"}`);
    expect((await heard).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  test('that its sender does not end in time is answered 408', async () => {
    const { port } = await receiving({ requestTimeout: 30 });
    const socket = connect(port, '127.0.0.1');
    socket.write(`${HEAD}\r\n{"eventId`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /);
  });
});

describe('a request', () => {
  test('with another method is answered with the right one, whatever its token', async () => {
    const { port } = await receiving();
    const answer = await post(port, '', { 'api-token': undefined }, { method: 'GET' });
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    const message = 'deliveries are sent with POST';
    expect(JSON.parse(answer.body)).toEqual({ code: 'method.not_allowed', message });
    expect(rejected).toEqual([`405 ${message}`]);
  });

  const nothing = { code: 'path.not_found', message: 'there is nothing at this path' };

  test('of a stranger to another path is answered 404, and is no delivery that was rejected', async () => {
    const { port } = await receiving({ path: '/in' });
    for (const path of ['/', '/in/', '/IN', '/in2', '/favicon.ico', '*', 'http://hooks.example.com/']) {
      const answer = await post(port, '{"eventId":"a"}', { 'api-token': 'wrong' }, { path });
      expect([path, answer.status, JSON.parse(answer.body)]).toEqual([path, 404, nothing]);
    }
    expect(rejected).toEqual([]);
  });

  const long = `/${'x'.repeat(99)}`;
  test.each([
    ['/in/?key=hidden', '/in/'],
    ['/', '/'],
    ['http://hooks.example.com/other?key=hidden', '/other'],
    [long, long],
    [`${long}y`, `${long}…`],
  ])('with the right token to the path %s is told, with the path that is expected', async (path, shown) => {
    const { port } = await receiving({ path: '/in' });
    const answer = await post(port, '{"eventId":"a"}', {}, { path });
    expect([answer.status, JSON.parse(answer.body)]).toEqual([404, nothing]);
    expect(rejected).toEqual([
      `404 a delivery with the right Api-Token came to ${shown}, and is expected at /in (--path)`,
    ]);
  });
});

describe('the path of --health', () => {
  const report = () => ({ known: 7 });
  const health = '/health';

  test.each(['GET', 'HEAD'])('answers %s with the report, without a token', async (method) => {
    const { port } = await receiving({ health, report });
    const answer = await post(port, '', { 'api-token': undefined }, { method, path: '/health?x=1' });
    expect(answer).toMatchObject({ status: 200, body: method === 'GET' ? '{"known":7}' : '' });
    expect(answer.headers['content-length']).toBe('11');
    expect(rejected).toEqual([]);
  });

  test('still answers while the receiver stops', async () => {
    let answer = (_: Acceptance) => {};
    const outcome = new Promise<Acceptance>((resolve) => {
      answer = resolve;
    });
    const receiver = await receiving({ health, report, accept: () => outcome });
    const delivered = post(receiver.port, '{"eventId":"a"}');
    const socket = connect(receiver.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n');
    await expect.poll(() => receiver.underWay).toBe(1);
    const stopped = receiver.stop();
    socket.write('\r\n');
    expect(await text(socket)).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n[\s\S]*\{"known":7\}$/,
    );
    answer({ outcome: 'accepted' });
    expect(await delivered).toMatchObject(accepted);
    await stopped;
  });

  test('takes no deliveries', async () => {
    const { port } = await receiving({ health, report });
    expect((await post(port, '{"eventId":"a"}', {}, { path: health })).status).toBe(404);
  });

  test('is nothing that others answer, and nothing without that flag', async () => {
    const { port } = await receiving({ health, report });
    for (const path of ['/health/', '/'])
      expect((await post(port, '', {}, { method: 'GET', path })).status).not.toBe(200);
    const without = await receiving({ report });
    const answer = await post(without.port, '', {}, { method: 'GET', path: health });
    expect(answer.status).toBe(404);
  });
});
