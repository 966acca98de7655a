import { memberPath } from '../items/field-path.ts';
import { createCursor } from '../items/known-cursor.ts';
import { OUTCOMES } from '../items/outcome-names.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';
import type { Fold } from './fold.ts';

interface Count {
  readonly events: number;
  readonly failed: number;
}

export class OutcomeCount implements Fold<Count> {
  readonly #cursor = createCursor([memberPath('publishStatus')]);
  #events = 0;
  #failed = 0;

  see({ items, haveFailed }: PageOfOutcomes): void {
    for (let item = 0; item < items.count; item++) {
      this.#cursor.read(items.bytes, items.start(item));
      const hasFailed = haveFailed ?? OUTCOMES.get(this.#cursor.text(0) ?? '');
      if (hasFailed === undefined) continue;
      this.#events++;
      if (hasFailed) this.#failed++;
    }
  }

  result(): Count {
    return { events: this.#events, failed: this.#failed };
  }
}
