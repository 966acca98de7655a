import { isUtf8 } from 'node:buffer';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { ServiceError, UsageError } from '../errors.ts';
import type { EventFilters } from '../events/event-filters.ts';
import { PAGE_SIZE } from '../events/event-query.ts';
import { resolveTypes } from '../events/event-types.ts';
import { findEvents } from '../events/find-events.ts';
import type { Service } from '../http/service.ts';
import { type OnRetry, waitText } from '../http/service.ts';
import { createCursor, createdOnReader, MISSING, memberPath } from '../json/item-fields.ts';
import { Items, type ItemWriter } from '../json/items.ts';
import { JsonScanner } from '../json/json-scanner.ts';
import { LockedError } from '../lock/lock.ts';
import type { FormatOptions } from '../output/format-flags.ts';
import { createItemWriter } from '../output/formats.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { withService } from '../sign-in/session.ts';
import { type Progress, startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import { apiTokenOrWarning } from './api-token.ts';
import { type EventKey, eventKey, shownId } from './delivery.ts';
import {
  createHandler,
  ForwardRetry,
  type Handler,
  type HandlerAnswer,
  type NotTaken,
  type OutgoingEvent,
} from './forward.ts';
import {
  defaultJournal,
  type Journal,
  JournalError,
  journalExists,
  type Outcome,
  openJournal,
  readIds,
  realJournalPath,
} from './journal.ts';
import { answerAsHolder, askHolder, type HolderReply } from './local-socket.ts';

/** The command line. */
export interface RecoverFlags {
  readonly filters: EventFilters;
  readonly format: FormatOptions;
  /** Undefined for the profile's own. */
  readonly journal: string | undefined;
  /** True if a journal that is not there counts as empty. */
  readonly newJournal: boolean;
  /** Undefined if the events are only listed. */
  readonly forwardTo: URL | undefined;
  /** Milliseconds without progress until an attempt counts as failed. */
  readonly forwardTimeout: number;
  readonly concurrency: number;
  /** Milliseconds for which a handler that accepts nothing is tried again. */
  readonly retryFor: number;
}

/** Recovers with the journal, the sign-in and the `Api-Token` of the profile. */
export async function recoverAsProfile(flags: RecoverFlags, call: Call<SettingFlags>): Promise<void> {
  const { context, reporter } = call;
  await withService(call, async (service, settings) => {
    const journal = journalFile(flags, settings.profile, context);
    const ids = await readIds(journal, context.machine);
    const filters = await resolveTypes(flags.filters, service, settings, context);
    if (flags.forwardTo === undefined)
      return await listMissing(await findMissing(ids, filters, service, call), flags, call);
    const apiToken = await apiTokenOrWarning(settings, context, reporter);
    const found = await findMissing(ids, filters, service, call);
    await recoverMissing(found, { ...flags, journal, forwardTo: flags.forwardTo }, apiToken, call);
  });
}

/** Without a journal every event would be forwarded again, so the user has to confirm that. */
function journalFile({ journal, newJournal }: RecoverFlags, profile: string, context: Context): string {
  const file = journal ?? defaultJournal(profile, context);
  if (journalExists(file, context.machine) || newJournal) return file;
  const next = 'name the journal that `hooktrail webhooks listen` wrote; --new-journal recovers everything';
  if (journal !== undefined) throw new UsageError(`--journal: there is no journal ${file}`, { next });
  throw new UsageError(`--journal is missing, and the profile '${profile}' has no journal yet`, { next });
}

/** Milliseconds that work in progress gets after a signal. */
const GRACE_MS = 10_000;
const PROGRESS_INTERVAL_MS = 200;

/** Prints the events that the journal lacks. Changes nothing and sends nothing. */
async function listMissing(
  { missing, known, failure }: Missing,
  { format }: RecoverFlags,
  call: Call,
): Promise<void> {
  const list = await ListedEvents.open(format, call);
  for (const event of missing) list.add(event);
  await list.end();
  if (failure) throw failure.error;
  call.reporter.notice(`${list.count} to forward; ${known} in the journal already`);
  noticeDelivered(missing.filter(deliveredTest()).length, call.reporter);
}

/**
 * Forwards the events that the journal lacks, oldest first, then prints those that the handler did not accept and a
 * summary. Throws `ServiceError` if there are any.
 */
async function recoverMissing(
  found: Missing,
  flags: RecoverFlags & ForwarderOptions,
  apiToken: string | undefined,
  call: Call,
): Promise<void> {
  const { context, reporter } = call;
  const { clock, signal } = context;
  const progress = startProgress(context, reporter, 'recovering');
  const onWait = (reason: string, delay: number) => progress.update({ note: waitText({ reason, delay }) });
  const retry = new ForwardRetry({ clock, signal, retryFor: flags.retryFor, onWait });
  const forwarder = new OnceForwarder(flags, retry, call);
  const left = await ListedEvents.open(flags.format, call);
  const isDelivered = deliveredTest();
  const counts = { forwarded: 0, delivered: 0, known: found.known };
  const recover = async (event: FoundEvent) => {
    const { key, body } = event;
    if (key === undefined) return left.addNotTaken(event, WITHOUT_ID);
    const sent = { body, contentType: 'application/json', apiToken };
    try {
      const { outcome, notTaken = NOT_ACCEPTED } = await forwarder.forward(key, sent);
      if (outcome === 'refused') left.addNotTaken(event, notTaken);
      else if (outcome === 'duplicate') counts.known++;
      else {
        counts.forwarded++;
        if (isDelivered(event)) counts.delivered++;
      }
    } catch (error) {
      if (!(error instanceof JournalError) || error.isFatal) throw error;
      left.addNotTaken(event, { reason: error.message });
    }
  };
  const tick = setInterval(() => {
    const { forwarded, known } = counts;
    progress.update({ events: forwarded + known + left.count, note: `${forwarded} forwarded` });
  }, PROGRESS_INTERVAL_MS);
  const ended = new AbortController();
  const onAbort = () => {
    clock.sleep(GRACE_MS, ended.signal).then(
      () => forwarder.abandon(),
      () => undefined,
    );
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await inParallel(found.missing, flags.concurrency, recover);
  } finally {
    signal.removeEventListener('abort', onAbort);
    ended.abort();
    clearInterval(tick);
    progress.stop();
    await left.end().catch(() => undefined);
    await forwarder.close();
    const { forwarded, delivered, known } = counts;
    reporter.notice(`${forwarded} forwarded; ${known} in the journal already; ${left.count} left`);
    noticeDelivered(delivered, reporter);
  }
  if (found.failure) throw found.failure.error;
  if (left.count > 0) throw left.notTakenError('recovered', 'run the same command again to retry them');
}

const WITHOUT_ID: NotTaken = {
  reason: "without an 'eventId' there is no way to know whether the handler has it",
};
const NOT_ACCEPTED: NotTaken = { reason: 'the handler did not accept it' };

/** An event that the journal lacks may have been delivered before the journal began, or to another handler. */
function noticeDelivered(count: number, reporter: Reporter): void {
  if (count === 0) return;
  reporter.notice(
    `${count} of these ${count === 1 ? 'was' : 'were'} delivered before, by the service's own word; --failed leaves such events out`,
  );
}

interface Missing {
  /** In order of creation. */
  readonly missing: readonly FoundEvent[];
  /** The number of found events that are in the journal. */
  readonly known: number;
  /** The error that ended the search; the events found before it are still used. */
  readonly failure: { readonly error: unknown } | undefined;
}

async function findMissing(
  ids: ReadonlyMap<EventKey, number>,
  filters: EventFilters,
  service: Service,
  { context, reporter }: Call,
): Promise<Missing> {
  const onDoubt = (doubt: string) => reporter.warning(doubt);
  const progress = startProgress(context, reporter, 'comparing');
  const missing: FoundEvent[] = [];
  let known = 0;
  let failure: Missing['failure'];
  try {
    for await (const event of searchMissed(filters, service, context, progress, onDoubt)) {
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
  return { missing: inOrderOfCreation(missing), known, failure };
}

interface ForwarderOptions {
  /** The journal's file. */
  readonly journal: string;
  readonly forwardTo: URL;
  readonly forwardTimeout: number;
}

interface Forwarded {
  readonly outcome: Outcome;
  readonly notTaken?: NotTaken | undefined;
}

/** The journal, opened by this process, or the listener that has it. */
type Way =
  | { readonly journal: Journal; readonly release: () => Promise<void> }
  | { readonly listener: HolderReply };

/** Milliseconds to wait for another recovery, and for a holder that does not answer: it may be starting. */
const BUSY_MS = 60_000;
const SILENT_MS = 15_000;
const ASK_AGAIN_MS = 200;
/** Milliseconds that the holder has to describe itself. */
const DESCRIBE_MS = 5_000;
/** Milliseconds that a listener has beyond the time of its handler, to write its line and its journal. */
const JOURNALING_MS = 15_000;
/** The number of times that one event is sent to listeners that end, or do not answer. */
const MOST_UNANSWERED = 5;
/** Milliseconds that a waiting listener gets to open the journal. */
const YIELD_MS = 5_000;

/**
 * Forwards events that must reach the handler once. While a listener has the journal, it gets the events and treats
 * them as deliveries; otherwise they go through the journal to the handler. When the listener ends, this process opens
 * the journal and forwards the rest; when one starts, it gets the journal.
 */
class OnceForwarder {
  readonly #options: ForwarderOptions;
  readonly #retry: ForwardRetry;
  readonly #context: Context;
  readonly #reporter: Reporter;
  readonly #handler: Handler;
  readonly #abandoned = new AbortController();
  #way: Promise<Way> | undefined;
  /** Listeners that wait for the journal. */
  #wanted = 0;

  constructor(options: ForwarderOptions, retry: ForwardRetry, { context, reporter }: Call) {
    this.#options = options;
    this.#retry = retry;
    this.#context = context;
    this.#reporter = reporter;
    this.#handler = createHandler(options.forwardTo, options.forwardTimeout, context);
  }

  /** Forwards an event unless that was done before. Rejects if the journal cannot be opened or used. */
  async forward(key: EventKey, event: OutgoingEvent): Promise<Forwarded> {
    for (let unanswered = 0; unanswered < MOST_UNANSWERED; ) {
      this.#way ??= this.#find();
      const current = this.#way;
      const way = await current;
      // Another event may have found another way meanwhile.
      if (this.#way !== current) continue;
      if ('journal' in way && this.#wanted > 0) {
        this.#way = this.#giveUp(way.release);
        continue;
      }
      const result =
        'journal' in way
          ? await this.#throughJournal(way.journal, key, event)
          : await this.#throughListener(way.listener, event);
      if (result) return result;
      unanswered++;
      if (this.#way === current) this.#way = undefined;
    }
    return { outcome: 'refused', notTaken: { reason: 'the listener did not answer' } };
  }

  /** Ends every attempt in progress. */
  async abandon(): Promise<void> {
    this.#abandoned.abort();
    await this.#handler.close();
  }

  async close(): Promise<void> {
    await this.abandon();
    const way = await this.#way?.catch(() => undefined);
    if (way && 'journal' in way) await way.release();
  }

  async #throughJournal(journal: Journal, key: EventKey, event: OutgoingEvent): Promise<Forwarded> {
    let notTaken: NotTaken | undefined;
    const outcome = await journal.once(key, async () => {
      notTaken = await this.#retry.forward(() => this.#handler.forward(event));
      return notTaken === undefined;
    });
    return { outcome, notTaken };
  }

  /** Resolves to undefined if the listener is no longer there. */
  async #throughListener(listener: HolderReply, { body }: OutgoingEvent): Promise<Forwarded | undefined> {
    const question = { event: Buffer.from(body).toString('base64'), forwardTo: this.#options.forwardTo.href };
    let outcome: Outcome | undefined;
    const notTaken = await this.#retry.forward(async (): Promise<HandlerAnswer> => {
      const reply = await this.#ask(question, (listener.forwardTimeout ?? 0) + JOURNALING_MS);
      outcome = reply?.outcome;
      return outcome === 'refused' ? (reply?.answer ?? NOT_JOURNALED) : { status: 200 };
    });
    return outcome && { outcome, notTaken };
  }

  /** Opens the journal, or finds the listener that has it. Throws `JournalError` if neither succeeds in time. */
  async #find(): Promise<Way> {
    const { clock, signal } = this.#context;
    const began = clock.now();
    for (;;) {
      let locked: LockedError;
      try {
        return await this.#open();
      } catch (error) {
        if (!(error instanceof LockedError)) throw error;
        locked = error;
      }
      const reply = await this.#ask({}, DESCRIBE_MS);
      if (reply?.holder === 'listener') return this.#through(reply);
      if (clock.now() - began >= (reply ? BUSY_MS : SILENT_MS)) throw this.#held(locked, reply !== undefined);
      await clock.sleep(ASK_AGAIN_MS, signal);
    }
  }

  async #open(): Promise<Way> {
    const { machine } = this.#context;
    const journal = await openJournal(this.#options.journal, { patience: 0 }, this.#context);
    // Without a socket a listener that starts meanwhile waits until this process has ended.
    const socket = await answerAsHolder(journal, machine, {
      describe: () => ({ holder: 'recovery' }),
      onWanted: (over) => {
        this.#wanted++;
        this.#reporter.trace('a listener waits for the journal, and gets it');
        void over.then(() => this.#wanted--);
      },
    }).catch(() => undefined);
    return { journal, release: () => journal.close(() => socket?.close()) };
  }

  /** Gives the journal up to the listener that waits for it, then finds that listener. */
  async #giveUp(release: () => Promise<void>): Promise<Way> {
    const { clock, signal } = this.#context;
    await release();
    for (const began = clock.now(); clock.now() - began < YIELD_MS; ) {
      const reply = await this.#ask({}, DESCRIBE_MS);
      if (reply?.holder === 'listener') return this.#through(reply);
      await clock.sleep(ASK_AGAIN_MS, signal);
    }
    return await this.#find();
  }

  async #ask(
    question: { event?: string; forwardTo?: string },
    milliseconds: number,
  ): Promise<HolderReply | undefined> {
    const { machine } = this.#context;
    const journal = realJournalPath(this.#options.journal, machine);
    return await askHolder(journal, machine, question, { milliseconds, signal: this.#abandoned.signal });
  }

  /** Throws `UsageError` if the listener has another handler. */
  #through(listener: HolderReply): Way {
    const { forwardTo, journal } = this.#options;
    const other = listener.forwardTo ?? null;
    if (other === forwardTo.href) return { listener };
    const goesTo = other === null ? 'forwards to no handler' : `forwards to ${other}`;
    throw new UsageError(
      `--forward-to: a running \`webhooks listen\` has the journal ${journal} and ${goesTo}, not to ${forwardTo.href}`,
      { next: 'name the same handler, stop the listener, or choose another journal' },
    );
  }

  #held({ holder, next }: LockedError, isReached: boolean): JournalError {
    const name = holder === undefined ? '' : ` (${holder})`;
    const has = `another hooktrail process${name} has the journal ${this.#options.journal}`;
    if (isReached)
      return new JournalError(has, { next: 'run the command again when that process has ended' });
    const there =
      'in another container, or of another user, it recovers with `hooktrail webhooks listen --recover`';
    return new JournalError(`${has}, and does not answer this one`, { next: `${next}; ${there}` });
  }
}

/** The answer for an event that the listener could not journal. */
const NOT_JOURNALED: HandlerAnswer = { failure: 'the listener could not accept the event' };

/** An event from a search or an export, copied into memory of its own. */
export interface FoundEvent {
  /** The item's own JSON text. */
  readonly body: Buffer;
  /** Undefined if the item has no `eventId` that is a string. */
  readonly eventId: string | undefined;
  /** Undefined for an event that cannot be a delivery. */
  readonly key: EventKey | undefined;
}

const QUOTE = 0x22;
/** Forwarding takes longer than searching, so reading more pages ahead would gain nothing. */
const PAGES_AHEAD = 2;

/** Yields every event that matches the filters, in the service's order. `onDoubt` gets warnings about the result. */
export async function* searchMissed(
  filters: EventFilters,
  service: Service,
  context: Pick<Context, 'clock' | 'signal'>,
  progress: Pick<Progress, 'update'>,
  onDoubt: (doubt: string) => void,
): AsyncGenerator<FoundEvent> {
  const { clock, signal } = context;
  const onRetry: OnRetry = (attempt) => progress.update({ note: waitText(attempt) });
  const options = { pageSize: PAGE_SIZE, concurrency: PAGES_AHEAD, clock, signal, onRetry, onDoubt };
  let pages = 0;
  for await (const { items, total } of findEvents(service, filters, options)) {
    progress.update({ pages: ++pages, total });
    yield* items.texts().map(foundEvent);
  }
}

export function foundEvent(text: Buffer): FoundEvent {
  const body = Buffer.from(text);
  const scanner = new JsonScanner(body);
  scanner.value(0);
  const at = scanner.eventIdAt;
  const isText = at > 0 && body[at] === QUOTE;
  const eventId = isText ? (JSON.parse(body.toString('utf8', at, scanner.string(at))) as string) : undefined;
  // A body that is not UTF-8 could not be a delivery either.
  return { body, eventId, key: eventId && isUtf8(body) ? eventKey(eventId) : undefined };
}

/** Returns the events in order of creation, those of one moment as in the service's order; those without a time come last. */
export function inOrderOfCreation(events: readonly FoundEvent[]): FoundEvent[] {
  const createdOn = createdOnReader();
  const timed = events.map((event) => ({ event, at: createdOn(event.body, 0) }));
  const dated = timed.filter((one): one is { event: FoundEvent; at: Instant } => one.at !== undefined);
  const [first, last] = [dated[0], dated.at(-1)];
  if (first && last && compareInstants(first.at, last.at) > 0) dated.reverse();
  dated.sort((one, other) => compareInstants(one.at, other.at));
  return [...dated, ...timed.filter(({ at }) => !at)].map(({ event }) => event);
}

/** Returns a test for events that the service itself calls delivered (service description, part 6). */
function deliveredTest(): (event: FoundEvent) => boolean {
  const cursor = createCursor([memberPath('publishStatus')]);
  return ({ body }) => {
    cursor.read(body, 0);
    const [start = MISSING] = cursor.starts;
    return start !== MISSING && body.toString('utf8', start, cursor.ends[0]) === '"SUCCESS"';
  };
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

const EVENTS_AT_ONCE = 200;
const SHOWN_REASONS = 5;

/** Prints events that are added one by one, in pages and in the order they were added. */
export class ListedEvents {
  count = 0;
  readonly #openWriter: () => Promise<ItemWriter>;
  readonly #reporter: Reporter;
  /** A table without rows is not printed: a message says that there is nothing. */
  readonly #printsEmpty: boolean;
  /** How often each reason was given, and the body of the first such answer. */
  readonly #reasons = new Map<string, { count: number; body: string | undefined; differs: boolean }>();
  #waiting: FoundEvent[] = [];
  #written: Promise<void> = Promise.resolve();

  static async open(format: FormatOptions, { context, reporter }: Call): Promise<ListedEvents> {
    const isTable = format.format === 'table';
    let writer: Promise<ItemWriter> | undefined;
    const openWriter = () => {
      writer ??= createItemWriter(format, context, reporter);
      return writer;
    };
    // A wrong format has to be refused before anything is forwarded; a table is loaded for its first row.
    if (!isTable || format.jq !== undefined) await openWriter();
    return new ListedEvents(openWriter, reporter, !isTable);
  }

  private constructor(openWriter: () => Promise<ItemWriter>, reporter: Reporter, printsEmpty: boolean) {
    this.#openWriter = openWriter;
    this.#reporter = reporter;
    this.#printsEmpty = printsEmpty;
  }

  add(event: FoundEvent): void {
    this.count++;
    this.#waiting.push(event);
    if (this.#waiting.length >= EVENTS_AT_ONCE) this.#print();
  }

  /** Adds an event that the handler did not take. */
  addNotTaken(event: FoundEvent, { reason, body }: NotTaken): void {
    const known = this.#reasons.get(reason) ?? { count: 0, body, differs: false };
    known.count++;
    known.differs ||= known.body !== body;
    this.#reasons.set(reason, known);
    const id = event.eventId === undefined ? 'an event without an eventId' : shownId(event.eventId);
    this.#reporter.trace(`${id}: ${reason}${body === undefined ? '' : `: ${body}`}`);
    this.add(event);
  }

  async end(): Promise<void> {
    this.#print();
    await this.#written;
    if (this.count > 0 || this.#printsEmpty) await (await this.#openWriter()).end();
  }

  /** Returns the error for the events that were not taken, with their number for each reason. */
  notTakenError(done: 'recovered' | 'replayed', next: string): ServiceError {
    const sorted = [...this.#reasons].sort(([, one], [, other]) => other.count - one.count);
    const details = sorted.slice(0, SHOWN_REASONS).map(([reason, { count, body, differs }]) => {
      return `${count}: ${reason}${body === undefined ? '' : `${differs ? ', once' : ''}: ${body}`}`;
    });
    if (sorted.length > SHOWN_REASONS)
      details.push(`${sorted.length - SHOWN_REASONS} more reasons (--verbose shows each)`);
    const events = this.count === 1 ? 'event was' : 'events were';
    return new ServiceError(`${this.count} ${events} not ${done}`, { details, next });
  }

  #print(): void {
    const page = this.#waiting;
    this.#waiting = [];
    if (page.length === 0) return;
    const items = Items.of(page.map(({ body }) => body));
    this.#written = this.#written.then(async () => await (await this.#openWriter()).write(items));
    // `end` awaits this and throws the error.
    this.#written.catch(() => undefined);
  }
}
