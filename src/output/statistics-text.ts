import { type Bucket, failureRate, type Stats, type TypeTally } from '../events/statistics.ts';
import { milliseconds } from '../items/instant.ts';
import { cutTo, padTo, widest } from '../terminal/cell-width.ts';
import { grouped, percent } from '../terminal/numbers-text.ts';
import type { Palette } from '../terminal/palette.ts';
import { oneLine } from './table-drawing.ts';

export interface StatsLook {
  /** Columns to fit into; undefined where text is never cut. */
  readonly room: number | undefined;
  readonly unicode: boolean;
  readonly palette: Palette;
}

/** What a type is called that the service does not list. */
export const UNLISTED = '(not listed)';
const LONGEST_BAR = 60;
/** Bars where no terminal gives their room. */
const PLAIN_BAR = 30;
const SHORTEST_NAME = 12;

/** The statistics as text: a headline, the types worst first, and what happened when. Each line is ended. */
export function statsText(stats: Stats, look: StatsLook): string {
  const { after, before } = stats.window;
  const span = `created after ${after.text} and before ${before.text}`;
  if (stats.total === 0) return `no ${statusWord(stats)}events ${span}\n`;
  const headline = look.palette.bold(countsText(stats));
  return [
    headline,
    look.palette.dim(span),
    '',
    ...typeLines(stats, look),
    '',
    ...timelineText(stats, look),
    '',
  ].join('\n');
}

function countsText(stats: Stats): string {
  const { total, failed } = stats;
  const events = `${grouped(total)} ${statusWord(stats)}${total === 1 ? 'event' : 'events'}`;
  const rate = failureRate(stats);
  return rate === null ? events : `${events}, ${grouped(failed as number)} failed (${percent(rate)})`;
}

function statusWord({ success, failed }: Pick<Stats, 'success' | 'failed'>): string {
  if (success === null) return 'failed ';
  return failed === null ? 'successful ' : '';
}

function typeLines(stats: Stats, look: StatsLook): string[] {
  const { palette, room, unicode } = look;
  const shown = stats.types.filter(({ total }) => total > 0);
  const rates = stats.success !== null && stats.failed !== null;
  const scale = rates
    ? rateScale(Math.max(...shown.map((type) => failureRate(type) ?? 0)))
    : Math.max(...shown.map(({ total }) => total));
  const heads = ['type', ...(rates ? ['failed', 'success', 'rate'] : ['events'])];
  const cells = shown.map((type) => [nameOf(type), ...numbersOf(type, rates)]);
  const numberWidths = heads
    .slice(1)
    .map((head, index) => widest([head, ...cells.map((row) => row[index + 1] ?? '')]));
  const taken = numberWidths.reduce((sum, width) => sum + width + 2, 0);
  const names = widest(['type', ...cells.map(([name = '']) => name)]);
  const nameWidth = room === undefined ? names : Math.min(names, Math.max(SHORTEST_NAME, room - taken - 12));
  const barWidth = room === undefined ? PLAIN_BAR : Math.min(LONGEST_BAR, room - nameWidth - taken - 3);
  const line = (row: readonly string[]) =>
    [
      padTo(cutTo(row[0] ?? '', nameWidth), nameWidth),
      ...numberWidths.map((width, index) => (row[index + 1] ?? '').padStart(width)),
    ].join('  ');

  const scaleText = `0 to ${percent(scale)}`;
  const legend = rates && barWidth >= scaleText.length ? `  ${scaleText}` : '';
  const lines = [palette.bold(line(heads)) + palette.dim(legend)];
  for (const [index, type] of shown.entries()) {
    const value = rates ? (failureRate(type) ?? 0) : type.total;
    const drawn = barWidth >= 4 ? bar(value, scale, barWidth, unicode) : '';
    const paint = stats.failed === null ? palette.good : palette.bad;
    lines.push(`${line(cells[index] as string[])}${drawn && `  ${paint(drawn)}`}`.trimEnd());
  }
  const silent = stats.types.length - shown.length;
  if (silent > 0)
    lines.push(palette.dim(`${grouped(silent)} ${silent === 1 ? 'type has' : 'types have'} no events`));
  return lines;
}

function nameOf({ eventType }: TypeTally): string {
  return eventType === null ? UNLISTED : oneLine(eventType);
}

function numbersOf(type: TypeTally, rates: boolean): string[] {
  if (!rates) return [grouped(type.total)];
  return [grouped(type.failed as number), grouped(type.success as number), percent(failureRate(type) ?? 0)];
}

const LONGEST_TIME_BAR = 100;

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
  const barWidth =
    room === undefined ? PLAIN_BAR : Math.min(LONGEST_TIME_BAR, room - timeWidth - numberWidth - 5);
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

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/**
 * A horizontal bar of `value` where `full` fills `width` columns, without padding. Anything above zero shows: it
 * has at least the thinnest mark. In ASCII a column is `#`.
 */
export function bar(value: number, full: number, width: number, unicode: boolean): string {
  if (!(value > 0) || !(full > 0)) return '';
  const length = Math.min(1, value / full) * width;
  if (!unicode) return '#'.repeat(Math.max(1, Math.round(length)));
  const eighths = Math.max(1, Math.round(length * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** The end of a scale of rates (0 to 1) on which the highest fills much of the bar. */
export function rateScale(highest: number): number {
  return STEPS.find((step) => highest <= step) ?? 1;
}
