import { readDay, readMonth } from './day-text.ts';
import { type Instant, knownInstant, milliseconds, parseInstant } from './instant.ts';
import { DAY_MS, SECOND_MS } from './lengths.ts';
import { firstInstantOf } from './time-text.ts';
import { TimeTokens } from './time-tokens.ts';
import type { TimeZone } from './time-zone.ts';

/** A whole day or month of a zone's calendar. */
export interface Period {
  readonly text: string;
  /** The last instant before the period, at the service's precision of a ten-millionth of a second. */
  readonly after: Instant;
  readonly before: Instant;
}

/** Digits of the service's times (service description, part 4). */
const LAST_FRACTION = '9999999';

/**
 * Reads a day: `2026-10-31`, `31 Oct`, `yesterday`, `monday`; undefined for any other text. Relative days
 * count from `now` (milliseconds since the epoch) in the zone's calendar.
 */
export function readDayPeriod(text: string, now: number, zone: TimeZone): Period | undefined {
  if (isMonth(text)) return undefined;
  const day = new TimeTokens(text).wholly(readDay);
  const start = day && firstInstantOf(day, now, zone);
  if (!start) return undefined;
  const date = wallDate(milliseconds(start), zone);
  return periodBetween(date, dateAfter(date), zone);
}

function isMonth(text: string): boolean {
  return /^\s*\d{4}-\d\d\s*$/.test(text);
}

/** Reads a month: `2026-10`, `Oct 2026`, or the latest `October`. */
export function readMonthPeriod(text: string, now: number, zone: TimeZone): Period | undefined {
  const read = new TimeTokens(text).wholly(readMonth);
  if (!read) return undefined;
  const [thisYear, thisMonth] = wallDate(now, zone).split('-') as [string, string];
  const year = Number(read.year ?? (read.month <= thisMonth ? thisYear : Number(thisYear) - 1));
  const month = Number(read.month);
  const start = new Date(Date.UTC(year, month - 1, 1)).toISOString().slice(0, 7);
  const next = new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 7);
  const period = periodBetween(`${start}-01`, `${next}-01`, zone);
  return period && { ...period, text: start };
}

function periodBetween(first: string, next: string, zone: TimeZone): Period | undefined {
  const [start, end] = [first, next].map((date) => parseInstant(date, zone));
  if (!start || !end) return undefined;
  return { text: first, after: justBefore(start), before: fullText(end) };
}

function justBefore({ seconds }: Instant): Instant {
  const { text } = knownInstant((seconds - 1) * SECOND_MS);
  return { text: text.replace('Z', `.${LAST_FRACTION}Z`), seconds: seconds - 1, fraction: LAST_FRACTION };
}

/** Returns the next second for the last tick of a second, and other instants unchanged. */
export function firstAfter(after: Instant): Instant {
  return after.fraction.startsWith(LAST_FRACTION)
    ? fullText({ ...after, seconds: after.seconds + 1 })
    : after;
}

/** `after 2026-11-20T08:30:00Z`, or `since` the first second that the bound leaves in, as of a whole day. */
export function afterText(after: Instant, textOf: (instant: Instant) => string): string {
  const first = firstAfter(after);
  return first === after ? `after ${textOf(after)}` : `since ${textOf(first)}`;
}

/** `created after … and before …`; empty without bounds. */
export function createdText(
  { after, before }: { readonly after?: Instant | undefined; readonly before?: Instant | undefined },
  textOf: (instant: Instant) => string,
): string {
  const ends = [after && afterText(after, textOf), before && `before ${textOf(before)}`];
  const bounds = ends.filter((end) => end !== undefined);
  return bounds.length === 0 ? '' : `created ${bounds.join(' and ')}`;
}

function fullText({ seconds }: Instant): Instant {
  return knownInstant(seconds * SECOND_MS);
}

function wallDate(time: number, zone: TimeZone): string {
  return new Date(time + zone.offsetAt(time)).toISOString().slice(0, 10);
}

/** The next day of an ISO date. */
export function dateAfter(date: string): string {
  return new Date(Date.parse(date) + DAY_MS).toISOString().slice(0, 10);
}
