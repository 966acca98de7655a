import type { Percentiles } from '../statistics/percentiles.ts';
import { wrapWords } from '../terminal/cell-width.ts';
import { eventsText, groupedDigits } from '../terminal/terminal-text.ts';
import { type Instant, milliseconds } from '../time/instant.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../time/lengths.ts';
import { firstAfter } from '../time/period.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { SummaryOptions } from './summary.ts';
import { oneLine, type TableLook } from './table.ts';
import { NONE } from './table-columns.ts';

/** In the zone, without a fraction, always with the date, since answers are read on other days. */
export function secondText(text: string, zone: TimeZone): string {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  return zone.shown(time).replace('T', ' ').replace(/\.\d+/, '');
}

/** Only JSON and CSV show fractions. */
export function toSeconds(instant: Instant | undefined): string {
  return instant?.text.replace(/\.\d+/, '') ?? NONE;
}

export function boundText({ text }: Instant, zone: TimeZone): string {
  return secondText(text, zone).replace(/( \d\d:\d\d):00(?=\D)/, '$1');
}

export function isOpen({ from, filters }: Pick<SummaryOptions, 'from' | 'filters'>): boolean {
  return from === undefined && !filters.before;
}

/** A window that ended within this time still counts as current. */
const PRESENT_MS = MINUTE_MS;

/** True if the window has a past end, so states may have changed since. */
export function isPast({ filters }: Pick<SummaryOptions, 'filters'>, before: Instant, now: number): boolean {
  return filters.before !== undefined && milliseconds(before) < now - PRESENT_MS;
}

/** `since 2026-11-22 00:00Z`, or from one bound to the other. */
export function windowText(
  { after, before }: { after: Instant; before: Instant },
  options: SummaryOptions,
): string {
  const { zone } = options.filters;
  const start = boundText(firstAfter(after), zone);
  return isOpen(options) ? `since ${start}` : `from ${start} to ${boundText(before, zone)}`;
}

export function nothingText({ unknownOutcomes }: { readonly unknownOutcomes: number }, time: string): string {
  return unknownOutcomes === 0
    ? `no events ${time}`
    : `the outcome of ${eventsText(unknownOutcomes)} is unknown`;
}

export function proseLines(text: string, { room }: TableLook, indent = ''): string[] {
  const words = oneLine(text);
  if (room === undefined) return [indent + words];
  return wrapWords(words, room - indent.length).map((line) => indent + line);
}

export function anyText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A rhythm is known to a tenth at best, so units below that are dropped. */
export function rhythmText(milliseconds: number): string {
  const size = [DAY_MS, HOUR_MS, MINUTE_MS].find((unit) => milliseconds >= 10 * unit) ?? SECOND_MS;
  return lengthText(milliseconds - (milliseconds % size));
}

/** The two largest units: `5 h 12 min`. */
export function lengthText(length: number): string {
  const units: readonly (readonly [name: string, size: number])[] = [
    ['d', DAY_MS],
    ['h', HOUR_MS],
    ['min', MINUTE_MS],
    ['s', SECOND_MS],
  ];
  const at = units.findIndex(([, size]) => length >= size);
  if (at < 0) return 'less than a second';
  const [[name, size], next] = [units[at], units[at + 1]] as [
    (typeof units)[number],
    (typeof units)[number] | undefined,
  ];
  const whole = Math.floor(length / size);
  const rest = next ? Math.floor((length - whole * size) / next[1]) : 0;
  return rest > 0 && next ? `${whole} ${name} ${rest} ${next[0]}` : `${whole} ${name}`;
}

/** `p50 12, p95 1,204.5, p99 2,000, max 30,000`. */
export function percentilesText({ p50, p95, p99, most }: Percentiles): string {
  const [median, high, higher, largest] = [p50, p95, p99, most].map(groupedDigits);
  return `p50 ${median}, p95 ${high}, p99 ${higher}, max ${largest}`;
}
