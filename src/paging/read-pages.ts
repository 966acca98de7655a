import { ServiceError } from '../errors.ts';
import { directionBetween, holdsEventsFrom } from '../items/item-times.ts';
import { type Instant, knownInstant, laterOf, milliseconds, nextFullSecond } from '../time/instant.ts';
import { followed, leadsTo, type PageRange, pinned, type Query, searchUrl } from './event-query.ts';
import {
  askPage,
  DOUBTFUL_EVENT,
  type IdentifiedItems,
  type Page,
  type PageClient,
  totalOf,
} from './page.ts';
import { readAhead } from './read-ahead.ts';

export interface ReadOptions {
  readonly query: Query;
  /** Items per request, 1 to 500. The same on every page, or offsets would not line up. */
  readonly pageSize: number;
  /** Stop after this many items. */
  readonly limit?: number | undefined;
  /** Pages requested at the same time. Called before each request, since a busy service lowers the number. */
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
  /** Called once with the reason why this read cannot be limited in time or checked. */
  readonly onDoubt?: ((doubt: string) => void) | undefined;
}

export interface ReadPage {
  readonly items: IdentifiedItems;
  /** Size of the whole result, if the service gives it. */
  readonly total: number | undefined;
}

interface Plan {
  readonly client: PageClient;
  readonly url: (range: PageRange) => URL;
  readonly size: number;
  readonly pin: Instant | undefined;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
  readonly reading: Reading;
}

/** The doubt where the service gives no count. */
export const UNCOUNTED =
  'the service does not count its events: whether these are all of them could not be checked';

/** The number of times that a read goes back because items of a changing result may have slipped past it. */
const MAX_STEPS_BACK = 100;
const MAX_SWEEPS = 2;
const MAX_EMPTY_PAGES = 20;
/** If more events than these pages hold join between two answers, some may be passed on twice. */
const LOOKED_BACK_PAGES = 10;

/**
 * All pages of one search, in order. Pages after the first are limited to events created before the first
 * answer (`lt(createdOn,…)`), so that events which arrive meanwhile do not shift the offsets. If the count is
 * known and pages have the requested size, they are read ahead in parallel; otherwise the service's `next`
 * links are followed one by one. If the result changes all the same, it is read again where needed, and each
 * item is passed on once. Throws `IncompleteError` if the items read do not agree with the service's count.
 */
export async function* readPages(client: PageClient, options: ReadOptions): AsyncGenerator<ReadPage> {
  let isDoubted = false;
  for await (const page of readWindow(client, options, true)) {
    if (page.items.hasDoubtful && !isDoubted) options.onDoubt?.(DOUBTFUL_EVENT);
    isDoubted ||= page.items.hasDoubtful;
    yield page;
  }
}

async function* readWindow(
  client: PageClient,
  options: ReadOptions,
  hold: boolean,
): AsyncGenerator<ReadPage, undefined> {
  const { query, concurrency, signal, onDoubt, limit = Number.POSITIVE_INFINITY } = options;
  const size = Math.min(options.pageSize, limit);
  const first = { start: 1, count: size };
  const { page, serviceTime } = await askPage(client, query, first, signal);
  // The service's time is rounded up, since `Date` has no fraction.
  const pin = query.before || !hold || serviceTime === undefined ? undefined : nextFullSecond(serviceTime);
  const held: Query = pin ? { ...query, before: pin } : query;
  const reading = new Reading(page, limit);
  const total = reading.firstTotal;
  yield handOn(reading, page);
  if (reading.full) return;
  const at = searchUrl(client.baseUrl, query, first);
  const url = (range: PageRange) => searchUrl(client.baseUrl, held, range);
  const plan: Plan = { client, url, size, pin, concurrency, signal, reading };
  const aligned = page.items.count === size && total !== undefined;
  if (serviceTime === undefined && !query.before && (aligned || page.next))
    onDoubt?.('the service sends no time: events that arrive meanwhile may shift the pages');
  const isShifted = pin !== undefined && holdsEventsFrom(page.items, pin);
  // An event added late could make up in the count for those after the pin.
  const isMasked = isShifted && (total ?? 0) > page.items.count;
  let end: End = isMasked
    ? 'later events'
    : yield* aligned && leadsTo(size + 1, page.next, at)
        ? byOffsets(plan, size + 1)
        : byLinks(plan, page, at, page.items.count + 1);
  for (let sweep = 0; sweep < MAX_SWEEPS && end === 'read' && !reading.complete; sweep++) {
    // The missing events may be anywhere: everything is read again, and only new events are passed on.
    reading.startAgain();
    end = yield* byOffsets(plan, 1);
  }
  // The window from a second before the pin on, since the resolution of the service's clock is unknown.
  const later = pin && { ...query, after: laterOf(query.after, knownInstant(milliseconds(pin) - 1000)) };
  const windows = later ? [held, later] : [];
  if (directionBetween(page.items, page.items) === 'newest first') windows.reverse();
  if (end === 'later events') return yield* readWindows(plan, windows, options);
  if (!reading.complete) throw incomplete(reading);
  // Items with nothing beside them: no count, link or limit tells whether this was the last page.
  const isBare = page.next === undefined && page.limit === undefined && page.items.count > 0;
  if (reading.lastTotal === undefined && (reading.pages > 1 || isBare) && !reading.full) {
    // Later pages are limited to events before the pin, so offsets in them are too high by the number of
    // events after it on the first page. A count would show that some are missing; without one, the pinned
    // window is read again.
    if (reading.pages > 1)
      yield* readWindows(plan, isShifted ? windows : windows.filter((window) => window !== held), options);
    onDoubt?.(UNCOUNTED);
  }
}

/**
 * The end of a pass over the pages. `later events`: the first answer counted events that the next one,
 * limited to the service's time, does not. They have left the result, or are dated later than the service's
 * clock.
 */
type End = 'read' | 'later events';

/** Reads each window by itself and passes on only new items. */
async function* readWindows(
  { client, reading, size }: Plan,
  queries: readonly Query[],
  options: ReadOptions,
): AsyncGenerator<ReadPage, undefined> {
  reading.move();
  for (const query of queries) {
    const part = { ...options, query, pageSize: size, limit: undefined, onDoubt: undefined };
    for await (const { items } of readWindow(client, part, false)) {
      yield { items: reading.handOn(items), total: reading.firstTotal };
      if (reading.full) return;
    }
  }
}

/** Pages at known offsets, read ahead in parallel. */
async function* byOffsets(plan: Plan, from: number): AsyncGenerator<ReadPage, End> {
  const { reading, size } = plan;
  let start = from;
  let stepsBack = 0;
  for (;;) {
    const origin = start - reading.emitted;
    const end = () =>
      Math.min(reading.lastTotal ?? 0, reading.moved ? Number.MAX_SAFE_INTEGER : origin + reading.limit - 1);
    if (start > end() || reading.full) return 'read';
    const pages = readAhead(
      pageRanges(start, size, end),
      (range, signal) => plan.client.fetchPage(plan.url(range), signal),
      plan.concurrency,
      plan.signal,
    );
    for await (const { job, result } of pages) {
      const { page } = result;
      if (lacksLaterEvents(plan, page)) return 'later events';
      const shrunk = reading.shrunkBy(page);
      if (shrunk > 0 && job.start > 1 && stepsBack++ < MAX_STEPS_BACK) {
        // Items left the result, perhaps before this page: as many others may have moved up past our offset.
        // The count may be known one answer late, so that they may have moved past the page before, too.
        reading.stepBack(page);
        start = Math.max(1, job.start - size - shrunk);
        break;
      }
      yield handOn(reading, page);
      start = job.start + size;
      if (reading.full) return 'read';
      // The service returns other pages than requested, or has more items than it counts: only its own links
      // are reliable.
      const at = plan.url(job);
      if (page.items.count < size || (page.next && start > end()) || !leadsTo(start, page.next, at)) {
        return yield* byLinks(plan, page, at, job.start + page.items.count);
      }
    }
  }
}

function* pageRanges(start: number, size: number, end: () => number): Generator<PageRange> {
  for (let at = start; at <= end(); at += size) yield { start: at, count: size };
}

/** The pages after `page`, by the service's own links, or without links by offsets, beginning at `start`. */
async function* byLinks(plan: Plan, page: Page, at: URL, start: number): AsyncGenerator<ReadPage, End> {
  const { reading, size } = plan;
  const visited = new Set([pinned(at, plan.pin).href]);
  let empty = 0;
  while (!reading.full) {
    if (page.next) at = pinned(followed(page.next, at), plan.pin);
    else if (hasMoreByOffset(page, reading, size, start)) at = plan.url({ start, count: size });
    else return 'read';
    if (visited.has(at.href)) {
      throw new ServiceError("the service's links to the next page lead in a circle", {
        details: [`seen twice: ${at.href}`],
      });
    }
    visited.add(at.href);
    ({ page } = await plan.client.fetchPage(at, plan.signal));
    if (lacksLaterEvents(plan, page)) return 'later events';
    empty = page.items.count === 0 ? empty + 1 : 0;
    if (empty === MAX_EMPTY_PAGES)
      throw new ServiceError(
        `the service answered ${empty} empty pages in a row, each with a link to the next`,
      );
    yield handOn(reading, page);
    start += page.items.count;
  }
  return 'read';
}

/**
 * True for the first page that is limited to the service's time, if it counts fewer events than the page
 * before it.
 */
function lacksLaterEvents({ pin, reading }: Plan, page: Page): boolean {
  return pin !== undefined && reading.pages === 1 && reading.shrunkBy(page) > 0;
}

/**
 * True if there may be more pages although there is no link: the service counts more items than it gave, or
 * gives full pages without links or counts.
 */
function hasMoreByOffset(page: Page, reading: Reading, size: number, start: number): boolean {
  if (page.items.count === 0) return false;
  if (reading.lastTotal !== undefined) return start <= reading.lastTotal;
  return page.next === undefined && page.items.count >= Math.min(size, page.limit ?? size);
}

function handOn(reading: Reading, page: Page): ReadPage {
  return { items: reading.take(page), total: reading.lastTotal };
}

/** The number of events read is not the service's count. */
export class IncompleteError extends ServiceError {}

function incomplete({ emitted, firstTotal, lastTotal }: Reading): IncompleteError {
  const count = firstTotal === lastTotal ? `${lastTotal}` : `${firstTotal} at first and ${lastTotal} at last`;
  return new IncompleteError(
    `the result is not complete: ${emitted} events were read, the service counts ${count}`,
    { next: 'run it again; with --until in the past the result does not change' },
  );
}

/**
 * The account of one read: the items passed on, and the service's counts. Once the count has changed, only
 * new items are passed on.
 */
class Reading {
  readonly limit: number;
  readonly #first: Page;
  /** The service's count at the first and at the latest page; undefined if it gives none. */
  readonly firstTotal: number | undefined;
  lastTotal: number | undefined;
  /** Pages read, and items passed on so far. */
  pages = 0;
  emitted = 0;
  /**
   * The keys of the items passed on, 8 bytes each, and the same as a set once they are looked up, which is
   * rare.
   */
  readonly #keys: Float64Array[] = [];
  #known: Set<number> | undefined;
  /** The keys of the page before. */
  #before: Float64Array = new Float64Array(0);
  /**
   * True if an event may have moved from a page to come onto one that was read before: the counts prove
   * nothing then.
   */
  #torn = false;
  #atStart = true;

  constructor(first: Page, limit: number) {
    this.limit = limit;
    this.#first = first;
    this.firstTotal = totalOf(first);
    this.lastTotal = this.firstTotal;
  }

  get full(): boolean {
    return this.emitted >= this.limit;
  }

  /** True if the service's count changed during the read. */
  get moved(): boolean {
    return this.#known !== undefined;
  }

  /**
   * True if every event that matched at the first answer, or every one that matches now, was passed on once.
   * Without counts nothing can be checked. Once items may have slipped past, an equal number proves nothing:
   * events that have left since may have been counted instead.
   */
  get complete(): boolean {
    const { emitted, firstTotal, lastTotal } = this;
    if (this.full || firstTotal === undefined) return true;
    return !this.#torn && (emitted === firstTotal || emitted === lastTotal);
  }

  /**
   * The number of items that left the result since the last page, by the service's count; negative if items
   * were added, NaN without counts.
   */
  shrunkBy(page: Page): number {
    return Number(this.lastTotal) - Number(totalOf(page));
  }

  /** The items of a page to pass on, up to the limit. Throws `ServiceError` for the page before once more. */
  take(page: Page): IdentifiedItems {
    this.pages++;
    const shrunk = this.shrunkBy(page);
    if (!this.#atStart && shrunk > 0) this.#torn = true;
    this.#atStart = false;
    this.#count(page);
    if (this.#repeats(page))
      throw new ServiceError(
        'the service answered the same page twice: the result cannot be read to its end',
      );
    this.#noticeShift(page, shrunk < 0);
    return this.handOn(page.items);
  }

  /** The items that were not passed on before, up to the limit. */
  handOn(items: IdentifiedItems): IdentifiedItems {
    const fresh = (this.#known ? items.without(this.#known) : items).first(this.limit - this.emitted);
    this.emitted += fresh.count;
    this.#keys.push(fresh.keys);
    if (this.#known) for (const key of fresh.keys) this.#known.add(key);
    return fresh;
  }

  /** True if a page repeats the previous one, as when a service ignores offsets or its own links. */
  #repeats({ items: { keys, byEventId } }: Page): boolean {
    const before = this.#before;
    if (keys.length === 0 || keys.length !== before.length || this.moved) return false;
    return keys.every((key, index) => key === before[index]) && (byEventId || new Set(keys).size > 1);
  }

  /** The next page begins before this one, whose items are not taken. */
  stepBack(page: Page): void {
    this.#count(page);
    this.#before = new Float64Array(0);
  }

  /** Everything is read once more from the first page. */
  startAgain(): void {
    this.move();
    this.#torn = false;
    this.#atStart = true;
  }

  /** From now on items that were passed on before are dropped. */
  move(): void {
    if (this.#known) return;
    this.#known = new Set();
    for (const keys of this.#keys) for (const key of keys) this.#known.add(key);
  }

  /** Records the service's present count. If the first one was not the total, later ones are not either. */
  #count(page: Page): void {
    const total = totalOf(page);
    if (total === undefined || this.lastTotal === undefined) return;
    if (total !== this.lastTotal) this.move();
    this.lastTotal = total;
  }

  /**
   * Notices that a page begins with an event of one of the last pages, or holds the last event of one, behind
   * others that have joined there: events have moved down past an offset, and from now on repeated ones are
   * dropped. Pages whose own ids repeat prove nothing. `hasGrown`: the service counts more than before.
   */
  #noticeShift({ items }: Page, hasGrown: boolean): void {
    const { keys, byEventId } = items;
    // Once repeated events are dropped, an earlier page may also be read again on purpose.
    const last = this.moved ? [this.#before] : this.#keys.slice(-LOOKED_BACK_PAGES);
    const isRepeated = (page: Float64Array) =>
      page.includes(keys[0] as number) || keys.includes(page.at(-1) as number);
    const place = byEventId ? last.find(isRepeated) : undefined;
    if (place && new Set(place).size === place.length) {
      this.move();
      // Events that join at the front move all others down, and none is missed. Where none has joined, or all
      // join at the end, others have changed places, and one may have moved up unseen.
      if (!hasGrown || directionBetween(this.#first.items, items) === 'oldest first') this.#torn = true;
    }
    this.#before = keys;
  }
}
