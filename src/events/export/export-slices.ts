import { type Instant, knownInstant, laterOf } from '../../time/instant.ts';
import { type Query, searchUrl } from '../event-query.ts';
import type { FetchPage } from '../fetch-page.ts';
import type { IdentifiedItems } from '../page.ts';
import { totalOf } from '../read-account.ts';
import { readAhead } from '../read-ahead.ts';
import { IncompleteError, readPages } from '../read-pages.ts';

/** A slice of a query's time: events from `after` (exclusive) to `before` (exclusive). */
export interface Slice {
  readonly after: Instant | undefined;
  readonly before: Instant;
  /** Events in this slice that are not in newer slices; undefined if the service gives no count. */
  readonly events: number | undefined;
}

export interface PlanOptions {
  /** The maximum number of events in a slice. A slice that cannot be divided further may hold more. */
  readonly target: number;
  /** Returns the number of events that a query matches, or undefined if the service gives no count. */
  readonly count: (query: Query, signal: AbortSignal) => Promise<number | undefined>;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
}

/** A moment and the number of events before it: differences of these numbers lose no event at a boundary. */
interface Mark {
  readonly seconds: number;
  readonly before: number;
}

const FIRST_STEP = 3600;
const MAX_CUTS = 256;

/**
 * Cuts a query that has an end into slices of time, newest first, that together hold every event it matches. The
 * service compares with "greater than" only, and the resolution of its clock is unknown, so each slice reaches a second
 * into the next older one. An event in both belongs to the newer.
 */
export async function planSlices(query: Query, total: number | undefined, options: PlanOptions) {
  const end = query.before as Instant;
  if (total === undefined || total <= options.target * 1.5)
    return [{ after: query.after, before: end, events: total }];
  const marks = await refined(await outline(query, end, total, options), query, options);
  return merged(marks, options.target).map(([from, to], index, spans) => ({
    after: index === spans.length - 1 ? query.after : laterOf(query.after, instantOf(from.seconds - 1)),
    before: index === 0 ? end : instantOf(to.seconds),
    events: to.before - from.before,
  }));
}

/** Marks from the end back to a time with no older events, each twice as far back as the previous one; oldest first. */
async function outline(query: Query, end: Instant, total: number, options: PlanOptions): Promise<Mark[]> {
  // An end with a fraction of a second is rounded up.
  const top = end.seconds + (end.fraction === '' ? 0 : 1);
  const marks: Mark[] = [{ seconds: top, before: total }];
  const bottom = query.after?.seconds ?? 0;
  for (let step = FIRST_STEP; ; step *= 2) {
    const seconds = end.seconds - step;
    if (seconds <= bottom) break;
    const before = await options.count({ ...query, before: instantOf(seconds) }, options.signal);
    marks.unshift({ seconds, before: before ?? 0 });
    if (!before) return marks;
  }
  // The oldest slice begins where the query does.
  return [{ seconds: Math.min(bottom, (marks[0] as Mark).seconds), before: 0 }, ...marks];
}

/**
 * Adds marks between those with too many events between them, until every interval is small enough or one second long.
 */
async function refined(marks: Mark[], query: Query, options: PlanOptions): Promise<Mark[]> {
  for (;;) {
    const cuts = marks.flatMap((mark, index) => {
      const next = marks[index + 1];
      return next ? cutsBetween(mark, next, options.target) : [];
    });
    if (cuts.length === 0) return marks;
    const counted: Mark[] = [];
    const run = (seconds: number, signal: AbortSignal) =>
      options.count({ ...query, before: instantOf(seconds) }, signal);
    for await (const { job, result } of readAhead(cuts.values(), run, options.concurrency, options.signal))
      counted.push({ seconds: job, before: result ?? 0 });
    marks = [...marks, ...counted].sort((a, b) => a.seconds - b.seconds);
    // Events may appear or disappear during the count, but the numbers must still rise.
    for (let index = 1; index < marks.length; index++) {
      const [earlier, mark] = [marks[index - 1] as Mark, marks[index] as Mark];
      if (mark.before < earlier.before) marks[index] = { ...mark, before: earlier.before };
    }
  }
}

function cutsBetween(from: Mark, to: Mark, target: number): number[] {
  const events = to.before - from.before;
  const seconds = to.seconds - from.seconds;
  if (events <= target * 1.5 || seconds <= 1) return [];
  const pieces = Math.min(Math.ceil(events / target), MAX_CUTS, seconds);
  return Array.from(
    { length: pieces - 1 },
    (_, index) => from.seconds + Math.floor((seconds * (index + 1)) / pieces),
  );
}

/** The intervals between marks, newest first, with small neighbours merged. */
function merged(marks: readonly Mark[], target: number): [from: Mark, to: Mark][] {
  const spans: [Mark, Mark][] = [];
  for (let index = marks.length - 1; index > 0; index--) {
    const [from, to] = [marks[index - 1] as Mark, marks[index] as Mark];
    const newer = spans.at(-1);
    if (newer && newer[1].before - from.before <= target * 1.5) newer[0] = from;
    else spans.push([from, to]);
  }
  return spans;
}

function instantOf(seconds: number): Instant {
  return knownInstant(seconds * 1000);
}

/** A search limited to its window, and the number of events expected, if known. */
export interface SliceToRead {
  readonly query: Query;
  readonly expected: number | null;
}

/**
 * Receives the items, one slice after the other. If `begin` is called again for a slice, the items received for it so
 * far are void.
 */
export interface SliceSink<Slice> {
  begin(slice: Slice): Promise<void>;
  take(items: IdentifiedItems): Promise<void>;
  /** `counted` is the service's count for the slice's own query, or null if it gives none. */
  end(counted: number | null): Promise<void>;
}

export interface SliceOptions {
  readonly baseUrl: URL;
  readonly pageSize: number;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
}

interface Job<Slice> {
  readonly slice: Slice;
  readonly start: number;
  readonly last: boolean;
}

const TRIES = 3;

/**
 * Reads slices in order. Pages at known offsets are read ahead across the borders of slices. A slice that changes while
 * it is read, or whose pages do not line up, is read again by itself with `readPages`.
 */
export async function readSlices<Slice extends SliceToRead>(
  fetchPage: FetchPage,
  slices: readonly Slice[],
  options: SliceOptions,
  sink: SliceSink<Slice>,
): Promise<void> {
  const { baseUrl, pageSize, concurrency, signal } = options;
  const at = (slice: Slice, start: number) => searchUrl(baseUrl, slice.query, { start, count: pageSize });
  let done: Slice | undefined;
  let total: number | undefined;
  let read = 0;
  const run = ({ slice, start }: Job<Slice>, abort: AbortSignal) => fetchPage(at(slice, start), abort);
  for await (const { job, result } of readAhead(jobs(slices, pageSize), run, concurrency, signal)) {
    const { slice } = job;
    if (slice === done) continue;
    let { page } = result;
    if (job.start === 1) {
      await sink.begin(slice);
      total = totalOf(page);
      read = 0;
    }
    for (;;) {
      const due = total === undefined ? undefined : Math.min(pageSize, Math.max(0, total - read));
      if (totalOf(page) !== total || page.items.count !== due) {
        await readCarefully(fetchPage, slice, options, sink);
        done = slice;
        break;
      }
      read += page.items.count;
      await sink.take(page.items);
      if (!job.last) break;
      if (read === total) {
        await sink.end(total);
        done = slice;
        break;
      }
      // The second by which slices overlap holds events that the plan counted elsewhere.
      ({ page } = await fetchPage(at(slice, read + 1), signal));
    }
  }
}

function* jobs<Slice extends SliceToRead>(slices: readonly Slice[], size: number): Generator<Job<Slice>> {
  for (const slice of slices) {
    const pages = Math.max(1, Math.ceil((slice.expected ?? 0) / size));
    for (let page = 0; page < pages; page++)
      yield { slice, start: page * size + 1, last: page === pages - 1 };
  }
}

async function readCarefully<Slice extends SliceToRead>(
  fetchPage: FetchPage,
  slice: Slice,
  options: SliceOptions,
  sink: SliceSink<Slice>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await sink.begin(slice);
    let total: number | undefined;
    try {
      for await (const page of readPages(fetchPage, { ...options, query: slice.query })) {
        total = page.total;
        await sink.take(page.items);
      }
    } catch (error) {
      if (!(error instanceof IncompleteError) || attempt === TRIES) throw error;
      continue;
    }
    return sink.end(total ?? null);
  }
}
