import { createWhoReader } from '../names/who.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';
import type { Fold } from './fold.ts';

/** The ids of the subscriptions that events are for. */
export class Receivers implements Fold<ReadonlySet<string>> {
  readonly #ids = new Set<string>();
  readonly #whoOf = createWhoReader(undefined);

  see({ items }: PageOfOutcomes): void {
    for (let item = 0; item < items.count; item++) {
      const { subscriptionId } = this.#whoOf(items.bytes, items.start(item));
      if (subscriptionId !== undefined) this.#ids.add(subscriptionId);
    }
  }

  /** Counts one that is known before any event, or without one. */
  add(id: string): void {
    this.#ids.add(id);
  }

  result(): ReadonlySet<string> {
    return this.#ids;
  }
}
