import { ServiceError } from '../errors.ts';
import { directionBetween } from '../items/item-times.ts';
import { CountAgreement } from './count-agreement.ts';
import type { IdentifiedItems, Page } from './page.ts';
import { ReadLedger } from './read-ledger.ts';

/** If more events than these pages hold join between two answers, some may be passed on twice. */
const LOOKED_BACK_PAGES = 10;

/**
 * One read of one search, page by page: its ledger, its counts, and where a page shows that events have
 * moved meanwhile. Once they have, only new items are passed on.
 */
export class Reading {
  readonly ledger: ReadLedger;
  readonly counts: CountAgreement;
  /** Pages taken so far. */
  pages = 0;
  readonly #first: Page;
  /** The keys of the page before. */
  #before: Float64Array = new Float64Array(0);

  constructor(first: Page, limit: number) {
    this.ledger = new ReadLedger(limit);
    this.counts = new CountAgreement(first);
    this.#first = first;
  }

  get isComplete(): boolean {
    return this.ledger.isFull || this.counts.holdsFor(this.ledger.passedOn);
  }

  /** Returns the items of a page that are due. Throws `ServiceError` for the page before once more. */
  take(page: Page): IdentifiedItems {
    this.pages++;
    const hasGrown = this.counts.leftSince(page) < 0;
    if (this.counts.noteTaken(page)) this.ledger.dropRepeated();
    if (this.#repeats(page))
      throw new ServiceError(
        'the service answered the same page twice: the result cannot be read to its end',
      );
    if (this.#showsShift(page)) {
      this.ledger.dropRepeated();
      // Events that join at the front move all others down, and none is missed. Where none has joined, or all
      // join at the end, others have changed places, and one may have moved up unseen.
      const joinAtEnd = directionBetween(this.#first.items, page.items) === 'oldest first';
      if (!hasGrown || joinAtEnd) this.counts.distrust();
    }
    this.#before = page.items.keys;
    return this.ledger.passOn(page.items);
  }

  /** The next page begins before this one, whose items are not taken. */
  stepBack(page: Page): void {
    if (this.counts.note(page)) this.ledger.dropRepeated();
    this.#before = new Float64Array(0);
  }

  /** Everything is read once more from the first page. */
  startAgain(): void {
    this.ledger.dropRepeated();
    this.counts.beginAgain();
  }

  /** True if a page repeats the previous one, as when a service ignores offsets or its own links. */
  #repeats({ items: { keys, byEventId } }: Page): boolean {
    const before = this.#before;
    if (keys.length === 0 || keys.length !== before.length || this.ledger.dropsRepeated) return false;
    return keys.every((key, index) => key === before[index]) && (byEventId || new Set(keys).size > 1);
  }

  /**
   * True if a page begins with an event of one of the last pages, or holds the last event of one, behind
   * others that have joined there: events have moved down past an offset. Pages whose own ids repeat prove
   * nothing.
   */
  #showsShift({ items: { keys, byEventId } }: Page): boolean {
    if (!byEventId) return false;
    // Once repeated events are dropped, an earlier page may also be read again on purpose.
    const lastPages = this.ledger.dropsRepeated ? [this.#before] : this.ledger.lastPages(LOOKED_BACK_PAGES);
    const isRepeated = (page: Float64Array) =>
      page.includes(keys[0] as number) || keys.includes(page.at(-1) as number);
    const repeated = lastPages.find(isRepeated);
    return repeated !== undefined && new Set(repeated).size === repeated.length;
  }
}
