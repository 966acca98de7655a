import { expect, test } from 'vitest';
import { createHandler, type HandlerAnswer } from '../../src/webhooks/forward.ts';
import { createForwardRetry } from '../../src/webhooks/recover/forward-retry.ts';
import { clockWith } from '../support/clock.ts';
import { startProxy } from '../support/proxies.ts';

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

/** A handler that answers by the event's name, and a clock that only sleeping moves. */
function forwarding(answer: (name: string, now: number) => HandlerAnswer, retryFor = 60_000) {
  let now = 0;
  const tries: string[] = [];
  const waits: string[] = [];
  const abort = new AbortController();
  const clock = clockWith({
    now: () => now,
    sleep: async (milliseconds: number, signal?: AbortSignal) => {
      signal?.throwIfAborted();
      const until = now + milliseconds;
      await new Promise((resolve) => setImmediate(resolve));
      now = Math.max(now, until);
    },
  });
  const onWait = (reason: string) => waits.push(reason);
  const retry = createForwardRetry({ clock, signal: abort.signal, retryFor, onWait });
  const hand = async (name: string) => {
    const left = await retry(async () => {
      tries.push(name);
      return answer(name, now);
    });
    return left?.text;
  };
  return { hand, tries, waits, abort, now: () => now };
}

test.each([200, 201, 204, 299])('%i is accepted', async (status) => {
  const { hand, tries } = forwarding(() => ({ status }));
  expect([await hand('a'), tries]).toEqual([undefined, ['a']]);
});

test('a handler that was given up stays given up, whatever is answered late', async () => {
  const { hand } = forwarding(() => ({ failure: 'no answer' }), 0);
  await Promise.all(Array.from({ length: 3 }, (_, index) => hand(`unanswered-${index}`)));
  const { hand: late, tries } = forwarding((name) => (name.startsWith('late') ? { status: 503 } : {}), 0);
  // Three without an answer give the handler up; the 503 of the fourth comes after that.
  const four = ['a', 'b', 'c', 'late'].map((name) => late(name));
  await Promise.all(four);
  expect([await late('next'), tries]).toEqual([
    'not tried: the handler had already been given up',
    ['a', 'b', 'c', 'late'],
  ]);
  expect(await hand('next')).toBe('not tried: the handler had already been given up');
});

test.each([300, 400, 401, 404, 410, 422])('%i is final', async (status) => {
  const { hand, tries } = forwarding(() => ({ status }));
  expect([await hand('a'), tries]).toEqual([`the handler answered ${status}`, ['a']]);
});

test.each([
  [{ status: 500 }],
  [{ status: 503 }],
  [{ status: 408 }],
  [{ status: 429 }],
  [{ failure: 'refused' }],
])('%j is tried again until the handler is back', async (failure) => {
  const { hand, tries, now } = forwarding((_name, at) => (at < 20_000 ? failure : { status: 200 }));
  expect(await hand('a')).toBeUndefined();
  // 250 ms, doubled each time; up to half of each wait is random.
  expect(tries.length).toBeGreaterThan(5);
  expect(tries.length).toBeLessThan(10);
  expect(now()).toBeLessThan(32_000);
});

test.each([
  [10, { status: 503 }, 'the handler answered 503'],
  [3, { failure: 'refused' }, 'the handler did not answer: refused'],
])('a handler that accepts nothing for a while is given up after %i events', async (most, answer, reason) => {
  const { hand, tries, waits, now } = forwarding(() => answer, 30_000);
  expect(await hand('a')).toEqual(reason);
  expect(now()).toBeGreaterThanOrEqual(30_000);
  expect(now()).toBeLessThan(30_001);
  expect(new Set(waits)).toEqual(new Set([reason]));
  const before = tries.length;
  for (let event = 2; event <= most; event++) expect(await hand('b')).toEqual(reason);
  expect(await hand('b')).toEqual('not tried: the handler had already been given up');
  expect([tries.length - before, now() < 30_001]).toEqual([most - 1, true]);
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
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await poison).toEqual('the handler answered 500');
  expect(tries.filter((name) => name === 'poison').length).toBeLessThan(20);
  expect(await hand('last')).toBeUndefined();
});

test('Retry-After is honoured', async () => {
  const answer = (_name: string, at: number) =>
    at < 7_000 ? { status: 503, retryAfter: '7' } : { status: 200 };
  const { hand, tries, now } = forwarding(answer);
  expect(await hand('a')).toBeUndefined();
  expect([tries.length, now()]).toEqual([2, 7_000]);
});

test('a signal ends the retries', async () => {
  const { hand, abort } = forwarding(() => ({ status: 503 }));
  const handed = hand('a');
  abort.abort(new Error('interrupted'));
  await expect(handed).rejects.toThrow('interrupted');
});
