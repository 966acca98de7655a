import { type TimeTokens, wordsFor } from './time-tokens.ts';

export type Day =
  | { readonly kind: 'day'; readonly daysAgo: number }
  /** The latest such day of the week (0 is Sunday), including today unless `isLast`. */
  | { readonly kind: 'weekday'; readonly weekday: number; readonly isLast: boolean }
  | CalendarDay;

export interface CalendarDay {
  readonly kind: 'calendar';
  /** Four digits. */
  readonly year?: string | undefined;
  /** `11-20`. May be an impossible day. */
  readonly monthDay: string;
  readonly weekday?: number;
  /**
   * In terms of ISO 8601, `2026-11-20` is extended and `20261120` basic; `20 Nov 2026` is named. Undefined
   * for other forms.
   */
  readonly notation?: 'extended' | 'basic' | 'named';
}

const NEAR_DAYS = wordsFor(['today', 0], ['yesterday', 1], ['tomorrow', -1]);
const LAST = wordsFor(['last', true]);
const WEEKDAYS = wordsFor(
  ['sun sunday', 0],
  ['mon monday', 1],
  ['tue tues tuesday', 2],
  ['wed wednesday', 3],
  ['thu thurs thursday', 4],
  ['fri friday', 5],
  ['sat saturday', 6],
);
const MONTHS = wordsFor(
  ['jan january', '01'],
  ['feb february', '02'],
  ['mar march', '03'],
  ['apr april', '04'],
  ['may', '05'],
  ['jun june', '06'],
  ['jul july', '07'],
  ['aug august', '08'],
  ['sep sept september', '09'],
  ['oct october', '10'],
  ['nov november', '11'],
  ['dec december', '12'],
);
const ORDINAL_ENDINGS = wordsFor(['st nd rd th', true]);

/** Reads `today` and the like, a day of the week, or a date, optionally with a day of the week and a year. */
export function readDay(tokens: TimeTokens): Day | undefined {
  const daysAgo = tokens.word(NEAR_DAYS);
  if (daysAgo !== undefined) return { kind: 'day', daysAgo };
  return readDate(tokens) ?? readDateOfWeekday(tokens) ?? readWeekday(tokens);
}

function readWeekday(tokens: TimeTokens): Day | undefined {
  return tokens.attempt(() => {
    const isLast = tokens.attempt(() => tokens.word(LAST) && tokens.sign(' ')) !== undefined;
    const weekday = tokens.word(WEEKDAYS);
    return weekday === undefined ? undefined : { kind: 'weekday', weekday, isLast };
  });
}

/** `Fri, 20 Nov 2026`. */
function readDateOfWeekday(tokens: TimeTokens): CalendarDay | undefined {
  return tokens.attempt(() => {
    const weekday = tokens.word(WEEKDAYS);
    if (weekday === undefined) return undefined;
    tokens.sign(',');
    const date = tokens.sign(' ') ? readDate(tokens) : undefined;
    return date && { ...date, weekday };
  });
}

const DATE_FORMS = [
  readExtendedDate,
  readBasicDate,
  readSlashedDate,
  readDottedDate,
  readMonthAndDay,
  readDayThenMonth,
  readMonthThenDay,
];

function readDate(tokens: TimeTokens): CalendarDay | undefined {
  for (const read of DATE_FORMS) {
    const date = tokens.attempt(() => read(tokens));
    if (date) return date;
  }
  return undefined;
}

/** `2026-11-20`, and `2026-11` for the first day of a month. */
function readExtendedDate(tokens: TimeTokens): CalendarDay | undefined {
  const year = tokens.number(4);
  const month = tokens.numberAfter('-', 2);
  if (year === undefined || month === undefined) return undefined;
  const day = tokens.numberAfter('-', 2);
  if (day === undefined) return { kind: 'calendar', year, monthDay: `${month}-01` };
  return { kind: 'calendar', year, monthDay: `${month}-${day}`, notation: 'extended' };
}

/** Reads `2026-11`, `Nov 2026`, `November`. Months have two digits. */
export function readMonth(
  tokens: TimeTokens,
): { readonly year?: string | undefined; readonly month: string } | undefined {
  const year = tokens.number(4);
  if (year !== undefined) {
    const month = tokens.numberAfter('-', 2);
    return month !== undefined && month >= '01' && month <= '12' ? { year, month } : undefined;
  }
  const month = tokens.word(MONTHS);
  if (month === undefined) return undefined;
  return { month, year: tokens.attempt(() => tokens.sign(' ') && tokens.number(4)) };
}

function readBasicDate(tokens: TimeTokens): CalendarDay | undefined {
  const digits = tokens.number(8);
  if (digits === undefined) return undefined;
  const monthDay = `${digits.slice(4, 6)}-${digits.slice(6)}`;
  return { kind: 'calendar', year: digits.slice(0, 4), monthDay, notation: 'basic' };
}

function readSlashedDate(tokens: TimeTokens): CalendarDay | undefined {
  const year = tokens.number(4);
  const month = tokens.numberAfter('/', 2);
  const day = tokens.numberAfter('/', 2);
  if (year === undefined || month === undefined || day === undefined) return undefined;
  return { kind: 'calendar', year, monthDay: `${month}-${day}` };
}

function readDottedDate(tokens: TimeTokens): CalendarDay | undefined {
  const day = tokens.number(1, 2);
  const month = tokens.sign('.') && tokens.number(1, 2);
  const year = tokens.sign('.') && tokens.number(4);
  if (day === undefined || month === undefined || year === undefined) return undefined;
  return { kind: 'calendar', year, monthDay: `${two(month)}-${two(day)}` };
}

/** Reads `11-20`, a date without its year, as printed in narrow tables. */
function readMonthAndDay(tokens: TimeTokens): CalendarDay | undefined {
  const month = tokens.number(2);
  const day = tokens.numberAfter('-', 2);
  if (month === undefined || day === undefined) return undefined;
  return { kind: 'calendar', monthDay: `${month}-${day}` };
}

/** `20 Nov 2026`, `20th November`, `20. Nov`, `20/Nov/2026`, `20-Nov-2026`. */
function readDayThenMonth(tokens: TimeTokens): CalendarDay | undefined {
  const day = readDayOfMonth(tokens);
  tokens.sign('.');
  tokens.sign(' ', '/', '-');
  const month = tokens.word(MONTHS);
  if (day === undefined || month === undefined) return undefined;
  tokens.sign('.');
  const year = tokens.attempt(() => {
    tokens.sign(',');
    return tokens.sign(' ', '/', '-') && tokens.number(4);
  });
  return { kind: 'calendar', year, monthDay: `${month}-${day}`, notation: 'named' };
}

/** `Nov 20, 2026`, `November 20th`. */
function readMonthThenDay(tokens: TimeTokens): CalendarDay | undefined {
  const month = tokens.word(MONTHS);
  tokens.sign('.');
  const day = tokens.sign(' ') && readDayOfMonth(tokens);
  if (day === undefined || month === undefined) return undefined;
  const year = tokens.attempt(() => {
    tokens.sign(',');
    return tokens.sign(' ') && tokens.number(4);
  });
  return { kind: 'calendar', year, monthDay: `${month}-${day}`, notation: 'named' };
}

/** Reads `5` or `5th` as two digits. */
function readDayOfMonth(tokens: TimeTokens): string | undefined {
  const day = tokens.number(1, 2);
  tokens.word(ORDINAL_ENDINGS);
  return day && two(day);
}

function two(digits: string): string {
  return digits.padStart(2, '0');
}
