import { type Moment, offsetMsIn, readDateTime, trimZeros } from './date-time.ts';
import { SECOND_MS } from './lengths.ts';
import { type TimeZone, UTC } from './time-zone.ts';

export interface Instant extends Moment {
  /** The text sent to the service: a UTC date or date-time of ISO 8601. */
  readonly text: string;
  readonly seconds: number;
}

/** Converts milliseconds since the epoch; undefined outside the years 0 to 9999. */
export function instantAt(milliseconds: number): Instant | undefined {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return undefined;
  const iso = date.toISOString();
  if (!/^\d{4}-/.test(iso)) return undefined;
  const fraction = trimZeros(iso.slice(-4, -1));
  return { text: iso.replace('.000Z', 'Z'), seconds: Math.floor(milliseconds / 1000), fraction };
}

/** For times known to be in the years 0 to 9999, such as a clock's. Throws `RangeError` otherwise. */
export function knownInstant(milliseconds: number): Instant {
  const instant = instantAt(milliseconds);
  if (!instant) throw new RangeError(`no time of the years 0 to 9999: ${milliseconds}`);
  return instant;
}

/** An upper bound of an answer's time, since its `Date` header has no fraction. */
export function nextFullSecond(milliseconds: number): Instant {
  return knownInstant((Math.floor(milliseconds / 1000) + 1) * 1000);
}

/**
 * Returns a negative number if `a` is earlier, a positive one if it is later, exact to the last digit of the
 * fraction.
 */
export function compareInstants(a: Moment, b: Moment): number {
  if (a.seconds !== b.seconds) return a.seconds - b.seconds;
  if (a.fraction === b.fraction) return 0;
  return a.fraction < b.fraction ? -1 : 1;
}

/** Returns `b` if they are equal or there is no `a`. */
export function laterOf(a: Instant | undefined, b: Instant): Instant {
  return a && compareInstants(a, b) > 0 ? a : b;
}

/** Returns `b` if they are equal or there is no `a`. */
export function earlierOf(a: Instant | undefined, b: Instant): Instant {
  return a && compareInstants(a, b) < 0 ? a : b;
}

/** Formats a date-time to the second or finer: `text` may be a date, or lack the seconds. */
export function utcText({ seconds, fraction }: Instant): string {
  return knownInstant(seconds * 1000).text.replace('Z', fraction ? `.${fraction}Z` : 'Z');
}

/** Milliseconds since the epoch, finer digits dropped. */
export function milliseconds({ seconds, fraction }: Instant): number {
  return seconds * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

/** Forms of UTC times that the service accepts. Others are reformatted. */
const SENT = /^[\d-]+(?:[Tt](?!24)[\d:.]+[Zz]?)?$/;

/**
 * Parses a date or date-time of ISO 8601; undefined for any other text. A text in UTC is sent unchanged;
 * others are converted to `Z`, keeping their fraction. A text without a zone is in the given zone: the first
 * of two times when clocks are put back, and the moment of the change for a time skipped when they are put
 * forward.
 */
export function parseInstant(text: string, defaultZone: TimeZone = UTC): Instant | undefined {
  const read = readDateTime(text);
  if (!read || read.precision === 'month') return undefined;
  const { wallSeconds, fraction, zone, precision } = read;
  const wall = wallSeconds * SECOND_MS;
  if (zone === undefined && !defaultZone.isUtc) {
    const at = defaultZone.timesAt(wall)[0] as number;
    const isShown = at + defaultZone.offsetAt(at) === wall;
    return withFraction(at, isShown ? fraction : '');
  }
  if (!/^Z?$/i.test(zone ?? '')) return withFraction(wall - offsetMsIn(zone as string), fraction);
  if (!SENT.test(text)) return withFraction(wall, fraction);
  const isZoneMissing = zone === undefined && precision === 'time';
  return { text: isZoneMissing ? `${text}Z` : text, seconds: wallSeconds, fraction: trimZeros(fraction) };
}

function withFraction(milliseconds: number, fraction: string): Instant | undefined {
  const whole = instantAt(milliseconds);
  if (!whole || fraction === '') return whole;
  return { ...whole, text: whole.text.replace('Z', `.${fraction}Z`), fraction: trimZeros(fraction) };
}
