import { milliseconds } from '../../events/instant.ts';
import { type Bucket, failureRate, type Stats } from '../../events/stats/stats.ts';
import { grouped, percent } from '../numbers-text.ts';
import { bar } from './bars.ts';
import type { StatsLook } from './text.ts';

const LONGEST_BAR = 100;
const PLAIN_BAR = 30;

/** A bar for each bucket: of its failures where there are any, else of its events. */
export function timelineText(stats: Stats, { room, unicode, palette }: StatsLook): string[] {
  const { buckets } = stats;
  const byFailure = stats.failed !== null && stats.failed > 0;
  const drawnValue = (bucket: Bucket) => (byFailure ? (bucket.failed as number) : bucket.total);
  const full = Math.max(...buckets.map(drawnValue));
  const times = buckets.map(timeLabels(buckets));
  const numbers = buckets.map((bucket) => numbersText(bucket, byFailure && stats.success !== null));
  const timeWidth = Math.max(...times.map((text) => text.length), 'UTC'.length);
  const numberWidth = Math.max(...numbers.map((text) => text.length));
  const barWidth = room === undefined ? PLAIN_BAR : Math.min(LONGEST_BAR, room - timeWidth - numberWidth - 5);
  const paint = byFailure ? palette.bad : palette.good;
  const what = `${byFailure ? 'failed' : 'events'} in ${durationText(buckets[0] as Bucket)}`;
  const lines = [`${palette.bold('UTC'.padEnd(timeWidth))}  ${palette.bold(what)}`];
  for (const [index, bucket] of buckets.entries()) {
    const number = (numbers[index] as string).padStart(numberWidth);
    const drawn = barWidth >= 4 ? bar(drawnValue(bucket), full, barWidth, unicode) : '';
    lines.push(
      `${palette.dim((times[index] as string).padEnd(timeWidth))}  ${number}${drawn && `  ${paint(drawn)}`}`.trimEnd(),
    );
  }
  return lines;
}

function numbersText(bucket: Bucket, both: boolean): string {
  if (!both) return grouped(bucket.total);
  const rate = failureRate(bucket);
  const share = rate === null ? '' : percent(rate);
  return `${grouped(bucket.failed as number)} of ${grouped(bucket.total)} ${share.padStart('100.0 %'.length)}`;
}

/** The start of a bucket with as much of date and time as tells it from the others. */
export function timeLabels(buckets: readonly Bucket[]): (bucket: Bucket) => string {
  const starts = buckets.map(({ from }) => new Date(milliseconds(from)).toISOString());
  const [first, last] = [starts[0] as string, starts.at(-1) as string];
  const length = lengthOf(buckets[0] as Bucket);
  const dates = first.slice(0, 10) !== last.slice(0, 10);
  const from = first.slice(0, 4) !== last.slice(0, 4) ? 0 : dates ? 5 : 11;
  const onDays = starts.every((start) => start.endsWith('T00:00:00.000Z'));
  const to = onDays && dates ? 10 : length < 1000 ? 23 : length < 60_000 ? 19 : 16;
  return (bucket) => new Date(milliseconds(bucket.from)).toISOString().slice(from, to).replace('T', ' ');
}

function lengthOf({ from, to }: Bucket): number {
  return milliseconds(to) - milliseconds(from);
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
  [1, 'ms'],
] as const;

/** `1 h`, `1 h 30 min`: the two largest units of a bucket's length. */
function durationText(bucket: Bucket): string {
  let rest = lengthOf(bucket);
  const parts: string[] = [];
  for (const [size, name] of UNITS) {
    const number = Math.floor(rest / size);
    rest -= number * size;
    if (number > 0) parts.push(`${number} ${name}`);
  }
  return parts.slice(0, 2).join(' ') || '0 ms';
}
