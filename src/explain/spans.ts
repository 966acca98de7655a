import { sortRows, type TimeColumn } from '../items/time-column.ts';
import type { Count, Likelihood } from '../statistics/chance.ts';
import { firstRun, latestRun } from '../statistics/failure-runs.ts';
import { countRows, filterRows } from './rows.ts';

/** Failure rates inside a span to start the search with. */
const FIRST_RATES = [0.95, 0.5, 0.25];
/** Rounds in which the rate of the span found replaces the assumed rate. */
const ROUNDS = 3;
/** Minimum ratio of a span's rate to the overall rate. */
const GREATER = 1.1;
/** Assumed failure rate outside a span, as a share of the overall rate. */
const RATE_OUTSIDE = 0.5;
/** Maximum assumed rate: at 1 a single success would end any span. */
const MAX_RATE = 0.995;
/** Keep a bound only if the rate beyond it is below this share of the span's. */
const RATE_BEYOND = 0.4;
/** Keep a bound only if chance produces the successes beyond it no more often than this. */
const MAX_CHANCE_BEYOND = 0.05;

/** A span is redundant if the current run of failures has this share of its failures. */
const NEARLY_ALL = 0.9;

export interface TimedRows {
  readonly times: TimeColumn;
  /** 1 for a failed row. */
  readonly failures: Uint8Array;
}

/** Bounds are inclusive. */
export class SpanTest {
  readonly feature = undefined;
  readonly times: TimeColumn;
  readonly from: number | undefined;
  readonly to: number | undefined;

  constructor(times: TimeColumn, from?: number, to?: number) {
    this.times = times;
    this.from = from;
    this.to = to;
  }

  filter(rows: Int32Array): Int32Array {
    const { from, to, times } = this;
    const isInside = (row: number) =>
      times.isKnown(row) &&
      (from === undefined || times.compare(row, from) >= 0) &&
      (to === undefined || times.compare(row, to) <= 0);
    return filterRows(rows, isInside);
  }
}

interface Run {
  readonly from: number;
  readonly to: number;
}

export interface Span extends Count {
  readonly test: SpanTest;
}

/** The span that makes the failures most likely; `timed` are rows in order of creation. */
export function bestSpan(
  table: TimedRows,
  timed: Int32Array,
  whole: Count,
  likelihood: Likelihood,
): (Span & { readonly gain: number }) | undefined {
  const spans = heaviestSpans(table, timed, whole.failed / whole.events);
  const gains = spans.map((span) => ({ ...span, gain: likelihood.gain(span.events, span.failed, whole) }));
  return gains.sort((a, b) => b.gain - a.gain)[0];
}

export function inOrderOfTime({ times }: TimedRows, rows: Int32Array): Int32Array {
  const known = filterRows(rows, (row) => times.isKnown(row));
  return Int32Array.from(sortRows([...known], times));
}

export function latestRunOf({ failures }: TimedRows, timed: Int32Array) {
  const hasFailed = (index: number) => failures[timed[index] as number] === 1;
  const run = latestRun(timed.length, hasFailed);
  return {
    since: run && run.end === undefined ? timed[run.start] : undefined,
    isAtEdge: run?.isAtEdge === true,
    isFirstAtEdge: firstRun(timed.length, hasFailed)?.isAtEdge === true,
  };
}

/**
 * True if a span only marks where the current run of failures begins. `general` are the rows that fulfil the
 * other conditions, `own` those of them inside the span.
 */
export function isStartOfCurrentRun(table: TimedRows, general: Int32Array, own: Int32Array): boolean {
  const { since } = latestRunOf(table, inOrderOfTime(table, general));
  if (since === undefined) return false;
  const going = countRows(new SpanTest(table.times, since).filter(general), table.failures);
  return going.failed >= NEARLY_ALL * countRows(own, table.failures).failed;
}

/**
 * Finds the heaviest runs of events by Kadane's algorithm, at several assumed failure rates. Each event
 * weighs by how much likelier it is inside the run than outside. `timed` are rows of known time in order of
 * creation, `base` is the overall failure rate.
 */
export function heaviestSpans(table: TimedRows, timed: Int32Array, base: number): Span[] {
  // If most events fail, only a greater rate separates a span from the rest.
  return FIRST_RATES.flatMap((first) => spansAt(table, timed, base, Math.max(first, base * GREATER)));
}

function spansAt(table: TimedRows, timed: Int32Array, base: number, first: number): Span[] {
  const spans: Span[] = [];
  let rate = first;
  for (let round = 0; round < ROUNDS && rate > base; round++) {
    const run = heaviestRun(timed, table.failures, rate, base * RATE_OUTSIDE);
    if (!run) break;
    const { events, failed } = countRows(timed.subarray(run.from, run.to + 1), table.failures);
    rate = failed / events;
    const span = spanOf(table, timed, boundsOf(table, timed, run, rate));
    if (span.events < timed.length && span.failed > 1) spans.push(span);
  }
  return spans;
}

function spanOf({ times, failures }: TimedRows, timed: Int32Array, { from, to }: Run): Span {
  const start = from === 0 ? undefined : timed[from];
  const end = to === timed.length - 1 ? undefined : timed[to];
  const test = new SpanTest(times, start, end);
  return { test, ...countRows(timed.subarray(from, to + 1), failures) };
}

function heaviestRun(
  timed: Int32Array,
  failures: Uint8Array,
  rate: number,
  outside: number,
): Run | undefined {
  const inside = Math.min(rate, MAX_RATE);
  const weightOfFailure = Math.log(inside / outside);
  const weightOfSuccess = Math.log((1 - inside) / (1 - outside));
  let sum = 0;
  let start = 0;
  let most = 0;
  let run: Run | undefined;
  for (let place = 0; place < timed.length; place++) {
    sum += failures[timed[place] as number] === 1 ? weightOfFailure : weightOfSuccess;
    if (sum < 0) {
      sum = 0;
      start = place + 1;
    } else if (sum > most) {
      most = sum;
      run = { from: start, to: place };
    }
  }
  return run;
}

/** Keeps a bound only if events beyond it contradict the span: a few successes do not. */
function boundsOf(table: TimedRows, timed: Int32Array, run: Run, rate: number): Run {
  const isOver = (beyond: Int32Array) => {
    const { events, failed } = countRows(beyond, table.failures);
    return failed < RATE_BEYOND * rate * events && (1 - rate) ** events <= MAX_CHANCE_BEYOND;
  };
  const isSameTime = (place: number) =>
    table.times.compare(timed[place] as number, timed[place + 1] as number) === 0;
  const last = timed.length - 1;
  let from = isOver(timed.subarray(0, run.from)) ? run.from : 0;
  let to = isOver(timed.subarray(run.to + 1)) ? run.to : last;
  // Events of the same moment belong together.
  while (from > 0 && isSameTime(from - 1)) from--;
  while (to < last && isSameTime(to)) to++;
  return { from, to };
}
