import path from 'node:path';
import type { Call } from '../../command.ts';
import type { Clock, Context } from '../../context.ts';
import { ClosedPipeError, HooktrailError, ServiceError, UnreachableError, UsageError } from '../../errors.ts';
import { refusePlanted } from '../../files/folders.ts';
import type { Service } from '../../http/service.ts';
import { Items, type ItemWriter } from '../../json/items.ts';
import { type HeldLock, LockedError, whileHeld, withLock } from '../../lock/lock.ts';
import { durationText, shellWord } from '../../settings/flag-values.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { withService } from '../../sign-in/session.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { compareInstants, type Instant, knownInstant } from '../../time/instant.ts';
import type { EventFilters } from '../event-filters.ts';
import { type Query, searchUrl } from '../event-query.ts';
import { resolveTypes } from '../event-types.ts';
import { pageFetcher } from '../page.ts';
import { adaptiveConcurrency } from '../read-ahead.ts';
import { Follower, type FollowerState, type WatchedItem } from './watch-follower.ts';
import { readWatchState, WatchStateFile, watchIdentity } from './watch-state.ts';

/** A watch in its final form. Times are in milliseconds. */
export interface WatchOptions {
  readonly filters: EventFilters;
  readonly interval: number;
  /** How far each poll reaches back, for events that appear late. */
  readonly overlap: number;
  readonly concurrency: number;
  /** The number of events to print. */
  readonly limit: number;
  /** The time in which they have to come. */
  readonly timeout: number | undefined;
  /** The file that keeps the place across runs. */
  readonly state: string | undefined;
  /** True if the columns of a table are laid out by earlier events. */
  readonly isSampled: boolean;
  /** Words of a command that resumes this watch, beside the filters. */
  readonly resumeWords: readonly string[];
}

type WatchCall = Call<SettingFlags>;
/** `sample` are earlier events; `constant` are fields with one value because of the filters. */
type CreateWriter = (sample: Items | undefined, constant: ReadonlySet<string>) => Promise<ItemWriter>;

/** Prints new events until `limit` are printed, the watch ends, or the program has to. */
export async function watchEvents(
  options: WatchOptions,
  call: WatchCall,
  createWriter: CreateWriter,
): Promise<void> {
  const { context } = call;
  const { state: file } = options;
  if (file === undefined) return await follow(options, call, createWriter);
  refusePlanted(file, '--state', context.machine);
  let entered = false;
  try {
    const work = (lock: HeldLock) => {
      entered = true;
      return follow(options, { ...call, context: whileHeld(context, lock) }, createWriter);
    };
    const subject = `the watch of ${file}`;
    await withLock(`watch ${path.resolve(file)}`, context, work, { patience: 0, subject });
  } catch (error) {
    if (entered || !(error instanceof LockedError)) throw error;
    throw new UsageError(`--state: another watch uses ${file}`, {
      details: error.holder ? [`process ${error.holder}`] : [],
      next: 'end it, or choose another file',
      cause: error,
    });
  }
}

async function follow(options: WatchOptions, call: WatchCall, createWriter: CreateWriter): Promise<void> {
  const { interval, overlap, concurrency, limit, timeout, isSampled } = options;
  const { context, reporter } = call;
  const { clock } = context;
  await withService(call, async (service, settings) => {
    const filters = await resolveTypes(options.filters, service, settings, context);
    const saving = options.state === undefined ? undefined : await stateOf(options.state, service, filters);
    const deadline = startDeadline(timeout, context);
    const { signal } = deadline;
    const following = { overlap, concurrency, isSampled, saving, clock, signal, reporter };
    let printed = 0;
    try {
      const { follower, sample } = await startFollowing(service, filters, following);
      await saving?.file.save(follower.state);
      const writer = await createWriter(isSampled ? sample : undefined, filters.constantFields);
      const from = saving?.state
        ? 'from where it stopped'
        : `events created after ${filters.zone.shown(follower.resumeAt.text)}`;
      reporter.notice(`watching ${from}, every ${durationText(interval)}`);
      const save = async () => saving?.file.save(follower.state);
      const onPrinted = async (items: readonly WatchedItem[]) => {
        await saving?.file.append(items);
        printed += items.length;
      };
      try {
        await runWatch({ follower, writer, interval, limit, clock, signal, reporter, save, onPrinted });
      } catch (error) {
        await writer.abort();
        if (!deadline.passed && !(context.signal.reason instanceof ClosedPipeError))
          tellHowToResume({ ...options, filters }, follower.resumeAt, reporter);
        throw error;
      }
      await writer.end();
    } catch (error) {
      if (!deadline.passed || context.signal.aborted) throw error;
      throw new ServiceError(`${printed} of ${limit} events came within ${durationText(timeout ?? 0)}`);
    } finally {
      saving?.file.close();
      deadline.stop();
    }
  });
}

async function stateOf(file: string, service: Service, filters: EventFilters) {
  const identity = watchIdentity(service.baseUrl, filters);
  const state = await readWatchState(file, identity);
  return { state, file: new WatchStateFile(file, identity) };
}

/** Aborts `signal` when the time is over or the program has to end. */
function startDeadline(timeout: number | undefined, { clock, signal }: Pick<Context, 'clock' | 'signal'>) {
  const over = new AbortController();
  const stopped = new AbortController();
  if (timeout !== undefined)
    clock.sleep(timeout, stopped.signal).then(
      () => over.abort(),
      () => undefined,
    );
  return {
    signal: AbortSignal.any([signal, over.signal]),
    get passed() {
      return over.signal.aborted;
    },
    stop: () => stopped.abort(),
  };
}

function tellHowToResume(
  { filters, state, resumeWords }: WatchOptions,
  at: Instant,
  reporter: Pick<Reporter, 'notice'>,
): void {
  if (state !== undefined) {
    reporter.notice('to resume: run the same command again');
    return;
  }
  const words = ['hooktrail', 'events', 'watch', '--since', at.text, ...filters.words('since')];
  reporter.notice(`to resume: ${[...words, ...resumeWords.map(shellWord)].join(' ')}`);
  reporter.notice('events created since then may come again; --state FILE prints each once');
}

interface WatchRun {
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
async function runWatch(run: WatchRun): Promise<void> {
  const { follower, interval, limit, signal, reporter } = run;
  let printed = 0;
  let trouble = false;
  while (printed < limit && !follower.ended) {
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

/** A failure of the service that may be over at the next poll; a refused sign-in, for instance, is not one. */
class Outage extends Error {
  readonly reason: Error;
  constructor(reason: Error) {
    super(reason.message);
    this.reason = reason;
  }
}

/** The batches of a poll; a failure of the service becomes an `Outage`, so that failures of printing stay what they are. */
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
const SAMPLE_EVENTS = 100;

interface Following {
  readonly overlap: number;
  readonly concurrency: number;
  readonly isSampled: boolean;
  /** Undefined if the place is not kept; `state` is the place of an earlier run. */
  readonly saving: { readonly state: FollowerState | undefined } | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly reporter: Pick<Reporter, 'warning'>;
}

/**
 * Sends one request for the service's time, so that a failure is reported at the start. Throws `UsageError` if the
 * flags leave nothing to watch.
 */
async function startFollowing(
  service: Service,
  filters: EventFilters,
  { overlap, concurrency, isSampled, saving, clock, signal, reporter }: Following,
): Promise<{ follower: Follower; sample: Items }> {
  const { width, onRetry } = adaptiveConcurrency(concurrency);
  const fetchPage = pageFetcher(service, clock, onRetry);
  const { baseUrl } = service;
  const [first] = filters.queries(clock.now());
  const { keep } = filters;
  const count = isSampled || keep ? SAMPLE_EVENTS : 1;
  const { page, serviceTime } = await fetchPage(
    searchUrl(baseUrl, first as Query, { start: 1, count }),
    signal,
  );
  const state = saving?.state;
  const now = serviceTime ?? clock.now();
  if (!state) filters.requirePastStart(now);
  keep?.(page.items);
  for (const doubt of keep?.doubts() ?? []) reporter.warning(`${doubt} (of the latest ${page.items.count})`);
  const queries = filters.queries(now);
  const { after, before } = queries[0];
  const start = state?.start ?? after ?? knownInstant(now);
  // The first run of a watch with `--state` and `--until now` only marks the place from which the next one goes on.
  const isMarked = saving !== undefined && after === undefined && filters.before?.time.kind === 'ago';
  if (!state && !isMarked && before && compareInstants(start, before) >= 0)
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
