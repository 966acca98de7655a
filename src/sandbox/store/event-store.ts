import type { Random } from '../random.ts';
import {
  createdOnText,
  drawDetails,
  eventTypes,
  type PublishStatus,
  randomGuid,
  type StoredEvent,
} from './event-item.ts';
import { causes, type History } from './seeded-history.ts';

/**
 * An event must match all members. `after` and `before` are exclusive (service description, part 4) and in the form
 * that `sortableTime` returns.
 */
export interface EventFilter {
  after?: string;
  before?: string;
  subscription?: string;
  id?: string;
  status?: PublishStatus;
  type?: string;
}

export interface EventPage {
  /** The number of events that match the filter, on all pages. */
  readonly count: number;
  readonly events: readonly StoredEvent[];
}

export type EventStore = ReturnType<typeof createEventStore>;

/** The events in memory. */
export function createEventStore(history: History, random: Random, clock: () => number) {
  const { subscriptions } = history;
  /** Sorted by creation, then by id; oldest first. */
  const events = [...history.events];
  const byId = new Map(events.map((event) => [event.eventId, event]));
  /** The latest selection: clients request the pages of a search one after the other. */
  let selected: { readonly key: string; readonly events: readonly StoredEvent[] } | undefined;

  function select({ after, before, id, status, type, subscription }: EventFilter): StoredEvent[] {
    const one = id === undefined ? undefined : byId.get(id);
    const among = id === undefined ? events : [one].filter((event) => event !== undefined);
    const from = after === undefined ? 0 : countWhere(among, (event) => timeOf(event) <= after);
    const to = before === undefined ? among.length : countWhere(among, (event) => timeOf(event) < before);
    const inTime = among.slice(from, Math.max(from, to));
    if (status === undefined && type === undefined && subscription === undefined) return inTime;
    return inTime.filter(
      (event) =>
        (status === undefined || event.publishStatus === status) &&
        (type === undefined || event.eventType === type) &&
        (subscription === undefined || event.subscriptionId === subscription),
    );
  }

  const store = {
    /** Called with each event that is added. */
    onAdded: (_event: StoredEvent): void => {},

    get size(): number {
      return events.length;
    },

    find: (eventId: string): StoredEvent | undefined => byId.get(eventId),

    /** Adds an event. Absent members get random values, and `createdOn` the current time. */
    add(given: Partial<StoredEvent> = {}): StoredEvent {
      const { id, endpoint } = random.pick(subscriptions);
      const event: StoredEvent = {
        eventId: randomGuid(random),
        eventType: random.pick(eventTypes).name,
        createdOn: createdOnText(clock(), random.below(10_000)),
        publishStatus: 'SUCCESS',
        subscriptionId: id,
        endpoint,
        ordinal: events.length,
        details: drawDetails(random),
        lastError: given.publishStatus === 'FAILED' ? random.pick(causes) : 'null',
        ...given,
      };
      const place = countWhere(events, (other) => isBefore(other, event));
      events.splice(place, 0, event);
      byId.set(event.eventId, event);
      selected = undefined;
      store.onAdded(event);
      return event;
    },

    /** Changes the publish status of an event; false when there is no event with this id. */
    setStatus(eventId: string, status: PublishStatus): boolean {
      const event = byId.get(eventId.toLowerCase());
      if (!event) return false;
      event.publishStatus = status;
      event.lastError = status === 'FAILED' ? random.pick(causes) : 'null';
      event.json = event.json?.replace(/"publishStatus"\s*:\s*"[^"]*"/, `"publishStatus":"${status}"`);
      selected = undefined;
      return true;
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

/** Returns the number of events at the start of the list that pass the test, found by bisection. */
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
  return one.eventId < other.eventId;
}
