import type { Random } from '../random.ts';
import {
  anyMarketplaces,
  createdOnText,
  drawDetails,
  eventTypes,
  type FilteredMembers,
  type PublishStatus,
  randomGuid,
  type StoredEvent,
} from './event-item.ts';
import { causes, type History } from './seeded-history.ts';

/**
 * Events must match all members. `after` and `before` are exclusive (service description, part 4) and in the
 * form of `sortableTime`.
 */
export interface EventFilter extends Partial<FilteredMembers> {
  after?: string;
  before?: string;
}

export interface EventPage {
  readonly count: number;
  readonly events: readonly StoredEvent[];
}

export type EventStore = ReturnType<typeof createEventStore>;

/**
 * Returns the subscriptions that get an event: one of the history, which is `drawn` if it takes the event,
 * and those created since.
 */
type Receivers = (event: Pick<StoredEvent, 'eventType' | 'marketplaces'>, drawn: string) => readonly string[];

export function createEventStore(
  history: History,
  random: Random,
  clock: () => number,
  receivers: Receivers = (_, drawn) => [drawn],
) {
  const { subscriptions } = history;
  /** Sorted by creation, then by id; oldest first. */
  const events = [...history.events];
  const byId = new Map(events.map((event) => [event.eventId, event]));
  /** Records of an event after its first one: few events have any. */
  const furtherById = new Map<string, StoredEvent[]>();
  /** The latest selection, since clients request the pages of a search one after the other. */
  let selected: { readonly key: string; readonly events: readonly StoredEvent[] } | undefined;

  function select({ after, before, eventId, ...others }: EventFilter): StoredEvent[] {
    const among = eventId === undefined ? events : recordsOf(eventId);
    const from = after === undefined ? 0 : countWhere(among, (event) => timeOf(event) <= after);
    const to = before === undefined ? among.length : countWhere(among, (event) => timeOf(event) < before);
    const inTime = among.slice(from, Math.max(from, to));
    const wanted = Object.entries(others) as [keyof typeof others, string][];
    if (wanted.length === 0) return inTime;
    return inTime.filter((event) => wanted.every(([member, value]) => event[member] === value));
  }

  function recordsOf(eventId: string): StoredEvent[] {
    const first = byId.get(eventId);
    const records = first ? [first, ...(furtherById.get(eventId) ?? [])] : [];
    return records.sort((one, other) => (isBefore(one, other) ? -1 : 1));
  }

  function keep(event: StoredEvent): void {
    const { eventId } = event;
    const place = countWhere(events, (other) => isBefore(other, event));
    events.splice(place, 0, event);
    if (byId.has(eventId)) furtherById.set(eventId, [...(furtherById.get(eventId) ?? []), event]);
    else byId.set(eventId, event);
    selected = undefined;
  }

  const store = {
    onAdded: (_event: StoredEvent): void => {},

    get size(): number {
      return events.length;
    },

    find: (eventId: string): StoredEvent | undefined => byId.get(eventId),

    /**
     * Adds an event and returns its records: one for the given subscription, or for each that gets it.
     * Missing members get random values, and `createdOn` the current time.
     */
    add(given: Partial<StoredEvent> = {}): readonly StoredEvent[] {
      const { id, endpoint } = random.pick(subscriptions);
      const drawnId = randomGuid(random);
      const eventId = given.eventId ?? drawnId;
      const event: Omit<StoredEvent, 'subscriptionId'> = {
        eventId,
        eventType: random.pick(eventTypes).name,
        createdOn: createdOnText(clock(), random.below(10_000)),
        publishStatus: 'SUCCESS',
        endpoint,
        marketplaces: anyMarketplaces(eventId),
        ordinal: events.length,
        details: drawDetails(random),
        lastError: given.publishStatus === 'FAILED' ? random.pick(causes) : 'null',
        ...given,
      };
      const { subscriptionId } = given;
      const ids = subscriptionId === undefined ? receivers(event, id) : [subscriptionId];
      const added = ids.map((id) => ({ ...event, subscriptionId: id }));
      added.forEach(keep);
      for (const record of added) store.onAdded(record);
      return added;
    },

    /**
     * Changes the status of an event's records, or of one subscription's record. Returns false if there is
     * none.
     */
    setStatus(eventId: string, status: PublishStatus, subscriptionId?: string): boolean {
      const records = recordsOf(eventId.toLowerCase()).filter(
        (event) => subscriptionId === undefined || event.subscriptionId === subscriptionId,
      );
      for (const event of records) {
        event.publishStatus = status;
        event.lastError = status === 'FAILED' ? random.pick(causes) : 'null';
        event.json = event.json?.replace(/"publishStatus"\s*:\s*"[^"]*"/, `"publishStatus":"${status}"`);
      }
      selected = undefined;
      return records.length > 0;
    },

    /** Returns a page of the matching events, newest first. `start` counts from 1. */
    page(filter: EventFilter, start: number, size: number): EventPage {
      const key = JSON.stringify(filter);
      if (selected?.key !== key) selected = { key, events: select(filter).reverse() };
      const { length: count } = selected.events;
      return { count, events: selected.events.slice(start - 1, start - 1 + size) };
    },
  };
  return store;
}

/** Bisects for the number of events at the start of the list that pass the test. */
function countWhere(events: readonly StoredEvent[], holds: (event: StoredEvent) => boolean): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(events[middle] as StoredEvent)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function timeOf({ createdOn }: StoredEvent): string {
  return createdOn.slice(0, -1);
}

function isBefore(one: StoredEvent, other: StoredEvent): boolean {
  if (one.createdOn !== other.createdOn) return one.createdOn < other.createdOn;
  if (one.eventId !== other.eventId) return one.eventId < other.eventId;
  return one.subscriptionId < other.subscriptionId;
}
