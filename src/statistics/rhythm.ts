import { DAY_MS, HOUR_MS } from '../time/lengths.ts';

/*
 * Decides if a silence is longer than the rhythm of the events explains. The same hours of two to four
 * earlier weeks give the number of events to expect, which allows for nights and weekends. The first and last
 * hour are ignored: clocks change and nobody is punctual. A silence is unusual if it lacks more events than
 * bursts explain, and four times as many as any earlier gap. `npm run bench silence` measures how often that
 * is wrong.
 */

const WEEK_MS = 7 * DAY_MS;
const EDGE_MS = HOUR_MS;
const WEEKS_NEEDED = 2;
const WEEKS_COMPARED = 4;
/** Four weeks, and room for a gap at their beginning. */
export const HISTORY_MS = WEEKS_COMPARED * WEEK_MS + DAY_MS;
/** Multiple of the variation expected by chance. */
const MIN_LACK = 8;
const TIMES_THE_WORST_GAP = 4;
/** Minimum hours with events in each week: a late burst is not a silence. */
const MIN_HOURS = 2;
/** Lower limit: a few weeks cannot prove that events are more regular than this. */
const MIN_DISPERSION = 0.3;
/** Days reveal less of the variation than hours do. */
const DISPERSION_OF_DAYS = 2;
/** Counts in parts of these lengths are compared across weeks. */
const PARTS: readonly { readonly length: number; readonly weight: number }[] = [
  { length: HOUR_MS, weight: 1.1 },
  { length: 6 * HOUR_MS, weight: 1.1 },
  { length: DAY_MS, weight: 1 },
];

/** Milliseconds since the epoch; the end is exclusive. */
export interface TimeSpan {
  readonly start: number;
  readonly end: number;
}

export interface Rhythm {
  readonly weeks: number;
  /** Variance of counts divided by their mean: 1 for chance alone, more for bursts. */
  readonly dispersion: number;
  /** Maximum events that an earlier gap lacked; undefined if only counts are known. */
  readonly worstLack: number | undefined;
}

/** The same span in earlier weeks; empty if the silence is too short to judge. */
export function comparedSpans(last: number, now: number, weeks = WEEKS_COMPARED): TimeSpan[] {
  const start = last + EDGE_MS;
  const end = Math.min(now - EDGE_MS, last + WEEK_MS);
  if (end <= start) return [];
  return Array.from({ length: weeks }, (_, week) => ({
    start: start - (week + 1) * WEEK_MS,
    end: end - (week + 1) * WEEK_MS,
  }));
}

/** Returns the usual gap in seconds if the silence is unusual at that time. */
type LookAtSilence = (now: number) => number | undefined;

/** Takes ascending times. */
export function silenceAfter(times: readonly number[]): LookAtSilence {
  const last = times.at(-1);
  const rhythm = last === undefined ? undefined : rhythmOf(times, last);
  if (last === undefined || !rhythm) return () => undefined;
  return (now) => {
    const spans = comparedSpans(last, now, rhythm.weeks);
    if (!spans.every((span) => hoursIn(times, span) >= MIN_HOURS)) return undefined;
    const numbers = spans.map((span) => numberIn(times, span));
    return usualGapSeconds(spans, numbers, rhythm);
  };
}

export function usualGapSeconds(
  spans: readonly TimeSpan[],
  numbers: readonly number[],
  { dispersion, worstLack = 0 }: Rhythm,
): number | undefined {
  const [span] = spans;
  const least = Math.min(...numbers);
  if (!span || least < MIN_HOURS) return undefined;
  const mean = numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  // Weeks differ, so expect less than their mean.
  const expected = (mean + least) / 2;
  if (expected < MIN_LACK * dispersion || expected < TIMES_THE_WORST_GAP * worstLack) return undefined;
  return Math.round((span.end - span.start) / mean / 1000);
}

function rhythmOf(times: readonly number[], last: number): Rhythm | undefined {
  const weeks = Math.min(WEEKS_COMPARED, Math.floor((last - (times[0] as number)) / WEEK_MS));
  if (weeks < WEEKS_NEEDED) return undefined;
  const history = { start: last - weeks * WEEK_MS + 1, end: last + 1 };
  const dispersions = PARTS.map(
    ({ length, weight }) => weight * dispersionOf(numbersBy(times, history, length), WEEK_MS / length),
  );
  const worstLack = worstLackIn(times, history, weeks);
  return { weeks, dispersion: Math.max(MIN_DISPERSION, ...dispersions), worstLack };
}

/** For events of which only daily counts are known, oldest day first. */
export function rhythmOfDays(numbers: readonly number[]): Rhythm | undefined {
  const first = numbers.findIndex((number) => number > 0);
  const weeks = first < 0 ? 0 : Math.floor((numbers.length - first) / 7);
  if (weeks < WEEKS_NEEDED) return undefined;
  const days = numbers.slice(-7 * weeks);
  return { weeks, dispersion: Math.max(1, DISPERSION_OF_DAYS * dispersionOf(days, 7)), worstLack: undefined };
}

export function daysBefore(last: number): TimeSpan[] {
  const days = 7 * WEEKS_COMPARED;
  return Array.from({ length: days }, (_, day) => ({
    start: last + 1 - (days - day) * DAY_MS,
    end: last + 1 - (days - day - 1) * DAY_MS,
  }));
}

/** Variance divided by the mean; each number is compared with those a multiple of `period` apart. */
function dispersionOf(numbers: readonly number[], period: number): number {
  let squares = 0;
  let expected = 0;
  for (let phase = 0; phase < period; phase++) {
    const some = numbers.filter((_, index) => index % period === phase);
    const mean = some.reduce((sum, one) => sum + one, 0) / some.length;
    squares += some.reduce((sum, one) => sum + (one - mean) ** 2, 0);
    expected += (some.length - 1) * mean;
  }
  return expected === 0 ? 1 : squares / expected;
}

function numbersBy(times: readonly number[], { start, end }: TimeSpan, length: number): number[] {
  const numbers = new Array<number>(Math.round((end - start) / length)).fill(0);
  for (let index = firstAt(times, start); index < times.length; index++) {
    const part = Math.floor(((times[index] as number) - start) / length);
    if (part < numbers.length) numbers[part] = (numbers[part] as number) + 1;
  }
  return numbers;
}

/** Maximum events that a gap lacked, by the same span of other weeks. */
function worstLackIn(times: readonly number[], history: TimeSpan, weeks: number): number {
  let worst = 0;
  for (let index = firstAt(times, history.start) + 1; index < times.length; index++) {
    const start = (times[index - 1] as number) + EDGE_MS;
    const end = (times[index] as number) - EDGE_MS;
    if (end > start) worst = Math.max(worst, meanBeside(times, { start, end }, history, weeks));
  }
  return worst;
}

function meanBeside(times: readonly number[], span: TimeSpan, history: TimeSpan, weeks: number): number {
  const numbers: number[] = [];
  for (let week = 1 - weeks; week < weeks; week++) {
    const other = { start: span.start + week * WEEK_MS, end: span.end + week * WEEK_MS };
    const isInside = other.start >= history.start && other.end <= history.end;
    if (week !== 0 && isInside) numbers.push(numberIn(times, other));
  }
  return numbers.length === 0 ? 0 : numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

function numberIn(times: readonly number[], { start, end }: TimeSpan): number {
  return firstAt(times, end) - firstAt(times, start);
}

function hoursIn(times: readonly number[], { start, end }: TimeSpan): number {
  const inside = times.slice(firstAt(times, start), firstAt(times, end));
  return new Set(inside.map((time) => Math.floor(time / HOUR_MS))).size;
}

/** Binary search for the first time >= `time`. */
function firstAt(times: readonly number[], time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
