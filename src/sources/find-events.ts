import type { Clock, Context } from '../context.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { type OnRetry, type Service, waitText } from '../http/service.ts';
import type { Direction } from '../items/item-times.ts';
import type { Items } from '../items/items.ts';
import { PAGE_SIZE, type Query } from '../paging/event-query.ts';
import { mergePages } from '../paging/merge-pages.ts';
import { type FetchPage, type FoundPage, keepPages, type PageClient, pageClient } from '../paging/page.ts';
import { adaptiveConcurrency } from '../paging/read-ahead.ts';
import { readPages } from '../paging/read-pages.ts';
import type { Settings } from '../settings/settings.ts';
import { type Progress, startProgress } from '../terminal/progress.ts';
import { eachOnce, type Reporter } from '../terminal/reporter.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import { type Instant, knownInstant, milliseconds } from '../time/instant.ts';
import { DAY_MS } from '../time/lengths.ts';
import { localZone, type TimeZone } from '../time/time-zone.ts';
import { readInDirection, readTail } from './creation-order.ts';
import { byServiceClock } from './service-clock.ts';

export interface FindOptions {
  /** Events per request, 1 to 500. */
  readonly pageSize: number;
  /** Stop after this many events. */
  readonly limit?: number | undefined;
  /**
   * The events in this direction, and with `limit` those at that end; otherwise the service's own direction.
   */
  readonly direction?: Direction | undefined;
  /** Pages asked for at once. */
  readonly concurrency: number;
  /** Bounds that are used instead of those of the filters. */
  readonly within?: Pick<Query, 'after' | 'before'> | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called before each wait for another try. */
  readonly onRetry?: OnRetry | undefined;
  /** Called with doubts about the completeness of the result, or about a wrong clock. */
  readonly onDoubt?: ((doubt: string) => void) | undefined;
}

/** A search that has begun. */
export interface EventSearch {
  /** What the service is asked for, with the times of the filters resolved. */
  readonly queries: readonly Query[];
  /**
   * The service's time at its first answer, in milliseconds, once it has answered; undefined if it does not
   * say. No later event is read by chance.
   */
  readonly askedAt: Promise<number | undefined>;
  /**
   * Every event that the filters choose, page by page, in the service's order of creation. Throws
   * `IncompleteError` if the events read do not agree with the service's count.
   */
  readonly pages: AsyncGenerator<FoundPage>;
  /** The events that were looked at so far by filters that run here; undefined without any. */
  readonly lookedAt: () => number | undefined;
}

/**
 * Begins a search. Where times are spans ago, the first request is sent at once, since the service's clock
 * resolves them; all else is asked for as the pages are read.
 */
export async function openSearch(
  service: Service,
  filters: EventFilters,
  options: FindOptions,
): Promise<EventSearch> {
  const { pageSize, limit = Number.POSITIVE_INFINITY, clock, signal } = options;
  const { width: concurrency, onRetry } = adaptiveConcurrency(options.concurrency);
  const asking = pageClient(service, clock, (attempt) => {
    onRetry(attempt);
    options.onRetry?.(attempt);
  });
  const { client: sender, askedAt } = rememberingTime(asking);
  // Several queries may have the same one.
  const onDoubt = eachOnce(options.onDoubt);
  const keep = filters.createKeep();
  let lookedAt = 0;
  const keepCounted =
    keep &&
    ((items: Items) => {
      lookedAt += items.count;
      return keep(items);
    });
  // Filters that run here may drop any number of the service's events.
  const most = keep ? Number.POSITIVE_INFINITY : limit;
  const { queries, client } = options.within
    ? { queries: filters.queriesWithin(options.within), client: sender }
    : await byServiceClock(filters, sender, Math.min(pageSize, most), clock, onDoubt);
  // Together they send no more requests at once than a single search would.
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
    for (const doubt of keep?.doubts() ?? []) onDoubt(doubt);
  };
  return { queries, askedAt, pages: pages(), lookedAt: () => keep && lookedAt };
}

/** The same client, and the service's time at its first answer. */
function rememberingTime(client: PageClient): { client: PageClient; askedAt: EventSearch['askedAt'] } {
  let resolve: (time: number | undefined) => void = () => {};
  const askedAt = new Promise<number | undefined>((resolveTime) => {
    resolve = resolveTime;
  });
  const fetchPage: FetchPage = async (url, ending) => {
    const answer = await client.fetchPage(url, ending);
    // Later answers change nothing any more.
    resolve(answer.serviceTime);
    return answer;
  };
  return { client: { ...client, fetchPage }, askedAt };
}

/**
 * A notice of the bounds that were used, and of where: the command line shows neither the time that a span
 * ago stood for nor the service behind a profile. Times in UTC have the local time beside them where that
 * differs. `lookedAt` is the number of events, if filters that run here looked at them.
 */
export function readNotice(
  verb: string,
  { after, before }: Pick<Query, 'after' | 'before'>,
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
  const ends = [after && `after ${timeText(after)}`, before && `before ${timeText(before)}`].filter(Boolean);
  const events = lookedAt === undefined ? 'events' : eventsText(lookedAt);
  const created = ends.length > 0 ? ` created ${ends.join(' and ')}` : '';
  const isWithoutEvents = lookedAt === undefined && created === '';
  const those = isWithoutEvents ? '' : `${events}${created}${created && ','} at `;
  return `${verb} ${those}${baseUrl.host} (profile '${profile}')`;
}

/** Lengths of time, in days, of which one is offered where a shorter one had no event. */
const LONGER_DAYS = [1, 7, 30, 90];

/**
 * The next step where there was no event after a time: a start at least twice as far back from `now`
 * (milliseconds). Undefined if none of the lengths is as long.
 */
export function furtherBack(after: Instant, now: number): string | undefined {
  const length = now - milliseconds(after);
  const days = LONGER_DAYS.find((longer) => longer * DAY_MS >= 2 * length);
  return days === undefined ? undefined : `\`--since ${days}d\` looks further back`;
}

type Watching = Pick<
  Context,
  'stdout' | 'stderr' | 'environment' | 'machine' | 'clock' | 'signal' | 'memory'
>;

/** Begins a search for every event that the filters choose, with progress on a terminal and warnings. */
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
      onDoubt: (doubt) => reporter.warning(doubt),
    });
    return { ...search, pages: counted(search.pages, progress) };
  } catch (error) {
    progress.stop();
    throw error;
  }
}

/** Passes pages on, and shows on a terminal how many events they have. */
export async function* showProgress(
  pages: AsyncIterable<FoundPage>,
  context: Watching,
  reporter: Reporter,
): AsyncGenerator<FoundPage> {
  yield* counted(pages, startProgress(context, reporter, 'reading'));
}

/** Passes pages on, and shows how many events they have until they end. */
async function* counted(pages: AsyncIterable<FoundPage>, progress: Progress): AsyncGenerator<FoundPage> {
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
