/**
 * A run of failures: it begins with a failure and ends at the first of two successes in a row, so that one
 * lucky delivery does not end it.
 */
export interface FailureRun {
  /** The place of its first failure among the events. */
  readonly start: number;
  /** True if it may have begun before the events do: fewer than two successes stand before it. */
  readonly isAtEdge: boolean;
  /** True if the newest event is inside it. */
  readonly isOpen: boolean;
}

/** Successes in a row that end a run. */
const ENDING_SUCCESSES = 2;

/** The first run among events in order of creation, the oldest first; undefined if none has failed. */
export function firstRun(
  count: number,
  hasFailed: (index: number) => boolean,
): Pick<FailureRun, 'start' | 'isAtEdge'> | undefined {
  for (let index = 0; index < count; index++)
    if (hasFailed(index)) return { start: index, isAtEdge: index < ENDING_SUCCESSES };
  return undefined;
}

/** The latest run among events in order of creation, the oldest first; undefined if none has failed. */
export function latestRun(count: number, hasFailed: (index: number) => boolean): FailureRun | undefined {
  let start: number | undefined;
  let isOpen = false;
  let successes = 0;
  let isAtEdge = true;
  for (let index = 0; index < count; index++) {
    if (hasFailed(index)) {
      if (!isOpen) {
        start = index;
        isAtEdge = index < ENDING_SUCCESSES;
        isOpen = true;
      }
      successes = 0;
      continue;
    }
    successes++;
    if (successes === ENDING_SUCCESSES) isOpen = false;
  }
  return start === undefined ? undefined : { start, isAtEdge, isOpen };
}

/** A run whose events are all known. */
export interface WholeRun {
  readonly start: number;
  /** As in `FailureRun`. */
  readonly isAtEdge: boolean;
  readonly lastFailed: number;
  /** The first of the successes that end it; undefined if the newest event is inside it. */
  readonly end: number | undefined;
  readonly failures: number;
}

/**
 * The run with the most failures among events in order of creation, the oldest first, and of several the
 * latest; undefined if none has failed.
 */
export function largestRun(count: number, hasFailed: (index: number) => boolean): WholeRun | undefined {
  let largest: WholeRun | undefined;
  let run: WholeRun | undefined;
  for (let index = 0; index < count; index++) {
    if (hasFailed(index)) {
      run ??= {
        start: index,
        isAtEdge: index < ENDING_SUCCESSES,
        lastFailed: index,
        end: undefined,
        failures: 0,
      };
      run = { ...run, lastFailed: index, failures: run.failures + 1 };
    } else if (run && index - run.lastFailed === ENDING_SUCCESSES) {
      largest = larger(largest, { ...run, end: run.lastFailed + 1 });
      run = undefined;
    }
  }
  return run ? larger(largest, run) : largest;
}

function larger(one: WholeRun | undefined, later: WholeRun): WholeRun {
  return one && one.failures > later.failures ? one : later;
}
