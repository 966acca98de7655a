import { MIDNIGHT, readBasicClock, readClock, readHour, type TimeOfDay } from './clock-text.ts';
import { type Day, readDay } from './day-text.ts';
import { type Instant, instantAt, parseInstant } from './instant.ts';
import { instantIn, resolveTime, type Time, type Zone } from './resolve-time.ts';
import { type CalendarSpan, isoDuration, readSpanAgo, readSpanAhead } from './span-text.ts';
import { TimeTokens, wordsFor } from './time-tokens.ts';
import { type TimeZone, UTC } from './time-zone.ts';
import { readZone } from './zone-text.ts';

/**
 * Reads a point in time, ignoring case and surrounding white space: a date, a date-time, a time of day, a
 * span ago or ahead, seconds or milliseconds since the epoch, RFC 2822, `now`, `today`, `yesterday`, days of
 * the week, and every printed form of times. Times and days without a zone are in `zone`. Returns undefined
 * for any other text, and for ambiguous ones, for which `timeAdvice` suggests a form.
 */
export function parseTime(text: string, zone: TimeZone = UTC): Time | undefined {
  const tokens = new TimeTokens(text);
  const epoch = tokens.wholly(readEpoch);
  if (epoch) return { kind: 'instant', instant: epoch };
  const ago = tokens.wholly(readNow) ?? tokens.wholly(readSpanAgo) ?? isoDuration(text);
  if (ago) return { kind: 'ago', ...ago };
  const ahead = tokens.wholly(readSpanAhead);
  if (ahead) return { kind: 'ago', seconds: 0 - ahead.seconds, months: 0 - ahead.months };
  const dated = tokens.wholly(readDayFirst) ?? tokens.wholly(readClockFirst);
  return dated && timeOf(dated, zone);
}

/** Reads seconds (10 digits) or milliseconds (13) since the epoch; with `@` of any length. */
function readEpoch(tokens: TimeTokens): Instant | undefined {
  const isMarked = tokens.sign('@') !== undefined;
  const digits = tokens.number(1, Number.POSITIVE_INFINITY);
  const fraction = tokens.numberAfter('.', 1, Number.POSITIVE_INFINITY);
  if (digits === undefined) return undefined;
  if (!isMarked && digits.length !== 10 && digits.length !== 13) return undefined;
  const isSeconds = digits.length < 12;
  const whole = instantAt(Number(digits) * (isSeconds ? 1000 : 1));
  return whole && fraction && isSeconds ? parseInstant(whole.text.replace('Z', `.${fraction}Z`)) : whole;
}

const NOW = wordsFor<CalendarSpan>(['now', { seconds: 0, months: 0 }]);

function readNow(tokens: TimeTokens): CalendarSpan | undefined {
  return tokens.word(NOW);
}

/** Has a day or a time of day, or both; a zone requires a time of day. */
interface Dated {
  readonly day: Day;
  readonly clock?: TimeOfDay | undefined;
  readonly zone?: Zone | undefined;
}

const TODAY: Day = { kind: 'day', daysAgo: 0 };

/** `2026-11-20 08:30 CET`, `yesterday`, `8am`, `Fri Nov 20 08:30:00 CET 2026`. */
function readDayFirst(tokens: TimeTokens): Dated | undefined {
  const day = readDay(tokens);
  const clock = tokens.attempt(() => readClockBehind(day, tokens));
  const dated = clock ? readBehindClock(day, clock, tokens) : day && { day };
  skipComment(tokens);
  return dated;
}

function readBehindClock(day: Day | undefined, clock: TimeOfDay, tokens: TimeTokens): Dated {
  // git prints the year before the zone, `date` after it.
  const yearBefore = readLateYear(day, tokens);
  const zone = readZone(tokens);
  const year = yearBefore ?? readLateYear(day, tokens);
  return { day: withYear(day ?? TODAY, year), clock, zone };
}

const AT = wordsFor(['at', true]);
/** Joins a date and a time of day in ISO 8601. */
const T = wordsFor(['t', true]);

function readClockBehind(day: Day | undefined, tokens: TimeTokens): TimeOfDay | undefined {
  const date = day?.kind === 'calendar' ? day : undefined;
  const isSpelledOut = tokens.attempt(() => {
    tokens.sign(',');
    return tokens.sign(' ') && tokens.word(AT);
  });
  // Logs of web servers join day and time by a colon: 20/Nov/2026:08:30:00.
  const joints = date?.notation === 'named' && date.year !== undefined ? [',', ':'] : [','];
  if (!isSpelledOut && !tokens.sign(...joints)) tokens.word(T);
  tokens.sign(' ');
  const clock = readClock(tokens);
  if (clock) return clock;
  if (date?.notation === 'extended') return readHour(tokens);
  return date?.notation === 'basic' ? readBasicClock(tokens) : undefined;
}

/** Reads the year of a date with a named month after the time of day: `Fri Nov 20 08:30:00 2026`. */
function readLateYear(day: Day | undefined, tokens: TimeTokens): string | undefined {
  if (day?.kind !== 'calendar' || day.notation !== 'named' || day.year !== undefined) return undefined;
  return tokens.numberAfter(' ', 4);
}

function withYear(day: Day, year: string | undefined): Day {
  return day.kind === 'calendar' && year !== undefined ? { ...day, year } : day;
}

const ON = wordsFor(['on', true]);

/** `8am yesterday`, `08:30 on 20 Nov 2026 CET`. */
function readClockFirst(tokens: TimeTokens): Dated | undefined {
  const clock = readClock(tokens);
  if (!tokens.sign(',')) tokens.attempt(() => tokens.sign(' ') && tokens.word(ON));
  const day = tokens.sign(' ') ? readDay(tokens) : undefined;
  const zone = readZone(tokens);
  skipComment(tokens);
  return clock && day && { day, clock, zone };
}

/** JavaScript prints the zone's name in parentheses at the end; in RFC 2822 they are a comment. */
function skipComment(tokens: TimeTokens): void {
  tokens.attempt(() => {
    if (!tokens.sign(' ') || !tokens.sign('(')) return undefined;
    let token = tokens.any();
    while (token !== undefined && token !== '(' && token !== ')') token = tokens.any();
    return token === ')' ? token : undefined;
  });
}

/** Returns a day's first instant at `now` (milliseconds since the epoch); undefined for an impossible day. */
export function firstInstantOf(day: Day, now: number, zone: TimeZone): Instant | undefined {
  const time = timeOf({ day }, zone);
  return time && resolveTime(time, now);
}

function timeOf({ day, clock, zone: ownZone }: Dated, defaultZone: TimeZone): Time | undefined {
  const zone = ownZone ?? defaultZone;
  const clockText = clock?.text ?? MIDNIGHT;
  if (day.kind !== 'calendar') return { ...day, clock: clockText, zone };
  if (day.year === undefined) {
    const rest = `${day.monthDay}T${clockText}`;
    // The year 2000 has every day that any year has.
    return parseInstant(`2000-${rest}Z`) && { kind: 'yearless', rest, zone };
  }
  const date = `${day.year}-${day.monthDay}`;
  if (day.weekday !== undefined && day.weekday !== new Date(`${date}T00:00Z`).getUTCDay()) return undefined;
  // ISO 8601 is sent with the typed precision: a date alone, a time without its seconds.
  const sentClock = day.notation === 'extended' ? (clock?.isoText ?? clockText) : clockText;
  const instant = instantIn(clock ? `${date}T${sentClock}` : date, zone);
  return instant && { kind: 'instant', instant };
}
