import type { EventFilters } from '../filters/event-filters.ts';
import { isNumber } from '../items/exact-numbers.ts';
import type { FieldPath } from '../items/field-path.ts';
import { isMembership, parseCondition } from '../items/item-conditions.ts';
import { itemFilter, type KeepItems } from '../items/item-filter.ts';
import type { Items } from '../items/items.ts';
import type { FoundPage } from '../paging/page.ts';
import { type EventGroup, EventGroups } from '../questions/event-groups.ts';
import type { TimeZone } from '../time/time-zone.ts';

/** The events read so far, in the order of the pages. */
export class EventList {
  readonly filters: EventFilters;
  readonly items: Items[] = [];
  total: number | undefined;
  ended = false;
  loading = false;
  problem: Error | undefined;
  readonly #pages: AsyncIterator<FoundPage>;

  constructor(filters: EventFilters, pages: AsyncIterator<FoundPage>) {
    this.filters = filters;
    this.#pages = pages;
  }

  get failedOnly(): boolean {
    return this.filters.onlyStatus === 'FAILED';
  }

  /** Reads one more page. Never rejects: see `problem`. */
  async more(): Promise<void> {
    this.loading = true;
    try {
      const { done, value } = await this.#pages.next();
      this.ended = done === true;
      if (done) return;
      this.total = value.total;
      for (let item = 0; item < value.items.count; item++) this.items.push(value.items.pick([item]));
    } catch (error) {
      this.ended = true;
      this.problem = error as Error;
    } finally {
      this.loading = false;
    }
  }

  async close(): Promise<void> {
    await this.#pages.return?.();
  }
}

/**
 * The events that meet all conditions and contain all words of a filter; with `by`, grouped by that field.
 */
export class Rows {
  readonly narrowings: readonly Narrowing[];
  readonly filter: string;
  readonly by: FieldPath | undefined;
  readonly items: Items[] = [];
  groups: readonly EventGroup[] = [];
  selected = 0;
  top = 0;
  readonly shown: readonly Narrowing[];
  readonly #counted: EventGroups;
  #looked = 0;

  constructor(narrowings: readonly Narrowing[], zone: TimeZone, filter = '', by?: FieldPath) {
    this.narrowings = narrowings;
    this.filter = filter;
    this.by = by;
    this.shown = [...narrowings, ...filter.split(/\s+/).filter(Boolean).map(textNarrowing)];
    this.#counted = new EventGroups(by ? [by] : [], zone);
  }

  get count(): number {
    return this.by ? this.groups.length : this.items.length;
  }

  /**
   * Adds the events read since the last call. The selected group stays selected. Throws `ServiceError` if
   * there are too many groups.
   */
  update(list: EventList): void {
    const known = this.items.length;
    for (; this.#looked < list.items.length; this.#looked++) {
      const item = list.items[this.#looked] as Items;
      if (this.shown.every(({ keep }) => keep(item).count === 1)) this.items.push(item);
    }
    if (!this.by || this.items.length === known) return;
    for (const items of this.items.slice(known)) this.#counted.see({ items, haveFailed: undefined });
    const selected = this.groups[this.selected];
    this.groups = this.#counted.result();
    if (selected && this.selected > 0) this.selected = Math.max(0, this.groups.indexOf(selected));
  }
}

export interface Narrowing {
  readonly flag: 'where' | 'grep';
  readonly text: string;
  readonly keep: KeepItems;
}

/**
 * Parses a condition of `--where`; a text without an operator, or in quotes, is one of `--grep`. Throws
 * `UsageError`, including for values in a file. Spans ago count from `now` (milliseconds since the epoch),
 * times without a zone are in `zone`.
 */
export function narrowingOf(typed: string, now: number, zone: TimeZone): Narrowing {
  const text = typed.trim();
  const isQuoted = /^"[^"]+"$/.test(text);
  if (!isQuoted && (/[!=<>~]/.test(text) || isMembership(text))) {
    const condition = parseCondition(text, 'w', now, zone);
    const { instant, operator, value } = condition;
    const isTime = instant && /[<>]/.test(operator) && !isNumber(value);
    // With an offset, the time stays the same in the report and in other zones.
    const time = instant?.text.replace(/^[\d-]+$/, '$&T00:00Z') ?? '';
    const exact = isTime ? text.slice(0, -value.length) + zone.shown(time) : text;
    return { flag: 'where', text: exact, keep: itemFilter([condition], [], zone, 'w') };
  }
  return textNarrowing(isQuoted ? text.slice(1, -1) : text);
}

const textNarrowing = (text: string): Narrowing => ({
  flag: 'grep',
  text,
  keep: itemFilter([], [text]),
});
