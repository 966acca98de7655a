import { UsageError } from '../errors.ts';
import type { Query } from '../paging/event-query.ts';
import { type Instant, instantAt } from '../time/instant.ts';
import { DAY_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { EventFilters } from './event-filters.ts';

export type CountQueries = (queries: readonly Query[]) => Promise<readonly number[]>;

/** Both bounds are exclusive, as in `gt` and `lt`. */
export interface StatsWindow {
  readonly after: Instant;
  readonly before: Instant;
  /** True if the window is the span of the stored events, since none was requested. */
  readonly isSpan?: true;
  readonly zone: TimeZone;
  readonly queries: readonly Query[];
  readonly status: 'SUCCESS' | 'FAILED' | undefined;
}

/**
 * Defaults to 24 hours up to the next full second after `now` (milliseconds), since the service's clock has
 * no fraction. Throws `UsageError`, also if the window begins after `now`.
 */
export function statsWindow(filters: EventFilters, now: number): StatsWindow {
  const window = storedWindow(filters, now);
  filters.requirePastStart(now);
  return window;
}

/** For stored events: a window after `now` ends a day later, since clocks differ. Throws `UsageError`. */
export function storedWindow(filters: EventFilters, now: number): StatsWindow {
  const [{ after: start, before: end }] = filters.queries(now);
  const before =
    end ?? (start && filters.seemsToBeginLater(now) ? shifted(start, DAY_MS) : instantAt(now + 1000));
  const after = start ?? (before && shifted(before, -DAY_MS));
  if (!before || !after) throw new UsageError('--until: too early for a day before it');
  const queries = filters.withStatuses().withoutTimes().queries(now);
  return { after, before, zone: filters.zone, queries, status: filters.onlyStatus };
}

/** In full seconds; undefined outside the representable years. */
function shifted({ seconds }: Instant, milliseconds: number): Instant | undefined {
  return instantAt(seconds * 1000 + milliseconds);
}
