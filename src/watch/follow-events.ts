import type { Context } from '../context.ts';
import {
  type HooktrailError,
  NotSignedInError,
  ServiceError,
  UnreachableError,
  UsageError,
} from '../errors.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { resolveListed } from '../filters/event-types.ts';
import type { OnRetry, Service } from '../http/service.ts';
import type { Items } from '../items/items.ts';
import { endpoint } from '../paging/event-query.ts';
import { askPage, type PageClient, pageClient } from '../paging/page.ts';
import { adaptiveConcurrency } from '../paging/read-ahead.ts';
import { eachOnce, type Reporter, warnOfDoubts } from '../terminal/reporter.ts';
import { knownInstant, milliseconds } from '../time/instant.ts';
import { durationText } from '../time/lengths.ts';
import { Follower, type FollowerState, type Watch, type WatchedItem } from './watch-follower.ts';

/** Milliseconds for the last poll of a watch, which begins when `--timeout` is over. */
const LAST_POLL_MS = 10_000;

/** Aborts `signal` when the last poll has ended or has taken too long, or the program has to end. */
export function startDeadline(
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
  timeout = Number.POSITIVE_INFINITY,
) {
  const over = new AbortController();
  const stopped = new AbortController();
  const end = () => over.abort();
  if (Number.isFinite(timeout))
    clock.sleep(timeout + LAST_POLL_MS, stopped.signal).then(end, () => undefined);
  // The last poll begins at `endsAt`.
  return { endsAt: clock.now() + timeout, over, signal: AbortSignal.any([signal, over.signal]), stopped };
}

export interface FollowingOptions {
  readonly filters: EventFilters;
  /** Milliseconds that each poll reaches back, for events that appear late. */
  readonly overlap: number;
  readonly concurrency: number;
  readonly state: string | undefined;
  /** True to read earlier events as a sample. */
  readonly isSampled: boolean;
  /** Milliseconds that the first poll reaches back without `--since`; undefined: none. */
  readonly lookBack?: number;
  /** Filters the events further; the rest are looked at again. */
  readonly keep?: <Some extends Items>(items: Some) => Some;
  /** True if a failed poll must yield no events, since they have to come in order. */
  readonly isInOrder?: boolean;
}

export interface FollowingRun extends Pick<Context, 'clock' | 'signal'> {
  readonly deadline: Pick<ReturnType<typeof startDeadline>, 'endsAt' | 'over'>;
  readonly onRetry: OnRetry;
}

/** Events held at once, some 10 MB. */
const MAX_HELD_EVENTS = 20_000;
/** Earlier events that determine the widths of a table's columns. */
const SAMPLE_EVENTS = 100;

/**
 * Sends one request for the service's time, which also reports a failure at the start. `saved`: the place of
 * an earlier run. Throws `UsageError` if the flags leave nothing to watch.
 */
export async function startFollowing(
  service: Service,
  options: FollowingOptions,
  saved: FollowerState | undefined,
  { clock, signal, onRetry }: FollowingRun,
  reporter: Reporter,
): Promise<{ client: PageClient; follower: Follower; sample: Items; isPast: boolean }> {
  const { filters, overlap, concurrency, isSampled, state: file, lookBack } = options;
  const adaptive = adaptiveConcurrency(concurrency);
  const client = pageClient(service, (attempt) => {
    onRetry(attempt);
    adaptive.onRetry(attempt);
  });
  const { typePatterns = [] } = filters;
  const keep = filters.createKeep();
  const typed = filters.withTypes(typePatterns, []);
  const askQueries = async () => {
    const { page } = await client.fetchPage(endpoint(client.baseUrl, 'event-types'), signal);
    return resolveListed(typed, page.items, { warning: reporter.trace }).queriesWithin({});
  };
  const more = typePatterns.some((type) => type.includes('*')) ? { askQueries } : {};
  const count = isSampled || keep ? SAMPLE_EVENTS : 1;
  const any = filters.queries(clock.now())[0];
  const { page, serviceTime: now = clock.now() } = await askPage(client, any, { start: 1, count }, signal);
  const state = saved && presentPlace(saved, now, file as string, reporter);
  if (!state) filters.requirePastStart(now);
  keep?.(page.items);
  for (const doubt of keep?.doubts() ?? [])
    reporter.warning(`${doubt} (of the latest ${page.items.count})`, { kind: 'usage' });
  const queries = filters.queries(now);
  const { after, before } = queries[0];
  // `gt` is exclusive, and a service's times may be whole seconds.
  const start = state?.start ?? after ?? knownInstant(Math.floor(now / 1000) * 1000 - 1 - (lookBack ?? 0));
  const isPast = before !== undefined && milliseconds(before) <= now;
  // Allowed although `--until now` leaves nothing to wait for: a first run with `--state`, which only saves
  // the position for the next, and a run that looks back, which reads earlier events.
  const isMarked = (file ?? lookBack) !== undefined && filters.before?.time.kind === 'ago';
  if (!state && !after && isPast && !isMarked)
    throw new UsageError(
      `--until: ${filters.zone.shown(before.text)} has passed: the service's time is ${filters.zone.shown(knownInstant(now).text)}`,
    );
  const { isInOrder = false } = options;
  const follower = new Follower(
    { queries, start, before, keep: keepOf(options), overlap, most: MAX_HELD_EVENTS, isInOrder },
    {
      ...client,
      ...more,
      concurrency: adaptive.width,
      signal,
      onForeignLinks: eachOnce(warnOfDoubts(reporter)),
      now: () => clock.now(),
    },
    state,
  );
  return { client, follower, sample: page.items, isPast };
}

function keepOf({ filters, keep }: FollowingOptions): Watch['keep'] {
  const ofFilters = filters.createKeep();
  if (!keep || !ofFilters) return keep ?? ofFilters;
  return (items) => keep(ofFilters(items));
}

/** Milliseconds of clock difference that are not worth reporting. */
const CLOCKS_APART_MS = 60_000;

/**
 * Limits the place of an earlier run to `now`: a place in the future, from a wrong clock, would hide the
 * events until then.
 */
function presentPlace(
  saved: FollowerState,
  now: number,
  file: string,
  reporter: Pick<Reporter, 'warning'>,
): FollowerState {
  const latest = Math.max(saved.watermark, milliseconds(saved.start));
  if (latest <= now) return saved;
  if (latest > now + CLOCKS_APART_MS)
    reporter.warning(
      `--state: the place in ${file} is in the future (${knownInstant(latest).text}), since a clock was wrong: events are watched from now on, and earlier ones may be missing`,
      {
        kind: 'incomplete',
        next: `to read them too, remove ${file} and begin with --since at the last event that you have`,
      },
    );
  const start = milliseconds(saved.start) > now ? knownInstant(now) : saved.start;
  return { ...saved, start, watermark: Math.min(saved.watermark, now) };
}

export interface Polling {
  readonly take: (items: readonly WatchedItem[]) => Promise<boolean>;
  /** Called after each poll that has read all new events. */
  readonly polled: () => Promise<void>;
  /** True to treat the end of a sign-in as an outage, which a person can end by signing in. */
  readonly waitsForSignIn?: boolean;
  /** True if `--until` had passed at the start, as in a job whose next run continues. */
  readonly isPast: boolean;
}

/**
 * Takes new events until enough are taken, the watch ends or the signal aborts. Outages are reported and
 * survived.
 */
export async function pollUntilEnd(
  follower: Pick<Follower, 'ended' | 'poll'>,
  intervalMs: number,
  { take, polled, isPast, waitsForSignIn = false }: Polling,
  { clock, signal, deadline }: Omit<FollowingRun, 'onRetry'>,
  reporter: Reporter,
): Promise<void> {
  let isTroubled = false;
  while (!follower.ended) {
    const isLast = clock.now() >= deadline.endsAt;
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
    if (isLast) deadline.over.abort();
    signal.throwIfAborted();
    await wait(Math.min(intervalMs, deadline.endsAt - clock.now()), { clock, signal }, reporter);
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
