import { ServiceError } from '../errors.ts';
import { holdsEventsFrom, isNewestFirst } from '../items/created-on.ts';
import { compareInstants, type Instant, instantAt, milliseconds } from '../items/instant.ts';
import { type PageWindow, type Query, searchUrl } from './event-query.ts';
import type { Answer, FetchPage } from './fetch-page.ts';
import type { IdentifiedItems, Page } from './page.ts';
import { followed, leadsTo, loopGuard, pinned } from './page-links.ts';
import { Reading } from './read-account.ts';
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
  readonly signal: AbortSignal;
  /** Told once what keeps this read from being held still or checked. */
  readonly onDoubt?: ((doubt: string) => void) | undefined;
}

export interface ReadPage {
  readonly items: IdentifiedItems;
  /** Size of the whole result where the service tells it. */
  readonly total: number | undefined;
}

interface Plan {
  readonly fetchPage: FetchPage;
  readonly url: (window: PageWindow) => URL;
  readonly size: number;
  readonly pin: Instant | undefined;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
  readonly reading: Reading;
}

/** How often one read starts again from where a moving result may have slipped past it, before it gives up. */
const MAX_STEPS_BACK = 100;
const MAX_SWEEPS = 2;
const MAX_EMPTY_PAGES = 20;

/**
 * All pages of one search, in order. Pages after the first are held to events created before the first answer
 * (`lt(createdOn,…)`), so that events which arrive meanwhile do not shift the offsets. Where the count is known and pages are
 * as large as asked they are read ahead in parallel; otherwise the service's `next` links are followed one by one. A result
 * that moves all the same is read again where needed, each item handed on once.
 * Throws `IncompleteError` when what was read is not what the service counts.
 */
export function readPages(fetchPage: FetchPage, options: ReadOptions): AsyncGenerator<ReadPage> {
  return readWindow(fetchPage, options, true);
}

async function* readWindow(
  fetchPage: FetchPage,
  options: ReadOptions,
  hold: boolean,
): AsyncGenerator<ReadPage, undefined> {
  const { baseUrl, query, concurrency, signal, limit = Number.POSITIVE_INFINITY } = options;
  const size = Math.min(options.pageSize, limit);
  const at = searchUrl(baseUrl, query, { start: 1, count: size });
  const first = await fetchPage(at, signal);
  const pin = query.before || !hold ? undefined : pinOf(first);
  const held: Query = pin ? { ...query, before: pin } : query;

  const { page } = first;
  const reading = new Reading(page, limit, held.before !== undefined);
  // Handing items on may give their memory away.
  const newestFirst = pin !== undefined && isNewestFirst(page.items);
  // The pages after this one hold none of them, so that their offsets skip as many others.
  const startsLater = pin !== undefined && holdsEventsFrom(page.items, pin);
  yield handOn(reading, first);
  const url = (window: PageWindow) => searchUrl(baseUrl, held, window);
  const plan: Plan = { fetchPage, url, size, pin, concurrency, signal, reading };
  const aligned = page.items.count === size && reading.lastTotal !== undefined;
  if (reading.full) return;
  if (hold && first.serviceTime === undefined && !query.before && (aligned || page.next)) {
    options.onDoubt?.('the service does not tell its time: events that arrive meanwhile may shift the pages');
  }
  let end = yield* aligned && leadsTo(size + 1, page.next, at)
    ? byOffsets(plan, size + 1)
    : byLinks(plan, page, at, page.items.count + 1);
  for (let sweep = 0; sweep < MAX_SWEEPS && end === 'read' && !reading.complete; sweep++) {
    // The missing events may be anywhere: everything is read again, and only new events are passed on.
    reading.startAgain();
    end = yield* byOffsets(plan, 1);
  }
  const windows = pin ? [held, laterThan(query, pin)] : [];
  if (newestFirst) windows.reverse();
  if (end === 'later events') return yield* readWindows(plan, windows, options);
  if (!reading.complete) throw incomplete(reading);
  if (reading.lastTotal === undefined && reading.pages > 1 && !reading.full) {
    yield* readWindows(plan, startsLater ? windows : windows.filter((window) => window !== held), options);
    options.onDoubt?.(
      'the service does not count its events: whether these are all of them could not be checked',
    );
  }
}

/**
 * How a pass over the pages ended. `later events`: the first answer counted events that the next, which is held to the
 * service's time, does not. They have left the result, or are dated later than the service's clock.
 */
type End = 'read' | 'later events';

/** Reads each window by itself and hands on what was not handed on before. */
async function* readWindows(
  { fetchPage, reading, size }: Plan,
  queries: readonly Query[],
  options: ReadOptions,
): AsyncGenerator<ReadPage, undefined> {
  reading.move();
  for (const query of queries) {
    const part = { ...options, query, pageSize: size, limit: undefined, onDoubt: undefined };
    for await (const { items } of readWindow(fetchPage, part, false)) {
      yield { items: reading.handOn(items), total: reading.firstTotal };
      if (reading.full) return;
    }
  }
}

/** The same search for what was created at `pin` or later, and a second before: how fine the service's clock is nobody says. */
function laterThan(query: Query, pin: Instant): Query {
  const from = instantAt(milliseconds(pin) - 1000) as Instant;
  const after = query.after && compareInstants(query.after, from) > 0 ? query.after : from;
  return { ...query, after };
}

/** Pages at known offsets, read ahead in parallel. */
async function* byOffsets(plan: Plan, from: number): AsyncGenerator<ReadPage, End> {
  const { reading, size } = plan;
  let start = from;
  let stepsBack = 0;
  read: for (;;) {
    const origin = start - reading.emitted;
    const end = () =>
      Math.min(reading.lastTotal ?? 0, reading.moved ? Number.MAX_SAFE_INTEGER : origin + reading.limit - 1);
    if (start > end() || reading.full) return 'read';
    const pages = readAhead(
      windows(start, size, end),
      (window, signal) => plan.fetchPage(plan.url(window), signal),
      plan.concurrency,
      plan.signal,
    );
    for await (const { job, result } of pages) {
      const { page } = result;
      if (lacksLaterEvents(plan, page)) return 'later events';
      const shrunk = reading.shrunkBy(page);
      if (shrunk > 0 && job.start > 1 && stepsBack++ < MAX_STEPS_BACK) {
        // Items left the result, perhaps from before this page: as many may have moved up past our offset.
        reading.count(page);
        start = Math.max(1, job.start - shrunk);
        continue read;
      }
      yield handOn(reading, result);
      start = job.start + size;
      if (reading.full) return 'read';
      const expected = Math.min(size, (reading.lastTotal ?? 0) - job.start + 1);
      // The service answers other pages than asked, or has more than it counts: only its own links know where they start.
      const at = plan.url(job);
      if (page.items.count < expected || (page.next && start > end()) || !leadsTo(start, page.next, at)) {
        return yield* byLinks(plan, page, at, job.start + page.items.count);
      }
    }
  }
}

function* windows(start: number, size: number, end: () => number): Generator<PageWindow> {
  for (let at = start; at <= end(); at += size) yield { start: at, count: size };
}

/** The pages that follow `page`, by the service's own links, or where it gives none by offsets, the next of which is `start`. */
async function* byLinks(plan: Plan, page: Page, at: URL, start: number): AsyncGenerator<ReadPage, End> {
  const { reading, size } = plan;
  const guard = loopGuard();
  guard(pinned(at, plan.pin));
  let empty = 0;
  while (!reading.full) {
    if (page.next) at = pinned(followed(page.next, at), plan.pin);
    else if (hasMoreByOffset(page, reading, size, start)) at = plan.url({ start, count: size });
    else return 'read';
    guard(at);
    const speculative = !page.next && reading.lastTotal === undefined;
    const answer = await plan.fetchPage(at, plan.signal);
    ({ page } = answer);
    // Nobody promised that there is more, or that offsets are understood.
    if (speculative && reading.repeats(page)) return 'read';
    if (lacksLaterEvents(plan, page)) return 'later events';
    empty = page.items.count === 0 ? empty + 1 : 0;
    if (empty === MAX_EMPTY_PAGES)
      throw new ServiceError(
        `the service answered ${empty} empty pages in a row, each with a link to the next`,
      );
    yield handOn(reading, answer);
    start += page.items.count;
  }
  return 'read';
}

/** True for the first page that is held to the service's time, if it counts fewer events than the page before it. */
function lacksLaterEvents({ pin, reading }: Plan, page: Page): boolean {
  return pin !== undefined && reading.pages === 1 && reading.shrunkBy(page) > 0;
}

/** Without a link: the service may count more than it gave, or give neither links nor counts but full pages. */
function hasMoreByOffset(page: Page, reading: Reading, size: number, start: number): boolean {
  if (page.items.count === 0) return false;
  if (reading.lastTotal !== undefined) return start <= reading.lastTotal;
  return page.next === undefined && page.items.count >= Math.min(size, page.limit ?? size);
}

function handOn(reading: Reading, { page }: Answer): ReadPage {
  return { items: reading.take(page), total: reading.lastTotal };
}

/** The service's time of an answer, rounded up to the next full second: `Date` has no fraction. */
function pinOf(answer: Answer): Instant | undefined {
  return answer.serviceTime === undefined ? undefined : instantAt(answer.serviceTime + 1000);
}

/** The number of events read is not the service's count. */
export class IncompleteError extends ServiceError {}

function incomplete({ emitted, firstTotal, lastTotal }: Reading): IncompleteError {
  const counts =
    firstTotal === lastTotal ? `${lastTotal}` : `${firstTotal} at first and ${lastTotal} at last`;
  return new IncompleteError(
    `the result is not complete: ${emitted} events were read, the service counts ${counts}`,
    { next: 'run it again; with --until in the past the result stands still' },
  );
}
