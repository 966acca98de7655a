import type { Clock, Context } from '../context.ts';
import { type OnRetry, waitText } from '../http/retry.ts';
import type { Service } from '../http/service.ts';
import { startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { Instant } from '../time/instant.ts';
import type { EventFilters } from './event-filters.ts';
import { PAGE_SIZE, type Query, searchUrl } from './event-query.ts';
import { type Answer, type FetchPage, pageFetcher } from './fetch-page.ts';
import { type FoundPage, mergePages } from './merge-pages.ts';
import { adaptiveConcurrency } from './read-ahead.ts';
import { readPages } from './read-pages.ts';

export interface FindOptions {
  /** Events per request, 1 to 500. */
  readonly pageSize: number;
  /** Stop after this many events. */
  readonly limit?: number | undefined;
  /** Pages asked for at once. */
  readonly concurrency: number;
  /** Bounds that are used instead of those of the filters. */
  readonly within?: Window | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called before each wait for another try. */
  readonly onRetry?: OnRetry | undefined;
  /** Called with the queries, once the times of the filters are resolved. */
  readonly onQueries?: ((queries: readonly Query[]) => void) | undefined;
  /** Called with doubts about the completeness of the result, or about a wrong clock. */
  readonly onDoubt?: ((doubt: string) => void) | undefined;
}

/**
 * Every event that the filters choose, page by page, in the service's order of creation. Throws `IncompleteError` if
 * the events read do not agree with the service's count.
 */
export async function* findEvents(
  service: Service,
  filters: EventFilters,
  options: FindOptions,
): AsyncGenerator<FoundPage> {
  const { pageSize, limit = Number.POSITIVE_INFINITY, clock, signal, onDoubt } = options;
  const { baseUrl } = service;
  const { width: concurrency, onRetry } = adaptiveConcurrency(options.concurrency);
  const send = pageFetcher(service, clock, (attempt) => {
    onRetry(attempt);
    options.onRetry?.(attempt);
  });
  const { keep } = filters;
  // Filters that run here may drop any number of the service's events.
  const most = keep ? Number.POSITIVE_INFINITY : limit;
  const first = (query: Query) => searchUrl(baseUrl, query, { start: 1, count: Math.min(pageSize, most) });
  const { queries, fetchPage } = options.within
    ? { queries: within(filters, options.within), fetchPage: send }
    : await byServiceClock(filters, send, first, clock, onDoubt);
  options.onQueries?.(queries);
  const read = { pageSize, limit: most, concurrency, signal, onDoubt };
  let found = 0;
  for await (const { items, total } of readMerged(fetchPage, baseUrl, queries, read)) {
    const due = keep ? keep(items).first(limit - found) : items;
    found += due.count;
    yield { items: due, total: keep ? undefined : total };
    if (found >= limit) break;
  }
  for (const doubt of keep?.doubts() ?? []) onDoubt?.(doubt);
}

/** The same with progress on a terminal and warnings. */
export async function* readWithProgress(
  service: Service,
  filters: EventFilters,
  options: Pick<FindOptions, 'concurrency' | 'within'>,
  context: Pick<Context, 'stdout' | 'stderr' | 'environment' | 'clock' | 'signal'>,
  reporter: Reporter,
): AsyncGenerator<FoundPage> {
  const progress = startProgress(context, reporter, 'reading');
  const { clock, signal } = context;
  let events = 0;
  try {
    const found = findEvents(service, filters, {
      ...options,
      pageSize: PAGE_SIZE,
      clock,
      signal,
      onRetry: (attempt) => progress.update({ note: waitText(attempt) }),
      onDoubt: (doubt) => reporter.warning(doubt),
    });
    for await (const page of found) {
      events += page.items.count;
      progress.update({ events, total: page.total, note: '' });
      yield page;
    }
  } finally {
    progress.stop();
  }
}

/** The searches of filters whose times are known already. */
function within(filters: EventFilters, { after, before }: Window): Query[] {
  return filters
    .withoutTimes()
    .queries(0)
    .map((query) => ({ ...query, after, before }));
}

interface Window {
  readonly after: Instant | undefined;
  readonly before: Instant | undefined;
}

interface MergeOptions extends Pick<FindOptions, 'pageSize' | 'limit' | 'signal' | 'onDoubt'> {
  readonly concurrency: () => number;
}

/** The events of several searches, which must not overlap, in order of creation; `limit` counts them all. */
export async function* readMerged(
  fetchPage: FetchPage,
  baseUrl: URL,
  queries: readonly Query[],
  { concurrency, limit = Number.POSITIVE_INFINITY, ...options }: MergeOptions,
): AsyncGenerator<FoundPage> {
  // Together they send no more requests at once than a single search would.
  const share = () => Math.max(1, Math.floor(concurrency() / queries.length));
  const searches = queries.map((query) =>
    readPages(fetchPage, { ...options, baseUrl, query, limit, concurrency: share }),
  );
  const [only, another] = searches;
  const { signal, onDoubt } = options;
  const pages = only && !another ? only : mergePages(searches, concurrency, signal, onDoubt);
  let found = 0;
  for await (const { items, total } of pages) {
    const due = items.first(limit - found);
    found += due.count;
    yield { items: due, total };
    if (found >= limit) return;
  }
}

/** `Date` has a resolution of one second. */
const TOLERANCE = 2000;

/**
 * The searches that the filters stand for, by the service's clock. For the first request, spans ago count from this
 * machine's clock. If the answer's `Date` shows that clock to be wrong, they are counted again from the service's
 * clock; otherwise the answer is kept for the search that requests it.
 */
export async function byServiceClock(
  filters: EventFilters,
  fetchPage: FetchPage,
  first: (query: Query) => URL,
  clock: Pick<Clock, 'now'>,
  onDoubt?: (doubt: string) => void,
): Promise<{ queries: readonly Query[]; fetchPage: FetchPage }> {
  const asked = clock.now();
  const queries = filters.queries(asked);
  if (!filters.isRelative) return { queries, fetchPage };
  const url = first(queries[0]);
  const answer = await fetchPage(url);
  const { serviceTime } = answer;
  if (
    serviceTime !== undefined &&
    (serviceTime < asked - TOLERANCE || serviceTime > clock.now() + TOLERANCE)
  ) {
    const ahead = Math.round((asked - serviceTime) / 1000);
    onDoubt?.(
      `this machine's clock is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} the service's: times are counted from the service's`,
    );
    return { queries: filters.queries(serviceTime), fetchPage };
  }
  let kept: Answer | undefined = answer;
  return {
    queries,
    fetchPage: async (wanted, ...rest) => {
      if (!kept || wanted.href !== url.href) return fetchPage(wanted, ...rest);
      const page = kept;
      kept = undefined;
      return page;
    },
  };
}
