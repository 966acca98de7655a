import type { Context } from '../context.ts';
import { adaptiveConcurrency } from '../events/adaptive-concurrency.ts';
import type { Query } from '../events/event-query.ts';
import { pageFetcher } from '../events/fetch-page.ts';
import { type ReadOptions, readPages } from '../events/read-pages.ts';
import { waitText } from '../http/retry.ts';
import type { Service } from '../http/service.ts';
import type { ItemPage } from '../items/items.ts';
import { startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { createItemWriter } from './create-item-writer.ts';
import type { FormatOptions } from './item-writer.ts';

export interface Search {
  readonly service: Service;
  readonly queries: readonly Query[];
  readonly options: Omit<ReadOptions, 'query' | 'concurrency' | 'signal'> & { readonly concurrency: number };
  readonly format: FormatOptions;
  readonly context: Pick<Context, 'stdout' | 'stderr' | 'environment' | 'clock' | 'signal'>;
  readonly reporter: Reporter;
  /** Shown items before they are printed: the writer may use their memory again. */
  readonly onItems?: ((items: ItemPage) => void) | undefined;
}

/** A read this long collects its garbage itself, each time so many pages have passed: that keeps memory flat. */
const MANY_PAGES = 100;
const COLLECTED_PAGES = 8;

async function collectGarbage(): Promise<void> {
  const { collectYoungGarbage } = await import('../events/young-garbage.ts');
  collectYoungGarbage();
}

/** Reads every page of every search, in order, and prints the items; returns how many, and whether there are more. */
export async function searchAll(search: Search) {
  const { service, queries, options, format, context, reporter, onItems } = search;
  const { limit = Number.POSITIVE_INFINITY } = options;
  const writer = await createItemWriter(format, context, reporter);
  const progress = startProgress(context, reporter, 'searching');
  const { width: concurrency, onRetry } = adaptiveConcurrency(options.concurrency);
  let printed = 0;
  let pages = 0;
  let total: number | undefined = 0;
  const fetchPage = pageFetcher(service, context.clock, (attempt) => {
    onRetry(attempt);
    progress.update({ note: waitText(attempt) });
  });
  try {
    for (const query of queries) {
      if (printed >= limit) {
        total = undefined;
        break;
      }
      let sum: number | undefined;
      const read = {
        ...options,
        query,
        limit: limit - printed,
        concurrency,
        signal: context.signal,
        onDoubt: (doubt: string) => reporter.warning(doubt),
      };
      for await (const page of readPages(fetchPage, read)) {
        printed += page.items.count;
        pages++;
        sum = page.total;
        progress.update({ pages, events: printed, total: queries.length === 1 ? sum : undefined, note: '' });
        onItems?.(page.items);
        await writer.write(page.items);
        if (!writer.keepsPages) page.release?.();
        if (pages > MANY_PAGES && pages % COLLECTED_PAGES === 0) await collectGarbage();
      }
      total = total === undefined || sum === undefined ? undefined : total + sum;
    }
  } catch (error) {
    await writer.abort();
    throw error;
  } finally {
    progress.stop();
  }
  await writer.end();
  return { printed, total, more: printed >= limit && (total === undefined || total > printed) };
}
