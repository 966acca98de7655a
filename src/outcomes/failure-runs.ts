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

/** A run whose events are all known. */
export interface WholeRun extends Omit<FailureRun, 'isOpen'> {
  readonly lastFailed: number;
  /** The first of the successes that end it; undefined if the newest event is inside it. */
  readonly end: number | undefined;
  readonly failures: number;
}

/** Successes in a row that end a run. */
const ENDING_SUCCESSES = 2;

/** The first run among events in order of creation, the oldest first; undefined if none has failed. */
export function firstRun(count: number, hasFailed: (index: number) => boolean): WholeRun | undefined {
  const [first] = runsOf(count, hasFailed);
  return first;
}

/** The latest run among events in order of creation, the oldest first; undefined if none has failed. */
export function latestRun(count: number, hasFailed: (index: number) => boolean): FailureRun | undefined {
  let latest: WholeRun | undefined;
  for (const run of runsOf(count, hasFailed)) latest = run;
  return latest && { start: latest.start, isAtEdge: latest.isAtEdge, isOpen: latest.end === undefined };
}

/**
 * The run with the most failures among events in order of creation, the oldest first, and of several the
 * latest; undefined if none has failed.
 */
export function largestRun(count: number, hasFailed: (index: number) => boolean): WholeRun | undefined {
  let largest: WholeRun | undefined;
  for (const run of runsOf(count, hasFailed)) if (!largest || run.failures >= largest.failures) largest = run;
  return largest;
}

/** The runs among events in order of creation, in that order. */
function* runsOf(count: number, hasFailed: (index: number) => boolean): Generator<WholeRun> {
  let run: Pick<WholeRun, 'start' | 'lastFailed' | 'failures'> | undefined;
  for (let index = 0; index < count; index++) {
    if (hasFailed(index)) {
      run = { start: run?.start ?? index, lastFailed: index, failures: (run?.failures ?? 0) + 1 };
    } else if (run && index - run.lastFailed === ENDING_SUCCESSES) {
      yield { ...run, isAtEdge: run.start < ENDING_SUCCESSES, end: run.lastFailed + 1 };
      run = undefined;
    }
  }
  if (run) yield { ...run, isAtEdge: run.start < ENDING_SUCCESSES, end: undefined };
}
