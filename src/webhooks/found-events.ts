import { isUtf8 } from 'node:buffer';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type { EventFilters } from '../events/event-filters.ts';
import { PAGE_SIZE } from '../events/event-query.ts';
import { findEvents } from '../events/find-events.ts';
import { type OnRetry, waitText } from '../http/retry.ts';
import type { Service } from '../http/service.ts';
import { createCursor, createdOnReader, MISSING, memberPath } from '../json/item-fields.ts';
import { Items, type ItemWriter } from '../json/items.ts';
import { JsonScanner } from '../json/json-scanner.ts';
import type { FormatOptions } from '../output/format-flags.ts';
import { createItemWriter } from '../output/formats.ts';
import type { Progress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import { type EventKey, eventKey, shownId } from './delivery.ts';
import type { NotTaken } from './forward.ts';

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
export async function* searchEvents(
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

/** Returns the events in order of creation; those without a time come last, in the service's order. */
export function inOrderOfCreation(events: readonly FoundEvent[]): FoundEvent[] {
  const createdOn = createdOnReader();
  const dated = events.map((event) => ({ event, at: createdOn(event.body, 0) }));
  return dated.sort((one, other) => compareTimes(one.at, other.at)).map(({ event }) => event);
}

function compareTimes(one: Instant | undefined, other: Instant | undefined): number {
  if (one && other) return compareInstants(one, other);
  return one ? -1 : other ? 1 : 0;
}

/** Returns a test for events that the service itself calls delivered (service description, part 6). */
export function deliveredTest(): (event: FoundEvent) => boolean {
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
export class EventList {
  count = 0;
  readonly #writer: ItemWriter;
  readonly #reporter: Reporter;
  /** A table without rows is not printed: a message says that there is nothing. */
  readonly #printsEmpty: boolean;
  /** How often each reason was given, and the body of the first such answer. */
  readonly #reasons = new Map<string, { count: number; body: string | undefined; differs: boolean }>();
  #waiting: FoundEvent[] = [];
  #written: Promise<void> = Promise.resolve();

  static async open(format: FormatOptions, { context, reporter }: Call): Promise<EventList> {
    const writer = await createItemWriter(format, context, reporter);
    return new EventList(writer, reporter, format.format !== 'table');
  }

  private constructor(writer: ItemWriter, reporter: Reporter, printsEmpty: boolean) {
    this.#writer = writer;
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
    if (this.count > 0 || this.#printsEmpty) await this.#writer.end();
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
    this.#written = this.#written.then(() => this.#writer.write(Items.of(page.map(({ body }) => body))));
    // `end` awaits this and throws the error.
    this.#written.catch(() => undefined);
  }
}
