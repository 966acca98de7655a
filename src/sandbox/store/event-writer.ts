import type { Random } from '../random.ts';
import {
  changeStatus,
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

export interface WrittenEvent {
  readonly eventId: string;
  readonly eventType: string;
  readonly createdOn: string;
  readonly publishStatus: PublishStatus;
  readonly subscriptionId: string;
  readonly json: string;
}

/** Adds and changes events while the sandbox runs. */
export class EventWriter {
  readonly #store: EventStore;
  readonly #random: Random;
  readonly #subscriptions: readonly Subscription[];
  readonly #clock: () => number;
  readonly #live = new Set<NodeJS.Timeout>();
  /** Called with each event that is added. */
  onAdded: (event: WrittenEvent) => void = () => {};

  constructor(
    store: EventStore,
    random: Random,
    subscriptions: readonly Subscription[],
    clock: () => number,
  ) {
    this.#store = store;
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
    if (this.#store.find(eventId)) throw new TypeError(`there is an event ${eventId} already`);
    const subscription = random.pick(this.#subscriptions);
    const subscriptionId = (event.subscriptionId ?? subscription.id).toLowerCase();
    const { endpoint } = this.#subscriptions.find((one) => one.id === subscriptionId) ?? subscription;
    const publishStatus = event.publishStatus ?? 'SUCCESS';
    const added: StoredEvent = {
      eventId,
      eventType: event.eventType ?? random.pick(eventTypes).name,
      // The service keeps 100 ns.
      createdOn: `${time.slice(0, 27)}Z`,
      publishStatus,
      subscriptionId,
      content: event.json ?? {
        endpoint,
        ordinal: this.#store.size,
        details: drawDetails(random),
        attempts: publishStatus === 'FAILED' ? 5 : 1,
        lastError: publishStatus === 'FAILED' ? random.pick(causes) : 'null',
      },
    };
    this.#store.add(added);
    const { content: _, ...members } = added;
    const written = { ...members, json: itemText(added) };
    this.onAdded(written);
    return written;
  }

  /** False when there is no event with this id. */
  setStatus(eventId: string, status: PublishStatus): boolean {
    const event = this.#store.find(eventId.toLowerCase());
    if (!event) return false;
    changeStatus(event, status, status === 'FAILED' ? this.#random.pick(causes) : 'null');
    this.#store.changed();
    return true;
  }

  /** Adds events at a steady rate until the returned function is called. */
  startLive(perSecond: number, event: () => NewEvent = () => ({})): () => void {
    const timer = setInterval(() => this.add(event()), 1000 / perSecond);
    timer.unref();
    this.#live.add(timer);
    return () => this.#stop(timer);
  }

  stopAll(): void {
    for (const timer of this.#live) this.#stop(timer);
  }

  #stop(timer: NodeJS.Timeout): void {
    clearInterval(timer);
    this.#live.delete(timer);
  }
}
