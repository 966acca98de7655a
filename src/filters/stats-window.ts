import { UsageError } from '../errors.ts';
import type { Query } from '../paging/event-query.ts';
import { type Instant, instantAt } from '../time/instant.ts';
import { DAY_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { EventFilters } from './event-filters.ts';

/** Gets the number of events of each query from the service. */
export type CountQueries = (queries: readonly Query[]) => Promise<readonly number[]>;

/**
 * The events to count: created between two instants (both exclusive, as `gt` and `lt` are), and chosen by the
 * other filters.
 */
export interface StatsWindow {
  readonly after: Instant;
  readonly before: Instant;
  /** True if it is the time that stored events span, which nobody asked about. */
  readonly isSpan?: true;
  /** The zone in which buckets begin and times are shown. */
  readonly zone: TimeZone;
  /** One for each combination of repeated flags; without status and time. */
  readonly queries: readonly Query[];
  /** The one status asked for, undefined for both. */
  readonly status: 'SUCCESS' | 'FAILED' | undefined;
}

/**
 * The window that the filters ask for, at the service's time `now` (milliseconds): by default the 24 hours up
 * to the next full second, since its clock has no fraction. Throws `UsageError`, also for one that begins
 * later than `now`.
 */
export function statsWindow(filters: EventFilters, now: number): StatsWindow {
  const window = storedWindow(filters, now);
  filters.requirePastStart(now);
  return window;
}

/**
 * The same for stored events, which may have been created by a clock that is ahead of this machine's: a
 * window that begins later than `now` ends a day after that by default. Throws `UsageError`.
 */
export function storedWindow(filters: EventFilters, now: number): StatsWindow {
  const [{ after: start, before: end }] = filters.queries(now);
  const before =
    end ?? (start && filters.seemsToBeginLater(now) ? shifted(start, DAY_MS) : instantAt(now + 1000));
  const after = start ?? (before && shifted(before, -DAY_MS));
  if (!before || !after) throw new UsageError('--until: too early for a day before it');
  const queries = filters.withStatuses().withoutTimes().queries(now);
  const [status, other] = filters.statuses;
  return { after, before, zone: filters.zone, queries, status: other ? undefined : status };
}

/** The full second that is some milliseconds away; undefined for a year that no text has. */
function shifted({ seconds }: Instant, milliseconds: number): Instant | undefined {
  return instantAt(seconds * 1000 + milliseconds);
}
