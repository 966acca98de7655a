import { parseCondition } from '../items/item-conditions.ts';
import { itemFilter } from '../items/item-filter.ts';
import { createdOnReader } from '../items/item-times.ts';
import { Items } from '../items/items.ts';
import { sortByCreation } from '../sources/creation-order.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';
import type { Instant } from '../time/instant.ts';
import type { Fold } from './fold.ts';

export function failuresOf(): (page: PageOfOutcomes) => Items {
  const keepFailed = itemFilter([parseCondition('publishStatus = FAILED', '--status', 0)], []);
  return ({ items, haveFailed }) =>
    haveFailed === undefined ? keepFailed(items) : items.first(haveFailed ? items.count : 0);
}

export class LatestFailures implements Fold<Items> {
  readonly #limit: number;
  readonly #createdOn = createdOnReader();
  readonly #failuresOf = failuresOf();
  #kept: { readonly text: Buffer; readonly createdOn: Instant | undefined }[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  see(page: PageOfOutcomes): void {
    for (const text of this.#failuresOf(page).texts())
      this.#kept.push({ text: Buffer.from(text), createdOn: this.#createdOn(text, 0) });
    if (this.#kept.length > 4 * this.#limit) this.#drop();
  }

  result(): Items {
    this.#drop();
    return Items.of(this.#kept.map(({ text }) => text));
  }

  #drop(): void {
    this.#kept = sortByCreation(this.#kept, 'newest first').slice(0, this.#limit);
  }
}
