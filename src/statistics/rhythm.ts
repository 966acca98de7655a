import { DAY_MS, HOUR_MS } from '../time/lengths.ts';

/*
 * Whether a silence is longer than the rhythm of the events explains. What was to be expected in it is told
 * by the same hours of the weeks before, two at least and four at most, so that nights and weekends are no
 * silence. Its first and last hour do not count: clocks are put forward and back, and nobody is punctual.
 * It is unusual where it lacks more events than their number varies by (bursts), and four times as many as
 * any gap of these weeks lacked. `npm run bench silence` measures how often that is wrong.
 */

const WEEK_MS = 7 * DAY_MS;
const EDGE_MS = HOUR_MS;
const WEEKS_NEEDED = 2;
const WEEKS_COMPARED = 4;
/** The time of history that is looked at: what four weeks need, and room for a gap at their beginning. */
export const HISTORY_MS = WEEKS_COMPARED * WEEK_MS + DAY_MS;
/** Times this much of what varies by chance alone. */
const LEAST_LACK = 8;
const TIMES_THE_WORST_GAP = 4;
/** Hours with events that each of the weeks has, so that one burst that is late is no silence. */
const LEAST_HOURS = 2;
/** Regular events vary less than chance, as far as some weeks can tell. */
const LEAST_DISPERSION = 0.3;
/** Days tell less than hours how much the number of events varies. */
const DISPERSION_OF_DAYS = 2;
/** Numbers in parts of this length are compared with those of the same parts of other weeks. */
const PARTS: readonly { readonly length: number; readonly weight: number }[] = [
  { length: HOUR_MS, weight: 1.1 },
  { length: 6 * HOUR_MS, weight: 1.1 },
  { length: DAY_MS, weight: 1 },
];

/** A span of time in milliseconds since the epoch; its end does not belong to it. */
export interface TimeSpan {
  readonly start: number;
  readonly end: number;
}

/** How a subscription's events came, up to the last of them. */
export interface Rhythm {
  readonly weeks: number;
  /** The variance of numbers of events by their mean: 1 for chance alone, more with bursts. */
  readonly dispersion: number;
  /** The most events that a gap of these weeks lacked; undefined if only numbers are known. */
  readonly worstLack: number | undefined;
}

/**
 * What a silence is compared with: the same span of each of the weeks before; none if it is too short to
 * tell.
 */
export function comparedSpans(last: number, now: number, weeks = WEEKS_COMPARED): TimeSpan[] {
  const start = last + EDGE_MS;
  const end = Math.min(now - EDGE_MS, last + WEEK_MS);
  if (end <= start) return [];
  return Array.from({ length: weeks }, (_, week) => ({
    start: start - (week + 1) * WEEK_MS,
    end: end - (week + 1) * WEEK_MS,
  }));
}

/**
 * Says at a time, for a silence that is unusual then, the seconds from one event to the next that are usual.
 */
type LookAtSilence = (now: number) => number | undefined;

/** Returns what to look with at the silence after some events, whose times ascend. */
export function silenceAfter(times: readonly number[]): LookAtSilence {
  const last = times.at(-1);
  const rhythm = last === undefined ? undefined : rhythmOf(times, last);
  if (last === undefined || !rhythm) return () => undefined;
  return (now) => {
    const spans = comparedSpans(last, now, rhythm.weeks);
    if (!spans.every((span) => hoursIn(times, span) >= LEAST_HOURS)) return undefined;
    const numbers = spans.map((span) => numberIn(times, span));
    return usualGapSeconds(spans, numbers, rhythm);
  };
}

/** The same by numbers of events in the compared spans. */
export function usualGapSeconds(
  spans: readonly TimeSpan[],
  numbers: readonly number[],
  { dispersion, worstLack = 0 }: Rhythm,
): number | undefined {
  const [span] = spans;
  const least = Math.min(...numbers);
  if (!span || least < LEAST_HOURS) return undefined;
  const mean = numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  // The weeks differ: what is to be expected lies below their mean.
  const expected = (mean + least) / 2;
  if (expected < LEAST_LACK * dispersion || expected < TIMES_THE_WORST_GAP * worstLack) return undefined;
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
  return { weeks, dispersion: Math.max(LEAST_DISPERSION, ...dispersions), worstLack };
}

/**
 * The rhythm of events of which only the numbers of the days before the last event are known, the oldest
 * first.
 */
export function rhythmOfDays(numbers: readonly number[]): Rhythm | undefined {
  const first = numbers.findIndex((number) => number > 0);
  const weeks = first < 0 ? 0 : Math.floor((numbers.length - first) / 7);
  if (weeks < WEEKS_NEEDED) return undefined;
  const days = numbers.slice(-7 * weeks);
  return { weeks, dispersion: Math.max(1, DISPERSION_OF_DAYS * dispersionOf(days, 7)), worstLack: undefined };
}

/** The days before an event that `rhythmOfDays` takes. */
export function daysBefore(last: number): TimeSpan[] {
  const days = 7 * WEEKS_COMPARED;
  return Array.from({ length: days }, (_, day) => ({
    start: last + 1 - (days - day) * DAY_MS,
    end: last + 1 - (days - day - 1) * DAY_MS,
  }));
}

/** The variance of numbers by their mean, each compared with those a period apart. */
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

/** The most events that a gap lacked, by the same span of the other weeks. */
function worstLackIn(times: readonly number[], history: TimeSpan, weeks: number): number {
  let worst = 0;
  for (let index = firstAt(times, history.start) + 1; index < times.length; index++) {
    const start = (times[index - 1] as number) + EDGE_MS;
    const end = (times[index] as number) - EDGE_MS;
    if (end > start) worst = Math.max(worst, meanBeside(times, { start, end }, history, weeks));
  }
  return worst;
}

/** The mean number of events in a span of the other weeks. */
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

/** The number of hours of a span that have events. */
function hoursIn(times: readonly number[], { start, end }: TimeSpan): number {
  const inside = times.slice(firstAt(times, start), firstAt(times, end));
  return new Set(inside.map((time) => Math.floor(time / HOUR_MS))).size;
}

/** The place of the first time that is not before another. */
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
