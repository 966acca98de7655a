import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import { allRows, filterRows, selectRows } from '../outcomes/rows.ts';
import { sortRows } from '../outcomes/time-column.ts';
import { firstRun, latestRun } from '../statistics/failure-runs.ts';
import { compareInstants, type Instant, instantAt } from '../time/instant.ts';
import { type Count, countRows } from './chance.ts';
import { filterByAll, type RowTest, SpanTest } from './row-tests.ts';

/** When the events of a cause failed and when not. */
export interface CauseTimes {
  readonly firstFailed: Instant | undefined;
  readonly lastFailed: Instant | undefined;
  readonly lastSuccess: Instant | undefined;
  /** The first failure of the run that goes on; undefined if none does. */
  readonly failingSince: Instant | undefined;
  /** True if its failures may have begun before the events do: the first one is at the edge of the window. */
  readonly edge: boolean;
  /** The same of the run that goes on. */
  readonly isSinceAtEdge: boolean;
}

/** Which rows to select by `failures`. */
export const FAILED = Uint8Array.of(0, 1);
const DELIVERED = Uint8Array.of(1, 0);
/** A span says no more than since when it fails if the run that goes on has this part of its failures. */
const NEARLY_ALL = 0.9;

export function timesOf(table: ComparisonTable, rows: Int32Array, tests: readonly RowTest[]): CauseTimes {
  const { times, failures } = table;
  const failed = selectRows(rows, failures, FAILED);
  // A span that ended before the newest events fails no more.
  const isOver = tests.some((test) => !test.feature && test.to !== undefined);
  const { since, isAtEdge, isFirstAtEdge } = latestRunOf(table, rows);
  // A span with a start has delivered events before it.
  const hasStart = tests.some((test) => !test.feature && test.from !== undefined);
  return {
    firstFailed: times.at(times.oldest(failed)),
    lastFailed: times.at(times.newest(failed)),
    lastSuccess: times.at(times.newest(selectRows(rows, failures, DELIVERED))),
    failingSince: isOver ? undefined : times.at(since),
    edge: isFirstAtEdge && !hasStart,
    isSinceAtEdge: isAtEdge && !hasStart,
  };
}

/** The row of the first failure of the run that goes on, if one does. */
function latestRunOf({ times, failures }: ComparisonTable, rows: Int32Array) {
  const dated = sortRows([...filterRows(rows, (row) => times.isKnown(row))], times);
  const hasFailed = (index: number) => failures[dated[index] as number] === 1;
  const run = latestRun(dated.length, hasFailed);
  return {
    since: run && run.end === undefined ? dated[run.start] : undefined,
    isAtEdge: run?.isAtEdge === true,
    isFirstAtEdge: firstRun(dated.length, hasFailed)?.isAtEdge === true,
  };
}

/**
 * The tests without a span that begins with the failures that go on now: it says no more than since when they
 * do. `isNamed` tells if the tests without it are a cause by themselves.
 */
export function withoutNeedlessSpan(
  table: ComparisonTable,
  tests: readonly RowTest[],
  left: Int32Array,
  isNamed: (tests: readonly RowTest[], count: Count) => boolean,
): readonly RowTest[] {
  const { failures } = table;
  const others = tests.filter(({ feature }) => feature);
  if (others.length === tests.length || others.length === 0) return tests;
  const general = filterByAll(others, left);
  const { since } = latestRunOf(table, general);
  if (since === undefined || !isNamed(others, countRows(general, failures))) return tests;
  const going = countRows(new SpanTest(table.times, since).filter(general), failures);
  const own = countRows(filterByAll(tests, general), failures);
  return going.failed >= NEARLY_ALL * own.failed ? others : tests;
}

/** Times, both excluded, that enclose a span and no other event. */
export function boundsAround(table: ComparisonTable, tests: readonly RowTest[]) {
  const span = tests.find((test) => test instanceof SpanTest);
  return { after: boundOf(table, span?.from, -1), before: boundOf(table, span?.to, 1) };
}

function boundOf({ times, rows }: ComparisonTable, row: number | undefined, direction: 1 | -1) {
  if (row === undefined) return undefined;
  // A full second, if there is one before the next event; else the time of that event.
  const { seconds, fraction } = times.at(row);
  const isBeside = direction === 1 || fraction === '';
  const full = instantAt((isBeside ? seconds + direction : seconds) * 1000);
  const all = allRows(rows);
  const next = times.at(direction === 1 ? times.oldest(all, row) : times.newest(all, row));
  return !full || (next && compareInstants(full, next) * direction > 0) ? next : full;
}
