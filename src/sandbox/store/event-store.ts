import type { Random } from '../random.ts';
import {
  createdOnText,
  drawDetails,
  eventTypes,
  itemText,
  type PublishStatus,
  parseGuid,
  randomGuid,
  type StoredEvent,
  sortableTime,
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

/** An event to add. Absent members get random values, and `createdOn` the current time. */
export interface NewEvent {
  readonly eventId?: string;
  readonly eventType?: string;
  /** UTC ISO 8601; seven fractional digits are kept. */
  readonly createdOn?: string;
  readonly publishStatus?: PublishStatus;
  readonly subscriptionId?: string;
  /** The item's whole JSON text. Filters still use the other members. */
  readonly json?: string;
}

export type WrittenEvent = Required<NewEvent>;

/** The events in memory. */
export class EventStore {
  /** Called with each event that is added. */
  onAdded: (event: WrittenEvent) => void = () => {};
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

  add(event: NewEvent): WrittenEvent {
    const random = this.#random;
    const eventId = event.eventId === undefined ? randomGuid(random) : parseGuid(event.eventId);
    const now = createdOnText(this.#clock(), random.below(10_000));
    const time = sortableTime(event.createdOn ?? now);
    if (!eventId || !time)
      throw new TypeError('eventId must be a GUID and createdOn a UTC ISO 8601 date-time');
    if (this.find(eventId)) throw new TypeError(`there is an event ${eventId} already`);
    const drawn = random.pick(this.#subscriptions);
    const subscriptionId = (event.subscriptionId ?? drawn.id).toLowerCase();
    const { endpoint } = this.#subscriptions.find(({ id }) => id === subscriptionId) ?? drawn;
    const publishStatus = event.publishStatus ?? 'SUCCESS';
    const added: StoredEvent = {
      eventId,
      eventType: event.eventType ?? random.pick(eventTypes).name,
      // The service keeps 100 ns.
      createdOn: `${time.slice(0, 27)}Z`,
      publishStatus,
      subscriptionId,
      endpoint,
      ordinal: this.size,
      details: drawDetails(random),
      lastError: publishStatus === 'FAILED' ? random.pick(causes) : 'null',
      json: event.json,
    };
    const place = countWhere(this.#events, (other) => isBefore(other, added));
    this.#events.splice(place, 0, added);
    this.#byId.set(eventId, added);
    this.#selected = undefined;
    const { eventType, createdOn } = added;
    const written = { eventId, eventType, createdOn, publishStatus, subscriptionId, json: itemText(added) };
    this.onAdded(written);
    return written;
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
