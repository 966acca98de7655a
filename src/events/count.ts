import type { FetchPage } from './fetch-page.ts';
import { PAGE_SIZE } from './page-flags.ts';
import { type Query, searchUrl } from './query.ts';
import { readPages } from './read-pages.ts';
import { totalOf } from './reading.ts';

/**
 * How many events match, by the service's own `count` on a page of one item (service description, part 2); undefined
 * where it gives none, or only the size of the page.
 */
export async function askCount(
  fetchPage: FetchPage,
  baseUrl: URL,
  query: Query,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { page } = await fetchPage(searchUrl(baseUrl, query, { start: 1, count: 1 }), signal);
  return totalOf(page);
}

/** The same number by reading every page; `onPage` is told how many were read so far. */
export async function countByReading(
  fetchPage: FetchPage,
  baseUrl: URL,
  query: Query,
  concurrency: () => number,
  signal: AbortSignal,
  onPage: (events: number) => void,
): Promise<number> {
  let events = 0;
  const pages = readPages(fetchPage, { baseUrl, query, pageSize: PAGE_SIZE, concurrency, signal });
  for await (const { items } of pages) {
    events += items.count;
    onPage(events);
  }
  return events;
}
