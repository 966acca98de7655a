import { type Page, totalOf } from './page.ts';

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
