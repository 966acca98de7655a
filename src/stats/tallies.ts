import type { CountQueries, StatsWindow } from '../filters/stats-window.ts';
import type { Query } from '../paging/event-query.ts';
import type { OutcomeTable } from '../questions/outcome-table.ts';
import { provenRate } from '../statistics/proven-rate.ts';
import type { Instant } from '../time/instant.ts';
import { type BucketSpan, bucketOf, type Division, divideTime } from './buckets.ts';

/** If only one status was requested, the other is null. */
export interface Tally {
  readonly total: number;
  readonly success: number | null;
  readonly failed: number | null;
}
export interface TypeTally extends Tally {
  readonly eventType: string | null;
}
export interface Bucket extends Tally, BucketSpan {}
export interface Stats extends Tally {
  readonly window: StatsWindow;
  readonly types: readonly TypeTally[];
  readonly buckets: readonly Bucket[];
  /** True if events changed during the count, so negative differences are shown as zero. */
  readonly moved: boolean;
}

/**
 * Counts by type, status and time without reading events. A bucket is the difference of two counts from the
 * window's start, so each event is in exactly one bucket whatever the service does at boundaries. `types` is
 * null if the window's queries name the types.
 */
export async function gatherStats(
  window: StatsWindow,
  types: readonly string[] | null,
  division: Division | undefined,
  count: CountQueries,
): Promise<Stats> {
  const spans = divideTime(window, division);
  const within = (query: Query, before: Instant): Query => ({ ...query, after: window.after, before });
  const named = types ?? [...new Set(window.queries.map(({ eventType }) => eventType as string))];
  const typeCells = named.map((eventType) =>
    window.queries
      .filter((query) => types || query.eventType === eventType)
      .map((query) => within({ ...query, eventType }, window.before)),
  );
  const endCells = spans.map(({ to }) => window.queries.map((query) => within(query, to)));
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
  const stats = statsOfCells(window, whole, cells, spans, parts);
  return moved ? { ...stats, moved } : stats;
}

type TypeCell = readonly [eventType: string | null, counts: Cell];

function statsOfCells(
  window: StatsWindow,
  whole: Cell,
  types: readonly TypeCell[],
  spans: readonly BucketSpan[],
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
    buckets: spans.map((span, index) => ({ ...span, ...tallyOf(parts[index] as Cell) })),
    moved: cells.some(({ all, failed }) => all < failed),
  };
}

interface Cell {
  readonly all: number;
  readonly failed: number;
}
const NONE: Cell = { all: 0, failed: 0 };

/** Counts each distinct query once; a cell is the sum of its queries. */
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

export function failureRate({ total, success, failed }: Tally): number | null {
  return total === 0 || success === null || failed === null ? null : failed / total;
}

/** Worst first: by proven rate, events and name. */
export function byFailure(a: TypeTally, b: TypeTally): number {
  return (
    provenRate(b.failed ?? 0, b.total) - provenRate(a.failed ?? 0, a.total) ||
    b.total - a.total ||
    (a.eventType ?? '\uffff').localeCompare(b.eventType ?? '\uffff', 'en')
  );
}

export function statsOfTable(
  table: OutcomeTable,
  window: StatsWindow,
  division: Division | undefined,
): Stats {
  const spans = divideTime(window, division);
  const parts = spans.map(() => ({ all: 0, failed: 0 }));
  const { times, failures, rows, failed } = table;
  for (let row = 0; row < rows; row++) {
    if (!times.isKnown(row)) continue;
    const part = parts[bucketOf(times.at(row), spans)] as (typeof parts)[number];
    part.all++;
    part.failed += failures[row] as number;
  }
  const types = table.types.map(
    ({ value, ...type }): TypeCell => [value, { all: type.total, failed: type.failed }],
  );
  return statsOfCells(window, { all: rows, failed }, types, spans, parts);
}
