import type { Context } from '../context.ts';
import type { Service } from '../http/service.ts';
import { startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { EventFilters } from './event-filters.ts';
import { PAGE_SIZE, type Query, searchUrl } from './event-query.ts';
import { askCount, type FetchPage, pageFetcher } from './fetch-page.ts';
import { byServiceClock, readWithProgress } from './find-events.ts';
import type { FoundPage } from './merge-pages.ts';
import { adaptiveConcurrency, readAhead } from './read-ahead.ts';
import { readPages } from './read-pages.ts';

/** Counts the events by reading every page. `onPage` gets the number of events read so far. */
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

/** Returns the number of events that the filters choose, with `concurrency` requests at once. */
export async function countAll(
  service: Service,
  filters: EventFilters,
  concurrency: number,
  context: Pick<Context, 'stdout' | 'stderr' | 'environment' | 'clock' | 'signal'>,
  reporter: Reporter,
): Promise<number> {
  if (filters.keep) {
    reporter.notice('reading the events to count them: the service does not filter by --where and --grep');
    return countOf(readWithProgress(service, filters, { concurrency }, context, reporter));
  }
  const { baseUrl } = service;
  const { clock, signal } = context;
  const { width, onRetry } = adaptiveConcurrency(concurrency);
  const send = pageFetcher(service, clock, onRetry);
  const one = (query: Query) => searchUrl(baseUrl, query, { start: 1, count: 1 });
  const progress = startProgress(context, reporter, 'counting');
  let total = 0;
  let noticed = false;
  try {
    const { queries, fetchPage } = await byServiceClock(filters, send, one, clock, reporter.warning);
    const ask = (query: Query, ending: AbortSignal) => askCount(fetchPage, baseUrl, query, ending);
    for await (const { job, result } of readAhead(queries, ask, width, signal)) {
      if (result === undefined && !noticed) {
        noticed = true;
        reporter.notice('the service gives no count: reading every match to count it');
      }
      const onPage = (events: number) => progress.update({ events: total + events });
      total += result ?? (await countByReading(fetchPage, baseUrl, job, width, signal, onPage));
    }
  } finally {
    progress.stop();
  }
  return total;
}

/** The number of events in some pages. */
export async function countOf(pages: AsyncIterable<FoundPage>): Promise<number> {
  let events = 0;
  for await (const { items } of pages) events += items.count;
  return events;
}
