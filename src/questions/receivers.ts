import { createWhoReader } from '../names/who.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';
import type { Fold } from './fold.ts';

export class Receivers implements Fold<ReadonlySet<string>> {
  readonly #ids = new Set<string>();
  readonly #whoOf = createWhoReader(undefined);

  see({ items }: PageOfOutcomes): void {
    for (let item = 0; item < items.count; item++) {
      const { subscriptionId } = this.#whoOf(items.bytes, items.start(item));
      if (subscriptionId !== undefined) this.#ids.add(subscriptionId);
    }
  }

  add(id: string): void {
    this.#ids.add(id);
  }

  result(): ReadonlySet<string> {
    return this.#ids;
  }
}
