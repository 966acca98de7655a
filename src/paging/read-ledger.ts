import type { IdentifiedItems } from './page.ts';

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

  passOn(items: IdentifiedItems): IdentifiedItems {
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
