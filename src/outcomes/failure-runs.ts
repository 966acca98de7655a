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
