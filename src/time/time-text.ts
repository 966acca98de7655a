import { type Advice, advise, hooktrail } from '../advice.ts';
import { type Instant, instantAt, parseInstant } from './instant.ts';
import { DAY_MS } from './lengths.ts';
import { offsetMsIn, TimeZone, UTC, zoneNamed } from './time-zone.ts';

/** A point in time as typed. Some forms depend on the present time. */
export type Time =
  | { readonly kind: 'instant'; readonly instant: Instant }
  /** Before now; after it where the numbers are negative. */
  | { readonly kind: 'ago'; readonly seconds: number; readonly months?: number }
  /** A time of day, some days before today. */
  | { readonly kind: 'day'; readonly daysAgo: number; readonly clock: string; readonly zone: Zone }
  /** A time of day on the latest such day of the week (0 is Sunday): today too, unless `isLast`. */
  | {
      readonly kind: 'weekday';
      readonly weekday: number;
      readonly isLast: boolean;
      readonly clock: string;
      readonly zone: Zone;
    }
  /** A date without its year, as narrow tables print it: the latest such date in the past. */
  | { readonly kind: 'yearless'; readonly rest: string; readonly zone: Zone };

/** A zone, or an offset from UTC such as `+02:00` or `Z`. */
type Zone = TimeZone | string;

/**
 * Reads a point in time, in any case of letters and with white space around it: a date, a date-time, a time
 * of day, a span ago or ahead, seconds or milliseconds since the epoch, RFC 2822, `now`, `today`,
 * `yesterday`, days of the week, and each form in which times are printed. Times and days without a zone are
 * those of `zone`. Returns undefined for any other text, and for what means different times to different
 * people: `timeAdvice` has the right form of those.
 */
export function parseTime(text: string, zone: TimeZone = UTC): Time | undefined {
  const given = text.trim().replace(/\s+/g, ' ');
  const instant = parseInstant(joined(given), zone) ?? epochInstant(given);
  if (instant) return { kind: 'instant', instant };
  // The other forms are looked for in several ways, each of which may begin anywhere in the text.
  if (given.length > LONGEST_CHARACTERS) return undefined;
  if (/^now$/i.test(given)) return { kind: 'ago', seconds: 0 };
  return ahead(given) ?? span(given) ?? dated(given, zone);
}

/** Longer than any form of a time, but for fractions with any number of digits. */
const LONGEST_CHARACTERS = 200;

/**
 * `2026-11-01 08:30 Z` as ISO 8601 writes it. The comma of logs becomes a point: it would end the value in a
 * search's key.
 */
function joined(text: string): string {
  return text
    .replace(
      /(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(\d\d)?(?!\d)/,
      (_, y, mo, d, h, m, s = '00') => `${y}-${mo}-${d}T${h}:${m}:${s}`,
    )
    .replace(/(\d{4}-\d{2}-\d{2})[ t](?=\d)/, '$1T')
    .replace(/(?<=:\d\d),(?=\d+$)/, '.')
    .replace(/ ?(?:UTC|(?<=\d)[zZ])$/, 'Z');
}

/** Seconds (10 digits) or milliseconds (13) since the epoch, after `@` of any length. */
function epochInstant(text: string): Instant | undefined {
  const [, at, digits = '', fraction] = /^(@?)(\d+)(\.\d+)?$/.exec(text) ?? [];
  if (at === undefined || (at === '' && digits.length !== 10 && digits.length !== 13)) return undefined;
  const isSeconds = digits.length < 12;
  const whole = instantAt(Number(digits) * (isSeconds ? 1000 : 1));
  return whole && fraction && isSeconds ? parseInstant(whole.text.replace('Z', `${fraction}Z`)) : whole;
}

const UNITS: readonly [RegExp, seconds: number, months: number][] = [
  [/^(s|secs?|seconds?)$/, 1, 0],
  [/^(m|mins?|minutes?)$/, 60, 0],
  [/^(h|hrs?|hours?)$/, 3600, 0],
  [/^(d|days?)$/, 86_400, 0],
  [/^(w|wks?|weeks?)$/, 604_800, 0],
  [/^(mos?|mths?|months?)$/, 0, 1],
  [/^(y|yrs?|years?)$/, 0, 12],
];

/** `+1h`, `in 2 hours`. */
function ahead(given: string): Time | undefined {
  const words = /^(?:\+ ?|in )(\d.*)$/i.exec(given)?.[1];
  if (words === undefined || / ago$/i.test(words)) return undefined;
  const time = span(words);
  if (time?.kind !== 'ago') return undefined;
  return { kind: 'ago', seconds: -time.seconds, months: -(time.months ?? 0) };
}

/** `15m`, `1d12h`, `10min`, `2 hours ago`, `1 month ago`, or a duration of ISO 8601 such as `PT2H`. */
function span(given: string): Time | undefined {
  // A capital M is a month to some and a minute to others.
  if (/^\d.*M$/.test(given)) return undefined;
  const text = given.toLowerCase();
  const iso = /^p((?:\d{1,9}[ymwd])*)(?:t((?:\d{1,9}[hms])+))?$/.exec(text);
  const words = iso
    ? `${(iso[1] ?? '').replace('m', 'mo')}${iso[2] ?? ''}`
    : /^((?:\d{1,9} ?[a-z]+(?:,? (?:and )?)?)+?)(?: ago)?$/.exec(text)?.[1];
  if (!words) return undefined;
  let [seconds, months] = [0, 0];
  for (const [, number, name = ''] of words.matchAll(/(\d+) ?([a-z]+)/g)) {
    const unit = UNITS.find(([pattern]) => pattern.test(name));
    if (!unit) return undefined;
    seconds += Number(number) * unit[1];
    months += Number(number) * unit[2];
  }
  return { kind: 'ago', seconds, months };
}

const WEEKDAY = '(sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?';
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
const CLOCK = String.raw`\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]m)?|\d{1,2} ?[ap]m|noon|midnight`;
/** The zones that RFC 2822 (section 4.3) names, and those of central Europe. */
const OFFSETS: Readonly<Record<string, string>> = {
  ...{ z: 'Z', gmt: 'Z', utc: 'Z', ut: 'Z', cet: '+01:00', cest: '+02:00' },
  ...{ est: '-05:00', edt: '-04:00', cst: '-06:00', cdt: '-05:00' },
  ...{ mst: '-07:00', mdt: '-06:00', pst: '-08:00', pdt: '-07:00' },
};

/**
 * A day, a time of day and a zone, each of which may be missing, in one of the orders in which people write
 * them.
 */
function dated(given: string, defaultZone: TimeZone): Time | undefined {
  // JavaScript prints the zone's name at the end, and logs of web servers join day and time by a colon.
  const spaced = given.replace(/ \([^()]*\)$/, '').replace(/(\/\d{4}):(?=\d\d:)/, '$1 ');
  // `UTC+2` as `UTC+02`.
  const plain = spaced.replace(/((?:gmt|utc)[+-])(?=\d(?!\d))/i, '$10');
  // The year stands last, behind time and zone, in what `date` prints.
  const text = plain.replace(new RegExp(`( (?:${CLOCK})(?: [a-z]+| [+-]\\d\\d)?)( \\d{4})$`, 'i'), '$2$1');
  const zoned =
    /(.*(?:\d|[ap]m|noon|midnight)) ?(?:(?:gmt|utc)?([+-]\d\d(?::?\d\d)?)|([a-z][a-z0-9_+-]*(?:\/[a-z0-9_+/-]+)?))$/i.exec(
      text,
    );
  const zone = zoned ? zoneOfText(zoned[2], zoned[3]) : undefined;
  return (
    (zone && zoned ? dayAndClock((zoned[1] as string).toLowerCase(), zone, true) : undefined) ??
    dayAndClock(text.toLowerCase(), defaultZone, false)
  );
}

function zoneOfText(offset: string | undefined, name = ''): Zone | undefined {
  if (offset !== undefined) return offset;
  if (!name.includes('/')) return OFFSETS[name.toLowerCase()];
  const zone = zoneNamed(name);
  return zone === undefined ? undefined : new TimeZone(zone);
}

/** A day and a time of day, together. */
const FORMS = [
  `(?<day>.*?)(?:(?:,? at|,|t)? ?)(?<![\\d:])(?<clock>${CLOCK})`,
  `(?<clock>${CLOCK})(?: on|,)? (?<day>.+)`,
  '(?<day>\\d{4}-\\d\\d-\\d\\d)[t ](?<clock>\\d\\d)',
];

function dayAndClock(text: string, zone: Zone, isZoned: boolean): Time | undefined {
  const found = FORMS.map((form) => new RegExp(`^${form}$`).exec(text)?.groups);
  const { day = text, clock: said } = found.find((groups) => groups) ?? {};
  // A zone belongs to a time of day.
  if (said === undefined && (isZoned || text === '')) return undefined;
  const clock = clockText(said ?? 'midnight');
  if (clock === undefined) return undefined;
  return dayAt(day, clock, zone, said !== undefined);
}

const NAMED_CLOCKS: Readonly<Record<string, string>> = { noon: '12:00', midnight: '00:00' };

/** `08:30:00` of `8:30`, `8:30 pm`, `noon`; undefined if there is no such time. */
function clockText(said: string): string | undefined {
  const [, hour, minute = '00', second = '00', fraction = '', half] =
    /(\d{1,2})(?::(\d\d))?(?::(\d\d)([.,]\d+)?)? ?([ap]m)?/.exec(
      NAMED_CLOCKS[said] ?? said,
    ) as RegExpExecArray;
  if (half !== undefined && (Number(hour) < 1 || Number(hour) > 12)) return undefined;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half === 'pm' ? 12 : 0);
  const clock = `${String(hours).padStart(2, '0')}:${minute}:${second}${fraction.replace(',', '.')}`;
  return parseInstant(`2000-01-01T${clock}Z`) && clock;
}

const DAYS_AGO: Readonly<Record<string, number>> = { '': 0, today: 0, yesterday: 1, tomorrow: -1 };

function dayAt(day: string, clock: string, zone: Zone, hasClock: boolean): Time | undefined {
  const daysAgo = DAYS_AGO[day];
  if (daysAgo !== undefined) return { kind: 'day', daysAgo, clock, zone };
  const [, isLast, name] = new RegExp(`^(last )?${WEEKDAY}$`).exec(day) ?? [];
  if (name !== undefined) {
    const weekday = WEEKDAYS.indexOf(name.slice(0, 3));
    return { kind: 'weekday', weekday, isLast: isLast !== undefined, clock, zone };
  }
  const date = dateText(day);
  if (date === undefined) return undefined;
  if (date.startsWith('-')) {
    const rest = `${date.slice(1)}T${clock}`;
    return parseInstant(`2000-${rest}Z`) && { kind: 'yearless', rest, zone };
  }
  // A date alone is sent as it is.
  const isUtcDate = !hasClock && typeof zone !== 'string' && zone.isUtc;
  const instant = isUtcDate ? parseInstant(date) : instantIn(`${date}T${clock}`, zone);
  return instant && { kind: 'instant', instant };
}

function instantIn(wall: string, zone: Zone): Instant | undefined {
  return typeof zone === 'string' ? parseInstant(`${wall}${zone}`) : parseInstant(wall, zone);
}

/**
 * `2026-11-20` of a date in another form; `-11-20`, a hyphen and the text, of any other; undefined if it
 * names another day of the week.
 */
function dateText(text: string): string | undefined {
  const [, name, rest] = new RegExp(`^(?:${WEEKDAY},? )?(.*)`).exec(text) as RegExpExecArray;
  const date = dateOf(rest as string);
  if (name === undefined || date.startsWith('-')) return date;
  return WEEKDAYS[new Date(`${date}T00:00Z`).getUTCDay()] === name.slice(0, 3) ? date : undefined;
}

function dateOf(text: string): string {
  const two = (number: string | number) => String(number).padStart(2, '0');
  const monthOf = (name: string) => two(MONTHS.indexOf(name.slice(0, 3)) + 1);
  if (/\d{4}-\d\d$/.test(text)) return `${text}-01`;
  let match = /^(\d{4})-?(\d\d)-?(\d\d)$/.exec(text) ?? /^(\d{4})\/(\d\d)\/(\d\d)$/.exec(text);
  if (match) return `${match[1]}-${match[2]}-${match[3]}`;
  match = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(text);
  if (match) return `${match[3]}-${two(match[2] as string)}-${two(match[1] as string)}`;
  match = new RegExp(`^(\\d{1,2})(?:st|nd|rd|th)?\\.?[ /-]?${MONTH}\\.?(?:,?[ /-](\\d{4}))?$`).exec(text);
  if (match) return `${match[3] ?? ''}-${monthOf(match[2] as string)}-${two(match[1] as string)}`;
  match = new RegExp(`^${MONTH}\\.? (\\d{1,2})(?:st|nd|rd|th)?(?:,? (\\d{4}))?$`).exec(text);
  if (match) return `${match[3] ?? ''}-${monthOf(match[1] as string)}-${two(match[2] as string)}`;
  return `-${text}`;
}

/**
 * The instant that the text means at `now` (milliseconds since the epoch); undefined outside the years 0 to
 * 9999.
 */
export function resolveTime(time: Time, now: number): Instant | undefined {
  if (time.kind === 'instant') return time.instant;
  if (time.kind === 'ago') return instantAt(monthsBefore(now, time.months ?? 0) - time.seconds * 1000);
  const { zone } = time;
  const offset = typeof zone === 'string' ? offsetMsIn(zone) : zone.offsetAt(now);
  if (time.kind === 'yearless') {
    // 29 February occurs within any eight years.
    const year = new Date(now).getUTCFullYear();
    const latest = Array.from({ length: 10 }, (_, back) =>
      instantIn(`${year + 1 - back}-${time.rest}`, zone),
    );
    return latest.find((instant) => instant && instant.seconds * 1000 <= now);
  }
  // Days are counted on the calendar, since they may last 23 or 25 hours.
  const today = now + offset;
  const since = time.kind === 'day' ? time.daysAgo : (new Date(today).getUTCDay() - time.weekday + 7) % 7;
  const daysAgo = time.kind === 'weekday' && time.isLast && since === 0 ? 7 : since;
  const date = new Date(today - daysAgo * DAY_MS).toISOString().slice(0, 10);
  return instantIn(`${date}T${time.clock}`, zone);
}

/** The same day and time some months before; the last day of a month that is too short for it. */
function monthsBefore(now: number, months: number): number {
  const date = new Date(now);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() - months);
  // 31 March less a month is 31 February, which JavaScript makes 3 March.
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.getTime();
}

/** Returns the form to type instead of a text that is not a point in time. */
export function timeAdvice(text: string): Advice {
  const given = text.trim();
  const month = /^(\d{1,9})M( ago)?$/.exec(given)?.[1];
  if (month !== undefined) return `write ${month}mo for months, ${month}m for minutes`;
  const negative = /^[-−](\d.*)/.exec(given)?.[1];
  if (negative !== undefined && parseTime(negative)?.kind === 'ago')
    return `write ${negative}: a span counts back from now`;
  const [, one = '', other = '', year, rest = ''] =
    /^(\d{1,2})[/-](\d{1,2})[/-](\d{4})(.*)/.exec(given) ?? [];
  const two = (number: string) => number.padStart(2, '0');
  const dates = [
    [one, other],
    [other, one],
  ].flatMap(([m = '', d = '']) => parseInstant(`${year}-${two(m)}-${two(d)}`)?.text ?? []);
  if (dates.length > 0) return `write ${[...new Set(dates)].map((date) => date + rest).join(' or ')}`;
  return advise`write a time as 2026-11-20 08:30, 08:00, 2h, 7d, yesterday or monday; see ${hooktrail('help times')}`;
}
