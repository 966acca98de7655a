import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import { type Count, countRows } from './chance.ts';
import { SpanTest } from './row-tests.ts';

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

/** Places of the first and the last event of a span among those whose time is known. */
interface Run {
  readonly from: number;
  readonly to: number;
}

export interface Span extends Count {
  readonly test: SpanTest;
}

/**
 * Spans in which failures are most unlikely to be chance: the heaviest run of events, each weighing by how
 * much likelier it is inside than outside (Kadane's algorithm), at several rates of failure. `timed` are rows
 * in order of creation, whose time is known; `base` is the rate of all failures.
 */
export function heaviestSpans(table: ComparisonTable, timed: Int32Array, base: number): Span[] {
  // Most events fail here: only a greater rate parts them.
  return FIRST_RATES.flatMap((first) => spansAt(table, timed, base, Math.max(first, base * GREATER)));
}

/** The span at a first rate, and at those that were found inside it. */
function spansAt(table: ComparisonTable, timed: Int32Array, base: number, first: number): Span[] {
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

function spanOf({ times, failures }: ComparisonTable, timed: Int32Array, { from, to }: Run): Span {
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
function boundsOf(table: ComparisonTable, timed: Int32Array, run: Run, rate: number): Run {
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
