import type { KeepItems } from '../items/item-filter.ts';
import type { PageOfOutcomes } from '../sources/event-source.ts';

/**
 * One question about events. It sees their pages one after the other, and has its answer once it has seen
 * the last.
 */
export interface Fold<Answer> {
  see(page: PageOfOutcomes): void;
  result(): Answer;
}

/** A question whose answer is asked for elsewhere. */
interface Seeing {
  see(page: PageOfOutcomes): void | Promise<void>;
}

/** Shows all pages to all questions, in one pass. */
export async function foldPages(
  pages: AsyncIterable<PageOfOutcomes>,
  folds: readonly Seeing[],
): Promise<void> {
  for await (const page of pages) for (const fold of folds) await fold.see(page);
}

/** Shows questions only the events that `keep` keeps. */
export function ofKept(keep: KeepItems, folds: readonly Seeing[]): Seeing {
  return {
    see: async ({ items, haveFailed }) => {
      const page = { items: keep(items), haveFailed };
      for (const fold of folds) await fold.see(page);
    },
  };
}
