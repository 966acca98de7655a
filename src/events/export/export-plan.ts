import { compareInstants, type Instant, instantAt } from '../../items/instant.ts';
import type { Query } from '../event-query.ts';
import { readAhead } from '../read-ahead.ts';

/** A slice of a query's time: events from `after` (exclusive) to `before` (exclusive). */
export interface Slice {
  readonly after: Instant | undefined;
  readonly before: Instant;
  /** Events it adds to the newer slices; undefined where the service does not count. */
  readonly events: number | undefined;
}

export interface PlanOptions {
  /** Events a slice should hold at most; one that cannot be cut any finer may hold more. */
  readonly target: number;
  /** How many events a query matches; undefined where the service does not tell. */
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
 * Cuts a query with an end into slices of time, the newest first, that together hold every event it matches. The service
 * compares with "greater than" alone and the fineness of its clock is not known, so each slice reaches a second into the
 * next older one: what both show belongs to the newer.
 */
export async function planSlices(query: Query, total: number | undefined, options: PlanOptions) {
  const end = query.before as Instant;
  if (total === undefined || total <= options.target * 1.5)
    return [{ after: query.after, before: end, events: total }];
  const marks = await refined(await outline(query, end, total, options), query, options);
  return merged(marks, options.target).map(([from, to], index, spans) => ({
    after: index === spans.length - 1 ? query.after : later(query.after, instantOf(from.seconds - 1)),
    before: index === 0 ? end : instantOf(to.seconds),
    events: to.before - from.before,
  }));
}

/** Marks from the end back to where nothing is older, each twice as far away as the one before; oldest first. */
async function outline(query: Query, end: Instant, total: number, options: PlanOptions): Promise<Mark[]> {
  // An end with a fraction lies in the second behind it.
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
  // The oldest slice has no begin of its own but the query's.
  return [{ seconds: Math.min(bottom, (marks[0] as Mark).seconds), before: 0 }, ...marks];
}

/** The same marks with more between those that hold too many events, until none does or a second is left. */
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
    // Events may join or leave while they are counted; the marks must still rise.
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

/** Neighbouring marks as spans, newest first, small ones put together. */
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
  return instantAt(seconds * 1000) as Instant;
}

function later(a: Instant | undefined, b: Instant): Instant {
  return a && compareInstants(a, b) > 0 ? a : b;
}
