import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import {
  ClosedPipeError,
  type HooktrailError,
  InterruptedError,
  ServiceError,
  UnreachableError,
  UsageError,
} from '../errors.ts';
import { makeOwnFolder, refusePlanted } from '../files/folders.ts';
import { followLinks } from '../files/whole-files.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { resolveListed } from '../filters/event-types.ts';
import { resolveFilters } from '../filters/resolve-filters.ts';
import type { OnRetry, Service } from '../http/service.ts';
import { Items, type ItemWriter } from '../items/items.ts';
import { LockedError, takeLock, whileHeld } from '../lock/lock.ts';
import { SubscriptionNames } from '../names/subscription-names.ts';
import { endpoint } from '../paging/event-query.ts';
import { askPage, type PageClient, pageClient } from '../paging/page.ts';
import { adaptiveConcurrency } from '../paging/read-ahead.ts';
import { shellText } from '../shell-words.ts';
import { withService } from '../sign-in/session.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { type Instant, knownInstant, milliseconds } from '../time/instant.ts';
import { durationText } from '../time/lengths.ts';
import { Follower, type FollowerState, type WatchedItem } from './watch-follower.ts';
import { tellOfSilentOnes, tellWhatIsWatched } from './watch-opening.ts';
import { unwritableState, WatchStateFile } from './watch-state.ts';

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
  /** Events that are taken together before the place moves on. After a kill, at most so many come again. */
  readonly batch: number;
  /** What has been done with an event that counts, for messages: `came` or `were handled`. */
  readonly done: string;
}

type WatchCall = Call;
/** What a writer of events is made from. */
export interface WriterParts {
  /** Earlier events, where the columns of a table are laid out by them. */
  readonly sample: Items | undefined;
  /** The service's subscriptions, where a table is printed. */
  readonly names: SubscriptionNames | undefined;
  /** Fields with one value because of the filters. */
  readonly constant: ReadonlySet<string>;
  /** Says since when. */
  readonly window: string;
  /** Events created later than this; undefined in a run that goes on from a place. */
  readonly start: Instant | undefined;
  /** Aborts when the program has to end, or when the time of the watch is over. */
  readonly signal: AbortSignal;
}

type CreateWriter = (parts: WriterParts) => Promise<ItemWriter>;

/** Hands new events to a writer until `limit` are taken, the watch ends, or the program has to. */
export async function watchEvents(
  options: WatchOptions,
  call: WatchCall,
  createWriter: CreateWriter,
): Promise<void> {
  const { context } = call;
  const { state: file } = options;
  if (file === undefined) return await follow(options, call, createWriter);
  refusePlanted(file, '--state', context.machine);
  const place = await followLinks(file);
  const folder = `${place}.lock`;
  refusePlanted(folder, '--state', context.machine);
  makeLockFolder(folder, file);
  const only = { patience: 0, subject: `the watch of ${file}`, folder };
  const lock = await takeLock(`watch ${place}`, context, only).catch((error) => {
    if (!(error instanceof LockedError)) throw error;
    throw new UsageError(`--state: another watch uses ${file}`, {
      details: error.holder ? [`process ${error.holder}`] : [],
      next: 'end it, or choose another file',
      cause: error,
    });
  });
  try {
    await follow(options, { ...call, context: whileHeld(context, lock) }, createWriter, place);
  } finally {
    await lock.release();
  }
}

/** Makes the folder for the lock of a state. Throws the error that the state itself would meet. */
function makeLockFolder(folder: string, state: string): void {
  try {
    makeOwnFolder(folder);
  } catch (error) {
    throw unwritableState(state, error as NodeJS.ErrnoException);
  }
}

/** `place` is the path of the state without links, where there is one. */
async function follow(options: WatchOptions, call: WatchCall, createWriter: CreateWriter, place = '') {
  const { timeout, state: given } = options;
  const { context } = call;
  await withService(call, async (service, settings) => {
    const filters = await resolveFilters(options.filters, service, settings, call);
    const resolved = { ...options, filters };
    const file = given === undefined ? undefined : new WatchStateFile(given, place, service.baseUrl, filters);
    const deadline = startDeadline(timeout, context);
    const names = options.isSampled ? new SubscriptionNames(service, context) : undefined;
    const progress: Progress = { printed: 0, trouble: undefined };
    try {
      await followUntilEnd(resolved, call, createWriter, { service, file, names, deadline, progress });
    } catch (error) {
      const isOver = deadline.over.signal.aborted && !context.signal.aborted;
      throw isOver ? timeIsOver(options, progress) : error;
    } finally {
      deadline.stopped.abort();
      names?.close();
    }
  });
}

/** How far a watch has come. */
interface Progress {
  printed: number;
  /** Why the service does not answer, since the last poll that it answered. */
  trouble: string | undefined;
}

interface Following {
  readonly service: Service;
  readonly file: WatchStateFile | undefined;
  readonly names: SubscriptionNames | undefined;
  readonly deadline: ReturnType<typeof startDeadline>;
  readonly progress: Progress;
}

async function followUntilEnd(
  options: WatchOptions,
  { context, reporter }: WatchCall,
  createWriter: CreateWriter,
  { service, file, names, deadline, progress }: Following,
): Promise<void> {
  const { filters, interval, overlap, isSampled } = options;
  const state = file?.read(reporter);
  const onRetry: OnRetry = ({ reason }) => {
    progress.trouble = reason;
  };
  const run = { clock: context.clock, signal: deadline.signal, deadline, onRetry };
  const { client, follower, sample, isPast } = await startFollowing(service, options, state, run, reporter);
  const isResumed = state !== undefined;
  await tellOfSilentOnes({ filters, isResumed }, client, deadline.signal, reporter);
  const save = async () => {
    progress.trouble = undefined;
    await file?.save(follower.state);
  };
  await save();
  const window = state
    ? 'from where it stopped'
    : `created after ${filters.zone.shown(follower.resumeAt.text)}`;
  const writer = await createWriter({
    sample: isSampled ? sample : undefined,
    names,
    constant: filters.constantFields,
    window,
    start: state ? undefined : follower.state.start,
    signal: deadline.signal,
  });
  tellWhatIsWatched({ filters, intervalMs: interval, overlapMs: overlap, isResumed, window }, reporter);
  // The place must not be on the disk before what it passes over.
  const sync = async () => {
    if (file) await context.stdout.sync?.();
  };
  const print = batchPrinter(options, writer, progress, async (due) => {
    await sync();
    progress.printed += due.length;
    follower.remember(due);
    await save();
  });
  try {
    await pollUntilEnd(follower, interval, { print, save, isPast }, run, reporter);
  } catch (error) {
    const isInterrupted = context.signal.reason instanceof InterruptedError;
    await writer[progress.printed > 0 && isInterrupted ? 'end' : 'abort']?.();
    if (!deadline.over.signal.aborted && !(context.signal.reason instanceof ClosedPipeError))
      tellHowToResume(options, follower, reporter);
    throw error;
  }
  await writer.end?.();
}

/** Returns what prints events in batches, up to the limit: false if no more are wanted. */
function batchPrinter(
  { limit, batch }: Pick<WatchOptions, 'limit' | 'batch'>,
  writer: ItemWriter,
  progress: Progress,
  onPrinted: (due: readonly WatchedItem[]) => Promise<void>,
): Polling['print'] {
  return async (items) => {
    for (let at = 0; at < items.length && progress.printed < limit; at += batch) {
      const due = items.slice(at, Math.min(at + batch, at + limit - progress.printed));
      await writer.write(Items.of(due.map(({ text }) => text)));
      await onPrinted(due);
    }
    return progress.printed < limit;
  };
}

function timeIsOver(
  { limit, timeout = 0, done }: WatchOptions,
  { printed, trouble }: Progress,
): ServiceError {
  const details = trouble === undefined ? [] : [`the service did not answer in the end: ${trouble}`];
  return new ServiceError(`${printed} of ${limit} events ${done} within ${durationText(timeout)}`, {
    details,
    next: trouble && advise`${hooktrail('doctor')} finds out why`,
  });
}

/** Milliseconds that the last poll of a watch has, which begins when the time of `--timeout` is over. */
const LAST_POLL_MS = 10_000;

/** Aborts `signal` when the last poll has ended or has taken too long, or the program has to end. */
function startDeadline(
  timeout = Number.POSITIVE_INFINITY,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
) {
  const over = new AbortController();
  const stopped = new AbortController();
  const end = () => over.abort();
  if (Number.isFinite(timeout))
    clock.sleep(timeout + LAST_POLL_MS, stopped.signal).then(end, () => undefined);
  // The last poll begins at `endsAt`.
  return { endsAt: clock.now() + timeout, over, signal: AbortSignal.any([signal, over.signal]), stopped };
}

function tellHowToResume(
  { filters, state, resumeWords }: WatchOptions,
  { resumeAt, before }: Pick<Follower, 'resumeAt' | 'before'>,
  reporter: Pick<Reporter, 'notice'>,
): void {
  // A time such as +1h would be another one by then.
  const until = before === undefined ? [] : ['--until', before.text];
  const words = ['hooktrail', 'events', 'watch', '--since', resumeAt.text, ...until];
  const line = shellText([...words, ...filters.words('since', 'until'), ...resumeWords]);
  reporter.notice(`to resume: ${state === undefined ? line : 'run the same command again'}`);
  if (state === undefined)
    reporter.notice('events created since then may come again; --state FILE keeps the place');
}

interface Run extends Pick<Context, 'clock' | 'signal'> {
  readonly deadline: Pick<ReturnType<typeof startDeadline>, 'endsAt' | 'over'>;
  readonly onRetry: OnRetry;
}

/** Some 10 MB. */
const MOST_HELD_EVENTS = 20_000;
/** Earlier events that show how wide a table's columns have to be. */
const SAMPLE_EVENTS = 100;

/**
 * Sends one request for the service's time, so that a failure is reported at the start. `state` is the place
 * of an earlier run. Throws `UsageError` if the flags leave nothing to watch.
 */
async function startFollowing(
  service: Service,
  { filters, overlap, concurrency, isSampled, state: file }: WatchOptions,
  saved: FollowerState | undefined,
  { clock, signal, onRetry }: Run,
  reporter: Reporter,
): Promise<{ client: PageClient; follower: Follower; sample: Items; isPast: boolean }> {
  const adaptive = adaptiveConcurrency(concurrency);
  const client = pageClient(service, clock, (attempt) => {
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
  for (const doubt of keep?.doubts() ?? []) reporter.warning(`${doubt} (of the latest ${page.items.count})`);
  const queries = filters.queries(now);
  const { after, before } = queries[0];
  // `gt` leaves out its own instant, and a service's times may be whole seconds.
  const start = state?.start ?? after ?? knownInstant(Math.floor(now / 1000) * 1000 - 1);
  const isPast = before !== undefined && milliseconds(before) <= now;
  // The first run of a watch with `--state` and `--until now` only marks the place from which the next one
  // goes on.
  const isMarked = file !== undefined && filters.before?.time.kind === 'ago';
  if (!state && !after && isPast && !isMarked)
    throw new UsageError(
      `--until: ${filters.zone.shown(before.text)} has passed: the service's time is ${filters.zone.shown(knownInstant(now).text)}`,
    );
  const follower = new Follower(
    { queries, start, before, keep: filters.createKeep(), overlap, most: MOST_HELD_EVENTS },
    { ...client, ...more, concurrency: adaptive.width, signal, now: () => clock.now() },
    state,
  );
  return { client, follower, sample: page.items, isPast };
}

/** Clocks may differ by this much, and nobody needs to know. */
const CLOCKS_APART_MS = 60_000;

/**
 * The place of an earlier run, but no later than `now`: a place that a wrong clock has put into the future
 * would hide the events until then.
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
      { next: `to read them too, remove ${file} and begin with --since at the last event that you have` },
    );
  const start = milliseconds(saved.start) > now ? knownInstant(now) : saved.start;
  return { ...saved, start, watermark: Math.min(saved.watermark, now) };
}

interface Polling {
  /** Prints new events; false if no more are wanted. */
  readonly print: (items: readonly WatchedItem[]) => Promise<boolean>;
  /** Called after each poll. */
  readonly save: () => Promise<void>;
  /** True if the end of the watch had passed when it began, as in a job whose next run goes on. */
  readonly isPast: boolean;
}

/**
 * Prints new events until enough are printed, the watch ends or the signal aborts. Outages are reported and
 * survived.
 */
async function pollUntilEnd(
  follower: Follower,
  intervalMs: number,
  { print, save, isPast }: Polling,
  { clock, signal, deadline }: Omit<Run, 'onRetry'>,
  reporter: Reporter,
): Promise<void> {
  let isTroubled = false;
  while (!follower.ended) {
    const isLast = clock.now() >= deadline.endsAt;
    const outcome = await pollOnce(follower, print);
    if (outcome === 'enough') return;
    const isOut = outcome instanceof Error;
    if (isOut) {
      signal.throwIfAborted();
      if (isPast) throw outcome;
    } else await save();
    if (isOut !== isTroubled) tellOfOutage(isOut ? outcome : undefined, intervalMs, reporter);
    isTroubled = isOut;
    if (follower.ended) return;
    if (isLast) deadline.over.abort();
    signal.throwIfAborted();
    await wait(Math.min(intervalMs, deadline.endsAt - clock.now()), { clock, signal }, reporter);
  }
}

/**
 * Prints what is new. Returns `enough` if no more is wanted, and an outage, after which the next poll may
 * succeed.
 */
async function pollOnce(
  follower: Follower,
  print: Polling['print'],
): Promise<'enough' | 'done' | HooktrailError> {
  const polls = follower.poll();
  try {
    for (;;) {
      // Failures of printing are no outages.
      const next = await polls.next().catch(outageOf);
      if (next instanceof Error) return next;
      if (next.done) return 'done';
      if (!(await print(next.value))) return 'enough';
    }
  } finally {
    await polls.return(undefined);
  }
}

/** Says that an outage has begun, or that it is over. */
function tellOfOutage(outage: HooktrailError | undefined, intervalMs: number, reporter: Reporter): void {
  if (outage === undefined) reporter.notice('the service answers again; everything since was caught up');
  else {
    const { message, kind } = outage;
    reporter.warning(`${message}; trying again every ${durationText(intervalMs)}`, { kind });
  }
}

/**
 * A failure of the service that may be over at the next poll, as is a list without types; a refused sign-in
 * is not one.
 */
function outageOf(error: unknown): HooktrailError {
  if (error instanceof ServiceError || error instanceof UnreachableError || error instanceof UsageError)
    return error;
  throw error;
}

/**
 * Longer waits are split, so that the wall clock is checked in between: timers stop while the machine sleeps.
 */
const NAP_MS = 5000;
/** If a wait took this much longer, the machine was asleep. */
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
