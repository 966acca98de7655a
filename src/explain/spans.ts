import { sortRows, type TimeColumn } from '../items/time-column.ts';
import type { Count, Likelihood } from '../statistics/chance.ts';
import { firstRun, latestRun } from '../statistics/failure-runs.ts';
import { countRows, filterRows } from './rows.ts';

/** Rates of failure inside a span with which the heaviest run is looked for first. */
const FIRST_RATES = [0.95, 0.5, 0.25];
/** Each is then the rate of the run that it found, so often. */
const ROUNDS = 3;
/** A rate parts events from others if it is greater than that of all by this factor. */
const GREATER = 1.1;
/** Outside of a span events fail at this part of the rate of all. */
const RATE_OUTSIDE = 0.5;
/** A run of failures alone could not be ended by any success. */
const MOST_RATE = 0.995;
/** A bound stands only if less than this part of the span's rate fails beyond it. */
const RATE_BEYOND = 0.4;
/** It also has to be this unlikely that chance explains so many successes beyond it. */
const MOST_CHANCE_BEYOND = 0.05;

/** A span says only since when it fails if the run that goes on has this part of its failures. */
const NEARLY_ALL = 0.9;

/** Events with their times and outcomes. */
export interface TimedRows {
  readonly times: TimeColumn;
  /** 1 for a row that failed. */
  readonly failures: Uint8Array;
}

/** The condition that an event was created between two others, or at the same time as one of them. */
export class SpanTest {
  readonly feature = undefined;
  readonly times: TimeColumn;
  /** Rows; undefined where the events go on like this. */
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

/** Places of the first and the last event of a span among those whose time is known. */
interface Run {
  readonly from: number;
  readonly to: number;
}

export interface Span extends Count {
  readonly test: SpanTest;
}

/** The span of rows in order of creation that makes the failures most likely. */
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

/** Those of some rows whose time is known, in order of creation. */
export function inOrderOfTime({ times }: TimedRows, rows: Int32Array): Int32Array {
  const known = filterRows(rows, (row) => times.isKnown(row));
  return Int32Array.from(sortRows([...known], times));
}

/** The first failure of the run that goes on, if one does, of rows in order of creation. */
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
 * True for a span that begins with the failures that go on now: it says no more than since when they do.
 * `general` are the rows without it, and `own` those inside it.
 */
export function saysOnlySince(table: TimedRows, general: Int32Array, own: Int32Array): boolean {
  const { since } = latestRunOf(table, inOrderOfTime(table, general));
  if (since === undefined) return false;
  const going = countRows(new SpanTest(table.times, since).filter(general), table.failures);
  return going.failed >= NEARLY_ALL * countRows(own, table.failures).failed;
}

/**
 * Spans in which failures are most unlikely to be chance: the heaviest run of events, each weighing by how
 * much likelier it is inside than outside (Kadane's algorithm), at several rates of failure. `timed` are rows
 * in order of creation, whose time is known; `base` is the rate of all failures.
 */
export function heaviestSpans(table: TimedRows, timed: Int32Array, base: number): Span[] {
  // Most events fail here: only a greater rate parts them.
  return FIRST_RATES.flatMap((first) => spansAt(table, timed, base, Math.max(first, base * GREATER)));
}

/** The span at a first rate, and at those that were found inside it. */
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
  const inside = Math.min(rate, MOST_RATE);
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

/**
 * Bounds stand only where events beyond them contradict the span: a few successes do not, nor others that
 * fail like it.
 */
function boundsOf(table: TimedRows, timed: Int32Array, run: Run, rate: number): Run {
  const isOver = (beyond: Int32Array) => {
    const { events, failed } = countRows(beyond, table.failures);
    return failed < RATE_BEYOND * rate * events && (1 - rate) ** events <= MOST_CHANCE_BEYOND;
  };
  const isSameTime = (place: number) =>
    table.times.compare(timed[place] as number, timed[place + 1] as number) === 0;
  const last = timed.length - 1;
  let from = isOver(timed.subarray(0, run.from)) ? run.from : 0;
  let to = isOver(timed.subarray(run.to + 1)) ? run.to : last;
  // Events of one moment are inside together.
  while (from > 0 && isSameTime(from - 1)) from--;
  while (to < last && isSameTime(to)) to++;
  return { from, to };
}
