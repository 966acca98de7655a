import { ServiceError } from '../errors.ts';
import { directionBetween } from '../items/item-times.ts';
import { CountAgreement } from './count-agreement.ts';
import type { IdentifiedItems, Page } from './page.ts';
import { ReadLedger } from './read-ledger.ts';

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
  #repeats({ items: { keys, byEventId } }: Page): boolean {
    const before = this.#before;
    if (keys.length === 0 || keys.length !== before.length || this.ledger.dropsRepeated) return false;
    return keys.every((key, index) => key === before[index]) && (byEventId || new Set(keys).size > 1);
  }

  /**
   * True if a page begins with an event of one of the last pages, or holds the last event of one, after
   * others that have joined: events have moved down past an offset. Pages whose own ids repeat prove nothing.
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
