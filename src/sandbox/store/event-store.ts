import { EventBytes } from './event-bytes.ts';
import { EventColumns } from './event-columns.ts';
import { type GuidWords, guidText } from './guid.ts';
import { IdIndex } from './id-index.ts';
import { NameTable } from './name-table.ts';
import type { Bound, Moment } from './timestamp.ts';

export type PublishStatus = 'SUCCESS' | 'FAILED';

export interface StoredEvent extends Moment {
  readonly id: GuidWords;
  readonly type: string;
  readonly subscription: string;
  readonly status: PublishStatus;
  /** The item exactly as answers show it. */
  readonly json: Uint8Array;
}

/** All parts must hold; `after` and `before` are exclusive (service description, part 4). */
export interface EventFilter {
  after?: Bound;
  before?: Bound;
  subscription?: string;
  id?: GuidWords;
  status?: PublishStatus;
  type?: string;
}

export interface EventPage {
  /** Number of events that match the filter, on this page or not. */
  readonly count: number;
  /** The page's items in parts, commas between them, newest first. */
  readonly items: Buffer[];
}

/** The events in memory, sorted by creation; answers are cut from serialised text. */
export class EventStore {
  readonly #columns = new EventColumns();
  readonly #bytes = new EventBytes();
  readonly #index = new IdIndex(this.#columns);
  readonly #types = new NameTable();
  readonly #subscriptions = new NameTable();

  get size(): number {
    return this.#columns.size;
  }

  reserve(events: number): void {
    this.#columns.reserve(events);
  }

  add(event: StoredEvent): void {
    const row = this.#columns.insert({
      ms: event.ms,
      ticks: event.ticks,
      id: event.id,
      type: this.#types.intern(event.type),
      subscription: this.#subscriptions.intern(event.subscription),
      failed: event.status === 'FAILED' ? 1 : 0,
      position: this.#bytes.write(event.json),
      length: event.json.length,
    });
    this.#index.added(row);
  }

  has(id: GuidWords): boolean {
    return this.#index.find(id) >= 0;
  }

  /** The item's JSON text. */
  text(id: GuidWords): string | undefined {
    const row = this.#index.find(id);
    return row < 0 ? undefined : this.#slice(row).toString();
  }

  /** Replaces status and text of an event; false when there is none with this id. */
  replace(id: GuidWords, status: PublishStatus, json: Uint8Array): boolean {
    const row = this.#index.find(id);
    if (row < 0) return false;
    this.#columns.position[row] = this.#bytes.write(json);
    this.#columns.length[row] = json.length;
    this.#columns.failed[row] = status === 'FAILED' ? 1 : 0;
    return true;
  }

  /** Ids of the newest events first, for tests and deliveries that pick some. */
  newestIds(limit: number): string[] {
    const { ids, size } = this.#columns;
    return Array.from({ length: Math.min(limit, size) }, (_, index) => {
      const at = (size - 1 - index) * 4;
      return guidText(ids[at] as number, ids[at + 1] as number, ids[at + 2] as number, ids[at + 3] as number);
    });
  }

  /** `start` counts from 1. */
  page(filter: EventFilter, start: number, size: number): EventPage {
    const rows: number[] = [];
    const count = this.#select(filter, start - 1, size, rows);
    return { count, items: this.#join(rows) };
  }

  /** Puts up to `take` rows after the first `skip` into `rows`, newest first; returns the number that match. */
  #select(filter: EventFilter, skip: number, take: number, rows: number[]): number {
    const columns = this.#columns;
    let low = filter.after ? columns.countUpTo(filter.after, true) : 0;
    let high = filter.before ? columns.countUpTo(filter.before, filter.before.beyond) : columns.size;
    const type = filter.type === undefined ? -1 : this.#types.find(filter.type);
    const subscription =
      filter.subscription === undefined ? -1 : this.#subscriptions.find(filter.subscription);
    if (type === undefined || subscription === undefined) return 0;
    if (filter.id) {
      const row = this.#index.find(filter.id);
      if (row < low || row >= high) return 0;
      low = row;
      high = row + 1;
    }
    const failed = filter.status === undefined ? -1 : filter.status === 'FAILED' ? 1 : 0;
    if (type < 0 && subscription < 0 && failed < 0) {
      const count = Math.max(0, high - low);
      for (let row = high - 1 - skip; row >= low && rows.length < take; row--) rows.push(row);
      return count;
    }
    let count = 0;
    const { type: types, subscription: subscriptions, failed: failures } = columns;
    for (let row = high - 1; row >= low; row--) {
      if (failed >= 0 && failures[row] !== failed) continue;
      if (type >= 0 && types[row] !== type) continue;
      if (subscription >= 0 && subscriptions[row] !== subscription) continue;
      if (count >= skip && rows.length < take) rows.push(row);
      count++;
    }
    return count;
  }

  #join(rows: readonly number[]): Buffer[] {
    const parts: Buffer[] = [];
    const { position, length } = this.#columns;
    for (let index = 0; index < rows.length; ) {
      const from = position[rows[index] as number] as number;
      let end = from;
      do end += (length[rows[index++] as number] as number) + 1;
      while (index < rows.length && this.#bytes.continues(end, position[rows[index] as number] as number));
      parts.push(this.#bytes.slice(from, end, parts.length === 0));
    }
    return parts;
  }

  #slice(row: number): Buffer {
    const from = this.#columns.position[row] as number;
    return this.#bytes.slice(from, from + (this.#columns.length[row] as number) + 1, true);
  }
}
