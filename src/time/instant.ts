import { type Moment, offsetMsIn, readDateTime, trimZeros } from './date-time.ts';
import { SECOND_MS } from './lengths.ts';
import { type TimeZone, UTC } from './time-zone.ts';

/** A point in time as the service is asked about it. */
export interface Instant extends Moment {
  /** The text sent to the service: a UTC date or date-time of ISO 8601. */
  readonly text: string;
  /** Whole seconds since the epoch. */
  readonly seconds: number;
}

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
export function compareInstants(a: Moment, b: Moment): number {
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

/** The forms of a time in UTC that the service takes. Others are written anew. */
const SENT = /^[\d-]+(?:[Tt](?!24)[\d:.]+[Zz]?)?$/;

/**
 * Reads a date or date-time of ISO 8601; undefined if the text is neither. A text in UTC is sent unchanged;
 * others are converted to `Z`, with their fraction kept. A text without a zone is in the given zone: of a
 * time that its clock shows twice the first is meant; for a time that it skips, the moment of the change.
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

/** The instant of a full second with these digits after it; undefined outside the years 0 to 9999. */
function withFraction(milliseconds: number, fraction: string): Instant | undefined {
  const whole = instantAt(milliseconds);
  if (!whole || fraction === '') return whole;
  return { ...whole, text: whole.text.replace('Z', `.${fraction}Z`), fraction: trimZeros(fraction) };
}
