import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  answerLine,
  answerText,
  createHandler,
  createPace,
  isPassing,
  isTaken,
} from '../../src/webhooks/forward.ts';
import { clockWith } from '../support/clock.ts';
import { startProxy } from '../support/proxies.ts';
import { onLoopback } from '../support/server.ts';

type Received = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { readonly body: string };

/** A handler that answers so, and its client, with what it received. */
async function startHandler(answer: (response: ServerResponse) => void, timeout = 5_000) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request;
    received.push({ method, url, headers, body: String(await buffer(request)) });
    answer(response);
  });
  const { origin, ...listening } = await onLoopback(server);
  const handler = createHandler(new URL('/hooks?a=1', origin), timeout, { environment: {} });
  onTestFinished(async () => {
    await handler.close();
    await listening[Symbol.asyncDispose]();
  });
  return { origin, received, handler };
}

const body = Buffer.from('{"eventId":"é"}');
const answering = (status: number, headers: Record<string, string> = {}, text: string | Buffer = '') =>
  startHandler((response) => void response.writeHead(status, headers).end(text));

describe('a handler', () => {
  test('gets the event byte for byte, with its type and token', async () => {
    const { handler, received } = await answering(200, {}, 'ignored');
    const event = { body, contentType: 'application/json', apiToken: 'token' };
    expect(await handler.forward(event)).toEqual({ status: 200 });
    expect(received).toMatchObject([
      {
        method: 'POST',
        url: '/hooks?a=1',
        body: String(body),
        headers: { 'content-type': 'application/json', 'api-token': 'token' },
      },
    ]);
    await handler.forward({ body });
    expect(received[1]?.headers).not.toHaveProperty('content-type');
    expect(received[1]?.headers).not.toHaveProperty('api-token');
  });

  test('that refuses is quoted on one line, with the time that it asks for', async () => {
    const { handler } = await answering(503, { 'retry-after': '7' }, ' not\n\n now \u001b[31m');
    const answer = await handler.forward({ body });
    expect(answer).toMatchObject({ status: 503, retryAfter: '7' });
    expect(answer.body?.startsWith('not now ')).toBe(true);
    expect(answer.body).not.toContain('\u001b');
  });

  test.each<[string, Record<string, string>, string | undefined]>([
    ['', {}, undefined],
    [' \n', {}, undefined],
    ['down', { 'content-encoding': 'identity' }, 'down'],
    ['down', { 'content-encoding': 'x-unknown' }, undefined],
    ['no token-7 here', {}, 'no [redacted] here'],
    ['x'.repeat(2047), {}, 'x'.repeat(2047)],
    ['x'.repeat(3000), {}, `${'x'.repeat(2048)}…`],
  ])('that answers %j with %j is quoted as %j', async (text, headers, quoted) => {
    const { handler } = await answering(400, headers, text);
    expect((await handler.forward({ body, apiToken: 'token-7' })).body).toBe(quoted);
  });

  test.each<[number, string, string | undefined]>([
    [301, '/in', 'ORIGIN/in'],
    [302, 'https://user:pw@other.example/in?token=x#y', 'https://other.example/in'],
    [303, '/in', 'ORIGIN/in'],
    [307, `/${'x'.repeat(300)}`, `ORIGIN/${'x'.repeat(300)}`],
    [308, '/in/token-7', 'ORIGIN/in/[redacted]'],
    [302, 'http://[', undefined],
    [302, 'ftp://other.example/', undefined],
    [304, '/in', undefined],
    [400, '/in', undefined],
  ])('that answers %i with Location %s is shown to lead to %s', async (status, location, target) => {
    const { handler, origin, received } = await answering(status, { location });
    const { redirect } = await handler.forward({ body, apiToken: 'token-7' });
    const whole = target?.replace('ORIGIN', origin);
    expect(redirect).toBe(whole && whole.length > 200 ? `${whole.slice(0, 200)}…` : whole);
    expect(received).toHaveLength(1);
  });

  test('is not quoted with a token where none was sent', async () => {
    const { handler } = await answering(302, { location: 'https://other.example/undefined' });
    expect(await handler.forward({ body })).toMatchObject({ redirect: 'https://other.example/undefined' });
  });

  test('that redirects to an address of 200 characters is quoted whole', async () => {
    const whole = 'https://other.example/'.padEnd(200, 'x');
    const { handler } = await answering(302, { location: whole });
    expect(await handler.forward({ body })).toMatchObject({ redirect: whole });
  });

  test('without a Location is no redirect', async () => {
    const { handler } = await answering(302, {}, 'moved');
    expect(await handler.forward({ body })).toMatchObject({ status: 302, body: 'moved' });
  });

  test('that breaks the connection is a failure with the reason', async () => {
    const { handler } = await startHandler((response) => response.destroy());
    expect((await handler.forward({ body })).failure).toMatch(/./);
  });

  test('that takes too long is a failure with the reason', async () => {
    const { handler } = await startHandler(() => {}, 50);
    const { status, failure } = await handler.forward({ body });
    expect([status, failure]).toEqual([undefined, expect.stringMatching(/./)]);
  });

  test('is no longer waited for once the signal is aborted', async () => {
    const ending = new AbortController();
    const { handler } = await startHandler(() => ending.abort(new Error('interrupted')));
    await expect(handler.forward({ body, signal: ending.signal })).rejects.toThrow('interrupted');
  });
});

test('a handler on another machine is reached through a tunnel of the proxy', async () => {
  await using proxy = await startProxy();
  const handler = createHandler(new URL('https://hooks.invalid/in'), 5_000, {
    environment: { HTTPS_PROXY: proxy.origin },
  });
  expect(await handler.forward({ body: Buffer.from('{}') })).toEqual({
    failure: `the proxy ${new URL(proxy.origin).host} did not connect to hooks.invalid (502)`,
  });
  await handler.close();
  expect(proxy.asked).toEqual(['CONNECT hooks.invalid:443']);
});

test('an invalid proxy is refused before anything is received', async () => {
  const environment = { https_proxy: 'ftp://proxy' };
  expect(() => createHandler(new URL('https://hooks.invalid/in'), 5_000, { environment })).toThrow(
    "https_proxy: invalid value 'ftp://proxy': must be the address of a proxy",
  );
});

test.each([
  [{ status: 500 }, 'the handler answered 500'],
  [{ status: 500, body: 'down' }, 'the handler answered 500: down'],
  [
    { status: 302, redirect: 'https://other.example/' },
    'the handler answered 302 with Location https://other.example/: redirects are not followed',
  ],
  [{ failure: 'refused' }, 'the handler did not answer: refused'],
  [{ failure: 'refused', mend: 'start it' }, 'the handler did not answer: refused: start it'],
])('the answer %j reads %j', (answer, text) => {
  expect(answerLine(answer)).toBe(text);
  expect(answerText(answer)).toBe(text.replace(': down', ''));
});

test.each([
  [{ status: 199 }, false],
  [{ status: 200 }, true],
  [{ status: 299 }, true],
  [{ status: 300 }, false],
  [{ failure: 'refused' }, false],
])('a handler that answered %j took the event: %s', (answer, expected) => {
  expect(isTaken(answer)).toBe(expected);
});

test.each([
  [{ status: 500 }, true],
  [{ status: 599 }, true],
  [{ status: 499 }, false],
  [{ status: 408 }, true],
  [{ status: 425 }, true],
  [{ status: 429 }, true],
  [{ status: 400 }, false],
  [{ status: 302 }, false],
  [{ failure: 'refused' }, true],
])('a handler that answered %j may take the event later: %s', (answer, expected) => {
  expect(isPassing(answer)).toBe(expected);
});

describe('a pace', () => {
  const starts = async (rate: number | undefined, pauses: readonly number[]) => {
    let now = 1000;
    const clock = clockWith({
      now: () => now,
      sleep: async (milliseconds) => {
        now += milliseconds;
      },
    });
    const turn = createPace(rate, { clock, signal: new AbortController().signal });
    const times: number[] = [];
    for (const pause of pauses) {
      now += pause;
      await turn();
      times.push(now - 1000);
    }
    return times;
  };

  test('lets so many events begin in a second, and makes up for no pause', async () => {
    expect(await starts(4, [0, 0, 0, 0])).toEqual([0, 250, 500, 750]);
    expect(await starts(4, [0, 1000, 0, 0])).toEqual([0, 1000, 1250, 1500]);
    expect(await starts(4, [0, 100, 0])).toEqual([0, 250, 500]);
    expect(await starts(undefined, [0, 0, 0])).toEqual([0, 0, 0]);
  });

  test('is kept by events that wait at the same time, and ends with the signal', async () => {
    const waits: number[] = [];
    const sleep = async (milliseconds: number, signal?: AbortSignal) => {
      waits.push(milliseconds);
      signal?.throwIfAborted();
    };
    const ending = new AbortController();
    const turn = createPace(2, { clock: clockWith({ now: () => 0, sleep }), signal: ending.signal });
    await Promise.all([turn(), turn(), turn()]);
    expect(waits).toEqual([500, 1000]);
    ending.abort(new Error('interrupted'));
    await expect(turn()).rejects.toThrow('interrupted');
  });
});
