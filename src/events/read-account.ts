import { ServiceError } from '../errors.ts';
import type { IdentifiedItems, Page } from './page.ts';

/**
 * The account of one read: the items passed on, and the service's counts. Once the count has changed, only new items
 * are passed on.
 */
export class Reading {
  readonly limit: number;
  /** True if the read is limited to events created before some time, so that new events do not enter it. */
  readonly #held: boolean;
  /** The service's count at the first and at the latest page; undefined if it gives none. */
  readonly firstTotal: number | undefined;
  lastTotal: number | undefined;
  /** The highest of its counts. */
  #highestTotal: number;
  /** Pages read so far. */
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
    this.#highestTotal = this.firstTotal ?? 0;
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
   * True if every event that matched at the first answer, or every one that matches now, was passed on once. A read
   * without a time limit may also have passed on new events, of which some are counted. Without counts nothing can be
   * checked. Once items may have slipped past, an equal number proves nothing: events that have left since may have been
   * counted instead.
   */
  get complete(): boolean {
    if (this.full || this.firstTotal === undefined) return true;
    const { emitted, firstTotal, lastTotal } = this;
    if (this.#torn) return false;
    if (emitted === firstTotal || emitted === lastTotal) return true;
    return !this.#held && emitted > firstTotal && !this.hasSurplus;
  }

  /** True if more items were passed on than the service ever counted: reading again cannot mend that. */
  get hasSurplus(): boolean {
    return this.firstTotal !== undefined && this.emitted > this.#highestTotal;
  }

  /**
   * The number of items that left the result since the last page, by the service's count; negative if items were added.
   */
  shrunkBy(page: Page): number {
    const total = totalOf(page);
    return total === undefined || this.lastTotal === undefined ? 0 : this.lastTotal - total;
  }

  /** Records the service's present count. */
  count(page: Page): void {
    const total = totalOf(page);
    // If the first count was not the total, later counts are not either.
    if (total === undefined || this.lastTotal === undefined) return;
    if (total !== this.lastTotal) this.move();
    this.lastTotal = total;
    this.#highestTotal = Math.max(this.#highestTotal, total);
  }

  /** The items of a page to pass on, up to the limit. */
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

  /** The items that were not passed on before, up to the limit. */
  handOn(items: IdentifiedItems): IdentifiedItems {
    const fresh = (this.#known ? items.without(this.#known) : items).first(this.limit - this.emitted);
    this.#ledger.add(fresh.keys);
    if (this.#known) for (const key of fresh.keys) this.#known.add(key);
    return fresh;
  }

  /** True if a page repeats the previous one, as when a service ignores offsets or its own links. */
  repeats({ items: { keys, byEventId } }: Page): boolean {
    const before = this.#before;
    if (keys.length === 0 || keys.length !== before.length || this.moved) return false;
    return keys.every((key, index) => key === before[index]) && (byEventId || new Set(keys).size > 1);
  }

  /**
   * True if the next page begins with items that have moved down past an offset. They come again even if the count is
   * the same because as many others left. Ids that repeat within a page identify nothing, so they prove nothing.
   */
  #noticeShift({ items: { keys, byEventId } }: Page): void {
    const before = this.#before;
    const shifted = byEventId && keys.length > 0 && before.includes(keys[0] as number);
    if (shifted && new Set(before).size === before.length) this.move();
    this.#before = keys;
  }

  /** Starts again: everything is read once more from the first page. */
  startAgain(): void {
    this.move();
    this.#torn = false;
    this.#atStart = true;
  }

  /** From now on repeated items are filtered out: offsets no longer line up, or pages are read again. */
  move(): void {
    this.#known ??= this.#ledger.lookup();
  }
}

/**
 * Returns the service's count of the whole collection, or undefined if it gives none, or the page's own size, as some
 * services do.
 */
export function totalOf(page: Page): number | undefined {
  return page.count === page.items.count && page.next ? undefined : page.count;
}

const CHUNK = 65_536;

/**
 * The keys of all items printed so far, 8 bytes each, so that a result that changed can be completed without repeating
 * an item.
 */
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

  /** All keys as a set; built only when a result has changed, which is rare. */
  lookup(): Set<number> {
    const set = new Set<number>();
    this.#chunks.forEach((chunk, index) => {
      const used = index === this.#chunks.length - 1 ? this.#used : CHUNK;
      for (let at = 0; at < used; at++) set.add(chunk[at] as number);
    });
    return set;
  }
}
