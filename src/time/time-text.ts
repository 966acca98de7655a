import { type Instant, instantAt, parseInstant } from './instant.ts';
import { type TimeZone, UTC } from './time-zone.ts';

/** A point in time as typed. Some forms depend on the present time. */
export type Time =
  | { readonly kind: 'instant'; readonly instant: Instant }
  | { readonly kind: 'ago'; readonly seconds: number }
  /** A time of day, of today or of the day before. */
  | { readonly kind: 'day'; readonly daysAgo: 0 | 1; readonly clock: string; readonly zone: TimeZone }
  /** A date without its year, as narrow tables print it: the latest such date in the past. */
  | { readonly kind: 'yearless'; readonly rest: string; readonly zone: TimeZone };

/** The forms that `parseTime` takes, for error messages. */
export const ACCEPTED_TIMES =
  'a date (2026-11-01), a date-time (2026-11-01 08:30, with Z, an offset such as +02:00, or no zone: that of --timezone), ' +
  'a time of day (08:00, 8am), a span ago (90s, 15m, 2h, 1d12h, 2 weeks ago), now, today or yesterday';

const UNITS: readonly [RegExp, seconds: number][] = [
  [/^(s|secs?|seconds?)$/, 1],
  [/^(m|mins?|minutes?)$/, 60],
  [/^(h|hrs?|hours?)$/, 3600],
  [/^(d|days?)$/, 86_400],
  [/^(w|weeks?)$/, 604_800],
];

/**
 * Reads a point in time, in any case of letters and with white space around it: a date, a date-time with `T` or a
 * space, a time of day, a span ago, `now`, `today`, `yesterday`, and each form in which times are printed. Times and
 * days without a zone are those of `zone`. Returns undefined for any other text.
 */
export function parseTime(text: string, zone: TimeZone = UTC): Time | undefined {
  const given = text.trim().replace(/\s+/g, ' ');
  const instant = parseInstant(joined(given), zone);
  if (instant) return { kind: 'instant', instant };
  const lower = given.toLowerCase();
  if (lower === 'now') return { kind: 'ago', seconds: 0 };
  const span = spanSeconds(lower);
  if (span !== undefined) return { kind: 'ago', seconds: span };
  return dayTime(lower, zone) ?? yearless(given, zone);
}

/** The instant that the text means at `now` (milliseconds since the epoch); undefined outside the years 0 to 9999. */
export function resolveTime(time: Time, now: number): Instant | undefined {
  switch (time.kind) {
    case 'instant':
      return time.instant;
    case 'ago':
      return instantAt(now - time.seconds * 1000);
    case 'day': {
      const { zone, daysAgo, clock } = time;
      // Days are counted on the calendar, since they may last 23 or 25 hours.
      const date = instantAt(now + zone.offsetAt(now) - daysAgo * 86_400_000)?.text.slice(0, 10);
      return parseInstant(`${date}T${clock}${zone.isUtc ? 'Z' : ''}`, zone);
    }
    case 'yearless': {
      // 29 February occurs within any eight years.
      const { rest, zone } = time;
      const year = new Date(now + zone.offsetAt(now)).getUTCFullYear();
      const latest = Array.from({ length: 10 }, (_, back) =>
        parseInstant(`${year + 1 - back}-${rest}`, zone),
      );
      return latest.find((instant) => instant && instant.seconds * 1000 <= now);
    }
  }
}

/** `2026-11-01 08:30 Z` as ISO 8601 writes it. */
function joined(text: string): string {
  return text
    .replace(/^(\d{4}-\d{2}-\d{2})[ t](?=\d)/, '$1T')
    .replace(/ ?(?:UTC|(?<=\d)[zZ])$/, 'Z')
    .replace(/ (?=[+-]\d)/, '');
}

/** Seconds of `15m`, `1d12h`, `10min`, `2 hours ago`. */
function spanSeconds(text: string): number | undefined {
  const match = /^((?:\d{1,9} ?[a-z]+ ?)+?)(?: ?ago)?$/.exec(text);
  if (!match) return undefined;
  let seconds = 0;
  for (const [, number, name = ''] of (match[1] as string).matchAll(/(\d+) ?([a-z]+)/g)) {
    const unit = UNITS.find(([pattern]) => pattern.test(name));
    if (!unit) return undefined;
    seconds += Number(number) * unit[1];
  }
  return seconds;
}

function dayTime(text: string, defaultZone: TimeZone): Time | undefined {
  const match =
    /^(?:(today|yesterday)(?: at)?)? ?(?:(\d{1,2})(?::(\d{2})(?::(\d{2})(\.\d+)?)?)? ?(am|pm)?(?<!^\d{1,2}) ?(z)?)?$/.exec(
      text,
    );
  if (!match || text === '') return undefined;
  const [, day, hour, minute = '00', second = '00', fraction = '', half, z] = match;
  const zone = z ? UTC : defaultZone;
  const daysAgo = day === 'yesterday' ? 1 : 0;
  if (hour === undefined) return { kind: 'day', daysAgo, clock: '00:00:00', zone };
  if (half !== undefined && (Number(hour) < 1 || Number(hour) > 12)) return undefined;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half === 'pm' ? 12 : 0);
  const clock = `${String(hours).padStart(2, '0')}:${minute}:${second}${fraction}`;
  return parseInstant(`2000-01-01T${clock}Z`) && { kind: 'day', daysAgo, clock, zone };
}

function yearless(text: string, zone: TimeZone): Time | undefined {
  if (!/^\d{2}-\d{2} \d{2}:/.test(text)) return undefined;
  const rest = joined(`2000-${text}`).slice('2000-'.length);
  return parseInstant(`2000-${rest}`) && { kind: 'yearless', rest, zone };
}
