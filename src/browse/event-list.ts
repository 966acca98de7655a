import type { FoundPage } from '../events/merge-pages.ts';
import { type EventGroup, EventGroups } from '../events/stats.ts';
import { itemFilter, type KeepItems, parseCondition } from '../json/item-conditions.ts';
import type { FieldPath } from '../json/item-fields.ts';
import type { Items } from '../json/items.ts';
import type { TimeZone } from '../time/time-zone.ts';

/** The events read so far. More are read on demand. */
export class EventList {
  readonly #pages: AsyncIterator<FoundPage>;
  readonly #items: Items[] = [];
  #loading: Promise<void> | undefined;
  /** The number of all matching events, if the service gives it. */
  total: number | undefined;
  ended = false;
  /** The error that ended reading. */
  problem: Error | undefined;

  constructor(pages: AsyncIterator<FoundPage>) {
    this.#pages = pages;
  }

  get length(): number {
    return this.#items.length;
  }

  /** Returns one event. */
  at(index: number): Items {
    return this.#items[index] as Items;
  }

  get loading(): boolean {
    return this.#loading !== undefined;
  }

  /** Reads one more page, or waits for the one being read. Never rejects: see `problem`. */
  more(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async close(): Promise<void> {
    await this.#pages.return?.();
  }

  async #read(): Promise<void> {
    if (this.ended) return;
    try {
      const { done, value } = await this.#pages.next();
      this.ended = done === true;
      if (done) return;
      const { items, total } = value;
      this.total = total;
      for (let item = 0; item < items.count; item++) this.#items.push(items.only(item));
    } catch (error) {
      this.ended = true;
      this.problem = error as Error;
    }
  }
}

/** The event's own JSON text. */
export function textOf(item: Items): string {
  return item.text(0).toString();
}

/** The rows that the screen shows a part of, one of them selected. */
export interface Rows {
  selected: number;
  /** The first row on the screen. */
  top: number;
}

/** The events that meet all conditions and whose text contains all words of a filter, in any case. */
export class EventRows implements Rows {
  readonly narrowings: readonly Narrowing[];
  /** The places in the list of the events shown. */
  readonly places: number[] = [];
  selected = 0;
  top = 0;
  #list: EventList;
  #filter = '';
  #looked = 0;

  constructor(list: EventList, narrowings: readonly Narrowing[]) {
    this.#list = list;
    this.narrowings = narrowings;
  }

  get list(): EventList {
    return this.#list;
  }

  get filter(): string {
    return this.#filter;
  }

  set filter(text: string) {
    this.#filter = text;
    this.#start();
  }

  /** Looks at the events that were read since the last call; at all of them if it is another list. */
  update(list: EventList): void {
    if (list !== this.#list) {
      this.#list = list;
      this.#start();
    }
    const words = this.#filter.toLowerCase().split(/\s+/).filter(Boolean);
    for (; this.#looked < list.length; this.#looked++) {
      const item = list.at(this.#looked);
      const text = words.length > 0 ? textOf(item).toLowerCase() : '';
      const isKept = this.narrowings.every(({ keep }) => keep(item).count === 1);
      if (isKept && words.every((word) => text.includes(word))) this.places.push(this.#looked);
    }
  }

  /** The event in a row. */
  at(row: number): Items | undefined {
    const place = this.places[row];
    return place === undefined ? undefined : this.#list.at(place);
  }

  #start(): void {
    this.places.length = 0;
    this.#looked = 0;
    this.selected = 0;
  }
}

/** The events of a list in groups by a field. */
export class GroupRows implements Rows {
  readonly field: FieldPath;
  readonly events: EventRows;
  #counted: EventGroups;
  #list: EventList;
  #looked = 0;
  /** The largest first. */
  groups: readonly EventGroup[] = [];
  selected = 0;
  top = 0;

  constructor(events: EventRows, field: FieldPath) {
    this.events = events;
    this.field = field;
    this.#list = events.list;
    this.#counted = new EventGroups([field]);
  }

  /** Events in all groups. */
  get total(): number {
    return this.#counted.total;
  }

  /** Counts the events that were read since the last call. The selected group stays selected. Throws `ServiceError` if the groups become too many. */
  update(list: EventList): void {
    this.events.update(list);
    if (list !== this.#list) {
      this.#list = list;
      this.#counted = new EventGroups([this.field]);
      this.#looked = 0;
    }
    const { places } = this.events;
    if (this.#looked === places.length) return;
    for (; this.#looked < places.length; this.#looked++)
      this.#counted.add(this.events.at(this.#looked) as Items);
    const selected = this.groups[this.selected];
    this.groups = this.#counted.largest();
    if (selected && this.selected > 0) this.selected = Math.max(0, this.groups.indexOf(selected));
  }
}

/** A condition that the shown events meet, as a flag of a search gives it. */
export interface Narrowing {
  readonly flag: 'where' | 'grep';
  readonly text: string;
  readonly keep: KeepItems;
}

/**
 * Reads a condition of `--where`; a text without an operator, or in quotes, is one of `--grep`. Throws `UsageError`.
 * Spans ago count from `now` (milliseconds since the epoch), times without a zone are those of `zone`.
 */
export function narrowingOf(typed: string, now: number, zone: TimeZone): Narrowing {
  const text = typed.trim();
  const isQuoted = /^"[^"]+"$/.test(text);
  if (!isQuoted && /[!=<>~]/.test(text))
    return { flag: 'where', text, keep: itemFilter([parseCondition(text, 'w', now, zone)], [], 'w') };
  const wanted = isQuoted ? text.slice(1, -1) : text;
  return { flag: 'grep', text: wanted, keep: itemFilter([], [wanted]) };
}
