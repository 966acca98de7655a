import { describe, expect, test } from 'vitest';
import { NotSignedInError, ServiceError, UnreachableError, UsageError } from '../../src/errors.ts';
import { Deadline, pollsText, pollUntilEnd } from '../../src/watch/poll-until-end.ts';
import type { WatchedItem } from '../../src/watch/watch-follower.ts';
import { clockWith } from '../support/clock.ts';
import { reporterTo } from '../support/outputs.ts';

type Poll = readonly (string | Error)[];

interface Setting {
  readonly intervalMs?: number;
  readonly timeoutMs?: number;
  readonly isPast?: boolean;
  readonly waitsForSignIn?: boolean;
  /** The last page that is wanted. */
  readonly last?: string;
  /** Milliseconds that a poll takes, and that the machine sleeps within a pause. */
  readonly pollMs?: number;
  readonly asleepMs?: number;
  readonly takeFails?: Error;
}

const DONE = new Error('the test has no more polls');

/** Polls whose pages are texts, or failures; the watch ends after the last one. `done`: what happened. */
async function watch(polls: readonly Poll[], setting: Setting = {}) {
  const { intervalMs = 10_000, timeoutMs, isPast = false, waitsForSignIn = false, pollMs = 0 } = setting;
  const done: string[] = [];
  let now = 0;
  let ended = 0;
  const clock = clockWith({
    now: () => now,
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      // Only the deadline's own timer is longer than a nap, and it never comes first here.
      if (milliseconds > 5_000) return await new Promise(() => {});
      now += milliseconds + (setting.asleepMs ?? 0);
      done.push(`slept ${milliseconds}`);
    },
  });
  let polled = 0;
  const follower = {
    get ended() {
      return polled >= polls.length;
    },
    async *poll() {
      const poll = polls[polled++];
      if (!poll) throw DONE;
      now += pollMs;
      try {
        for (const page of poll) {
          if (page instanceof Error) throw page;
          yield [page] as unknown as readonly WatchedItem[];
        }
      } finally {
        ended++;
      }
    },
  };
  const take = async (items: readonly unknown[]) => {
    if (setting.takeFails) throw setting.takeFails;
    done.push(`took ${items[0]}`);
    return items[0] !== setting.last;
  };
  const deadline = new Deadline({ clock, signal: new AbortController().signal }, timeoutMs);
  const polling = { take, polled: async () => void done.push('read'), waitsForSignIn };
  const error = await pollUntilEnd(
    follower as unknown as Parameters<typeof pollUntilEnd>[0],
    polling,
    { clock, intervalMs, isPast, deadline },
    reporterTo((line) => done.push(line)),
  ).catch((thrown) => thrown);
  deadline.close();
  expect(ended).toBe(polled);
  return { error, done, polled, hasExpired: deadline.hasExpired };
}

const DOWN = new ServiceError('the service is down');

describe('a watch', () => {
  test('takes each page of each poll, and pauses between two polls', async () => {
    const { error, done } = await watch([['a', 'b'], [], ['c']]);
    expect(error).toBeUndefined();
    const pause = ['slept 5000', 'slept 5000'];
    expect(done).toEqual(['took a', 'took b', 'read', ...pause, 'read', ...pause, 'took c', 'read']);
  });

  test('ends with the page that is enough, whose poll is not marked as read', async () => {
    const { error, done, polled } = await watch([['a', 'b', 'c'], ['d']], { last: 'b' });
    expect([error, done, polled]).toEqual([undefined, ['took a', 'took b'], 1]);
  });

  test.each([
    [4_000, ['slept 4000']],
    [5_000, ['slept 5000']],
    [12_000, ['slept 5000', 'slept 5000', 'slept 2000']],
  ])('pauses for %i ms in naps', async (intervalMs, naps) => {
    expect((await watch([[], []], { intervalMs })).done).toEqual(['read', ...naps, 'read']);
  });

  test.each([
    [30_000, false],
    [30_001, true],
  ])('that slept %i ms with its machine says so: %s, and goes on at once', async (asleepMs, isSaid) => {
    const { done } = await watch([[], []], { asleepMs });
    const said = isSaid ? ['notice: the machine slept for 30s; catching up'] : [];
    expect(done).toEqual(['read', 'slept 5000', ...said, 'read']);
  });
});

describe('an outage', () => {
  test.each([
    DOWN,
    new UnreachableError('the service could not be reached'),
    new UsageError('the list has no such type'),
  ])('is said once, and again when it is over: %s', async (outage) => {
    const { error, done } = await watch([['a', outage], [outage], ['b'], ['c']], { intervalMs: 5_000 });
    expect(error).toBeUndefined();
    expect(done).toEqual([
      'took a',
      `${outage.kind}: ${outage.message}; trying again every 5s`,
      'slept 5000',
      'slept 5000',
      'took b',
      'read',
      'notice: the service answers again; everything since was caught up',
      'slept 5000',
      'took c',
      'read',
    ]);
  });

  test('ends a watch whose end has passed: the next run continues', async () => {
    const { error, done } = await watch([['a', DOWN], ['b']], { isPast: true });
    expect([error, done]).toEqual([DOWN, ['took a']]);
  });

  test('is no fault of this program, which ends the watch', async () => {
    const defect = new RangeError('a defect');
    expect((await watch([[defect], []])).error).toBe(defect);
    // Taking a page may fail in the same way as the service.
    const { error } = await watch([['a'], []], { takeFails: DOWN });
    expect(error).toBe(DOWN);
  });

  test('may be the end of a sign-in, where somebody can sign in again', async () => {
    const over = new NotSignedInError('the sign-in is over', { next: 'sign in' });
    expect((await watch([[over], []])).error).toBe(over);
    const { error, done } = await watch([[over], ['a']], { waitsForSignIn: true, intervalMs: 5_000 });
    expect(error).toBeUndefined();
    expect(done[0]).toBe(`${over.kind}: the sign-in is over; trying again every 5s; sign in`);
  });

  test('says nothing of what to do where it ends by itself', async () => {
    const down = new ServiceError('the service is down', { next: 'try again' });
    expect((await watch([[down], []], { intervalMs: 5_000 })).done[0]).toBe(
      `${down.kind}: the service is down; trying again every 5s`,
    );
  });
});

describe('--timeout', () => {
  test('ends the watch with a last poll when it is over', async () => {
    const { error, done, polled, hasExpired } = await watch(Array(9).fill([]), { timeoutMs: 12_000 });
    expect([polled, hasExpired]).toEqual([3, true]);
    expect(error).toMatchObject({ name: 'AbortError' });
    // The second pause ends with the time.
    expect(done).toEqual(['read', 'slept 5000', 'slept 5000', 'read', 'slept 2000', 'read']);
  });

  test('that is over within a poll gives one more', async () => {
    const { polled, done } = await watch(Array(9).fill([]), { timeoutMs: 3_000, pollMs: 4_000 });
    expect([polled, done]).toEqual([2, ['read', 'read']]);
  });

  test('is not there without one', async () => {
    const { error, polled, hasExpired } = await watch(Array(20).fill([]));
    expect([error, polled, hasExpired]).toEqual([undefined, 20, false]);
  });

  const createGate = () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    return { open: () => open(), opened };
  };
  const clockOf = (waits: number[], wake: Promise<void>) =>
    clockWith({
      now: () => 0,
      sleep: async (milliseconds, signal) => {
        waits.push(milliseconds);
        signal?.addEventListener('abort', () => waits.push(-1));
        await wake;
        signal?.throwIfAborted();
      },
    });

  test('gives its last poll ten seconds', async () => {
    const waits: number[] = [];
    const gate = createGate();
    const { signal } = new AbortController();
    const deadline = new Deadline({ clock: clockOf(waits, gate.opened), signal }, 1_000);
    expect([waits, deadline.endsAt, deadline.signal.aborted]).toEqual([[11_000], 1_000, false]);
    gate.open();
    await expect.poll(() => deadline.signal.aborted).toBe(true);
    expect(deadline.hasExpired).toBe(true);
  });

  test('that is closed, or that never was, does not end', async () => {
    const waits: number[] = [];
    const gate = createGate();
    const ending = new AbortController();
    const parts = { clock: clockOf(waits, gate.opened), signal: ending.signal };
    const deadline = new Deadline(parts, 1_000);
    const endless = new Deadline(parts);
    deadline.close();
    gate.open();
    await new Promise((then) => setImmediate(then));
    expect([waits, deadline.hasExpired, endless.hasExpired]).toEqual([[11_000, -1], false, false]);
    ending.abort();
    expect([endless.signal.aborted, endless.hasExpired]).toEqual([true, false]);
  });
});

test('polls are told with their interval, or once', () => {
  expect([pollsText(90_000, false), pollsText(90_000, true)]).toEqual(['every 90s', 'once']);
});
