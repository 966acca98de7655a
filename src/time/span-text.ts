import { type TimeTokens, wordsFor } from './time-tokens.ts';

/** A length of time by the calendar, since months differ in length. */
export interface CalendarSpan {
  readonly seconds: number;
  readonly months: number;
}

const SECOND: CalendarSpan = { seconds: 1, months: 0 };
const MINUTE: CalendarSpan = { seconds: 60, months: 0 };
const HOUR: CalendarSpan = { seconds: 3600, months: 0 };
const DAY: CalendarSpan = { seconds: 86_400, months: 0 };
const WEEK: CalendarSpan = { seconds: 604_800, months: 0 };
const MONTH: CalendarSpan = { seconds: 0, months: 1 };
const YEAR: CalendarSpan = { seconds: 0, months: 12 };

const UNITS = wordsFor(
  ['s sec secs second seconds', SECOND],
  ['m min mins minute minutes', MINUTE],
  ['h hr hrs hour hours', HOUR],
  ['d day days', DAY],
  ['w wk wks week weeks', WEEK],
  ['mo mos mth mths month months', MONTH],
  ['y yr yrs year years', YEAR],
);
/** Most digits of a count. More would exceed any time that can be written. */
const MAX_DIGITS = 9;

const AGO = wordsFor(['ago', true]);
const AND = wordsFor(['and', true]);
const IN = wordsFor(['in', true]);

/** Reads how long ago: `15m`, `1d12h`, `10min`, `2 hours ago`, `1 year and 2 days ago`. */
export function readSpanAgo(tokens: TimeTokens): CalendarSpan | undefined {
  const span = readSpan(tokens);
  tokens.attempt(() => tokens.sign(' ') && tokens.word(AGO));
  return span;
}

/** Reads how far ahead: `+1h`, `in 2 hours`. */
export function readSpanAhead(tokens: TimeTokens): CalendarSpan | undefined {
  if (tokens.sign('+')) tokens.sign(' ');
  else if (!tokens.word(IN) || !tokens.sign(' ')) return undefined;
  return readSpan(tokens);
}

function readSpan(tokens: TimeTokens): CalendarSpan | undefined {
  let span = readCountOfUnits(tokens);
  while (span) {
    const more = tokens.attempt(() => (skipJoint(tokens) ? readCountOfUnits(tokens) : undefined));
    if (!more) return span;
    span = sum(span, more);
  }
  return undefined;
}

function readCountOfUnits(tokens: TimeTokens): CalendarSpan | undefined {
  const count = tokens.number(1, MAX_DIGITS);
  tokens.sign(' ');
  // A capital M is a month to some people and a minute to others.
  if (count === undefined || tokens.next === 'M') return undefined;
  const unit = tokens.word(UNITS);
  return unit && times(Number(count), unit);
}

/**
 * Continues after `1h`: with nothing, a space, or a comma and a space, and an optional `and`. A comma alone
 * does not join.
 */
function skipJoint(tokens: TimeTokens): boolean {
  const hasComma = tokens.sign(',') !== undefined;
  const hasSpace = tokens.sign(' ') !== undefined;
  tokens.attempt(() => tokens.word(AND) && tokens.sign(' '));
  return hasSpace || !hasComma;
}

const ISO_DURATION = /^p((?:\d{1,9}[ymwd])*)(?:t((?:\d{1,9}[hms])+))?$/i;
const DATE_UNITS: ReadonlyMap<string, CalendarSpan> = new Map([
  ['y', YEAR],
  ['m', MONTH],
  ['w', WEEK],
  ['d', DAY],
]);
const CLOCK_UNITS: ReadonlyMap<string, CalendarSpan> = new Map([
  ['h', HOUR],
  ['m', MINUTE],
  ['s', SECOND],
]);

/** Parses an ISO 8601 duration, such as `P1DT12H`; undefined for any other text. */
export function isoDuration(text: string): CalendarSpan | undefined {
  const [, days = '', clock = ''] = ISO_DURATION.exec(text.trim()) ?? [];
  const spans = [...spansOf(days, DATE_UNITS), ...spansOf(clock, CLOCK_UNITS)];
  return spans.length > 0 ? spans.reduce(sum) : undefined;
}

function spansOf(text: string, units: ReadonlyMap<string, CalendarSpan>): CalendarSpan[] {
  return [...text.toLowerCase().matchAll(/(\d+)(\D)/g)].map(([, count, unit]) =>
    times(Number(count), units.get(unit as string) as CalendarSpan),
  );
}

function times(count: number, { seconds, months }: CalendarSpan): CalendarSpan {
  return { seconds: count * seconds, months: count * months };
}

function sum(a: CalendarSpan, b: CalendarSpan): CalendarSpan {
  return { seconds: a.seconds + b.seconds, months: a.months + b.months };
}
