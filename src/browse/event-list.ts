import { type EventGroup, EventGroups } from '../events/group-events.ts';
import type { FoundPage } from '../events/merge-pages.ts';
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
      if (done) {
        this.ended = true;
        return;
      }
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

/** The places of the events that meet all conditions and whose text contains all words of a filter, in any case. */
export class FilteredList {
  readonly list: EventList;
  readonly places: number[] = [];
  #words: readonly string[] = [];
  #narrowings: readonly Narrowing[] = [];
  #looked = 0;

  constructor(list: EventList) {
    this.list = list;
  }

  filter(text: string, narrowings: readonly Narrowing[]): void {
    this.#narrowings = narrowings;
    this.#words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.places.length = 0;
    this.#looked = 0;
    this.update();
  }

  /** Filters the events that were read since the last call. */
  update(): void {
    for (; this.#looked < this.list.length; this.#looked++) {
      if (this.#matches(this.#looked)) this.places.push(this.#looked);
    }
  }

  #matches(place: number): boolean {
    const item = this.list.at(place);
    if (!this.#narrowings.every(({ keep }) => keep(item).count === 1)) return false;
    if (this.#words.length === 0) return true;
    const text = textOf(item).toLowerCase();
    return this.#words.every((word) => text.includes(word));
  }
}

/** The shown events that were read so far, grouped by a field, and which group is selected. */
export class GroupList {
  readonly field: FieldPath;
  readonly #events: FilteredList;
  readonly #counted: EventGroups;
  #looked = 0;
  /** The largest first. */
  groups: readonly EventGroup[] = [];
  selected = 0;
  /** The first row on the screen. */
  top = 0;

  constructor(events: FilteredList, field: FieldPath) {
    this.#events = events;
    this.field = field;
    this.#counted = new EventGroups([field]);
  }

  /** Events in all groups. */
  get total(): number {
    return this.#counted.total;
  }

  /** Counts the events that were read since the last call. The selected group stays selected. Throws `ServiceError` if the groups become too many. */
  update(): void {
    const { list, places } = this.#events;
    if (this.#looked === places.length) return;
    for (; this.#looked < places.length; this.#looked++)
      this.#counted.add(list.at(places[this.#looked] as number));
    const selected = this.groups[this.selected];
    this.groups = this.#counted.largest();
    if (selected && this.selected > 0) this.selected = this.groups.indexOf(selected);
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
    return { flag: 'where', text, keep: itemFilter([parseCondition(text, 'w', now, zone)], []) };
  const wanted = isQuoted ? text.slice(1, -1) : text;
  return { flag: 'grep', text: wanted, keep: itemFilter([], [wanted]) };
}

/** The condition that the events of a group meet. */
export function groupCondition(field: FieldPath, { values: [value] }: EventGroup): string {
  return `${field.text} = ${value ?? 'null'}`;
}
