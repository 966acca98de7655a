import { ServiceError } from '../errors.ts';
import type { Instant } from '../time/instant.ts';
import { followed, leadsTo, otherOrigin, type PageRange, pinned } from './event-query.ts';
import type { Page, PageClient, ReadPage } from './page.ts';
import { readAhead } from './read-ahead.ts';
import type { Reading } from './reading.ts';

export interface PageWalk {
  readonly client: PageClient;
  readonly url: (range: PageRange) => URL;
  /** Items per page: the same on every page, or offsets would not line up. */
  readonly size: number;
  /** The time limit of the pages after the first, if there is one. */
  readonly pin: Instant | undefined;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
  readonly reading: Reading;
  readonly onForeignLinks?: ((doubt: string) => void) | undefined;
}

/**
 * How a walk over the pages ended. `later events`: the first answer counted events that the next one, limited
 * to the service's time, does not. They have left the result, or are dated later than the service's clock.
 */
export type WalkEnd = 'read' | 'later events';

/** Times that a read goes back because items of a changing result may have slipped past it. */
const MAX_STEPS_BACK = 100;
const MAX_EMPTY_PAGES = 20;

export function passOn(reading: Reading, page: Page): ReadPage {
  const items = reading.take(page);
  return { items, total: reading.counts.latest };
}

type Stretch =
  | { readonly kind: 'ended'; readonly end: WalkEnd }
  /**
   * There may be more from here on: the result has grown, or items have left it, and others may have moved
   * onto pages before `start`.
   */
  | { readonly kind: 'go on'; readonly start: number; readonly stepsBack: number }
  /** Only the service's own links are reliable, beginning with those of this page. */
  | { readonly kind: 'follow links'; readonly page: Page; readonly at: URL; readonly start: number };

export async function* walkOffsets(walk: PageWalk, from: number): AsyncGenerator<ReadPage, WalkEnd> {
  let start = from;
  let stepsBack = 0;
  for (;;) {
    const last = lastOffset(walk, start);
    if (start > last() || walk.reading.ledger.isFull) return 'read';
    const stretch: Stretch = yield* walkStretch(walk, start, last, stepsBack);
    if (stretch.kind === 'ended') return stretch.end;
    if (stretch.kind === 'follow links')
      return yield* walkLinks(walk, stretch.page, stretch.at, stretch.start);
    ({ start, stepsBack } = stretch);
  }
}

function lastOffset({ reading }: PageWalk, start: number): () => number {
  const { ledger, counts } = reading;
  const origin = start - ledger.passedOn;
  return () => {
    const lastByLimit = ledger.dropsRepeated ? Number.MAX_SAFE_INTEGER : origin + ledger.limit - 1;
    return Math.min(counts.latest ?? 0, lastByLimit);
  };
}

async function* walkStretch(
  walk: PageWalk,
  from: number,
  last: () => number,
  stepsBack: number,
): AsyncGenerator<ReadPage, Stretch> {
  const { reading, size, client } = walk;
  const ask = (range: PageRange, signal: AbortSignal) => client.fetchPage(walk.url(range), signal);
  let start = from;
  for await (const { job, result } of readAhead(
    ranges(from, size, last),
    ask,
    walk.concurrency,
    walk.signal,
  )) {
    const { page } = result;
    if (lacksLaterEvents(walk, page)) return { kind: 'ended', end: 'later events' };
    const left = reading.counts.leftSince(page);
    if (left > 0 && job.start > 1 && stepsBack < MAX_STEPS_BACK) {
      // As many others may have moved up past our offset. The count may be one answer late, so they may have
      // moved past the previous page, too.
      reading.stepBack(page);
      return { kind: 'go on', start: Math.max(1, job.start - size - left), stepsBack: stepsBack + 1 };
    }
    yield passOn(reading, page);
    if (reading.ledger.isFull) return { kind: 'ended', end: 'read' };
    start = job.start + size;
    const at = walk.url(job);
    const next = linkOf(walk, page, at);
    // The service returns other pages than requested, or has more items than it counts.
    const isShort = page.items.count < size;
    const isMoreThanCounted = Boolean(next) && start > last();
    if (isShort || isMoreThanCounted || !leadsTo(start, next, at))
      return { kind: 'follow links', page, at, start: job.start + page.items.count };
  }
  return { kind: 'go on', start, stepsBack };
}

function* ranges(start: number, size: number, last: () => number): Generator<PageRange> {
  for (let at = start; at <= last(); at += size) yield { start: at, count: size };
}

/**
 * Reads the pages after `page` by the service's own links, or without links by offsets, beginning at `start`.
 */
export async function* walkLinks(
  walk: PageWalk,
  page: Page,
  at: URL,
  start: number,
): AsyncGenerator<ReadPage, WalkEnd> {
  const { reading, pin } = walk;
  const visited = new Set([pinned(at, pin).href]);
  let emptyPages = 0;
  while (!reading.ledger.isFull) {
    const next = pageAfter(walk, page, at, start);
    if (!next) return 'read';
    if (visited.has(next.href))
      throw new ServiceError("the service's links to the next page lead in a circle", {
        details: [`seen twice: ${next.href}`],
      });
    visited.add(next.href);
    at = next;
    ({ page } = await walk.client.fetchPage(at, walk.signal));
    if (lacksLaterEvents(walk, page)) return 'later events';
    emptyPages = page.items.count === 0 ? emptyPages + 1 : 0;
    if (emptyPages === MAX_EMPTY_PAGES)
      throw new ServiceError(
        `the service answered ${emptyPages} empty pages in a row, each with a link to the next`,
      );
    yield passOn(reading, page);
    start += page.items.count;
  }
  return 'read';
}

/**
 * Returns the link of a page. A link away from the service is ignored if the count shows how many pages there
 * are: it must not be followed, and pages can be requested by number.
 */
export function linkOf({ reading, onForeignLinks }: PageWalk, page: Page, at: URL): Page['next'] {
  const other = page.next ? otherOrigin(page.next, at) : undefined;
  if (other === undefined || reading.counts.latest === undefined) return page.next;
  onForeignLinks?.(
    `the service's links to the next page lead to ${other}, not to ${at.origin}: pages are asked for by number`,
  );
  return undefined;
}

/**
 * Returns the address of the next page, whose first item has the offset `start`; undefined after the last.
 */
function pageAfter(walk: PageWalk, page: Page, at: URL, start: number): URL | undefined {
  const next = linkOf(walk, page, at);
  if (next) return pinned(followed(next, at), walk.pin);
  return hasMoreByOffset(walk, page, start) ? walk.url({ start, count: walk.size }) : undefined;
}

/**
 * True if there may be more pages without a link: the service counts more items than it gave, or gives full
 * pages without links or counts.
 */
function hasMoreByOffset({ reading, size }: PageWalk, page: Page, start: number): boolean {
  const total = reading.counts.latest;
  if (page.items.count === 0) return false;
  if (total !== undefined) return start <= total;
  return page.next === undefined && page.items.count >= Math.min(size, page.limit ?? size);
}

/**
 * True for the first page limited to the service's time, if it counts fewer events than the page before it.
 */
function lacksLaterEvents({ pin, reading }: PageWalk, page: Page): boolean {
  return pin !== undefined && reading.pages === 1 && reading.counts.leftSince(page) > 0;
}
