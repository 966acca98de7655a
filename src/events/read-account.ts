import { ServiceError } from '../errors.ts';
import type { IdentifiedItems, Page } from './page.ts';

/**
 * The account of one read: what was handed on, and what the service counted. Once the count has changed, items are
 * handed on only if they were not before.
 */
export class Reading {
  readonly limit: number;
  /** True if the read is limited to events created before some time, so that new ones do not join it. */
  readonly #held: boolean;
  /** The service's count at the first page and at the latest; undefined if it gives none. */
  readonly firstTotal: number | undefined;
  lastTotal: number | undefined;
  /** Pages taken so far. */
  pages = 0;
  #ledger = new Ledger();
  #known: Set<number> | undefined;
  #before: Float64Array = new Float64Array(0);
  /** True if items left the result while its pages were read, so that others may have moved up unseen. */
  #torn = false;
  #atStart = true;

  constructor(first: Page, limit: number, held: boolean) {
    this.limit = limit;
    this.#held = held;
    this.firstTotal = totalOf(first);
    this.lastTotal = this.firstTotal;
  }

  get emitted(): number {
    return this.#ledger.size;
  }

  get full(): boolean {
    return this.emitted >= this.limit;
  }

  /** True if the service's count changed during the read. */
  get moved(): boolean {
    return this.#known !== undefined;
  }

  /**
   * Every event that matched at the first answer was handed on once, or every one that matches now. A read that is not
   * held may have met some that joined as well. Without counts there is nothing to check. Once items slipped past, a
   * number that fits proves nothing: others that have left may have been handed on instead.
   */
  get complete(): boolean {
    if (this.full || this.firstTotal === undefined) return true;
    const { emitted, firstTotal, lastTotal } = this;
    if (this.#torn) return false;
    return emitted === firstTotal || emitted === lastTotal || (!this.#held && emitted > firstTotal);
  }

  /** How many items have left the result since the last page, by the service's count; negative where some joined it. */
  shrunkBy(page: Page): number {
    const total = totalOf(page);
    return total === undefined || this.lastTotal === undefined ? 0 : this.lastTotal - total;
  }

  /** Takes note of what the service counts by now. */
  count(page: Page): void {
    const total = totalOf(page);
    // A service whose first count was not the total gives none later either.
    if (total === undefined || this.lastTotal === undefined) return;
    if (total !== this.lastTotal) this.move();
    this.lastTotal = total;
  }

  /** The items of a page that are to be handed on, cut to the limit. */
  take(page: Page): IdentifiedItems {
    this.pages++;
    if (!this.#atStart && this.shrunkBy(page) > 0) this.#torn = true;
    this.#atStart = false;
    this.count(page);
    if (this.repeats(page)) {
      throw new ServiceError(
        'the service answered the same page twice: the result cannot be read to its end',
      );
    }
    this.#noticeShift(page);
    return this.handOn(page.items);
  }

  /** The items that were not handed on before, cut to the limit. */
  handOn(items: IdentifiedItems): IdentifiedItems {
    const fresh = (this.#known ? items.without(this.#known) : items).first(this.limit - this.emitted);
    this.#ledger.add(fresh.keys);
    if (this.#known) for (const key of fresh.keys) this.#known.add(key);
    return fresh;
  }

  /** True if a page repeats the one before, as from a service that does not understand offsets or its own links. */
  repeats({ items: { keys, byEventId } }: Page): boolean {
    const before = this.#before;
    if (keys.length === 0 || keys.length !== before.length || this.moved) return false;
    return keys.every((key, index) => key === before[index]) && (byEventId || new Set(keys).size > 1);
  }

  /**
   * Items that moved down past an offset come again at the head of the next page, also where as many others left and
   * the count is the same. Ids that repeat within a page identify nothing, and tell nothing.
   */
  #noticeShift({ items: { keys, byEventId } }: Page): void {
    const before = this.#before;
    const shifted = byEventId && keys.length > 0 && before.includes(keys[0] as number);
    if (shifted && new Set(before).size === before.length) this.move();
    this.#before = keys;
  }

  /** Everything is read once more from the first page on. */
  startAgain(): void {
    this.move();
    this.#torn = false;
    this.#atStart = true;
  }

  /** From here on items are told apart: offsets do not line up any more, or pages are read again. */
  move(): void {
    this.#known ??= this.#ledger.lookup();
  }
}

/** The count of the whole collection, where it can be that: some services put the page's own size there. */
export function totalOf(page: Page): number | undefined {
  if (page.count === undefined || page.count < page.items.count) return undefined;
  return page.count === page.items.count && page.next ? undefined : page.count;
}

const CHUNK = 65_536;

/** The keys of every item printed so far, 8 bytes each, so that a result which moved can be mended without repeating one. */
export class Ledger {
  #chunks: Float64Array[] = [];
  #used = CHUNK;
  size = 0;

  add(keys: Float64Array): void {
    for (const key of keys) {
      if (this.#used === CHUNK) {
        this.#chunks.push(new Float64Array(CHUNK));
        this.#used = 0;
      }
      (this.#chunks.at(-1) as Float64Array)[this.#used++] = key;
    }
    this.size += keys.length;
  }

  /** All keys, to look them up in; built when a result turns out to have moved, which few do. */
  lookup(): Set<number> {
    const set = new Set<number>();
    this.#chunks.forEach((chunk, index) => {
      const used = index === this.#chunks.length - 1 ? this.#used : CHUNK;
      for (let at = 0; at < used; at++) set.add(chunk[at] as number);
    });
    return set;
  }
}
