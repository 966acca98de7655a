import { type Page, totalOf } from './page.ts';

/** The service's counts during a read, and whether what was read agrees with them. */
export class CountAgreement {
  /** The count at the first answer; undefined if the service gives none. */
  readonly first: number | undefined;
  /** The count at the latest answer that had one. */
  #latest: number | undefined;
  /**
   * True if an event may have moved from a page to come onto one that was read before: the counts prove
   * nothing then.
   */
  #isTorn = false;
  /** True until the first page of a pass: nothing can have moved up onto a page that was read before. */
  #isAtStart = true;

  constructor(first: Page) {
    this.first = totalOf(first);
    this.#latest = this.first;
  }

  get latest(): number | undefined {
    return this.#latest;
  }

  /**
   * The number of items that left the result since the last page, by the service's count; negative if items
   * were added, NaN without counts.
   */
  leftSince(page: Page): number {
    return Number(this.#latest) - Number(totalOf(page));
  }

  /**
   * Records the service's present count, and returns whether it has changed. If the first answer had none,
   * later counts are not taken either.
   */
  note(page: Page): boolean {
    const total = totalOf(page);
    if (total === undefined || this.#latest === undefined) return false;
    const hasChanged = total !== this.#latest;
    this.#latest = total;
    return hasChanged;
  }

  /** The same for a page whose items are passed on: what left before it may have moved others up past it. */
  noteTaken(page: Page): boolean {
    if (!this.#isAtStart && this.leftSince(page) > 0) this.distrust();
    this.#isAtStart = false;
    return this.note(page);
  }

  /** An item may have moved up unseen: an equal number proves nothing any more. */
  distrust(): void {
    this.#isTorn = true;
  }

  /** Everything is read once more from the first page. */
  beginAgain(): void {
    this.#isTorn = false;
    this.#isAtStart = true;
  }

  /**
   * True if every event that matched at the first answer, or every one that matches now, was passed on once.
   * Without counts nothing can be checked. Once items may have slipped past, an equal number proves nothing:
   * events that have left since may have been counted instead.
   */
  holdsFor(passedOn: number): boolean {
    if (this.first === undefined) return true;
    return !this.#isTorn && (passedOn === this.first || passedOn === this.#latest);
  }
}
