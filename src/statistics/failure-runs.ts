/**
 * Begins with the first failure, or with a failure after two successes. Ends at the first of two successes in
 * a row, so a single lucky delivery does not end it.
 */
export interface FailureRun {
  readonly start: number;
  /** True if no success is known before it, so it may have begun earlier. */
  readonly isAtEdge: boolean;
  readonly lastFailed: number;
  /** The first of the successes that end it; undefined if it continues to the newest event. */
  readonly end: number | undefined;
  readonly failures: number;
}

/** Consecutive successes that end a run. */
const ENDING_SUCCESSES = 2;

export function endsRun(successes: number): boolean {
  return successes >= ENDING_SUCCESSES;
}

/** A lone failure is not an outage: the next attempt usually succeeds. */
const MIN_FAILURES_OF_OUTAGE = 2;

/** Events are oldest first. Undefined if none failed. */
export function firstRun(count: number, hasFailed: (index: number) => boolean): FailureRun | undefined {
  const [first] = runsOf(count, hasFailed);
  return first;
}

export function latestRun(count: number, hasFailed: (index: number) => boolean): FailureRun | undefined {
  return [...runsOf(count, hasFailed)].at(-1);
}

export function latestOutage(count: number, hasFailed: (index: number) => boolean): FailureRun | undefined {
  return [...runsOf(count, hasFailed)].findLast(isOutage);
}

/** The outage with the most failures, or the latest of equal ones. Events are oldest first. */
export function largestOutage(count: number, hasFailed: (index: number) => boolean): FailureRun | undefined {
  let largest: FailureRun | undefined;
  for (const run of runsOf(count, hasFailed))
    if (isOutage(run) && run.failures >= (largest?.failures ?? 0)) largest = run;
  return largest;
}

function isOutage({ failures }: FailureRun): boolean {
  return failures >= MIN_FAILURES_OF_OUTAGE;
}

function* runsOf(count: number, hasFailed: (index: number) => boolean): Generator<FailureRun> {
  let run: Pick<FailureRun, 'start' | 'lastFailed' | 'failures'> | undefined;
  for (let index = 0; index < count; index++) {
    if (hasFailed(index)) {
      run = { start: run?.start ?? index, lastFailed: index, failures: (run?.failures ?? 0) + 1 };
    } else if (run && endsRun(index - run.lastFailed)) {
      yield { ...run, isAtEdge: run.start === 0, end: run.lastFailed + 1 };
      run = undefined;
    }
  }
  if (run) yield { ...run, isAtEdge: run.start === 0, end: undefined };
}
