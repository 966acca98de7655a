import { isUtf8 } from 'node:buffer';
import type { Call } from '../command.ts';
import { fewOf, ServiceError } from '../errors.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import type { FormatOptions } from '../formats/format-options.ts';
import { createItemWriter } from '../formats/item-writer.ts';
import type { Service } from '../http/service.ts';
import { type EventKey, eventKey } from '../ids/event-keys.ts';
import { memberPath } from '../items/field-path.ts';
import { Items } from '../items/items.ts';
import { createKnownCursor } from '../items/known-fields.ts';
import type { Query } from '../paging/event-query.ts';
import { sortByCreation } from '../sources/creation-order.ts';
import { openWithProgress } from '../sources/find-events.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { grouped } from '../terminal/terminal-text.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';

export type HandOver = 'event' | 'record';

/** An event from a search or an export. Its bytes are copied, since pages reuse their memory. */
export interface FoundEvent {
  readonly record: Buffer;
  readonly body: Buffer;
  /** Undefined if the `eventId` is missing or not a string. */
  readonly eventId: string | undefined;
  /** Undefined for an event that could not be a delivery. */
  readonly key: EventKey | undefined;
  readonly createdOn: Instant | undefined;
  readonly isDelivered: boolean;
}

export function createEventReader(handOver: HandOver): (items: Items) => FoundEvent[] {
  const cursor = createKnownCursor(['eventId', 'createdOn', 'publishStatus'].map(memberPath));
  return (items) =>
    items.texts().map((text) => {
      const record = Buffer.from(text);
      cursor.read(record, 0);
      const [eventId, createdOn, publishStatus] = [0, 1, 2].map(cursor.text);
      const body = handOver === 'event' ? record.subarray(cursor.eventStart, cursor.eventEnd) : record;
      return {
        record,
        body,
        eventId,
        // A body that is not UTF-8 could not be a delivery.
        key: eventId && isUtf8(body) ? eventKey(eventId) : undefined,
        createdOn: createdOn === undefined ? undefined : parseInstant(createdOn),
        isDelivered: publishStatus === 'SUCCESS',
      };
    });
}

/**
 * Keeps one record per event, since an event has one for each subscription: its newest, in the position of
 * the first. Events without an id are all kept.
 */
export function oncePerEvent(events: readonly FoundEvent[]): FoundEvent[] {
  const newest = new Map<EventKey | FoundEvent, FoundEvent>();
  for (const event of events) {
    const key = event.key ?? event;
    const other = newest.get(key);
    if (other === undefined || isNewer(event, other)) newest.set(key, event);
  }
  return [...newest.values()];
}

function isNewer(one: FoundEvent, other: FoundEvent): boolean {
  if (one.createdOn === undefined || other.createdOn === undefined) return one.createdOn !== undefined;
  return compareInstants(one.createdOn, other.createdOn) > 0;
}

/** Returns each event once, oldest first, and reports how many records are left out. */
export function onceInOrder(
  records: readonly FoundEvent[],
  reporter: Pick<Reporter, 'notice'>,
): readonly FoundEvent[] {
  const events = oncePerEvent(records);
  noticeRepeated(records.length - events.length, reporter);
  return sortByCreation(events, 'oldest first');
}

/** Returns the only subscription chosen by id; undefined if there are several, or none. */
export function onlySubscription({ subscriptionIds, subscriptionWords }: EventFilters): string | undefined {
  const [only, another] = subscriptionIds;
  return another === undefined && subscriptionWords.length === 0 ? only : undefined;
}

/** Notifies the user if the handler will get something other than the listed records. */
export function noticeHandOver(events: readonly FoundEvent[], reporter: Pick<Reporter, 'notice'>): void {
  if (events.some(({ body, record }) => body.length !== record.length))
    reporter.notice(
      'the handler gets the event inside each record, as a delivery carries it; --hand-over record sends the whole record',
    );
}

function noticeRepeated(count: number, reporter: Pick<Reporter, 'notice'>): void {
  if (count === 0) return;
  const records = count === 1 ? '1 more record' : `${grouped(count)} more records`;
  reporter.notice(
    `${records} of these events left out: each event is forwarded once, from its newest record`,
  );
}

/** Pages read ahead. Forwarding is slower than searching, so more would gain nothing. */
const PAGES_AHEAD = 2;

interface SearchToForward {
  readonly queries: readonly Query[];
  readonly events: AsyncGenerator<FoundEvent>;
}

export async function searchToForward(
  filters: EventFilters,
  service: Service,
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
  handOver: HandOver,
): Promise<SearchToForward> {
  const eventsOf = createEventReader(handOver);
  const options = { concurrency: PAGES_AHEAD };
  const { queries, pages } = await openWithProgress(service, filters, options, context, reporter);
  const events = async function* () {
    for await (const { items } of pages) yield* eventsOf(items);
  };
  return { queries, events: events() };
}

/**
 * Returns the error for ids without an event, or without one that passes the other filters. `outcome`: the
 * fate of the other events; by default nothing was done.
 */
export function notFound(
  ids: readonly string[],
  filters: EventFilters,
  { done, outcome }: { readonly done: 'recovered' | 'replayed'; readonly outcome?: string },
): ServiceError {
  const found = filters.texts().length > filters.eventIds.length ? 'found by these filters' : 'found';
  const stopped = `leave ${ids.length === 1 ? 'it' : 'them'}${filters.after ? ' or --since' : ''} out; nothing was ${done}`;
  return new ServiceError(
    `${grouped(ids.length)} of the events ${ids.length === 1 ? 'was' : 'were'} not ${found}`,
    {
      kind: 'not-found',
      details: fewOf([...ids].sort()),
      next: `${outcome ?? stopped} (the service has no event that \`webhooks send\` made)`,
    },
  );
}

const PRINTED_AT_ONCE = 200;
/** Returns a function that prints events. Throws for an invalid format before anything is forwarded. */
export async function eventPrinter(format: FormatOptions, { context, reporter }: Call) {
  const writer = await createItemWriter(format, context, reporter);
  return async (events: readonly FoundEvent[]): Promise<void> => {
    // An empty table is not printed: a message reports that there are no events.
    if (events.length === 0 && format.format === 'table') return;
    for (let at = 0; at < events.length; at += PRINTED_AT_ONCE) {
      const end = at + PRINTED_AT_ONCE;
      await writer.write(Items.of(events.slice(at, end).map(({ record }) => record)), end >= events.length);
    }
    await writer.end?.();
  };
}
