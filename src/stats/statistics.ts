import type { CountQueries, StatsWindow } from '../filters/stats-window.ts';
import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import { provenRate } from '../outcomes/proven-rate.ts';
import type { Query } from '../paging/event-query.ts';
import { compareInstants, type Instant, knownInstant, milliseconds } from '../time/instant.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';

/** Numbers of events. If only one status was requested, the other is null. */
export interface Tally {
  readonly total: number;
  readonly success: number | null;
  readonly failed: number | null;
}
export interface TypeTally extends Tally {
  /** Null for all types together that the service does not list. */
  readonly eventType: string | null;
}
export interface Bucket extends Tally {
  readonly from: Instant;
  readonly to: Instant;
}
export interface Stats extends Tally {
  readonly window: StatsWindow;
  readonly types: readonly TypeTally[];
  readonly buckets: readonly Bucket[];
  /** True if the result changed during the count: some differences were negative, and are shown as zero. */
  readonly moved: boolean;
}

/**
 * Counts events by type, status and time, without reading them. A bucket is the difference of two counts from
 * the window's start: whatever the service does at a boundary, an event is in exactly one bucket and all
 * buckets add up to the total. `types` is null where the window's queries name the types themselves.
 */
export async function gatherStats(
  window: StatsWindow,
  types: readonly string[] | null,
  bucketCount: number | undefined,
  count: CountQueries,
): Promise<Stats> {
  const ends = bucketEnds(window, bucketCount);
  const within = (query: Query, before: Instant): Query => ({ ...query, after: window.after, before });
  const named = types ?? [...new Set(window.queries.map(({ eventType }) => eventType as string))];
  const typeCells = named.map((eventType) =>
    window.queries
      .filter((query) => types || query.eventType === eventType)
      .map((query) => within({ ...query, eventType }, window.before)),
  );
  const endCells = ends.map((end) => window.queries.map((query) => within(query, end)));
  const read = await countCells([...typeCells, ...endCells], window.status, count);

  let moved = false;
  const minus = (a: Cell, b: Cell): Cell => {
    if (a.all < b.all || a.failed < b.failed) moved = true;
    return { all: Math.max(0, a.all - b.all), failed: Math.max(0, a.failed - b.failed) };
  };
  const typeCounts = read.slice(0, named.length);
  const endCounts = read.slice(named.length);
  const whole = endCounts.at(-1) as Cell;
  const cells = named.map((eventType, index): TypeCell => [eventType, typeCounts[index] as Cell]);
  if (types) {
    const listed = typeCounts.reduce((a, b) => ({ all: a.all + b.all, failed: a.failed + b.failed }), NONE);
    const rest = minus(whole, listed);
    if (rest.all > 0) cells.push([null, rest]);
  }
  const parts = endCounts.map((count, index) => minus(count, endCounts[index - 1] ?? NONE));
  const stats = statsOfCells(window, whole, cells, ends, parts);
  return moved ? { ...stats, moved } : stats;
}

type TypeCell = readonly [eventType: string | null, counts: Cell];

/** The statistics of the counts for the whole window, for each type, and for the part before each end. */
function statsOfCells(
  window: StatsWindow,
  whole: Cell,
  types: readonly TypeCell[],
  ends: readonly Instant[],
  parts: readonly Cell[],
): Stats {
  const tallyOf = ({ all, failed }: Cell): Tally => {
    if (window.status === 'FAILED') return { total: all, success: null, failed: all };
    if (window.status === 'SUCCESS') return { total: all, success: all, failed: null };
    return { total: all, success: Math.max(0, all - failed), failed };
  };
  const cells = [whole, ...parts, ...types.map(([, counts]) => counts)];
  return {
    window,
    ...tallyOf(whole),
    types: types.map(([eventType, counts]) => ({ eventType, ...tallyOf(counts) })).sort(byFailure),
    buckets: ends.map((to, index) => ({
      from: ends[index - 1] ?? window.after,
      to,
      ...tallyOf(parts[index] as Cell),
    })),
    moved: cells.some(({ all, failed }) => all < failed),
  };
}

interface Cell {
  readonly all: number;
  readonly failed: number;
}
const NONE: Cell = { all: 0, failed: 0 };

/** All counts at once, each query counted once. A cell is the sum of its queries. */
async function countCells(
  cells: readonly (readonly Query[])[],
  status: StatsWindow['status'],
  count: CountQueries,
): Promise<Cell[]> {
  const statuses = status ? [status] : (['SUCCESS', 'FAILED'] as const);
  const asked = cells.flat().flatMap((all) => statuses.map((publishStatus) => ({ ...all, publishStatus })));
  const counts = (await count(asked)).values();
  return cells.map((queries) =>
    queries.reduce<Cell>((sum) => {
      const [first = 0, failed = 0] = statuses.map(() => counts.next().value as number);
      return { all: sum.all + first + failed, failed: sum.failed + failed };
    }, NONE),
  );
}

/** The share of events that failed; null if there are none, or if only one status was requested. */
export function failureRate({ total, success, failed }: Tally): number | null {
  return total === 0 || success === null || failed === null ? null : failed / total;
}

/** The least rate of failure that a tally proves; undefined where it has no rate. */
function leastRate(tally: Tally): number | undefined {
  const { total, failed } = tally;
  return failureRate(tally) === null || failed === null ? undefined : provenRate(failed, total);
}

/** Worst first: by the rate that is proven, then by number of failures, of events, by name. */
export function byFailure(a: TypeTally, b: TypeTally): number {
  return (
    (leastRate(b) ?? -1) - (leastRate(a) ?? -1) ||
    (b.failed ?? 0) - (a.failed ?? 0) ||
    b.total - a.total ||
    (a.eventType ?? '\uffff').localeCompare(b.eventType ?? '\uffff', 'en')
  );
}

/** Common lengths in milliseconds; their multiples begin at round times. */
const ROUND = [
  ...[SECOND_MS, 5 * SECOND_MS, 15 * SECOND_MS, 30 * SECOND_MS],
  ...[MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 30 * MINUTE_MS],
  ...[HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS],
  ...[DAY_MS, 7 * DAY_MS, 28 * DAY_MS],
];
/** The epoch was a Thursday: weeks begin on Mondays. */
const MONDAY_MS = 4 * DAY_MS;
/** The default number of buckets. */
const PARTS = 32;

/**
 * The ends of the buckets; the last one is the window's own. They lie on the clock, so that buckets begin at
 * full hours or days. With `count`, the buckets are equal within a few per cent, and begin at times as round
 * as that allows. With `hasWholeDays`, those of about a day or more begin at the midnights of the zone: the
 * window cuts the first and the last, and there may be one more. An event belongs to the first bucket whose
 * end is later than its creation.
 */
export function bucketEnds(
  { after, before, zone }: Pick<StatsWindow, 'after' | 'before' | 'zone'>,
  count?: number,
  hasWholeDays = false,
): Instant[] {
  const [start, end] = [milliseconds(after), milliseconds(before)];
  const step = stepOf(end - start, count, hasWholeDays);
  const inner =
    step === undefined ? equalParts(start, end, count ?? PARTS, zone) : onTheClock(start, end, zone, step);
  return [...inner.map((time) => knownInstant(time)), before];
}

/** The length of buckets that lie on the clock; undefined for equal parts of the window. */
function stepOf(length: number, count: number | undefined, hasWholeDays: boolean): number | undefined {
  if (count === undefined) return ROUND.find((round) => length / round < PARTS - 1);
  const days = Math.round(length / count / DAY_MS);
  return hasWholeDays && days > 0 ? days * DAY_MS : undefined;
}

/**
 * The times at which the zone's clock shows a multiple of the length. Lengths up to an hour begin each time
 * it does; an hour that clocks skip begins at the next one. A longer bucket, such as a day, begins the first
 * time only.
 */
function onTheClock(start: number, end: number, zone: TimeZone, step: number): number[] {
  const [first, last] = [start + zone.offsetAt(start), end + zone.offsetAt(end)];
  // Clocks that are put back within the window show times outside of these.
  const slack = Math.abs(zone.offsetAt(start) - zone.offsetAt(end));
  const phase = step % (7 * DAY_MS) === 0 ? MONDAY_MS : 0;
  const times = new Set<number>();
  let wall = Math.floor((first - slack - phase) / step) * step + phase;
  for (; wall <= last + slack + step; wall += step) {
    const shown = zone.timesAt(wall);
    for (const time of step > HOUR_MS ? shown.slice(0, 1) : shown) {
      if (time > start && time < end) times.add(time);
    }
  }
  return [...times].sort((a, b) => a - b);
}

function equalParts(start: number, end: number, count: number, zone: TimeZone): number[] {
  const length = (end - start) / count;
  const grain = ROUND.findLast((round) => round <= length / 10) ?? (length >= 2 * SECOND_MS ? SECOND_MS : 1);
  return Array.from({ length: count - 1 }, (_, index) => {
    const time = start + length * (index + 1);
    const offset = zone.offsetAt(time);
    return Math.round((time + offset) / grain) * grain - offset;
  });
}

/**
 * The statistics of events that are in a table, for filters that the service cannot count by; `count` is of
 * buckets, and `hasWholeDays` as for `bucketEnds`.
 */
export function statsOfTable(
  table: ComparisonTable,
  window: StatsWindow,
  count: number | undefined,
  hasWholeDays = false,
): Stats {
  const ends = bucketEnds(window, count, hasWholeDays);
  const parts = ends.map(() => ({ all: 0, failed: 0 }));
  const { times, failures, rows, failed } = table;
  for (let row = 0; row < rows; row++) {
    if (!times.isKnown(row)) continue;
    const part = parts[bucketOf(times.at(row), ends)] as (typeof parts)[number];
    part.all++;
    part.failed += failures[row] as number;
  }
  const types = table
    .outcomesOf('eventType')
    .map(({ value, ...type }): TypeCell => [value, { all: type.total, failed: type.failed }]);
  return statsOfCells(window, { all: rows, failed }, types, ends, parts);
}

/** The first bucket whose end is later than the time. */
function bucketOf(time: Instant, ends: readonly Instant[]): number {
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareInstants(time, ends[middle] as Instant) < 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
