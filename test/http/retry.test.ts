import { describe, expect, test } from 'vitest';
import { type OnRetry, retryAfter, sendWithRetry, waitText } from '../../src/http/service.ts';
import type { HttpResponse, Transport } from '../../src/http/transport.ts';
import { TransportError } from '../../src/http/transport.ts';
import { clockWith } from '../support/clock.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const url = new URL('https://events.example.com/');

/** Answers in turn: a status, a status with `Retry-After`, or a failure of the connection. */
function scripted(...script: (number | [status: number, wait: string, date?: string] | Error)[]) {
  const slept: number[] = [];
  let sent = 0;
  const transport: Transport = {
    close: async () => undefined,
    async send() {
      const next = script[sent++] ?? 200;
      if (next instanceof Error) throw next;
      const [status, wait, date] = Array.isArray(next) ? next : [next];
      return {
        status,
        headers: { ...(wait && { 'retry-after': wait }), ...(date && { date }) },
        body: Buffer.alloc(0),
      } as HttpResponse;
    },
  };
  const answer = (onRetry?: OnRetry, jitter = 1) => {
    const sleep = async (milliseconds: number) => void slept.push(milliseconds);
    const clock = clockWith({ now: () => NOW, jitter: () => jitter, sleep });
    return sendWithRetry(transport, { method: 'GET', url }, { clock, onRetry });
  };
  return { answer, slept, sent: () => sent };
}

describe('a GET that fails temporarily', () => {
  test.each([408, 429, 500, 502, 503, 504])('is sent again after %i', async (status) => {
    const { answer, sent } = scripted(status, 200);
    expect((await answer()).status).toBe(200);
    expect(sent()).toBe(2);
  });

  test.each([400, 401, 403, 404, 406, 501, 301])('is not sent again after %i', async (status) => {
    const { answer, sent } = scripted(status);
    expect((await answer()).status).toBe(status);
    expect(sent()).toBe(1);
  });

  test('is sent five times at most, waiting twice as long each time', async () => {
    const { answer, slept, sent } = scripted(503, 503, 503, 503, 503, 200);
    expect((await answer()).status).toBe(503);
    expect(sent()).toBe(5);
    expect(slept).toEqual([500, 1000, 2000, 4000]);
  });

  test('waits after 429 and 503 as long as Retry-After says, seconds or a date, up to a minute', async () => {
    const { answer, slept } = scripted([429, '7'], [503, 'Sat, 21 Nov 2026 10:00:30 GMT'], [429, '60'], 200);
    expect((await answer()).status).toBe(200);
    expect(slept).toEqual([7000, 30_000, 60_000]);
  });

  test('waits no shorter than without Retry-After, and longer each time: many clients may have got the same header', async () => {
    const { answer, slept } = scripted([429, '0'], [429, '0'], [429, '1'], 200);
    expect((await answer()).status).toBe(200);
    expect(slept).toEqual([500, 1000, 2000]);
  });

  test("waits until a date by the service's clock, which may differ from ours by hours", async () => {
    const { answer, slept } = scripted(
      [429, 'Sat, 21 Nov 2026 13:00:05 GMT', 'Sat, 21 Nov 2026 13:00:00 GMT'],
      [429, 'Sat, 21 Nov 2026 07:00:05 GMT', 'Sat, 21 Nov 2026 07:00:00 GMT'],
    );
    expect((await answer()).status).toBe(200);
    expect(slept).toEqual([5000, 5000]);
  });

  test('is not waited for when the service asks for more than a minute', async () => {
    const { answer, slept } = scripted([429, '61'], 200);
    expect((await answer()).status).toBe(429);
    expect(slept).toEqual([]);
  });

  test.each(['broken', 'stalled', 'refused', 'dns', 'connect-timeout'] as const)(
    'is sent again when the connection is %s',
    async (kind) => {
      const { answer } = scripted(new TransportError(kind, 'reset'), 200);
      expect((await answer()).status).toBe(200);
    },
  );

  test.each(['tls', 'unknown-host', 'proxy', 'too-large', 'too-slow'] as const)(
    'fails at once when it would fail again: %s',
    async (kind) => {
      const { answer, sent } = scripted(new TransportError(kind, 'why'), 200);
      await expect(answer()).rejects.toThrow('why');
      expect(sent()).toBe(1);
    },
  );
});

test.each([
  [undefined, undefined],
  ['0', 0],
  ['12', 12_000],
  ['soon', undefined],
  ['-1', undefined],
  ['Sat, 21 Nov 2026 09:59:00 GMT', 0],
  [' 12 ', 12_000],
  ['12x', undefined],
  ['  Sat, 21 Nov 2026 10:00:07 GMT', 7000],
  ['2026-11-21T10:00:07Z', undefined],
  ['2026 Nov 21', undefined],
])('Retry-After: %s', (header, milliseconds) => expect(retryAfter(header, NOW)).toBe(milliseconds));

test('half of a wait is drawn, and no wait is longer than 20 s', async () => {
  const { answer, slept } = scripted(503, 503, 503, 503);
  await answer(undefined, 0);
  expect(slept).toEqual([250, 500, 1000, 2000]);
});

test('each wait is announced with its reason, before it begins', async () => {
  const announced: unknown[] = [];
  const { answer, slept } = scripted(503, new TransportError('broken', 'reset'), 200);
  await answer((attempt) => announced.push([attempt, slept.length]));
  expect(announced).toEqual([
    [{ reason: 'status 503', status: 503, delay: 500 }, 0],
    [{ reason: 'reset', delay: 1000 }, 1],
  ]);
  expect(waitText({ reason: 'status 503', delay: 1001 })).toBe('status 503, trying again in 2 s');
});

test('a defect is not tried again', async () => {
  const { answer, sent } = scripted(new RangeError('a defect'));
  await expect(answer()).rejects.toThrow(new RangeError('a defect'));
  expect(sent()).toBe(1);
});
