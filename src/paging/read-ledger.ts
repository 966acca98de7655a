import type { IdentifiedItems } from './page.ts';

/** The account of the items that a read has passed on: no more than its limit and, once asked, each once. */
export class ReadLedger {
  readonly limit: number;
  /** Items passed on so far. */
  passedOn = 0;
  /** The keys of the items passed on, 8 bytes each. */
  readonly #keys: Float64Array[] = [];
  /** The same as a set, once repeated items are dropped, which is rare. */
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

  /** From now on items that were passed on before are dropped. */
  dropRepeated(): void {
    if (this.#known) return;
    this.#known = new Set();
    for (const keys of this.#keys) for (const key of keys) this.#known.add(key);
  }

  /** Returns the items that are due, up to the limit, and records them. */
  passOn(items: IdentifiedItems): IdentifiedItems {
    const fresh = this.#known ? items.without(this.#known) : items;
    const due = fresh.first(this.limit - this.passedOn);
    this.passedOn += due.count;
    this.#keys.push(due.keys);
    if (this.#known) for (const key of due.keys) this.#known.add(key);
    return due;
  }

  /** The keys of the items that were passed on with the last pages, one array a page. */
  lastPages(count: number): readonly Float64Array[] {
    return this.#keys.slice(-count);
  }
}
