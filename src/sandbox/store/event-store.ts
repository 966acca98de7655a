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

/** The events in memory. */
export class EventStore {
  /** Called with each event that is added. */
  onAdded: (event: StoredEvent) => void = () => {};
  /** Sorted by creation, then by id; oldest first. */
  readonly #events: StoredEvent[];
  readonly #subscriptions: History['subscriptions'];
  readonly #byId: Map<string, StoredEvent>;
  readonly #random: Random;
  readonly #clock: () => number;
  /** The latest selection: clients request the pages of a search one after the other. */
  #selected: { readonly key: string; readonly events: readonly StoredEvent[] } | undefined;

  constructor({ events, subscriptions }: History, random: Random, clock: () => number) {
    this.#events = [...events];
    this.#subscriptions = subscriptions;
    this.#byId = new Map(events.map((event) => [event.eventId, event]));
    this.#random = random;
    this.#clock = clock;
  }

  get size(): number {
    return this.#events.length;
  }

  /** Adds an event. Absent members get random values, and `createdOn` the current time. */
  add(given: Partial<StoredEvent> = {}): StoredEvent {
    const random = this.#random;
    const { id, endpoint } = random.pick(this.#subscriptions);
    const event: StoredEvent = {
      eventId: randomGuid(random),
      eventType: random.pick(eventTypes).name,
      createdOn: createdOnText(this.#clock(), random.below(10_000)),
      publishStatus: 'SUCCESS',
      subscriptionId: id,
      endpoint,
      ordinal: this.size,
      details: drawDetails(random),
      lastError: given.publishStatus === 'FAILED' ? random.pick(causes) : 'null',
      ...given,
    };
    const place = countWhere(this.#events, (other) => isBefore(other, event));
    this.#events.splice(place, 0, event);
    this.#byId.set(event.eventId, event);
    this.#selected = undefined;
    this.onAdded(event);
    return event;
  }

  /** Changes the publish status of an event; false when there is no event with this id. */
  setStatus(eventId: string, status: PublishStatus): boolean {
    const event = this.find(eventId.toLowerCase());
    if (!event) return false;
    event.publishStatus = status;
    event.lastError = status === 'FAILED' ? this.#random.pick(causes) : 'null';
    event.json = event.json?.replace(/"publishStatus"\s*:\s*"[^"]*"/, `"publishStatus":"${status}"`);
    this.#selected = undefined;
    return true;
  }

  find(eventId: string): StoredEvent | undefined {
    return this.#byId.get(eventId);
  }

  /** Returns a page of the matching events, newest first. `start` counts from 1. */
  page(filter: EventFilter, start: number, size: number): EventPage {
    const key = JSON.stringify(filter);
    if (this.#selected?.key !== key) this.#selected = { key, events: this.#matching(filter).reverse() };
    const { events } = this.#selected;
    return { count: events.length, events: events.slice(start - 1, start - 1 + size) };
  }

  #matching({ after, before, id, status, type, subscription }: EventFilter): StoredEvent[] {
    const one = id === undefined ? undefined : this.#byId.get(id);
    let events = this.#events;
    if (id !== undefined) events = one ? [one] : [];
    const from = after === undefined ? 0 : countWhere(events, (event) => timeOf(event) <= after);
    const to = before === undefined ? events.length : countWhere(events, (event) => timeOf(event) < before);
    const inTime = events.slice(from, Math.max(from, to));
    if (status === undefined && type === undefined && subscription === undefined) return inTime;
    return inTime.filter(
      (event) =>
        (status === undefined || event.publishStatus === status) &&
        (type === undefined || event.eventType === type) &&
        (subscription === undefined || event.subscriptionId === subscription),
    );
  }
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
