import { UsageError } from '../errors.ts';
import { createdOnReader } from '../json/created-on.ts';
import type { FieldPath } from '../json/field-path.ts';
import {
  compareInstants,
  type Instant,
  knownInstant,
  milliseconds,
  nextFullSecond,
} from '../time/instant.ts';
import type { EventFilters } from './event-filters.ts';
import { EventGroups } from './group-events.ts';
import { type ReportData, type ReportOptions, reportOfEvents } from './report-data.ts';
import type { Stats } from './statistics.ts';
import { type StatsWindow, statsWindow } from './statistics-window.ts';
import { type StoredOptions, storedEvents } from './stored-events.ts';
import { EventTally } from './tally-events.ts';

/**
 * The statistics of events in a file or an export. The window is the time that they span, unless the filters give one.
 */
export async function tallyStored(
  place: string,
  filters: EventFilters,
  buckets: number | undefined,
  options: StoredOptions,
): Promise<Stats> {
  const window = await storedWindow(place, filters, options);
  const tally = new EventTally(window, buckets);
  for await (const { items } of storedEvents(place, filters, { ...options, within: window }))
    tally.add(items);
  return tally.stats;
}

/** The report of such events. */
export async function reportStored(
  place: string,
  filters: EventFilters,
  report: Pick<ReportOptions, 'by' | 'limit' | 'buckets'>,
  options: StoredOptions,
): Promise<ReportData> {
  const window = await storedWindow(place, filters, options);
  return reportOfEvents(window, storedEvents(place, filters, { ...options, within: window }), report);
}

/** Such events in groups. */
export async function groupStored(
  place: string,
  filters: EventFilters,
  fields: readonly FieldPath[],
  options: StoredOptions,
): Promise<EventGroups> {
  const groups = new EventGroups(fields);
  for await (const { items } of storedEvents(place, filters, options)) groups.add(items);
  return groups;
}

async function storedWindow(
  place: string,
  filters: EventFilters,
  options: StoredOptions,
): Promise<StatsWindow> {
  const window = () => statsWindow(filters, options.context.clock.now());
  if (filters.after) return window();
  if (place === '-') {
    throw new UsageError(
      '--since is missing: standard input is read once, and its first event is not known beforehand',
      {
        next: 'give --since, or name a file',
      },
    );
  }
  const createdOn = createdOnReader();
  let first: Instant | undefined;
  let last: Instant | undefined;
  for await (const { items } of storedEvents(place, filters, { ...options, onDoubt: undefined })) {
    for (let item = 0; item < items.count; item++) {
      const at = createdOn(items.bytes, items.start(item));
      if (!at) continue;
      if (!first || compareInstants(at, first) < 0) first = at;
      if (!last || compareInstants(at, last) > 0) last = at;
    }
  }
  if (!first || !last) return window();
  // Both bounds are exclusive.
  const after = knownInstant(milliseconds(first) - 1);
  const before = nextFullSecond(milliseconds(last));
  return { ...statsWindow(filters.withoutTimes(), milliseconds(last)), after, before };
}
