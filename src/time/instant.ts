import { offsetMsIn, type TimeZone, UTC } from './time-zone.ts';

/** A point in time as the service is asked about it. */
export interface Instant {
  /** The text sent to the service: a UTC date or date-time of ISO 8601. */
  readonly text: string;
  /** Whole seconds since the epoch. */
  readonly seconds: number;
  /** Digits of the fraction of a second, without trailing zeros: no precision is lost to a float. */
  readonly fraction: string;
}

const ABSOLUTE =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/;

/** The instant of a clock reading, to the millisecond; undefined outside the years 0 to 9999. */
export function instantAt(milliseconds: number): Instant | undefined {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return undefined;
  const iso = date.toISOString();
  if (!/^\d{4}-/.test(iso)) return undefined;
  const fraction = trimZeros(iso.slice(-4, -1));
  return { text: iso.replace('.000Z', 'Z'), seconds: Math.floor(milliseconds / 1000), fraction };
}

/**
 * The instant of a time that is known to be in the years 0 to 9999, such as a clock's. Throws `RangeError`
 * otherwise.
 */
export function knownInstant(milliseconds: number): Instant {
  const instant = instantAt(milliseconds);
  if (!instant) throw new RangeError(`no time of the years 0 to 9999: ${milliseconds}`);
  return instant;
}

/** The next full second: an upper bound of an answer's time, since its `Date` header has no fraction. */
export function nextFullSecond(milliseconds: number): Instant {
  return knownInstant((Math.floor(milliseconds / 1000) + 1) * 1000);
}

/** Negative where `a` is earlier, positive where it is later, exact to the last digit of the fraction. */
export function compareInstants(a: Instant, b: Instant): number {
  if (a.seconds !== b.seconds) return a.seconds - b.seconds;
  if (a.fraction === b.fraction) return 0;
  return a.fraction < b.fraction ? -1 : 1;
}

/** Returns the later of two instants, and `b` if they are equal or there is no `a`. */
export function laterOf(a: Instant | undefined, b: Instant): Instant {
  return a && compareInstants(a, b) > 0 ? a : b;
}

/** Returns the earlier of two instants, and `b` if they are equal or there is no `a`. */
export function earlierOf(a: Instant | undefined, b: Instant): Instant {
  return a && compareInstants(a, b) < 0 ? a : b;
}

/**
 * The instant as a date-time to the second or finer: the text that is sent may be a date, or lack the
 * seconds.
 */
export function utcText({ seconds, fraction }: Instant): string {
  return knownInstant(seconds * 1000).text.replace('Z', fraction ? `.${fraction}Z` : 'Z');
}

/** Milliseconds since the epoch, finer digits dropped. */
export function milliseconds({ seconds, fraction }: Instant): number {
  return seconds * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

/**
 * When the date that was read last begins in UTC: among the times of events it is mostly that of the one
 * before.
 */
let latest = { date: '', midnight: Number.NaN };

/**
 * Reads a date or date-time of ISO 8601; undefined if the text is neither. A text in UTC is sent unchanged;
 * others are converted to `Z`, with their fraction kept. A text without a zone is in the given zone: of a
 * time that its clock shows twice the first is meant; for a time that it skips, the moment of the change.
 */
export function parseInstant(text: string, defaultZone: TimeZone = UTC): Instant | undefined {
  const match = ABSOLUTE.exec(text);
  if (!match) return undefined;
  const [, date = '', hour, minute = 0, second = 0, fraction = '', zone] = match;
  if (date !== latest.date) {
    const midnight = Date.parse(`${date}T00:00Z`);
    // Date.parse reads 30 February as 2 March.
    const isRead = new Date(midnight).getUTCDate() === Number(date.slice(-2));
    latest = { date, midnight: isRead ? midnight : Number.NaN };
  }
  const wall = latest.midnight + 1000 * (3600 * Number(hour ?? 0) + 60 * Number(minute) + Number(second));
  if (Number.isNaN(wall)) return undefined;
  if (zone === undefined && !defaultZone.isUtc) {
    const at = defaultZone.timesAt(wall)[0] as number;
    const isShown = at + defaultZone.offsetAt(at) === wall;
    return withFraction(at, isShown ? fraction : '');
  }
  if (zone === undefined || zone.toUpperCase() === 'Z') {
    const isZoneMissing = zone === undefined && hour !== undefined;
    return { text: isZoneMissing ? `${text}Z` : text, seconds: wall / 1000, fraction: trimZeros(fraction) };
  }
  return withFraction(wall - offsetMsIn(zone), fraction);
}

/** The instant of a full second with these digits after it; undefined outside the years 0 to 9999. */
function withFraction(milliseconds: number, fraction: string): Instant | undefined {
  const whole = instantAt(milliseconds);
  if (!whole || fraction === '') return whole;
  return { ...whole, text: whole.text.replace('Z', `.${fraction}Z`), fraction: trimZeros(fraction) };
}

/** The digits without zeros at their end: /0+$/ takes a time that grows with the square of a run of zeros. */
export function trimZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}
