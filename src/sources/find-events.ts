import type { Clock, Context } from '../context.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { type OnRetry, type Service, waitText } from '../http/service.ts';
import type { Direction } from '../items/item-times.ts';
import type { Items } from '../items/items.ts';
import { PAGE_SIZE, type Query } from '../paging/event-query.ts';
import { mergePages } from '../paging/merge-pages.ts';
import { adaptiveClient, type FoundPage, keepPages, observed, type PageClient } from '../paging/page.ts';
import { readPages } from '../paging/read-pages.ts';
import type { Settings } from '../settings/settings.ts';
import { type Progress, startProgress } from '../terminal/progress.ts';
import { eachOnce, type OnDoubt, type Reporter, warnOfDoubts } from '../terminal/reporter.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import { type Instant, knownInstant } from '../time/instant.ts';
import { createdText } from '../time/period.ts';
import { localZone, type TimeZone } from '../time/time-zone.ts';
import { readInDirection, readTail } from './creation-order.ts';
import { byServiceClock } from './service-clock.ts';

export interface FindOptions {
  /** 1 to 500. */
  readonly pageSize: number;
  readonly limit?: number | undefined;
  /** Also the end that `limit` counts from. Defaults to the service's own direction. */
  readonly direction?: Direction | undefined;
  readonly concurrency: number;
  readonly within?: Pick<Query, 'after' | 'before'> | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onRetry?: OnRetry | undefined;
  /** Called with doubts that the result is complete, or that the clock is right. */
  readonly onDoubt?: OnDoubt | undefined;
}

export interface EventSearch {
  readonly queries: readonly Query[];
  /** The service's time of its first answer, in milliseconds; undefined if it sends none. */
  readonly askedAt: Promise<number | undefined>;
  /** Throws `IncompleteError` if the events disagree with the service's count. */
  readonly pages: AsyncGenerator<FoundPage>;
  /** Events examined by filters that the service does not have; undefined without such filters. */
  readonly lookedAt: () => number | undefined;
}

/** Sends the first request immediately only for relative times, which the service's clock resolves. */
export async function openSearch(
  service: Service,
  filters: EventFilters,
  options: FindOptions,
): Promise<EventSearch> {
  const { pageSize, limit = Number.POSITIVE_INFINITY, clock, signal } = options;
  const { client: asking, width: concurrency } = adaptiveClient(
    service,
    options.concurrency,
    options.onRetry,
  );
  const { client: sender, askedAt } = rememberingTime(asking);
  // Several queries may raise the same doubt.
  const onDoubt = eachOnce(options.onDoubt);
  const keep = filters.createKeep();
  let lookedAt = 0;
  const keepCounted =
    keep &&
    ((items: Items) => {
      lookedAt += items.count;
      return keep(items);
    });
  const most = keep ? Number.POSITIVE_INFINITY : limit;
  const { queries, client } = options.within
    ? { queries: filters.queriesWithin(options.within), client: sender }
    : await byServiceClock(filters, sender, Math.min(pageSize, most), clock, onDoubt);
  // All queries share the request limit of one.
  const share = () => Math.max(1, Math.floor(concurrency() / queries.length));
  const read = (limit: number) => {
    const reading = { pageSize, limit: keep ? undefined : limit, concurrency: share, signal, onDoubt };
    const searches = queries.map((query) => readPages(client, { ...reading, query }));
    const [only, another] = searches;
    const pages = only && !another ? only : mergePages(searches, concurrency, signal, onDoubt);
    return keepPages(pages, keepCounted, limit);
  };
  const [query, another] = queries;
  const tail = keep || another || !query ? undefined : () => readTail(client, query, limit, signal);
  const { direction } = options;
  const pages = async function* () {
    yield* direction ? readInDirection(read, direction, limit, tail) : read(limit);
    for (const doubt of keep?.doubts() ?? []) onDoubt(doubt, 'usage');
  };
  return { queries, askedAt, pages: pages(), lookedAt: () => keep && lookedAt };
}

function rememberingTime(client: PageClient): { client: PageClient; askedAt: EventSearch['askedAt'] } {
  let resolve: (time: number | undefined) => void = () => {};
  const askedAt = new Promise<number | undefined>((resolveTime) => {
    resolve = resolveTime;
  });
  // Only the first call has an effect.
  return { client: observed(client, ({ serviceTime }) => resolve(serviceTime)), askedAt };
}

/**
 * Prints the resolved times and the service, since the command line may show only a relative time and a
 * profile. Adds the local time to UTC if it differs. `lookedAt` is set if filters ran here.
 */
export function readNotice(
  verb: string,
  window: Pick<Query, 'after' | 'before'>,
  lookedAt: number | undefined,
  zone: TimeZone,
  { profile, baseUrl }: Pick<Settings<'baseUrl'>, 'profile' | 'baseUrl'>,
  context: Pick<Context, 'machine'>,
): string {
  const local = localZone(context);
  const timeText = ({ text, seconds }: Instant) => {
    const isLocal = !zone.isUtc || local.offsetAt(seconds * 1000) === 0;
    return isLocal ? zone.shown(text) : `${text} (${local.shown(knownInstant(seconds * 1000).text)} here)`;
  };
  const events = lookedAt === undefined ? 'events' : eventsText(lookedAt);
  const created = createdText(window, timeText);
  const isWithoutEvents = lookedAt === undefined && created === '';
  const those = isWithoutEvents ? '' : `${events}${created && ` ${created},`} at `;
  return `${verb} ${those}${baseUrl.host} (profile '${profile}')`;
}

type Watching = Pick<
  Context,
  'stdout' | 'stderr' | 'environment' | 'machine' | 'clock' | 'signal' | 'memory'
>;

export async function openWithProgress(
  service: Service,
  filters: EventFilters,
  options: Pick<FindOptions, 'concurrency' | 'within' | 'direction'>,
  context: Watching,
  reporter: Reporter,
): Promise<EventSearch> {
  const { clock, signal } = context;
  const progress = startProgress(context, reporter, 'reading');
  try {
    const search = await openSearch(service, filters, {
      ...options,
      pageSize: PAGE_SIZE,
      clock,
      signal,
      onRetry: (attempt) => progress.update({ note: waitText(attempt) }),
      onDoubt: warnOfDoubts(reporter),
    });
    return { ...search, pages: counted(search.pages, progress) };
  } catch (error) {
    progress.stop();
    throw error;
  }
}

type CountedPage = Pick<FoundPage, 'items'> & Partial<Pick<FoundPage, 'total'>>;

export async function* showProgress<Page extends CountedPage>(
  pages: AsyncIterable<Page>,
  context: Watching,
  reporter: Reporter,
): AsyncGenerator<Page> {
  yield* counted(pages, startProgress(context, reporter, 'reading'));
}

async function* counted<Page extends CountedPage>(
  pages: AsyncIterable<Page>,
  progress: Progress,
): AsyncGenerator<Page> {
  let events = 0;
  try {
    for await (const page of pages) {
      events += page.items.count;
      progress.update({ events, total: page.total, note: '' });
      yield page;
    }
  } finally {
    progress.stop();
  }
}
