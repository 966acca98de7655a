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
import type { EventStore } from './event-store.ts';
import { causes, type Subscription } from './seeded-history.ts';

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

/** Adds and changes events while the sandbox runs. */
export class EventWriter {
  /** Called with each event that is added. */
  onAdded: (event: WrittenEvent) => void = () => {};
  readonly store: EventStore;
  readonly #random: Random;
  readonly #subscriptions: readonly Subscription[];
  readonly #clock: () => number;

  constructor(
    store: EventStore,
    random: Random,
    subscriptions: readonly Subscription[],
    clock: () => number,
  ) {
    this.store = store;
    this.#random = random;
    this.#subscriptions = subscriptions;
    this.#clock = clock;
  }

  add(event: NewEvent): WrittenEvent {
    const random = this.#random;
    const eventId = event.eventId === undefined ? randomGuid(random) : parseGuid(event.eventId);
    const now = createdOnText(this.#clock(), random.below(10_000));
    const time = sortableTime(event.createdOn ?? now);
    if (!eventId || !time)
      throw new TypeError('eventId must be a GUID and createdOn a UTC ISO 8601 date-time');
    if (this.store.find(eventId)) throw new TypeError(`there is an event ${eventId} already`);
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
      ordinal: this.store.size,
      details: drawDetails(random),
      lastError: publishStatus === 'FAILED' ? random.pick(causes) : 'null',
      json: event.json,
    };
    this.store.add(added);
    const { eventType, createdOn } = added;
    const written = { eventId, eventType, createdOn, publishStatus, subscriptionId, json: itemText(added) };
    this.onAdded(written);
    return written;
  }

  /** Changes the publish status of an event; false when there is no event with this id. */
  setStatus(eventId: string, status: PublishStatus): boolean {
    const event = this.store.find(eventId.toLowerCase());
    if (!event) return false;
    event.publishStatus = status;
    event.lastError = status === 'FAILED' ? this.#random.pick(causes) : 'null';
    event.json = event.json?.replace(/"publishStatus"\s*:\s*"[^"]*"/, `"publishStatus":"${status}"`);
    this.store.changed();
    return true;
  }
}
