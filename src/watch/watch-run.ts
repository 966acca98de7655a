import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { ClosedPipeError, InterruptedError, ServiceError } from '../errors.ts';
import type { ItemWriter } from '../formats/format-options.ts';
import { Items } from '../items/items.ts';
import { SubscriptionNames } from '../names/subscription-names.ts';
import { shellText } from '../shell-words.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { Instant } from '../time/instant.ts';
import { durationText } from '../time/lengths.ts';
import { type OpenWatch, type WatchOptions, withWatch } from './open-watch.ts';
import { type Polling, pollsText } from './poll-until-end.ts';
import type { Follower, WatchedItem } from './watch-follower.ts';
import { EVENT_WATCH } from './watch-state.ts';

export interface EventWatchOptions extends WatchOptions {
  readonly limit: number;
  /** Milliseconds within which the events have to come. */
  readonly timeout: number | undefined;
  /** True to fit a table's columns to earlier events. */
  readonly isSampled: boolean;
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
  options: EventWatchOptions,
  call: Call,
  createWriter: CreateWriter,
): Promise<void> {
  const progress = { printed: 0 };
  const timeoutError = (trouble: string | undefined) => timeIsOver(options, progress.printed, trouble);
  const opening = { ...options, kind: EVENT_WATCH, timeoutError };
  await withWatch(opening, call, async (watch, held) => {
    const names = options.isSampled ? new SubscriptionNames(watch.service) : undefined;
    try {
      await printUntilEnd({ ...watch, names }, { options, progress, createWriter }, held);
    } finally {
      names?.close();
    }
  });
}

interface Printing {
  readonly options: EventWatchOptions;
  readonly progress: { printed: number };
  readonly createWriter: CreateWriter;
}

async function printUntilEnd(
  watch: OpenWatch<undefined> & { readonly names: SubscriptionNames | undefined },
  { options, progress, createWriter }: Printing,
  { context, reporter }: Call,
): Promise<void> {
  const { filters, follower, resumed, deadline } = watch;
  const save = () => watch.save(undefined);
  await save();
  const window = resumed
    ? 'from where it stopped'
    : `created after ${filters.zone.shown(follower.resumeAt.text)}`;
  const writer = await createWriter({
    sample: options.isSampled ? watch.sample : undefined,
    names: watch.names,
    constant: filters.constantFields,
    window,
    start: resumed ? undefined : follower.state.start,
    signal: deadline.signal,
  });
  announceWatch(options, watch, window, reporter);
  const take = batchPrinter(options, writer, progress, async (due) => {
    await watch.sync();
    follower.remember(due);
    await save();
  });
  try {
    await watch.pollUntilEnd(follower, { take, polled: save });
  } catch (error) {
    const isInterrupted = context.signal.reason instanceof InterruptedError;
    await writer[progress.printed > 0 && isInterrupted ? 'end' : 'abort']?.();
    if (!deadline.hasExpired && !(context.signal.reason instanceof ClosedPipeError))
      noteHowToResume({ ...options, filters }, follower, reporter);
    throw error;
  }
  await writer.end?.();
}

/** Reports the filters: a person who waits for an event has to see which ones can come. */
function announceWatch(
  { interval, overlap }: WatchOptions,
  { filters, resumed, isPast }: OpenWatch<undefined>,
  window: string,
  reporter: Pick<Reporter, 'notice'>,
): void {
  const what = resumed ? window : `events ${window}`;
  const which = shellText(filters.words('since', 'timezone')) || 'all of them';
  const changes = filters.statuses.length > 0 ? 'appear or change their status' : 'appear';
  const limit = `events that ${changes} more than ${durationText(overlap)} after their creation are not seen (--overlap)`;
  reporter.notice(`watching ${what}, ${pollsText(interval, isPast)}: ${which}; ${limit}`);
}

/** Returns a function that prints events in batches, up to the limit: false if no more are wanted. */
function batchPrinter(
  { limit, batch }: Pick<EventWatchOptions, 'limit' | 'batch'>,
  writer: ItemWriter,
  progress: Printing['progress'],
  onPrinted: (due: readonly WatchedItem[]) => Promise<void>,
): Polling['take'] {
  return async (items) => {
    for (let at = 0; at < items.length && progress.printed < limit; at += batch) {
      const due = items.slice(at, Math.min(at + batch, at + limit - progress.printed));
      await writer.write(Items.of(due.map(({ text }) => text)));
      progress.printed += due.length;
      await onPrinted(due);
    }
    return progress.printed < limit;
  };
}

function timeIsOver(
  { limit, timeout = 0, done }: EventWatchOptions,
  printed: number,
  trouble: string | undefined,
): ServiceError {
  const details = trouble === undefined ? [] : [`the service did not answer in the end: ${trouble}`];
  return new ServiceError(`${printed} of ${limit} events ${done} within ${durationText(timeout)}`, {
    details,
    next: trouble && advise`${hooktrail('doctor')} finds out why`,
  });
}

function noteHowToResume(
  { filters, state, resumeWords }: EventWatchOptions,
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
