import { ServiceError } from '../errors.ts';
import type { Answer, FetchPage } from './fetch-page.ts';
import { type Instant, instantAt } from './instant.ts';
import { followed, loopGuard, pinned } from './links.ts';
import type { ItemTexts, Page } from './page.ts';
import { type PageWindow, type Query, searchUrl } from './query.ts';
import { readAhead } from './read-ahead.ts';

export interface ReadOptions {
  readonly baseUrl: URL;
  readonly query: Query;
  /** Items a request asks for, 1 to 500; the same on every page, or offsets would not line up. */
  readonly pageSize: number;
  /** Stop after this many items. */
  readonly limit?: number | undefined;
  /** Pages asked for at the same time; read again before each request, as a busy service lowers it. */
  readonly concurrency: () => number;
}

export interface ReadPage {
  readonly items: ItemTexts;
  /** Size of the whole result where the service tells it. */
  readonly total: number | undefined;
}

/**
 * All pages of one search, in order. Pages after the first are held to events created before the first answer
 * (`lt(createdOn,…)`), so that events which arrive meanwhile do not shift the offsets. Where the count is known and pages are
 * as large as asked they are read ahead in parallel; else the service's `next` links are followed one by one.
 * Throws `ServiceError` when what was read is not what the service counts.
 */
export async function* readPages(fetchPage: FetchPage, options: ReadOptions): AsyncGenerator<ReadPage> {
  const { baseUrl, query, limit = Number.POSITIVE_INFINITY } = options;
  const size = Math.min(options.pageSize, limit);
  const first = await fetchPage(searchUrl(baseUrl, query, { start: 1, count: size }));
  const pin = query.before ? undefined : pinOf(first);
  const held: Query = pin ? { ...query, before: pin } : query;

  const { page } = first;
  const total = totalOf(page);
  yield { items: cut(page.items, limit), total };
  if (page.items.count >= limit || page.items.count === total) return;

  const url = (window: PageWindow) => searchUrl(baseUrl, held, window);
  if (total !== undefined && page.items.count === size) {
    yield* byArithmetic(fetchPage, url, { size, total, limit, options, pin });
  } else {
    const at = searchUrl(baseUrl, query, { start: 1, count: size });
    yield* byLinks(fetchPage, { page, at, read: page.items.count, limit, size, pin, url });
  }
}

interface Plan {
  readonly size: number;
  readonly total: number;
  readonly limit: number;
  readonly options: ReadOptions;
  readonly pin: Instant | undefined;
}

async function* byArithmetic(
  fetchPage: FetchPage,
  url: (window: PageWindow) => URL,
  { size, total, limit, options, pin }: Plan,
): AsyncGenerator<ReadPage> {
  let read = size;
  const wanted = Math.min(total, limit);
  const pages = readAhead(
    windows(size, wanted),
    (window, signal) => fetchPage(url(window), signal),
    options.concurrency,
  );
  for await (const { job, result } of pages) {
    const { page } = result;
    const expected = Math.min(size, total - read);
    const counted = totalOf(page);
    if (counted !== undefined && counted !== total) throw shifted(total, counted);
    if (page.items.count < expected && page.next) {
      // The service answers smaller pages than asked: only its own links know where the next one starts.
      read += page.items.count;
      yield { items: cut(page.items, limit - read + page.items.count), total };
      yield* byLinks(fetchPage, { page, at: url(job), read, limit, size, pin, url });
      return;
    }
    read += page.items.count;
    yield { items: cut(page.items, wanted - (read - page.items.count)), total };
    if (page.items.count !== expected) break;
  }
  if (read < wanted) throw incomplete(read, wanted);
}

function* windows(size: number, wanted: number): Generator<PageWindow> {
  for (let start = size + 1; start <= wanted; start += size) yield { start, count: size };
}

interface Trail {
  page: Page;
  at: URL;
  read: number;
  readonly limit: number;
  readonly size: number;
  readonly pin: Instant | undefined;
  readonly url: (window: PageWindow) => URL;
}

async function* byLinks(fetchPage: FetchPage, trail: Trail): AsyncGenerator<ReadPage> {
  const guard = loopGuard();
  guard(trail.at);
  let { page, at, read } = trail;
  while (read < trail.limit) {
    if (page.next === null || (page.next === undefined && page.items.count < trail.size)) break;
    // A service without links at all still has its offsets.
    at = page.next
      ? pinned(followed(page.next, at), trail.pin)
      : trail.url({ start: read + 1, count: trail.size });
    guard(at);
    ({ page } = await fetchPage(at));
    read += page.items.count;
    yield { items: cut(page.items, trail.limit - (read - page.items.count)), total: totalOf(page) };
  }
  const total = totalOf(page);
  if (total !== undefined && total > page.items.count && read < Math.min(total, trail.limit)) {
    throw incomplete(read, Math.min(total, trail.limit));
  }
}

/** The count of the whole collection, where it can be that: some services put the page's own size there. */
function totalOf(page: Page): number | undefined {
  if (page.count === undefined || page.count < page.items.count) return undefined;
  return page.count === page.items.count && page.next ? undefined : page.count;
}

/** The service's time of an answer, rounded up to the next full second: `Date` has no fraction. */
function pinOf(answer: Answer): Instant | undefined {
  return answer.serviceTime === undefined ? undefined : instantAt(answer.serviceTime + 1000);
}

function cut(items: ItemTexts, limit: number): ItemTexts {
  if (items.count <= limit) return items;
  return { bytes: items.bytes, spans: items.spans.subarray(0, limit * 2), count: limit };
}

function shifted(before: number, now: number): ServiceError {
  return new ServiceError('the result is not complete: it changed while it was read', {
    details: [`the service counted ${before} events at first, and ${now} later`],
    next: 'run it again; with --before in the past the result stands still',
  });
}

function incomplete(read: number, wanted: number): ServiceError {
  return new ServiceError(
    `the result is not complete: ${read} events were read, the service counts ${wanted}`,
    {
      next: 'run it again; with --before in the past the result stands still',
    },
  );
}
