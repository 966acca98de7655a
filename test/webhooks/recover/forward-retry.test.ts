import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { HandlerAnswer } from '../../../src/webhooks/forward.ts';
import { createForwardRetry } from '../../../src/webhooks/recover/forward-retry.ts';
import { clockWith, clock as givenClock, NOON } from '../../support/clock.ts';

const HOUR_MS = 3_600_000;
const NOT_TRIED = 'not tried: the handler had already been given up';

/** A handler that answers by the event's name, and a clock that only sleeping moves. */
function forwarding(
  answer: (name: string, now: number) => HandlerAnswer | Promise<HandlerAnswer>,
  retryFor = 60_000,
) {
  let now = NOON;
  const tries: string[] = [];
  const waits: [reason: string, delay: number][] = [];
  const abort = new AbortController();
  const clock = clockWith({
    now: () => now,
    sleep: async (milliseconds) => {
      const until = now + milliseconds;
      await setImmediate();
      now = Math.max(now, until);
      if (now > NOON + HOUR_MS) throw new Error('it is tried for ever');
    },
  });
  const onWait = (reason: string, delay: number) => waits.push([reason, delay]);
  const retry = createForwardRetry({ clock, signal: abort.signal, retryFor, onWait });
  const hand = async (name: string) => {
    const left = await retry(async () => {
      tries.push(name);
      return answer(name, now - NOON);
    });
    return left?.text;
  };
  return { hand, tries, waits, abort, now: () => now - NOON };
}

test.each([200, 201, 204, 299])('%i is accepted', async (status) => {
  const { hand, tries } = forwarding(() => ({ status }));
  expect([await hand('a'), tries]).toEqual([undefined, ['a']]);
});

test.each([300, 400, 401, 404, 410, 422])('%i is final', async (status) => {
  const { hand, tries } = forwarding(() => ({ status, body: 'no' }));
  expect([await hand('a'), tries]).toEqual([`the handler answered ${status}: no`, ['a']]);
});

test.each([
  [{ status: 500 }],
  [{ status: 503 }],
  [{ status: 408 }],
  [{ status: 429 }],
  [{ failure: 'refused' }],
])('%j is tried again until the handler is back', async (failure) => {
  const { hand, tries, now } = forwarding((_, at) => (at < 3_750 ? failure : { status: 200 }));
  expect([await hand('a'), tries.length, now()]).toEqual([undefined, 5, 3_750]);
});

test('the waits double up to ten seconds, and the last attempt comes when the time is over', async () => {
  const { hand, waits } = forwarding(() => ({ status: 503, body: 'busy' }));
  expect(await hand('a')).toBe('the handler answered 503: busy');
  const delays = [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000, 10_000, 4_250];
  expect(waits).toEqual(delays.map((delay) => ['the handler answered 503', delay]));
});

test('the time for an event begins with its first failure', async () => {
  const { hand, waits, now } = forwarding((name) => ({ status: name === 'good' ? 200 : 500 }), 750);
  for (const name of ['poison', 'good', 'poison']) await hand(name);
  expect([now(), waits.map(([, delay]) => delay)]).toEqual([1_125, [250, 500, 250, 125]]);
});

test.each([
  [10, { status: 503 }, 'the handler answered 503'],
  [3, { failure: 'refused' }, 'the handler did not answer: refused'],
])('a handler that accepts nothing for a while is given up after %i events', async (most, answer, reason) => {
  const { hand, tries, waits, now } = forwarding(() => answer, 30_000);
  expect([await hand('a'), now()]).toEqual([reason, 30_000]);
  expect(new Set(waits.map(([why]) => why))).toEqual(new Set([reason]));
  const before = tries.length;
  for (let event = 2; event <= most; event++) expect(await hand('b')).toBe(reason);
  expect(await hand('b')).toBe(NOT_TRIED);
  expect([tries.length - before, now()]).toEqual([most - 1, 30_000]);
});

test('a handler that accepts an event now and then is not given up', async () => {
  const { hand } = forwarding((name) => ({ status: name === 'good' ? 200 : 503 }), 0);
  for (let round = 0; round < 3; round++) {
    for (let event = 0; event < 9; event++) expect(await hand('poison')).toBe('the handler answered 503');
    expect(await hand('good')).toBeUndefined();
  }
});

test('a final answer does not count against the handler', async () => {
  const { hand } = forwarding((name) => (name === 'bad' ? { status: 422 } : { failure: 'refused' }), 0);
  for (let event = 0; event < 20; event++) expect(await hand('bad')).toBe('the handler answered 422');
  for (let event = 0; event < 3; event++)
    expect(await hand('lost')).toBe('the handler did not answer: refused');
  expect(await hand('bad')).toBe(NOT_TRIED);
});

test('a handler that was given up stays given up, whatever is answered late', async () => {
  const late: Record<string, HandlerAnswer> = { busy: { status: 503 }, good: { status: 200 } };
  const { hand, tries } = forwarding((name) => late[name] ?? { failure: 'no answer' }, 0);
  // Three without an answer give the handler up; the answers to the others come after that.
  await Promise.all(['a', 'b', 'c', 'busy', 'good'].map(hand));
  expect([await hand('next'), tries]).toEqual([NOT_TRIED, ['a', 'b', 'c', 'busy', 'good']]);
});

test('an event that waited while the handler was given up is left for its own answer: it was tried', async () => {
  const { hand, tries } = forwarding((name) => ({ failure: `reset ${name}` }), 1_000);
  const names = ['a', 'b', 'c', 'd'];
  const handed = await Promise.all(names.map(hand));
  expect(handed).toEqual(names.map((name) => `the handler did not answer: reset ${name}`));
  const before = tries.length;
  expect([await hand('e'), tries.length]).toEqual([NOT_TRIED, before]);
});

test('events that the handler alone refuses, one after the other, keep no others from it, and take less time each', async () => {
  const { hand, now } = forwarding((name) => ({ status: name === 'poison' ? 500 : 200 }), 32_000);
  const times: number[] = [];
  for (const name of ['poison', 'poison', 'good', 'poison', 'good']) {
    const began = now();
    expect(await hand(name)).toEqual(name === 'good' ? undefined : 'the handler answered 500');
    times.push(now() - began);
  }
  expect(times).toEqual([32_000, 0, 0, 16_000, 0]);
});

test('only the failing event is given up while others are accepted', async () => {
  const { hand, tries } = forwarding((name) => ({ status: name === 'poison' ? 500 : 200 }));
  let done = false;
  const poison = hand('poison').finally(() => {
    done = true;
  });
  let count = 0;
  while (!done) {
    await hand(`good ${count++}`);
    await setImmediate();
  }
  expect(await poison).toEqual('the handler answered 500');
  expect(tries.filter((name) => name === 'poison').length).toBeLessThan(20);
  expect(await hand('last')).toBeUndefined();
});

test.each([
  ['7', [7_000]],
  [new Date(NOON + 7_000).toUTCString(), [7_000]],
  // Shorter than the own wait, or no time.
  ['0', [250, 500, 1_000, 2_000, 4_000]],
  ['soon', [250, 500, 1_000, 2_000, 4_000]],
  // No longer than the time that is left.
  ['100', [60_000]],
])('a Retry-After of %s is honoured', async (retryAfter, delays) => {
  const { hand, waits } = forwarding((_, at) => ({ status: at < 7_000 ? 503 : 200, retryAfter }));
  expect(await hand('a')).toBeUndefined();
  expect(waits.map(([, delay]) => delay)).toEqual(delays);
});

test('a signal ends the retries, and no attempt begins after it', async () => {
  const { hand, abort, tries } = forwarding(() => ({ status: 503 }));
  const handed = hand('a');
  abort.abort(new Error('interrupted'));
  await expect(handed).rejects.toThrow('interrupted');
  await expect(hand('b')).rejects.toThrow('interrupted');
  expect(tries).toEqual(['a']);
});

test('a signal ends a wait at once', async () => {
  givenClock.skips = 0;
  const abort = new AbortController();
  const options = { clock: givenClock, signal: abort.signal, retryFor: 60_000, onWait: () => undefined };
  const handed = createForwardRetry(options)(async () => ({ status: 503 }));
  expect(await givenClock.asleep()).toBe(250);
  abort.abort(new Error('interrupted'));
  await expect(handed).rejects.toThrow('interrupted');
});

test('an error of an attempt is no answer: it is thrown', async () => {
  const { hand, tries } = forwarding(() => Promise.reject(new Error('the listener is gone')));
  await expect(hand('a')).rejects.toThrow('the listener is gone');
  expect(tries).toEqual(['a']);
});
