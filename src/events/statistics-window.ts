import type { Command } from 'commander';
import { UsageError } from '../errors.ts';
import { compareInstants, type Instant, instantAt, milliseconds } from '../items/instant.ts';
import { wholeNumber } from '../settings/flag-values.ts';
import type { Query } from './event-query.ts';
import { type FilterFlags, filterQueries } from './filter-flags.ts';

const DAY = 86_400_000;

/** What is counted: the time between two instants, both outside of it as `gt` and `lt` have it, and the other filters. */
export interface StatsWindow {
  readonly after: Instant;
  readonly before: Instant;
  /** One for each combination of repeated flags; without status and time. */
  readonly queries: readonly Query[];
  /** The one status asked for, undefined for both. */
  readonly status: 'SUCCESS' | 'FAILED' | undefined;
}

/**
 * The window that the flags ask for, at the service's time `now` (milliseconds): up to the next full second, as its clock
 * tells no fraction, and from 24 hours before the end. Throws `UsageError`.
 */
export function statsWindow(flags: FilterFlags, now: number): StatsWindow {
  const statuses = new Set(filterQueries(flags, now).map(({ publishStatus }) => publishStatus));
  const { status: _status, failed: _failed, ...others } = flags;
  const combinations = filterQueries(others, now);
  const { after: given, before = instantAt(now + 1000) } = combinations[0] as Query;
  const after = given ?? (before && instantAt(before.seconds * 1000 - DAY));
  if (!before || !after) throw new UsageError('--before: too early for a day before it');
  if (compareInstants(after, before) >= 0) {
    throw new UsageError(`--after: ${after.text} lies in the future: the service's time is ${before.text}`);
  }
  const queries = combinations.map(({ subscriptionId, eventId, eventType }) => ({
    subscriptionId,
    eventId,
    eventType,
  }));
  return { after, before, queries, status: statuses.size === 1 ? [...statuses][0] : undefined };
}

/**
 * The ends of `count` equal parts of the window, the last one the window's own; on full seconds where these are long
 * enough. An event belongs to the first part whose end is later than its creation.
 */
export function bucketEnds(
  { after, before }: Pick<StatsWindow, 'after' | 'before'>,
  count: number,
): Instant[] {
  const [start, end] = [milliseconds(after), milliseconds(before)];
  const length = (end - start) / count;
  const grain = length >= 2000 ? 1000 : 1;
  return Array.from({ length: count }, (_, index) => {
    if (index === count - 1) return before;
    return instantAt(Math.round((start + length * (index + 1)) / grain) * grain) as Instant;
  });
}

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
