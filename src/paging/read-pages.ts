import { ServiceError } from '../errors.ts';
import { directionBetween, holdsEventsFrom } from '../items/item-times.ts';
import { knownInstant, laterOf, milliseconds, nextFullSecond } from '../time/instant.ts';
import { leadsTo, type PageRange, type Query, searchUrl } from './event-query.ts';
import { askPage, DOUBTFUL_EVENT, type Page, type PageClient, type ReadPage } from './page.ts';
import { linkOf, type PageWalk, passOn, type WalkEnd, walkLinks, walkOffsets } from './page-walk.ts';
import { Reading } from './reading.ts';

export interface ReadOptions {
  readonly query: Query;
  /** Items per request, 1 to 500. The same on every page, or offsets would not line up. */
  readonly pageSize: number;
  readonly limit?: number | undefined;
  /** Number of concurrent requests. Called before each one, since a busy service lowers the number. */
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
  /** Called with each reason to doubt this read: unusual links, times or counts of the service. */
  readonly onDoubt?: ((doubt: string) => void) | undefined;
  readonly onForeignLinks?: ((doubt: string) => void) | undefined;
}

export const UNCOUNTED =
  'the service does not count its events: whether these are all of them could not be checked';
const UNHELD = 'the service sends no time: events that arrive meanwhile may shift the pages';

/** Times that everything is read again if the events do not agree with the service's count. */
const MAX_SWEEPS = 2;

export class IncompleteError extends ServiceError {}

/**
 * Yields all pages of one search, in order. Pages after the first are limited to events created before the
 * first answer (`lt(createdOn,…)`), since new events would shift the offsets. If the count is known and pages
 * have the requested size, they are read ahead in parallel; otherwise the service's `next` links are followed
 * one by one. If the result changes anyway, it is read again where needed, and each item is passed on once.
 * Throws `IncompleteError` if the items read do not agree with the service's count.
 */
export async function* readPages(client: PageClient, options: ReadOptions): AsyncGenerator<ReadPage> {
  let isDoubted = false;
  for await (const page of readWindow(client, options, true)) {
    if (page.items.hasDoubtful && !isDoubted) options.onDoubt?.(DOUBTFUL_EVENT);
    isDoubted ||= page.items.hasDoubtful;
    yield page;
  }
}

interface OpenWindow extends PageWalk {
  readonly page: Page;
  readonly at: URL;
  readonly hasTime: boolean;
  readonly held: Query;
  /** True if the first page has events created after the pin: later offsets are too high by their number. */
  readonly isShifted: boolean;
}

async function openWindow(client: PageClient, options: ReadOptions, hold: boolean): Promise<OpenWindow> {
  const { query, concurrency, signal, limit = Number.POSITIVE_INFINITY } = options;
  const size = Math.min(options.pageSize, limit);
  const first = { start: 1, count: size };
  const { page, serviceTime } = await askPage(client, query, first, signal);
  const isHeld = hold && !query.before && serviceTime !== undefined;
  // Rounded up, since `Date` has no fraction.
  const pin = isHeld ? nextFullSecond(serviceTime) : undefined;
  const held = pin ? { ...query, before: pin } : query;
  return {
    client,
    url: (range: PageRange) => searchUrl(client.baseUrl, held, range),
    size,
    pin,
    concurrency,
    signal,
    reading: new Reading(page, limit),
    onForeignLinks: options.onForeignLinks ?? options.onDoubt,
    page,
    at: searchUrl(client.baseUrl, query, first),
    hasTime: serviceTime !== undefined,
    held,
    isShifted: pin !== undefined && holdsEventsFrom(page.items, pin),
  };
}

async function* readWindow(
  client: PageClient,
  options: ReadOptions,
  hold: boolean,
): AsyncGenerator<ReadPage, undefined> {
  const { query, onDoubt } = options;
  const window = await openWindow(client, options, hold);
  const { page, reading } = window;
  yield passOn(reading, page);
  if (reading.ledger.isFull) return;
  const mayHaveMore = isAligned(window) || Boolean(page.next);
  if (!window.hasTime && !query.before && mayHaveMore) onDoubt?.(UNHELD);
  const end = yield* readOn(window);
  if (end === 'later events') return yield* readWindows(window, windowsOf(window, query), options);
  if (!reading.isComplete) throw incomplete(reading);
  if (reading.counts.latest === undefined && !reading.ledger.isFull) yield* checkUncounted(window, options);
}

/** True if the count is known, and the first page has the requested size. */
function isAligned({ page, size, reading }: OpenWindow): boolean {
  return page.items.count === size && reading.counts.first !== undefined;
}

/** Reads the pages after the first, and everything again if it does not agree with the service's count. */
async function* readOn(window: OpenWindow): AsyncGenerator<ReadPage, WalkEnd> {
  const { page, reading, isShifted } = window;
  // In the count, an event added late could replace those after the pin.
  const isMasked = isShifted && (reading.counts.first ?? 0) > page.items.count;
  if (isMasked) return 'later events';
  let end = yield* walkAfterFirst(window);
  for (let sweep = 0; sweep < MAX_SWEEPS && end === 'read' && !reading.isComplete; sweep++) {
    // The missing events may be anywhere: everything is read again, and only new events are passed on.
    reading.startAgain();
    end = yield* walkOffsets(window, 1);
  }
  return end;
}

function walkAfterFirst(window: OpenWindow): AsyncGenerator<ReadPage, WalkEnd> {
  const { page, at, size } = window;
  const mayUseOffsets = isAligned(window) && leadsTo(size + 1, linkOf(window, page, at), at);
  return mayUseOffsets ? walkOffsets(window, size + 1) : walkLinks(window, page, at, page.items.count + 1);
}

/**
 * Returns the windows before and after the pin, in the service's order. The later one begins a second before
 * the pin, since the resolution of the service's clock is unknown; without a pin there is only the earlier
 * one.
 */
function windowsOf({ page, pin, held }: OpenWindow, query: Query): readonly Query[] {
  if (!pin) return [held];
  const later = { ...query, after: laterOf(query.after, knownInstant(milliseconds(pin) - 1000)) };
  const isNewestFirst = directionBetween(page.items, page.items) === 'newest first';
  return isNewestFirst ? [later, held] : [held, later];
}

/** Reads each window separately and passes on only new items. */
async function* readWindows(
  { client, reading, size }: OpenWindow,
  queries: readonly Query[],
  options: ReadOptions,
): AsyncGenerator<ReadPage, undefined> {
  reading.ledger.dropRepeated();
  for (const query of queries) {
    const part = { ...options, query, pageSize: size, limit: undefined, onDoubt: undefined };
    for await (const { items } of readWindow(client, part, false)) {
      yield { items: reading.ledger.passOn(items), total: reading.counts.first };
      if (reading.ledger.isFull) return;
    }
  }
}

/**
 * Reads events that a count would have shown to be missing: later pages are limited to events before the pin,
 * so their offsets are too high by the number of later events on the first page.
 */
async function* checkUncounted(
  window: OpenWindow,
  options: ReadOptions,
): AsyncGenerator<ReadPage, undefined> {
  const { page, reading, isShifted, held } = window;
  // Without count, link or limit nothing shows if this was the last page.
  const isBare = page.next === undefined && page.limit === undefined && page.items.count > 0;
  const hasMorePages = reading.pages > 1;
  if (hasMorePages) {
    const windows = windowsOf(window, options.query);
    yield* readWindows(window, isShifted ? windows : windows.filter((query) => query !== held), options);
  }
  if (hasMorePages || isBare) options.onDoubt?.(UNCOUNTED);
}

function incomplete({ ledger, counts: { first, latest } }: Reading): IncompleteError {
  const count = first === latest ? `${latest}` : `${first} at first and ${latest} at last`;
  return new IncompleteError(
    `the result is not complete: ${ledger.passedOn} events were read, the service counts ${count}`,
    { next: 'run it again; with --until in the past the result does not change' },
  );
}
