import { UsageError } from '../errors.ts';
import type { StatsWindow } from '../filters/stats-window.ts';
import { grouped } from '../terminal/terminal-text.ts';
import { compareInstants, type Instant, knownInstant, milliseconds } from '../time/instant.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../time/lengths.ts';
import { firstAfter } from '../time/period.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { BUCKET_UNITS, type BucketUnit, MAX_BUCKETS } from './stats-flags.ts';

export type Division = number | BucketUnit;

/** An event belongs to the first bucket whose end is later. */
export interface BucketSpan {
  readonly from: Instant;
  readonly to: Instant;
  /** True if the window cuts the hour, day or week. */
  readonly isPart: boolean;
}

/** In milliseconds; multiples begin at round times. */
const ROUND = [
  ...[SECOND_MS, 5 * SECOND_MS, 15 * SECOND_MS, 30 * SECOND_MS],
  ...[MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 30 * MINUTE_MS],
  ...[HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS],
  ...[DAY_MS, 7 * DAY_MS, 28 * DAY_MS],
];
/** Weeks begin on Monday, as hours and days do; the epoch was a Thursday. */
const MONDAY_MS = 4 * DAY_MS;
/** Default number of buckets. */
const PARTS = 32;
/** Maximum deviation from whole days, since clock changes lengthen or shorten a day. */
const DAY_TOLERANCE = 0.05;

/**
 * Divides a window at round times of the zone. A given number of buckets are equal within a few per cent; if
 * each is about whole days, they start at midnight before the window and there may be one more. Throws
 * `UsageError` for too many.
 */
export function divideTime(
  { after, before, zone, isSpan }: Pick<StatsWindow, 'after' | 'before' | 'zone' | 'isSpan'>,
  division?: Division,
): BucketSpan[] {
  const from = firstAfter(after);
  const [start, end] = [milliseconds(from), milliseconds(before)];
  const step = stepOf(end - start, division);
  const origin = typeof division === 'number' ? startOfDay(start + zone.offsetAt(start)) : MONDAY_MS;
  const inner =
    step === undefined
      ? equalParts(start, end, typeof division === 'number' ? division : PARTS, zone)
      : onTheClock(start, end, zone, { step, origin });
  const ends = [...inner.map((time) => knownInstant(time)), before];
  const isMarked = step !== undefined && !isSpan && (step >= DAY_MS || typeof division === 'string');
  const isCut = (time: number) => isMarked && !isOnTheClock(time, zone, { step, origin });
  return ends.map((to, index) => {
    const isPart = (index === 0 && isCut(start)) || (index === ends.length - 1 && isCut(end));
    return { from: ends[index - 1] ?? from, to, isPart };
  });
}

function stepOf(length: number, division: Division | undefined): number | undefined {
  if (division === undefined) return ROUND.find((round) => length / round < PARTS - 1);
  if (typeof division === 'number') {
    const days = length / division / DAY_MS;
    const whole = Math.round(days);
    return whole > 0 && Math.abs(days - whole) <= DAY_TOLERANCE ? whole * DAY_MS : undefined;
  }
  const step = BUCKET_UNITS[division];
  const count = Math.ceil(length / step);
  if (count > MAX_BUCKETS)
    throw new UsageError(
      `--buckets ${division}: ${grouped(count)} of them, and ${MAX_BUCKETS} are the most`,
      { next: `ask for a shorter time, or for ${division === 'hour' ? '--buckets day' : 'fewer --buckets'}` },
    );
  return step;
}

/** Buckets of one length on the zone's clock, one of which begins at `origin`. */
interface Grid {
  readonly step: number;
  readonly origin: number;
}

function startOfDay(wall: number): number {
  return Math.floor(wall / DAY_MS) * DAY_MS;
}

function wallStart(wall: number, { step, origin }: Grid): number {
  return Math.floor((wall - origin) / step) * step + origin;
}

function isOnTheClock(time: number, zone: TimeZone, grid: Grid): boolean {
  const starts = zone.timesAt(wallStart(time + zone.offsetAt(time), grid));
  return grid.step > HOUR_MS ? starts[0] === time : starts.includes(time);
}

/**
 * Buckets up to an hour begin each time the clock shows their start; an hour that the clock skips begins with
 * the next. Longer buckets begin only the first time.
 */
function onTheClock(start: number, end: number, zone: TimeZone, grid: Grid): number[] {
  const { step } = grid;
  const [first, last] = [start + zone.offsetAt(start), end + zone.offsetAt(end)];
  // If the clock is put back, it shows times outside this range.
  const slack = Math.abs(zone.offsetAt(start) - zone.offsetAt(end));
  const times = new Set<number>();
  for (let wall = wallStart(first - slack, grid); wall <= last + slack + step; wall += step) {
    const shown = zone.timesAt(wall);
    for (const time of step > HOUR_MS ? shown.slice(0, 1) : shown) {
      if (time > start && time < end) times.add(time);
    }
  }
  return [...times].sort((a, b) => a - b);
}

function equalParts(start: number, end: number, count: number, zone: TimeZone): number[] {
  const length = (end - start) / count;
  const grain = ROUND.findLast((round) => round <= length / 10) ?? (length >= 2 * SECOND_MS ? SECOND_MS : 1);
  return Array.from({ length: count - 1 }, (_, index) => {
    const time = start + length * (index + 1);
    const offset = zone.offsetAt(time);
    return Math.round((time + offset) / grain) * grain - offset;
  });
}

export function bucketOf(time: Instant, spans: readonly BucketSpan[]): number {
  let [low, high] = [0, spans.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareInstants(time, (spans[middle] as BucketSpan).to) < 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
