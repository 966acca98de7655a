/**
 * A run of failures: it begins with the first event that failed, or with a failure after two successes, and
 * ends at the first of two successes in a row, so that one lucky delivery does not end it.
 */
export interface FailureRun {
  /** The place of its first failure among the events. */
  readonly start: number;
  /** True if it may have begun before the events do: no success is known before it. */
  readonly isAtEdge: boolean;
  readonly lastFailed: number;
  /** The first of the successes that end it; undefined if the newest event is inside it. */
  readonly end: number | undefined;
  readonly failures: number;
}

/** Successes in a row that end a run. */
const ENDING_SUCCESSES = 2;

/** True if so many successes in a row end a run of failures. */
export function endsRun(successes: number): boolean {
  return successes >= ENDING_SUCCESSES;
}

/** One failed event is no outage: the next try of most handlers succeeds. */
const LEAST_FAILURES_OF_OUTAGE = 2;

/** The first run among events in order of creation, the oldest first; undefined if none has failed. */
export function firstRun(count: number, hasFailed: (index: number) => boolean): FailureRun | undefined {
  const [first] = runsOf(count, hasFailed);
  return first;
}

/** The latest run among events in order of creation, the oldest first; undefined if none has failed. */
export function latestRun(count: number, hasFailed: (index: number) => boolean): FailureRun | undefined {
  return [...runsOf(count, hasFailed)].at(-1);
}

/** The latest run of several failures among events in order of creation, the oldest first. */
export function latestOutage(count: number, hasFailed: (index: number) => boolean): FailureRun | undefined {
  return [...runsOf(count, hasFailed)].findLast(isOutage);
}

/**
 * The outage with the most failures among events in order of creation, the oldest first, and of several the
 * latest.
 */
export function largestOutage(count: number, hasFailed: (index: number) => boolean): FailureRun | undefined {
  let largest: FailureRun | undefined;
  for (const run of runsOf(count, hasFailed))
    if (isOutage(run) && run.failures >= (largest?.failures ?? 0)) largest = run;
  return largest;
}

function isOutage({ failures }: FailureRun): boolean {
  return failures >= LEAST_FAILURES_OF_OUTAGE;
}

/** The runs among events in order of creation, in that order. */
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
