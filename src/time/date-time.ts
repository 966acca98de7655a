import { MINUTE_MS, SECOND_MS } from './lengths.ts';

/** A date or date-time as it is written. */
export interface DateTime {
  /** The clock's time in full seconds, as if it were UTC: seconds since the epoch. */
  readonly wallSeconds: number;
  /** Digits of the fraction of a second as they are written. */
  readonly fraction: string;
  /** `Z` or an offset such as `+02:00`, `+0200`, `+02`; undefined for the time of a wall clock. */
  readonly zone: string | undefined;
  readonly precision: 'month' | 'day' | 'time';
}

/** A time that is compared with others, whatever clock it is of. */
export interface Moment {
  readonly seconds: number;
  /** Digits of the fraction of a second, without trailing zeros: no precision is lost to a float. */
  readonly fraction: string;
}

/** ISO 8601, with a space for the `T` and a comma for the point, as databases and logs write it. */
const DATE_TIME =
  /^(\d{4})-(\d{2})(?:-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?)?$/;

/**
 * The date that was read last, and when it begins in UTC: among the times of events it is mostly that of the
 * one before.
 */
let latest = { date: '', midnightSeconds: Number.NaN };

/** Reads a month, a date or a date-time; undefined for any other text, and for what no calendar has. */
export function readDateTime(text: string): DateTime | undefined {
  const match = DATE_TIME.exec(text);
  if (!match) return undefined;
  const [, , , day, hour, minute = '0', second = '0', fraction = '', zone] = match;
  const clockSeconds = secondsOfDay(Number(hour ?? 0), Number(minute), Number(second), fraction);
  if (clockSeconds === undefined || Number.isNaN(offsetMsIn(zone ?? 'Z'))) return undefined;
  const wallSeconds = midnightOf(day === undefined ? `${text}-01` : text.slice(0, 10)) + clockSeconds;
  if (Number.isNaN(wallSeconds)) return undefined;
  const timeOrDay = hour === undefined ? 'day' : 'time';
  return { wallSeconds, fraction, zone, precision: day === undefined ? 'month' : timeOrDay };
}

/** The time of a wall clock, to be compared with others of its kind. */
export function wallMoment({ wallSeconds, fraction }: DateTime): Moment {
  return { seconds: wallSeconds, fraction: trimZeros(fraction) };
}

/** The digits without zeros at their end: /0+$/ takes a time that grows with the square of a run of zeros. */
export function trimZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

/** `24:00:00` is the end of a day. */
function secondsOfDay(hour: number, minute: number, second: number, fraction: string): number | undefined {
  const isEnd = hour === 24 && minute === 0 && second === 0 && Number(fraction) === 0;
  if ((hour > 23 && !isEnd) || minute > 59 || second > 59) return undefined;
  return 3600 * hour + 60 * minute + second;
}

function midnightOf(date: string): number {
  if (date === latest.date) return latest.midnightSeconds;
  const midnight = Date.parse(`${date}T00:00Z`);
  // Date.parse reads 30 February as 2 March.
  const isRead = new Date(midnight).getUTCDate() === Number(date.slice(-2));
  latest = { date, midnightSeconds: isRead ? midnight / SECOND_MS : Number.NaN };
  return latest.midnightSeconds;
}

/**
 * Milliseconds of the offset in a text such as `+05:45`, `-03` or `11/1/2026, GMT+0100`; 0 without one, `NaN`
 * for an impossible one.
 */
export function offsetMsIn(text: string): number {
  const [, sign, hours = 0, minutes = 0] = /([+-])(\d\d):?(\d\d)?/.exec(text) ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return Number.NaN;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
}
