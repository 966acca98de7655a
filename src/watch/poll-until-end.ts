import type { Context } from '../context.ts';
import {
  type HooktrailError,
  NotSignedInError,
  ServiceError,
  UnreachableError,
  UsageError,
} from '../errors.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { durationText } from '../time/lengths.ts';
import type { Follower, WatchedItem } from './watch-follower.ts';

export function pollsText(intervalMs: number, isPast: boolean): string {
  return isPast ? 'once' : `every ${durationText(intervalMs)}`;
}

export interface Polling {
  readonly take: (items: readonly WatchedItem[]) => Promise<boolean>;
  /** Called after each poll that has read all new events. */
  readonly polled: () => Promise<void>;
  /** True to treat the end of a sign-in as an outage, which a person can end by signing in. */
  readonly waitsForSignIn?: boolean;
}

export interface PollTimes {
  readonly clock: Context['clock'];
  readonly intervalMs: number;
  /** True if `--until` had passed at the start, as in a job whose next run continues. */
  readonly isPast: boolean;
  readonly deadline: Deadline;
}

/** Milliseconds that the last poll has, which begins when `--timeout` is over. */
const LAST_POLL_MS = 10_000;

/** Without `timeoutMs` it never expires, and `signal` only aborts when the program has to end. */
export class Deadline {
  /** The time from which a poll is the last one. */
  readonly endsAt: number;
  readonly signal: AbortSignal;
  readonly #expired = new AbortController();
  readonly #closed = new AbortController();

  constructor({ clock, signal }: Pick<Context, 'clock' | 'signal'>, timeoutMs = Number.POSITIVE_INFINITY) {
    this.endsAt = clock.now() + timeoutMs;
    this.signal = AbortSignal.any([signal, this.#expired.signal]);
    if (Number.isFinite(timeoutMs))
      clock.sleep(timeoutMs + LAST_POLL_MS, this.#closed.signal).then(
        () => this.expire(),
        () => undefined,
      );
  }

  get hasExpired(): boolean {
    return this.#expired.signal.aborted;
  }

  /** Aborts what goes on, after the last poll has ended or has taken too long. */
  expire(): void {
    this.#expired.abort();
  }

  close(): void {
    this.#closed.abort();
  }
}

/**
 * Takes new events until enough are taken, the watch ends or the signal aborts. Outages are reported and
 * survived. Lets the deadline expire after its last poll.
 */
export async function pollUntilEnd(
  follower: Pick<Follower, 'ended' | 'poll'>,
  { take, polled, waitsForSignIn = false }: Polling,
  { clock, intervalMs, isPast, deadline }: PollTimes,
  reporter: Reporter,
): Promise<void> {
  const { endsAt, signal } = deadline;
  let isTroubled = false;
  while (!follower.ended) {
    const isLast = clock.now() >= endsAt;
    const outcome = await pollOnce(follower, take, waitsForSignIn);
    if (outcome === 'enough') return;
    const isOut = outcome instanceof Error;
    if (isOut) {
      signal.throwIfAborted();
      if (isPast) throw outcome;
    } else await polled();
    if (isOut !== isTroubled) noteOutage(isOut ? outcome : undefined, intervalMs, reporter);
    isTroubled = isOut;
    if (follower.ended) return;
    if (isLast) deadline.expire();
    signal.throwIfAborted();
    await wait(Math.min(intervalMs, endsAt - clock.now()), { clock, signal }, reporter);
  }
}

/** Returns `enough` if no more events are wanted, or an outage, after which the next poll may succeed. */
async function pollOnce(
  follower: Pick<Follower, 'poll'>,
  take: Polling['take'],
  waitsForSignIn: boolean,
): Promise<'enough' | 'done' | HooktrailError> {
  const polls = follower.poll();
  try {
    for (;;) {
      // Only the poll's own failures count as outages.
      const next = await polls.next().catch((error) => outageOf(error, waitsForSignIn));
      if (next instanceof Error) return next;
      if (next.done) return 'done';
      if (!(await take(next.value))) return 'enough';
    }
  } finally {
    await polls.return(undefined);
  }
}

function noteOutage(outage: HooktrailError | undefined, intervalMs: number, reporter: Reporter): void {
  if (outage === undefined) reporter.notice('the service answers again; everything since was caught up');
  else {
    const { message, kind } = outage;
    // A person has to sign in again; other outages end by themselves.
    const next = outage instanceof NotSignedInError ? outage.next : undefined;
    reporter.warning(`${message}; trying again every ${durationText(intervalMs)}`, { kind, next });
  }
}

/**
 * Returns a failure of the service that may be over at the next poll, such as a list without types. Throws
 * any other error, such as a refused sign-in.
 */
function outageOf(error: unknown, waitsForSignIn: boolean): HooktrailError {
  if (waitsForSignIn && error instanceof NotSignedInError) return error;
  if (error instanceof ServiceError || error instanceof UnreachableError || error instanceof UsageError)
    return error;
  throw error;
}

/**
 * Milliseconds of the longest single sleep. Timers stop while the machine sleeps, so the wall clock is
 * checked in between.
 */
const NAP_MS = 5000;
/** Milliseconds of delay from which the machine must have been asleep. */
const SLEPT_MS = 30_000;

async function wait(
  intervalMs: number,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
  reporter: Reporter,
): Promise<void> {
  const due = clock.now() + intervalMs;
  for (let rest = intervalMs; rest > 0 && clock.now() < due; rest -= NAP_MS) {
    const before = clock.now();
    await clock.sleep(Math.min(NAP_MS, rest), signal);
    const slept = clock.now() - before - Math.min(NAP_MS, rest);
    if (slept > SLEPT_MS)
      reporter.notice(`the machine slept for ${durationText(Math.round(slept / 1000) * 1000)}; catching up`);
  }
}
