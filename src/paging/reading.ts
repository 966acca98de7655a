import { ServiceError } from '../errors.ts';
import { directionBetween } from '../items/item-times.ts';
import type { KeyedItems } from '../items/items.ts';
import { type Page, totalOf } from './page.ts';

/** Pages that events joining between two answers may fill before some are passed on twice. */
const LOOKED_BACK_PAGES = 10;

/**
 * One read of one search, page by page, with its ledger and counts. Detects pages that show that events have
 * moved. From then on, only new items are passed on.
 */
export class Reading {
  readonly ledger: ReadLedger;
  readonly counts: CountAgreement;
  pages = 0;
  readonly #first: Page;
  #before: Float64Array = new Float64Array(0);

  constructor(first: Page, limit: number) {
    this.ledger = new ReadLedger(limit);
    this.counts = new CountAgreement(first);
    this.#first = first;
  }

  get isComplete(): boolean {
    return this.ledger.isFull || this.counts.holdsFor(this.ledger.passedOn);
  }

  /** Returns the items of a page that are due. Throws `ServiceError` for a repeated page. */
  take(page: Page): KeyedItems {
    this.pages++;
    const hasGrown = this.counts.leftSince(page) < 0;
    if (this.counts.noteTaken(page)) this.ledger.dropRepeated();
    if (this.#repeats(page))
      throw new ServiceError(
        'the service answered the same page twice: the result cannot be read to its end',
      );
    if (this.#showsShift(page)) {
      this.ledger.dropRepeated();
      // Events that join at the front move all others down, and none is missed. If none has joined, or all
      // join at the end, others have changed places, and one may have moved up unseen.
      const joinAtEnd = directionBetween(this.#first.items, page.items) === 'oldest first';
      if (!hasGrown || joinAtEnd) this.counts.distrust();
    }
    this.#before = page.items.keys;
    return this.ledger.passOn(page.items);
  }

  stepBack(page: Page): void {
    if (this.counts.note(page)) this.ledger.dropRepeated();
    this.#before = new Float64Array(0);
  }

  startAgain(): void {
    this.ledger.dropRepeated();
    this.counts.beginAgain();
  }

  /** True if a page repeats the previous one, as when a service ignores offsets or its own links. */
  #repeats({ items: { keys }, byEventId }: Page): boolean {
    const before = this.#before;
    if (keys.length === 0 || keys.length !== before.length || this.ledger.dropsRepeated) return false;
    return keys.every((key, index) => key === before[index]) && (byEventId || new Set(keys).size > 1);
  }

  /**
   * True if a page begins with an event of one of the last pages, or holds the last event of one, after
   * others that have joined: events have moved down past an offset. Pages whose own ids repeat prove nothing.
   */
  #showsShift({ items: { keys }, byEventId }: Page): boolean {
    if (!byEventId) return false;
    // Once repeated events are dropped, an earlier page may also be read again on purpose.
    const lastPages = this.ledger.dropsRepeated ? [this.#before] : this.ledger.lastPages(LOOKED_BACK_PAGES);
    const isRepeated = (page: Float64Array) =>
      page.includes(keys[0] as number) || keys.includes(page.at(-1) as number);
    const repeated = lastPages.find(isRepeated);
    return repeated !== undefined && new Set(repeated).size === repeated.length;
  }
}

/** Records the items that a read has passed on, up to its limit and, after `dropRepeated`, each once. */
export class ReadLedger {
  readonly limit: number;
  passedOn = 0;
  readonly #keys: Float64Array[] = [];
  /** The same keys as a set, once repeated items are dropped, which is rare. */
  #known: Set<number> | undefined;

  constructor(limit: number) {
    this.limit = limit;
  }

  get isFull(): boolean {
    return this.passedOn >= this.limit;
  }

  get dropsRepeated(): boolean {
    return this.#known !== undefined;
  }

  /** From now on drops items that were passed on before. */
  dropRepeated(): void {
    if (this.#known) return;
    this.#known = new Set();
    for (const keys of this.#keys) for (const key of keys) this.#known.add(key);
  }

  passOn(items: KeyedItems): KeyedItems {
    const fresh = this.#known ? items.without(this.#known) : items;
    const due = fresh.first(this.limit - this.passedOn);
    this.passedOn += due.count;
    this.#keys.push(due.keys);
    if (this.#known) for (const key of due.keys) this.#known.add(key);
    return due;
  }

  lastPages(count: number): readonly Float64Array[] {
    return this.#keys.slice(-count);
  }
}

/** Checks that the service's counts agree with the number of items passed on. */
export class CountAgreement {
  /** The count in the first answer; undefined if the service gives none. */
  readonly first: number | undefined;
  #latest: number | undefined;
  /**
   * True if an event may have moved from a later page onto one already read: the counts then prove nothing.
   */
  #isTorn = false;
  /** True until the first page of a pass: nothing can have moved onto an earlier page. */
  #isAtStart = true;

  constructor(first: Page) {
    this.first = totalOf(first);
    this.#latest = this.first;
  }

  get latest(): number | undefined {
    return this.#latest;
  }

  /**
   * Returns the number of items that left the result since the last page, by the service's count; negative if
   * items were added, NaN without counts.
   */
  leftSince(page: Page): number {
    return Number(this.#latest) - Number(totalOf(page));
  }

  /**
   * Records the service's present count, and returns true if it has changed. If the first answer had none,
   * later counts are ignored.
   */
  note(page: Page): boolean {
    const total = totalOf(page);
    if (total === undefined || this.#latest === undefined) return false;
    const hasChanged = total !== this.#latest;
    this.#latest = total;
    return hasChanged;
  }

  /**
   * Like `note`, for a page whose items are passed on: items that left earlier pages may have moved others
   * past it.
   */
  noteTaken(page: Page): boolean {
    if (!this.#isAtStart && this.leftSince(page) > 0) this.distrust();
    this.#isAtStart = false;
    return this.note(page);
  }

  distrust(): void {
    this.#isTorn = true;
  }

  beginAgain(): void {
    this.#isTorn = false;
    this.#isAtStart = true;
  }

  /**
   * True if every event that matched at the first answer, or every one that matches now, was passed on once.
   * Without counts nothing can be checked. Once items may have slipped past, an equal number proves nothing:
   * events that have since left may have been counted instead.
   */
  holdsFor(passedOn: number): boolean {
    if (this.first === undefined) return true;
    return !this.#isTorn && (passedOn === this.first || passedOn === this.#latest);
  }
}
