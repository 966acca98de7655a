import { withStatus, writeItem } from './history/event-item.ts';
import { eventTypes } from './history/event-types.ts';
import { ItemWriter } from './history/item-writer.ts';
import { causes } from './history/outages.ts';
import type { Subscription } from './history/subscriptions.ts';
import type { Random } from './random.ts';
import type { EventStore, PublishStatus } from './store/event-store.ts';
import { guidText, parseGuid, randomGuid } from './store/guid.ts';
import { momentText, parseBound } from './store/timestamp.ts';

/** An event to add; what is not given is drawn, and `createdOn` is now. */
export interface NewEvent {
  readonly eventId?: string;
  readonly eventType?: string;
  /** UTC ISO 8601; seven fractional digits are kept. */
  readonly createdOn?: string;
  readonly publishStatus?: PublishStatus;
  readonly subscriptionId?: string;
  /** The item's whole JSON text, as answers shall show it. The other members still decide which filters match. */
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
  readonly #item = new ItemWriter();
  readonly #live = new Set<NodeJS.Timeout>();
  /** Told of each event that is added. */
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
    const drawn = randomGuid(random);
    const id = event.eventId === undefined ? drawn : parseGuid(event.eventId);
    const now = { ms: this.#clock(), ticks: random.below(10_000) };
    const moment = event.createdOn === undefined ? now : parseBound(event.createdOn);
    if (!id || !moment) throw new TypeError('eventId must be a GUID and createdOn a UTC ISO 8601 date-time');
    if (this.#store.has(id)) throw new TypeError(`there is an event ${event.eventId} already`);
    const subscription = random.pick(this.#subscriptions);
    const subscriptionId = (event.subscriptionId ?? subscription.id).toLowerCase();
    const { endpoint } = this.#subscriptions.find((one) => one.id === subscriptionId) ?? subscription;
    const type = event.eventType ?? random.pick(eventTypes).name;
    const status = event.publishStatus ?? 'SUCCESS';
    const parts = { id, type, status, subscription: subscriptionId, created: moment, endpoint };
    const lastError = status === 'FAILED' ? random.pick(causes) : 'null';
    const json =
      event.json === undefined
        ? writeItem(this.#item, { ...parts, lastError, ordinal: this.#store.size }, random)
        : Buffer.from(event.json);
    const { ms, ticks } = moment;
    this.#store.add({ ms, ticks, id, type, subscription: subscriptionId, status, json });
    const written: WrittenEvent = {
      eventId: guidText(...id),
      eventType: type,
      createdOn: momentText(moment),
      publishStatus: status,
      subscriptionId,
      json: Buffer.from(json).toString(),
    };
    this.onAdded(written);
    return written;
  }

  setStatus(eventId: string, status: PublishStatus): boolean {
    const id = parseGuid(eventId);
    const text = id && this.#store.text(id);
    if (!id || text === undefined) return false;
    const lastError = status === 'FAILED' ? this.#random.pick(causes) : 'null';
    return this.#store.replace(id, status, Buffer.from(withStatus(text, status, lastError)));
  }

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
