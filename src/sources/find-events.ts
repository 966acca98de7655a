import type { Call } from '../command.ts';
import type { Clock, Context } from '../context.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { resolveKeptTypes } from '../filters/event-types.ts';
import { mediaType, type OnRetry, type Service, waitText } from '../http/service.ts';
import { createdOnReader, type Direction, directionBetween } from '../items/item-times.ts';
import { Items } from '../items/items.ts';
import { PAGE_SIZE, type Query, searchUrl } from '../paging/event-query.ts';
import { mergePages } from '../paging/merge-pages.ts';
import {
  askCount,
  askPage,
  type FetchPage,
  type FoundPage,
  keepPages,
  type PageAnswer,
  type PageClient,
  pageClient,
} from '../paging/page.ts';
import { adaptiveConcurrency } from '../paging/read-ahead.ts';
import { readPages } from '../paging/read-pages.ts';
import { loadSettings, type SettingFlags, type Settings } from '../settings/settings.ts';
import { quotedWord } from '../settings/shell-words.ts';
import { type Progress, startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { compareInstants, type Instant, knownInstant } from '../time/instant.ts';
import { localZone, type TimeZone } from '../time/time-zone.ts';

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
  /** Called with the queries, once the times of the filters are resolved. */
  readonly onQueries?: ((queries: readonly Query[]) => void) | undefined;
  /**
   * Called with the service's time at its first answer, in milliseconds. No later event is read by chance.
   */
  readonly onServiceTime?: ((time: number) => void) | undefined;
  /** Called with doubts about the completeness of the result, or about a wrong clock. */
  readonly onDoubt?: ((doubt: string) => void) | undefined;
}

/**
 * Every event that the filters choose, page by page, in the service's order of creation. Throws
 * `IncompleteError` if the events read do not agree with the service's count.
 */
export async function* findEvents(
  service: Service,
  filters: EventFilters,
  options: FindOptions,
): AsyncGenerator<FoundPage> {
  const { pageSize, limit = Number.POSITIVE_INFINITY, clock, signal } = options;
  const { width: concurrency, onRetry } = adaptiveConcurrency(options.concurrency);
  const asking = pageClient(service, clock, (attempt) => {
    onRetry(attempt);
    options.onRetry?.(attempt);
  });
  const sender = options.onServiceTime ? tellingTime(asking, options.onServiceTime) : asking;
  // Several queries may have the same one.
  const doubts = new Set<string>();
  const onDoubt = (doubt: string) => {
    if (!doubts.has(doubt)) options.onDoubt?.(doubt);
    doubts.add(doubt);
  };
  const { keep } = filters;
  // Filters that run here may drop any number of the service's events.
  const most = keep ? Number.POSITIVE_INFINITY : limit;
  const { queries, client } = options.within
    ? { queries: filters.queriesWithin(options.within), client: sender }
    : await byServiceClock(filters, sender, Math.min(pageSize, most), clock, onDoubt);
  options.onQueries?.(queries);
  // Together they send no more requests at once than a single search would.
  const share = () => Math.max(1, Math.floor(concurrency() / queries.length));
  const read = (limit: number) => {
    const reading = { pageSize, limit: keep ? undefined : limit, concurrency: share, signal, onDoubt };
    const searches = queries.map((query) => readPages(client, { ...reading, query }));
    const [only, another] = searches;
    const pages = only && !another ? only : mergePages(searches, concurrency, signal, onDoubt);
    return keepPages(pages, keep, limit);
  };
  const [query, another] = queries;
  const tail =
    keep || another || !query ? undefined : () => readTail(client, query, limit, signal, MAX_TAIL_READS);
  yield* options.direction ? readInDirection(read, options.direction, limit, tail) : read(limit);
  for (const doubt of keep?.doubts() ?? []) onDoubt?.(doubt);
}

/** The same client, which tells the service's time at its first answer that has one. */
function tellingTime(client: PageClient, onServiceTime: (time: number) => void): PageClient {
  let isTold = false;
  const fetchPage: FetchPage = async (url, ending) => {
    const answer = await client.fetchPage(url, ending);
    if (answer.serviceTime !== undefined && !isTold) {
      isTold = true;
      onServiceTime(answer.serviceTime);
    }
    return answer;
  };
  return { ...client, fetchPage };
}

/**
 * Reads events in a direction, whichever the service's own is: `limit` counts from that end. Only a first
 * page that shows the other direction costs more: `tail` asks for the service's last events at once, or else
 * all of them are read.
 */
async function* readInDirection(
  read: (limit: number) => AsyncGenerator<FoundPage>,
  direction: Direction,
  limit: number,
  tail?: () => Promise<Items | undefined>,
): AsyncGenerator<FoundPage> {
  const pages = read(limit);
  const { done, value: first } = await pages.next();
  if (done) return;
  if (directionBetween(first.items, first.items) === direction) {
    yield first;
    return yield* pages;
  }
  await pages.return(undefined);
  const last = Number.isFinite(limit) ? await tail?.() : undefined;
  if (last && directionBetween(first.items, last) === direction) return yield* read(limit);
  if (last) return yield { items: Items.of(last.texts().reverse()), total: first.total };
  yield* inDirection(read(Number.POSITIVE_INFINITY), direction, limit, first.total);
}

/** Holds all events in memory to put them in order. */
export async function* inDirection(
  pages: AsyncIterable<FoundPage>,
  direction: Direction,
  limit: number,
  total?: number,
): AsyncGenerator<FoundPage> {
  const events: { readonly text: Buffer; readonly createdOn: Instant | undefined }[] = [];
  const createdOn = createdOnReader();
  for await (const { items } of pages)
    for (const [item, text] of items.texts().entries())
      events.push({ text, createdOn: createdOn(items.bytes, items.start(item)) });
  const due = sortByCreation(events, direction, 'newest first').slice(0, limit);
  for (let at = 0; at < due.length; at += PAGE_SIZE)
    yield { items: Items.of(due.slice(at, at + PAGE_SIZE).map(({ text }) => text)), total };
}

/**
 * Returns the events in a direction, those without a time last. Events of one moment stay as they were, or
 * are reversed with all others. If no time tells how they were, it is as `assumed`.
 */
export function sortByCreation<Event extends { readonly createdOn: Instant | undefined }>(
  given: readonly Event[],
  direction: Direction,
  assumed = direction,
): Event[] {
  const events = [...given];
  const sign = direction === 'oldest first' ? 1 : -1;
  const compare = (one?: Instant, other?: Instant) =>
    one && other ? sign * compareInstants(one, other) : Number(!one) - Number(!other);
  const dated = events.filter(({ createdOn }) => createdOn);
  const [first, last] = [dated[0]?.createdOn, dated.at(-1)?.createdOn];
  if ((compare(first, last) || Number(assumed !== direction)) > 0) events.reverse();
  return events.sort((one, other) => compare(one.createdOn, other.createdOn));
}

/** The number of times that the last events are asked for, if their number changes meanwhile. */
const MAX_TAIL_READS = 3;

/**
 * The last `limit` events of a search in the service's order, if its counts and pages agree; otherwise
 * undefined.
 */
async function readTail(
  client: PageClient,
  query: Query,
  limit: number,
  signal: AbortSignal,
  tries: number,
): Promise<Items | undefined> {
  const total = await askCount(client, query, signal);
  if (total === undefined || tries === 0) return undefined;
  const texts: Buffer[] = [];
  for (let start = Math.max(1, total - limit + 1); start <= total; start += PAGE_SIZE) {
    const count = Math.min(PAGE_SIZE, total - start + 1);
    const { page } = await askPage(client, query, { start, count }, signal);
    if (page.count !== total || page.items.count !== count)
      return readTail(client, query, limit, signal, tries - 1);
    texts.push(...page.items.texts());
  }
  return Items.of(texts);
}

/**
 * A notice of the bounds that were used, and of where: the command line shows neither the time that a span
 * ago stood for nor the service behind a profile. Times in UTC have the local time beside them where that
 * differs.
 */
export function readNotice(
  verb: string,
  { after, before }: Pick<Query, 'after' | 'before'>,
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
  const events = ends.length > 0 ? `events created ${ends.join(' and ')}, at ` : '';
  return `${verb} ${events}${baseUrl.host} (profile '${profile}')`;
}

type Watching = Pick<Context, 'stdout' | 'stderr' | 'environment' | 'clock' | 'signal'>;

/** Every event that the filters choose, with progress on a terminal and warnings. */
export function readWithProgress(
  service: Service,
  filters: EventFilters,
  options: Pick<FindOptions, 'concurrency' | 'within' | 'onQueries'>,
  context: Watching,
  reporter: Reporter,
): AsyncGenerator<FoundPage> {
  const { clock, signal } = context;
  const find = (progress: Progress) =>
    findEvents(service, filters, {
      ...options,
      pageSize: PAGE_SIZE,
      clock,
      signal,
      onRetry: (attempt) => progress.update({ note: waitText(attempt) }),
      onDoubt: (doubt) => reporter.warning(doubt),
    });
  return showProgress(find, context, reporter);
}

/** Passes pages on, and shows on a terminal how many events they have. */
export async function* showProgress(
  read: (progress: Progress) => AsyncIterable<FoundPage>,
  context: Watching,
  reporter: Reporter,
): AsyncGenerator<FoundPage> {
  const progress = startProgress(context, reporter, 'reading');
  let events = 0;
  try {
    for await (const page of read(progress)) {
      events += page.items.count;
      progress.update({ events, total: page.total, note: '' });
      yield page;
    }
  } finally {
    progress.stop();
  }
}

/** `Date` has a resolution of one second. */
const TOLERANCE_MS = 2000;

/**
 * The searches that the filters stand for, by the service's clock. For the first request, of `count` events,
 * spans ago count from this machine's clock. If the answer's `Date` shows that clock to be wrong, they are
 * counted again from the service's clock; otherwise the answer is kept for the search that requests it.
 */
export async function byServiceClock(
  filters: EventFilters,
  client: PageClient,
  count: number,
  clock: Pick<Clock, 'now'>,
  onDoubt?: (doubt: string) => void,
): Promise<{ queries: readonly Query[]; client: PageClient }> {
  const asked = clock.now();
  const queries = filters.queries(asked);
  if (!filters.isRelative && !filters.seemsToBeginLater(asked)) return { queries, client };
  const url = searchUrl(client.baseUrl, queries[0], { start: 1, count });
  const answer = await client.fetchPage(url);
  const { serviceTime } = answer;
  filters.requirePastStart(serviceTime ?? asked);
  if (
    filters.isRelative &&
    serviceTime !== undefined &&
    (serviceTime < asked - TOLERANCE_MS || serviceTime > clock.now() + TOLERANCE_MS)
  ) {
    const ahead = Math.round((asked - serviceTime) / 1000);
    onDoubt?.(
      `this machine's clock is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} the service's: times are counted from the service's`,
    );
    return { queries: filters.queries(serviceTime), client };
  }
  let kept: PageAnswer | undefined = answer;
  const fetchPage: FetchPage = async (wanted, ...rest) => {
    if (!kept || wanted.href !== url.href) return client.fetchPage(wanted, ...rest);
    const page = kept;
    kept = undefined;
    return page;
  };
  return { queries, client: { ...client, fetchPage } };
}

/**
 * Prints the first request of each search, for pages of `size` items. Sends nothing, so it works without a
 * sign-in.
 */
export async function previewRequests(
  { flags, context, reporter }: Call<SettingFlags>,
  typed: EventFilters,
  size: number,
  form: 'urls' | 'curl',
): Promise<undefined> {
  const filters = await resolveKeptTypes(typed, flags.profile, context);
  const queries = filters.queries(context.clock.now());
  filters.requirePastStart(context.clock.now(), "this machine's");
  if (filters.keep) reporter.warning('the requests leave out --where and --grep: hooktrail applies them');
  const curl = form === 'curl' && (await loadSettings(flags, context, ['baseUrl', 'vendor']));
  const { baseUrl } = curl || (await loadSettings(flags, context, ['baseUrl']));
  for (const query of queries) {
    const url = searchUrl(baseUrl, query, { start: 1, count: size });
    await context.stdout.write(`${curl ? curlCommand(url, curl.vendor, flags.profile) : url.href}\n`);
  }
}

/** A `curl` command that sends the same GET; the token is fetched by the shell that runs it. */
function curlCommand(url: URL, vendor: string, profile: string | undefined): string {
  const token = `$(hooktrail token${profile ? ` --profile ${profile}` : ''})`;
  return [
    'curl --globoff --silent --show-error --fail-with-body',
    `--header ${quotedWord(`Accept: ${mediaType(vendor)}`)}`,
    `--header "Authorization: Bearer ${token}"`,
    quotedWord(url.href),
  ].join(' ');
}
