import { UsageError } from '../errors.ts';
import { compareInstants, type Instant, instantAt, milliseconds } from '../items/instant.ts';
import type { EventFilters } from './event-filters.ts';
import type { Query } from './event-query.ts';

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
 * The window that the filters ask for, at the service's time `now` (milliseconds): up to the next full second, as its clock
 * tells no fraction, and from 24 hours before the end. Throws `UsageError`.
 */
export function statsWindow(filters: EventFilters, now: number): StatsWindow {
  const combinations = filters.withStatuses().queries(now);
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
  const [status, other] = filters.statuses;
  return { after, before, queries, status: other ? undefined : status };
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
