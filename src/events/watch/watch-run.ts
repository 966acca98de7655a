import type { Clock } from '../../context.ts';
import { HooktrailError, ServiceError, UnreachableError, UsageError } from '../../errors.ts';
import type { Service } from '../../http/service.ts';
import { Items, type ItemWriter } from '../../json/items.ts';
import { durationText } from '../../settings/flag-values.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { compareInstants, knownInstant } from '../../time/instant.ts';
import type { EventFilters } from '../event-filters.ts';
import { type Query, searchUrl } from '../event-query.ts';
import { pageFetcher } from '../fetch-page.ts';
import { adaptiveConcurrency } from '../read-ahead.ts';
import { Follower, type FollowerState, type WatchedItem } from './watch-follower.ts';

export interface WatchRun {
  readonly follower: Follower;
  readonly writer: ItemWriter;
  /** Milliseconds between the end of a poll and the next. */
  readonly interval: number;
  readonly limit: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called after each poll. */
  readonly save: () => Promise<void>;
  /** Called right after events were printed. */
  readonly onPrinted: (items: readonly WatchedItem[]) => Promise<void>;
  readonly reporter: Reporter;
}

/** Longer waits are split, so that the wall clock is checked in between: timers stop while the machine sleeps. */
const NAP = 5000;
/** If a wait took this much longer, the machine was asleep. */
const SLEPT = 30_000;

/** Events that are printed and then remembered together. After a kill, at most this many are printed again. */
const BATCH = 100;

/**
 * Prints new events until `limit` are printed, the watch ends or the signal aborts. Outages are reported and survived.
 */
export async function runWatch(run: WatchRun): Promise<void> {
  const { follower, interval, limit, signal, reporter } = run;
  let printed = 0;
  let trouble = false;
  while (printed < limit) {
    try {
      for await (const items of reading(follower.poll())) {
        for (let from = 0; from < items.length; from += BATCH) {
          const due = items.slice(from, Math.min(from + BATCH, from + limit - printed));
          await run.writer.write(Items.of(due.map(({ bytes, start, end }) => bytes.subarray(start, end))));
          printed += due.length;
          follower.remember(due);
          await run.onPrinted(due);
          if (printed >= limit) return;
        }
      }
      await run.save();
      if (trouble) reporter.notice('the service answers again; everything since was caught up');
      trouble = false;
    } catch (error) {
      if (!(error instanceof Outage)) throw error;
      signal.throwIfAborted();
      if (!trouble) {
        const { message } = error.reason;
        const kind = error.reason instanceof HooktrailError ? error.reason.kind : undefined;
        reporter.warning(`${message}; trying again every ${durationText(interval)}`, { kind });
      }
      trouble = true;
    }
    if (follower.ended) return;
    await wait(interval, run);
  }
}

/** True for a failure that may be over at the next poll. A refused sign-in is permanent. */
class Outage extends Error {
  readonly reason: Error;
  constructor(reason: Error) {
    super(reason.message);
    this.reason = reason;
  }
}

/** Distinguishes failures of the service from failures of printing. */
async function* reading<Items>(polls: AsyncGenerator<Items>): AsyncGenerator<Items> {
  try {
    for (;;) {
      const { done, value } = await polls.next();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw error instanceof ServiceError || error instanceof UnreachableError ? new Outage(error) : error;
  } finally {
    await polls.return(undefined);
  }
}

async function wait(interval: number, { clock, signal, reporter }: WatchRun): Promise<void> {
  const due = clock.now() + interval;
  for (let rest = interval; rest > 0 && clock.now() < due; rest -= NAP) {
    const before = clock.now();
    await clock.sleep(Math.min(NAP, rest), signal);
    const slept = clock.now() - before - Math.min(NAP, rest);
    if (slept > SLEPT)
      reporter.notice(`the machine slept for ${durationText(Math.round(slept / 1000) * 1000)}; catching up`);
  }
}

/** Some 10 MB of events. */
const MOST = 20_000;
/** Earlier events that show how wide a table's columns have to be. */
const SAMPLE = 100;

interface Following {
  readonly overlap: number;
  readonly concurrency: number;
  /** True if a sample of earlier events is wanted. */
  readonly sampled: boolean;
  /** The progress of an earlier run. */
  readonly state: FollowerState | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly reporter: Pick<Reporter, 'warning'>;
}

/**
 * Sends one request for the service's time, so that a failure is reported at the start. Throws `UsageError` if the
 * flags leave nothing to watch.
 */
export async function startFollowing(
  service: Service,
  filters: EventFilters,
  { overlap, concurrency, sampled, state, clock, signal, reporter }: Following,
): Promise<{ follower: Follower; sample: Items }> {
  const { width, onRetry } = adaptiveConcurrency(concurrency);
  const fetchPage = pageFetcher(service, clock, onRetry);
  const { baseUrl } = service;
  const [first] = filters.queries(clock.now());
  const { keep } = filters;
  const count = sampled || keep ? SAMPLE : 1;
  const { page, serviceTime } = await fetchPage(
    searchUrl(baseUrl, first as Query, { start: 1, count }),
    signal,
  );
  const now = serviceTime ?? clock.now();
  if (!state) filters.requirePastStart(now);
  keep?.(page.items);
  for (const doubt of keep?.doubts() ?? []) reporter.warning(`${doubt} (of the latest ${page.items.count})`);
  const queries = filters.queries(now);
  const { after, before } = queries[0];
  const start = state?.start ?? after ?? knownInstant(now);
  if (!state && before && compareInstants(start, before) >= 0)
    throw new UsageError(
      `--until: ${filters.zone.shown(before.text)} has passed: the service's time is ${filters.zone.shown(start.text)}`,
    );
  const follower = new Follower(
    { queries, start, before, keep: filters.keep, overlap, most: MOST },
    { fetchPage, baseUrl, concurrency: width, signal, now: () => clock.now() },
    state,
  );
  return { follower, sample: page.items };
}
