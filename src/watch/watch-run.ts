import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { ClosedPipeError, InterruptedError, ServiceError } from '../errors.ts';
import { resolveFilters } from '../filters/resolve-filters.ts';
import type { OnRetry, Service } from '../http/service.ts';
import { Items, type ItemWriter } from '../items/items.ts';
import { SubscriptionNames } from '../names/subscription-names.ts';
import { shellText } from '../shell-words.ts';
import { withService } from '../sign-in/session.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { Instant } from '../time/instant.ts';
import { durationText } from '../time/lengths.ts';
import {
  type FollowingOptions,
  type Polling,
  pollUntilEnd,
  startDeadline,
  startFollowing,
} from './follow-events.ts';
import type { Follower, WatchedItem } from './watch-follower.ts';
import { announceWatch, warnOfSilentSubscriptions } from './watch-opening.ts';
import { EVENT_WATCH, WatchStateFile, whileStateIsHeld } from './watch-state.ts';

export interface WatchOptions extends FollowingOptions {
  readonly interval: number;
  readonly limit: number;
  /** Milliseconds within which the events have to come. */
  readonly timeout: number | undefined;
  readonly resumeWords: readonly string[];
  /** Events taken together before the place is saved. After a kill, at most this many come again. */
  readonly batch: number;
  readonly done: string;
}

export interface WriterParts {
  readonly sample: Items | undefined;
  readonly names: SubscriptionNames | undefined;
  /** Fields with a single value because of the filters. */
  readonly constant: ReadonlySet<string>;
  readonly window: string;
  /** Events created after this; undefined in a resumed run. */
  readonly start: Instant | undefined;
  readonly signal: AbortSignal;
}

type CreateWriter = (parts: WriterParts) => Promise<ItemWriter>;

export async function watchEvents(
  options: WatchOptions,
  call: Call,
  createWriter: CreateWriter,
): Promise<void> {
  await whileStateIsHeld(options.state, call, (held, place) => follow(options, held, createWriter, place));
}

/** `place`: path of the state with links resolved, if there is a state. */
async function follow(
  options: WatchOptions,
  call: Call,
  createWriter: CreateWriter,
  place: string | undefined,
) {
  const { timeout, state: given } = options;
  const { context } = call;
  await withService(call, async (service) => {
    const filters = await resolveFilters(options.filters, service, call.reporter);
    const resolved = { ...options, filters };
    const isKept = given !== undefined && place !== undefined;
    const file = isKept ? new WatchStateFile(given, place, service.baseUrl, filters, EVENT_WATCH) : undefined;
    const deadline = startDeadline(context, timeout);
    const names = options.isSampled ? new SubscriptionNames(service) : undefined;
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

interface Progress {
  printed: number;
  /** Why the service has not answered since the last successful poll. */
  trouble: string | undefined;
}

interface Following {
  readonly service: Service;
  readonly file: WatchStateFile<undefined> | undefined;
  readonly names: SubscriptionNames | undefined;
  readonly deadline: ReturnType<typeof startDeadline>;
  readonly progress: Progress;
}

async function followUntilEnd(
  options: WatchOptions,
  { context, reporter }: Call,
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
  await warnOfSilentSubscriptions({ filters, isResumed }, client, deadline.signal, reporter);
  const save = async () => {
    progress.trouble = undefined;
    await file?.save({ ...follower.state, kept: undefined });
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
  announceWatch({ filters, intervalMs: interval, overlapMs: overlap, isResumed, isPast, window }, reporter);
  // Sync the output first: a saved place must not skip events that are not on the disk.
  const sync = async () => {
    if (file) await context.stdout.sync?.();
  };
  const take = batchPrinter(options, writer, progress, async (due) => {
    await sync();
    progress.printed += due.length;
    follower.remember(due);
    await save();
  });
  try {
    await pollUntilEnd(follower, interval, { take, polled: save, isPast }, run, reporter);
  } catch (error) {
    const isInterrupted = context.signal.reason instanceof InterruptedError;
    await writer[progress.printed > 0 && isInterrupted ? 'end' : 'abort']?.();
    if (!deadline.over.signal.aborted && !(context.signal.reason instanceof ClosedPipeError))
      noteHowToResume(options, follower, reporter);
    throw error;
  }
  await writer.end?.();
}

/** Returns a function that prints events in batches, up to the limit: false if no more are wanted. */
function batchPrinter(
  { limit, batch }: Pick<WatchOptions, 'limit' | 'batch'>,
  writer: ItemWriter,
  progress: Progress,
  onPrinted: (due: readonly WatchedItem[]) => Promise<void>,
): Polling['take'] {
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

function noteHowToResume(
  { filters, state, resumeWords }: WatchOptions,
  { resumeAt, before }: Pick<Follower, 'resumeAt' | 'before'>,
  reporter: Pick<Reporter, 'notice'>,
): void {
  // A relative time such as +1h would have moved by then.
  const until = before === undefined ? [] : ['--until', before.text];
  const words = ['hooktrail', 'events', 'watch', '--since', resumeAt.text, ...until];
  const line = shellText([...words, ...filters.words('since', 'until'), ...resumeWords]);
  reporter.notice(`to resume: ${state === undefined ? line : 'run the same command again'}`);
  if (state === undefined)
    reporter.notice('events created since then may come again; --state FILE keeps the place');
}
