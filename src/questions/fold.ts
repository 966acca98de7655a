import type { KeepItems } from '../items/item-filter.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';

/** A question about events: sees each page once, then gives its answer. */
export interface Fold<Answer> {
  see(page: PageOfOutcomes): void;
  result(): Answer;
}

interface Seeing {
  see(page: PageOfOutcomes): void | Promise<void>;
}

export async function foldPages(
  pages: AsyncIterable<PageOfOutcomes>,
  folds: readonly Seeing[],
): Promise<void> {
  for await (const page of pages) for (const fold of folds) await fold.see(page);
}

export function ofKept(keep: KeepItems, folds: readonly Seeing[]): Seeing {
  return {
    see: async ({ items, haveFailed }) => {
      const page = { items: keep(items), haveFailed };
      for (const fold of folds) await fold.see(page);
    },
  };
}
