import type { Command } from 'commander';
import { wholeNumber } from '../../config/numbers.ts';

export interface StatsFlags {
  readonly buckets?: number;
  readonly concurrency?: number;
}

const BUCKETS = 24;
/** Twice what reading pages takes: an answer to a count is a single event. */
const CONCURRENCY = 8;

/** For commands that show counts over time. */
export function addStatsFlags(command: Command): Command {
  return command
    .option(
      '--buckets <number>',
      `parts of the time line, 1 to 500 (default: ${BUCKETS})`,
      wholeNumber('--buckets', 1, 500),
    )
    .option(
      '--concurrency <number>',
      `requests at once, 1 to 16 (default: ${CONCURRENCY})`,
      wholeNumber('--concurrency', 1, 16),
    );
}

/** The flags with their defaults. */
export function statsOptions({ buckets = BUCKETS, concurrency = CONCURRENCY }: StatsFlags) {
  return { buckets, concurrency };
}
