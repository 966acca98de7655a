import { offsetMsIn } from './date-time.ts';
import { type Instant, instantAt, parseInstant } from './instant.ts';
import { DAY_MS } from './lengths.ts';
import type { TimeZone } from './time-zone.ts';

export type Time =
  | { readonly kind: 'instant'; readonly instant: Instant }
  /** Before now, or after it if negative. */
  | { readonly kind: 'ago'; readonly seconds: number; readonly months?: number }
  /** A time of day, some days before today. */
  | { readonly kind: 'day'; readonly daysAgo: number; readonly clock: string; readonly zone: Zone }
  /** A time of day on the latest such day of the week (0 is Sunday), including today unless `isLast`. */
  | {
      readonly kind: 'weekday';
      readonly weekday: number;
      readonly isLast: boolean;
      readonly clock: string;
      readonly zone: Zone;
    }
  /** A date without its year, as printed in narrow tables: the latest such date in the past. */
  | { readonly kind: 'yearless'; readonly rest: string; readonly zone: Zone };

export type Zone = TimeZone | string;

/** Resolves a time at `now` (milliseconds since the epoch); undefined outside the years 0 to 9999. */
export function resolveTime(time: Time, now: number): Instant | undefined {
  if (time.kind === 'instant') return time.instant;
  if (time.kind === 'ago') return instantAt(monthsBefore(now, time.months ?? 0) - time.seconds * 1000);
  if (time.kind === 'yearless') return latestYearless(time.rest, time.zone, now);
  const { clock, zone } = time;
  const offset = typeof zone === 'string' ? offsetMsIn(zone) : zone.offsetAt(now);
  // Count days in the calendar, since they may last 23 or 25 hours.
  const today = now + offset;
  const daysAgo =
    time.kind === 'day' ? time.daysAgo : daysSince(time.weekday, time.isLast, new Date(today).getUTCDay());
  const date = new Date(today - daysAgo * DAY_MS).toISOString().slice(0, 10);
  return instantIn(`${date}T${clock}`, zone);
}

/** Returns the latest such date up to `now`; undefined if the last ten years had none. */
function latestYearless(rest: string, zone: Zone, now: number): Instant | undefined {
  // The zone may already be in the next year. 29 February occurs within any eight years.
  const nextYear = new Date(now).getUTCFullYear() + 1;
  const newestFirst = Array.from({ length: 10 }, (_, back) => instantIn(`${nextYear - back}-${rest}`, zone));
  return newestFirst.find((instant) => instant && instant.seconds * 1000 <= now);
}

/** Returns days since the latest such day of the week; `isLast` excludes today. */
function daysSince(weekday: number, isLast: boolean, todaysWeekday: number): number {
  const days = (todaysWeekday - weekday + 7) % 7;
  return isLast && days === 0 ? 7 : days;
}

/** Subtracts months, keeping the time of day; limits the day to the last of the month. */
function monthsBefore(now: number, months: number): number {
  const date = new Date(now);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() - months);
  // 31 March less a month is 31 February, which JavaScript turns into 3 March.
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.getTime();
}

export function instantIn(wall: string, zone: Zone): Instant | undefined {
  return typeof zone === 'string' ? parseInstant(`${wall}${zone}`) : parseInstant(wall, zone);
}
