import { MINUTE_MS, SECOND_MS } from './lengths.ts';

export interface DateTime {
  /** Seconds since the epoch, as if the clock's time were UTC. */
  readonly wallSeconds: number;
  readonly fraction: string;
  /** `Z` or an offset such as `+02:00`, `+0200`, `+02`; undefined for a wall-clock time. */
  readonly zone: string | undefined;
  readonly precision: 'month' | 'day' | 'time';
}

/** A time to compare with others of the same kind of clock. */
export interface Moment {
  readonly seconds: number;
  /** Digits of the fraction of a second, without trailing zeros. A float would lose precision. */
  readonly fraction: string;
}

/** ISO 8601, also with a space for the `T` and a comma for the point, as in databases and logs. */
const DATE_TIME =
  /^(\d{4})-(\d{2})(?:-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?)?$/;

/** The last date read, with its start in UTC: consecutive events mostly share a date. */
let latest = { date: '', midnightSeconds: Number.NaN };

/** Reads a month, a date or a date-time; undefined for any other text, and for impossible dates. */
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

export function wallMoment({ wallSeconds, fraction }: DateTime): Moment {
  return { seconds: wallSeconds, fraction: trimZeros(fraction) };
}

/** Drops trailing zeros without /0+$/, whose time grows with the square of a run of zeros. */
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
 * Returns milliseconds of the offset in a text such as `+05:45`, `-03` or `11/1/2026, GMT+0100`; 0 without
 * one, `NaN` for an impossible one.
 */
export function offsetMsIn(text: string): number {
  const [, sign, hours = 0, minutes = 0] = /([+-])(\d\d):?(\d\d)?/.exec(text) ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return Number.NaN;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
}
