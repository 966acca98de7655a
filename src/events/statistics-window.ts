import { UsageError } from '../errors.ts';
import { type Instant, instantAt, knownInstant, milliseconds } from '../time/instant.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { EventFilters } from './event-filters.ts';
import type { Query } from './event-query.ts';

const DAY = 86_400_000;

/**
 * The events to count: created between two instants (both exclusive, as `gt` and `lt` are), and chosen by the other
 * filters.
 */
export interface StatsWindow {
  readonly after: Instant;
  readonly before: Instant;
  /** The zone in which buckets begin and times are shown. */
  readonly zone: TimeZone;
  /** One for each combination of repeated flags; without status and time. */
  readonly queries: readonly Query[];
  /** The one status asked for, undefined for both. */
  readonly status: 'SUCCESS' | 'FAILED' | undefined;
}

/**
 * The window that the filters ask for, at the service's time `now` (milliseconds): by default the 24 hours up to the
 * next full second, since its clock has no fraction. Throws `UsageError`.
 */
export function statsWindow(filters: EventFilters, now: number): StatsWindow {
  const combinations = filters.withStatuses().queries(now);
  const { after: given, before = instantAt(now + 1000) } = combinations[0];
  const after = given ?? (before && instantAt(before.seconds * 1000 - DAY));
  if (!before || !after) throw new UsageError('--until: too early for a day before it');
  filters.requirePastStart(now);
  const queries = combinations.map(({ subscriptionId, eventId, eventType }) => ({
    subscriptionId,
    eventId,
    eventType,
  }));
  const [status, other] = filters.statuses;
  return { after, before, zone: filters.zone, queries, status: other ? undefined : status };
}

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000];
/** Common lengths in milliseconds; their multiples begin at round times. */
const ROUND = [
  ...[SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND],
  ...[MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE],
  ...[HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR],
  ...[DAY, 7 * DAY, 28 * DAY],
];
/** The epoch was a Thursday: weeks begin on Mondays. */
const MONDAY = 4 * DAY;
/** The default number of buckets. */
const PARTS = 32;

/**
 * The ends of the buckets; the last one is the window's own. They lie on the clock, so that buckets begin at full hours
 * or days. With `count`, the buckets are equal within a few per cent, and begin at times as round as that allows. An
 * event belongs to the first bucket whose end is later than its creation.
 */
export function bucketEnds(
  { after, before, zone }: Pick<StatsWindow, 'after' | 'before' | 'zone'>,
  count?: number,
): Instant[] {
  const [start, end] = [milliseconds(after), milliseconds(before)];
  const inner = count === undefined ? onTheClock(start, end, zone) : equalParts(start, end, count, zone);
  return [...inner.map((time) => knownInstant(time)), before];
}

/**
 * The times at which the zone's clock shows a multiple of the length. Lengths up to an hour begin each time it does; an
 * hour that clocks skip begins at the next one. A longer bucket, such as a day, begins the first time only.
 */
function onTheClock(start: number, end: number, zone: TimeZone): number[] {
  const step = ROUND.find((length) => (end - start) / length < PARTS - 1);
  if (step === undefined) return equalParts(start, end, PARTS, zone);
  const [first, last] = [start + zone.offsetAt(start), end + zone.offsetAt(end)];
  // Clocks that are put back within the window show times outside of these.
  const slack = Math.abs(zone.offsetAt(start) - zone.offsetAt(end));
  const phase = step >= 7 * DAY ? MONDAY : 0;
  const times = new Set<number>();
  let wall = Math.floor((first - slack - phase) / step) * step + phase;
  for (; wall <= last + slack + step; wall += step) {
    const shown = zone.timesAt(wall);
    for (const time of step > HOUR ? shown.slice(0, 1) : shown) {
      if (time > start && time < end) times.add(time);
    }
  }
  return [...times].sort((a, b) => a - b);
}

function equalParts(start: number, end: number, count: number, zone: TimeZone): number[] {
  const length = (end - start) / count;
  const grain = ROUND.findLast((round) => round <= length / 10) ?? (length >= 2 * SECOND ? SECOND : 1);
  return Array.from({ length: count - 1 }, (_, index) => {
    const time = start + length * (index + 1);
    const offset = zone.offsetAt(time);
    return Math.round((time + offset) / grain) * grain - offset;
  });
}
