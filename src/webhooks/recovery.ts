import type { Context } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type { EventFilters } from '../events/event-filters.ts';
import { waitText } from '../http/retry.ts';
import type { Service } from '../http/service.ts';
import type { ItemWriter } from '../json/items.ts';
import { Items } from '../json/items.ts';
import { createItemWriter } from '../output/create-item-writer.ts';
import type { FormatOptions } from '../output/item-writer.ts';
import { startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { shownId } from './delivery.ts';
import { Destination } from './destination.ts';
import { ForwardRetry } from './forward.ts';
import { type FoundEvent, foundEvents, oldestFirst } from './found-events.ts';
import { readIds } from './journal-content.ts';
import { JournalError } from './journal-file.ts';

/** A search for the events that a journal lacks. */
export interface MissingOptions {
  readonly filters: EventFilters;
  readonly format: FormatOptions;
  readonly journal: string;
}

export interface RecoverOptions extends MissingOptions {
  readonly forwardTo: URL;
  /** Milliseconds without progress until an attempt counts as failed. */
  readonly forwardTimeout: number;
  readonly concurrency: number;
  /** Milliseconds for which a handler that accepts nothing is tried again. */
  readonly retryFor: number;
}

/** Milliseconds that work in progress gets after a signal. */
const GRACE = 10_000;
const PROGRESS_INTERVAL = 200;

/** Prints the events that the journal lacks. Changes nothing and sends nothing. */
export async function listMissing(
  options: MissingOptions,
  service: Service,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const { missing, known, failure } = await findMissing(options, service, context, reporter);
  const left = new LeftEvents(await createItemWriter(options.format, context, reporter), options.format);
  for (const event of missing) left.add(event);
  await left.end();
  if (failure) throw failure.error;
  reporter.notice(`${left.count} to forward; ${known} in the journal already`);
}

/**
 * Forwards the events that the journal lacks, oldest first, then prints those that the handler did not accept and a
 * summary. Throws `ServiceError` if there are any.
 */
export async function recoverMissing(
  options: RecoverOptions,
  service: Service,
  apiToken: string | undefined,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const { format, concurrency, retryFor } = options;
  const { clock, signal } = context;
  const found = await findMissing(options, service, context, reporter);
  const progress = startProgress(context, reporter, 'recovering');
  const onWait = (reason: string, delay: number) => progress.update({ note: waitText({ reason, delay }) });
  const retry = new ForwardRetry({ clock, signal, retryFor, onWait });
  const destination = new Destination({ ...options, retry }, context);
  const left = new LeftEvents(await createItemWriter(format, context, reporter), format);
  const result = { forwarded: 0, known: found.known };
  const reasons = new Map<string, number>();
  const stay = (event: FoundEvent, reason: string) => {
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    reporter.trace(
      `${event.eventId === undefined ? 'an event without an eventId' : shownId(event.eventId)}: ${reason}`,
    );
    left.add(event);
  };
  const recover = async (event: FoundEvent) => {
    const { key, body } = event;
    if (key === undefined)
      return stay(event, "without an 'eventId' there is no way to know whether the handler has it");
    try {
      const { outcome, reason } = await destination.forward(key, {
        body,
        contentType: 'application/json',
        apiToken,
      });
      if (outcome === 'accepted') result.forwarded++;
      else if (outcome === 'duplicate') result.known++;
      else stay(event, reason ?? 'the handler did not accept it');
    } catch (error) {
      if (!(error instanceof JournalError) || error.isFatal) throw error;
      stay(event, error.message);
    }
  };
  const tick = setInterval(() => {
    const { forwarded, known } = result;
    progress.update({ events: forwarded + known + left.count, note: `${forwarded} forwarded` });
  }, PROGRESS_INTERVAL);
  const ended = new AbortController();
  const onAbort = () => {
    clock.sleep(GRACE, ended.signal).then(
      () => destination.abandon(),
      () => undefined,
    );
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await inParallel(found.missing, concurrency, recover);
  } finally {
    signal.removeEventListener('abort', onAbort);
    ended.abort();
    clearInterval(tick);
    progress.stop();
    await left.end().catch(() => undefined);
    await destination.close();
    reporter.notice(
      `${result.forwarded} forwarded; ${result.known} in the journal already; ${left.count} left`,
    );
  }
  if (found.failure) throw found.failure.error;
  if (left.count > 0) throw stayedBehind('recovered', reasons, left.count);
}

interface Missing {
  /** In order of creation. */
  readonly missing: readonly FoundEvent[];
  /** The number of ids in the journal. */
  readonly known: number;
  /** The error that ended the search; the events found before it are still used. */
  readonly failure: { readonly error: unknown } | undefined;
}

async function findMissing(
  { filters, journal }: MissingOptions,
  service: Service,
  context: Context,
  reporter: Reporter,
): Promise<Missing> {
  const ids = await readIds(journal);
  const onDoubt = (doubt: string) => reporter.warning(doubt);
  const progress = startProgress(context, reporter, 'comparing');
  const missing: FoundEvent[] = [];
  let known = 0;
  let failure: Missing['failure'];
  try {
    for await (const event of foundEvents({ service, filters, context, progress, onDoubt })) {
      if (event.key && ids.has(event.key)) known++;
      else missing.push(event);
      progress.update({ events: known + missing.length, note: '' });
    }
  } catch (error) {
    context.signal.throwIfAborted();
    failure = { error };
  } finally {
    progress.stop();
  }
  return { missing: oldestFirst(missing), known, failure };
}

/** Starts the work for each item in order, `concurrency` at a time. After a failure no more work is started. */
export async function inParallel<Item>(
  items: Iterable<Item>,
  concurrency: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  let failure: { error: unknown } | undefined;
  const worker = async () => {
    while (!failure) {
      const { done, value } = waiting.next();
      if (done) return;
      await work(value).catch((error) => {
        failure ??= { error };
      });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  if (failure) throw failure.error;
}

const SHOWN_REASONS = 5;

/** Returns the error for events that the handler did not accept, with their number for each reason. */
export function stayedBehind(
  done: 'recovered' | 'replayed',
  reasons: ReadonlyMap<string, number>,
  count: number,
): ServiceError {
  const sorted = [...reasons].sort(([, one], [, other]) => other - one);
  const details = sorted.slice(0, SHOWN_REASONS).map(([reason, number]) => `${number}: ${reason}`);
  if (sorted.length > SHOWN_REASONS)
    details.push(`${sorted.length - SHOWN_REASONS} more reasons (--verbose shows each)`);
  return new ServiceError(`${count} ${count === 1 ? 'event was' : 'events were'} not ${done}`, {
    details,
    ...(done === 'recovered' ? { next: 'run the same command again to retry them' } : {}),
  });
}

const PAGE = 200;

/** Prints events that are added one by one, in pages and in the order they were added. */
export class LeftEvents {
  readonly #writer: ItemWriter;
  /** If nothing is missing, a message says so instead of an empty table. */
  readonly #saysNothing: boolean;
  #waiting: FoundEvent[] = [];
  #written: Promise<void> = Promise.resolve();
  count = 0;

  constructor(writer: ItemWriter, { format }: Pick<FormatOptions, 'format'>) {
    this.#writer = writer;
    this.#saysNothing = format === 'table';
  }

  add(event: FoundEvent): void {
    this.count++;
    this.#waiting.push(event);
    if (this.#waiting.length >= PAGE) this.#print();
  }

  async end(): Promise<void> {
    this.#print();
    await this.#written;
    if (this.count > 0 || !this.#saysNothing) await this.#writer.end();
  }

  #print(): void {
    const page = this.#waiting;
    this.#waiting = [];
    if (page.length === 0) return;
    this.#written = this.#written.then(() => this.#writer.write(Items.of(page.map(({ body }) => body))));
    // `end` awaits this and throws the error.
    this.#written.catch(() => undefined);
  }
}
