import type { Output } from '../context.ts';
import { type Bucket, failureRate, type Stats, type Tally, type TypeTally } from '../events/statistics.ts';
import { cellWidth, widest } from '../terminal/cell-width.ts';
import { grouped, percent } from '../terminal/numbers-text.ts';
import type { Palette } from '../terminal/palette.ts';
import { terminalSafe } from '../terminal/terminal-safe.ts';
import { milliseconds } from '../time/instant.ts';
import { offsetText, type TimeZone } from '../time/time-zone.ts';
import { csvLines, csvText } from './csv.ts';
import { type Cell, type Draw, ended, oneLine } from './table.ts';
import { GAP } from './table-layout.ts';

export interface StatsLook {
  /** The columns available; undefined if text is never cut. */
  readonly room: number | undefined;
  readonly unicode: boolean;
  readonly palette: Palette;
  readonly draw: Draw;
}

/** The name shown for types that the service does not list. */
export const UNLISTED = '(not listed)';
const LONGEST_BAR = 60;
/** The width of bars without a terminal. */
const PLAIN_BAR = 30;
const LONGEST_TIME_BAR = 100;
const SHORTEST_BAR = 12;
const SHORTEST_NAME = 12;

/** The statistics as text: the types worst first, what happened when, and the totals. Each line is ended. */
export function statsText(stats: Stats, look: StatsLook): string {
  const { after, before, zone } = stats.window;
  const span = `created after ${zone.shown(after.text)} and before ${zone.shown(before.text)}`;
  if (stats.total === 0) return `no ${statusWord(stats)}events ${span}\n`;
  return ended([
    ...typeLines(stats, look),
    '',
    ...timelineLines(stats, look),
    '',
    // At the end, so that it stays visible on a terminal however long the rest is.
    look.palette.bold(countsText(stats)),
    look.palette.dim(span),
  ]);
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

/** A column of a chart: figures, or the labels of the rows. */
interface Figures {
  readonly title: string;
  readonly kind: 'text' | 'number';
  readonly cells: readonly string[];
  /** A width that the column may be cut to. */
  readonly least?: number;
}

/** The bars of a chart, which show the figures of the column beside them. */
interface Bars {
  readonly title: string;
  readonly values: readonly number[];
  /** The value that fills the bar. */
  readonly full: number;
  readonly longest: number;
  readonly paint: (text: string) => string;
}

/** Figures and bars as a table. Bars need four columns of the terminal, and get what the figures leave. */
function chartLines(figures: readonly Figures[], bars: Bars, look: StatsLook): string[] {
  const { room, unicode, palette, draw } = look;
  const widths = figures.map(({ title, cells }) => widest([title, ...cells]));
  const taken = () => widths.reduce((sum, width) => sum + width + GAP, 0);
  for (const [index, { least }] of figures.entries()) {
    const excess = room === undefined ? 0 : taken() + SHORTEST_BAR - room;
    if (least !== undefined && excess > 0)
      widths[index] = Math.max(Math.min(least, widths[index] as number), (widths[index] as number) - excess);
  }
  const barWidth = room === undefined ? PLAIN_BAR : Math.min(bars.longest, room - taken());
  const title = cellWidth(bars.title) <= barWidth ? bars.title : '';
  const drawn = (value: number) => (barWidth >= 4 ? bar(value, bars.full, barWidth, unicode) : '');
  const columns = [
    ...figures.map(({ kind }, index) => ({ kind, width: widths[index] as number })),
    { kind: 'text' as const, width: Math.max(1, barWidth) },
  ];
  const titles: Cell[] = [
    ...figures.map((column) => ({ text: column.title, paint: palette.bold })),
    { text: title, paint: palette.dim },
  ];
  const rows = bars.values.map((value, row): Cell[] => [
    ...figures.map(({ cells }) => ({ text: cells[row] as string })),
    { text: drawn(value), paint: bars.paint },
  ]);
  return draw(columns, [titles, ...rows]);
}

function typeLines(stats: Stats, look: StatsLook): string[] {
  const { palette } = look;
  const shown = stats.types.filter(({ total }) => total > 0);
  const names: Figures = { title: 'type', kind: 'text', cells: shown.map(nameOf), least: SHORTEST_NAME };
  const lines = chartLines([names, ...typeFigures(stats, shown)], typeBars(stats, shown, palette), look);
  const silent = stats.types.length - shown.length;
  if (silent > 0)
    lines.push(palette.dim(`${grouped(silent)} ${silent === 1 ? 'type has' : 'types have'} no events`));
  return lines;
}

function typeFigures(stats: Stats, types: readonly TypeTally[]): Figures[] {
  if (!hasRates(stats))
    return [
      numbers(
        'events',
        types.map(({ total }) => grouped(total)),
      ),
    ];
  return [
    numbers(
      'failed',
      types.map(({ failed }) => grouped(failed as number)),
    ),
    numbers(
      'success',
      types.map(({ success }) => grouped(success as number)),
    ),
    numbers(
      'rate',
      types.map((type) => percent(failureRate(type) ?? 0)),
    ),
  ];
}

function typeBars(stats: Stats, types: readonly TypeTally[], palette: Palette): Bars {
  const common = { longest: LONGEST_BAR, paint: stats.failed === null ? palette.good : palette.bad };
  if (!hasRates(stats)) {
    const values = types.map(({ total }) => total);
    return { title: '', values, full: Math.max(...values), ...common };
  }
  const values = types.map((type) => failureRate(type) ?? 0);
  const full = rateScale(Math.max(...values));
  return { title: `0 to ${percent(full)}`, values, full, ...common };
}

function hasRates({ success, failed }: Tally): boolean {
  return success !== null && failed !== null;
}

function numbers(title: string, cells: readonly string[]): Figures {
  return { title, kind: 'number', cells };
}

function nameOf({ eventType }: TypeTally): string {
  return eventType === null ? UNLISTED : oneLine(eventType);
}

/** A bar for each bucket: of its failures if any bucket has some, else of its events. */
function timelineLines(stats: Stats, look: StatsLook): string[] {
  const { buckets, window } = stats;
  const clock = timeLabels(buckets, window.zone);
  const byFailure = stats.failed !== null && stats.failed > 0;
  const values = buckets.map(({ failed, total }) => (byFailure ? (failed as number) : total));
  const rates = (bucket: Bucket) => {
    const rate = failureRate(bucket);
    return rate === null ? '' : percent(rate);
  };
  const both = [
    numbers(
      'events',
      buckets.map(({ total }) => grouped(total)),
    ),
    numbers('rate', buckets.map(rates)),
  ];
  const figures: Figures[] = [
    { title: clock.title, kind: 'text', cells: buckets.map(clock.label) },
    ...(byFailure && stats.success !== null ? both : []),
    numbers(byFailure ? 'failed' : 'events', values.map(grouped)),
  ];
  const { palette } = look;
  const paint = byFailure ? palette.bad : palette.good;
  const title = lengthTitle(buckets);
  return chartLines(
    figures,
    { title, values, full: Math.max(...values), longest: LONGEST_TIME_BAR, paint },
    look,
  );
}

/** `in 1 h`, if all buckets have this length except the first and the last, which the window cuts. */
function lengthTitle(buckets: readonly Bucket[]): string {
  const lengths = new Set((buckets.length > 2 ? buckets.slice(1, -1) : buckets.slice(0, 1)).map(lengthOf));
  const [length = 0] = lengths;
  return lengths.size === 1 ? `in ${durationText(length)}` : '';
}

/**
 * Labels buckets by their starts on the zone's clock, with only the parts of date and time that distinguish them. The
 * title names the zone. If the clock changes within the window, each label has its offset.
 */
export function timeLabels(
  buckets: readonly Bucket[],
  zone: TimeZone,
): { readonly title: string; readonly label: (bucket: Bucket) => string } {
  const wallOf = ({ from }: Bucket) => {
    const time = milliseconds(from);
    return new Date(time + zone.offsetAt(time)).toISOString();
  };
  const offsetOf = ({ from }: Bucket) => offsetText(zone.offsetAt(milliseconds(from)));
  const starts = buckets.map(wallOf);
  const [first, last] = [starts[0] as string, starts.at(-1) as string];
  // The window's start cuts the first.
  const length = lengthOf((buckets[1] ?? buckets[0]) as Bucket);
  const dates = first.slice(0, 10) !== last.slice(0, 10);
  const from = first.slice(0, 4) !== last.slice(0, 4) ? 0 : dates ? 5 : 11;
  const onDays = (starts.length > 1 ? starts.slice(1) : starts).every((start) =>
    start.endsWith('T00:00:00.000Z'),
  );
  const to = onDays && dates ? 10 : length < 1000 ? 23 : length < 60_000 ? 19 : 16;
  const label = (bucket: Bucket) => wallOf(bucket).slice(from, to).replace('T', ' ');
  if (zone.isUtc) return { title: 'UTC', label };
  const [offset, other] = new Set(buckets.map(offsetOf));
  if (other === undefined) return { title: `UTC${offset}`, label };
  return { title: zone.name, label: (bucket) => `${label(bucket)}${offsetOf(bucket)}` };
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

/** `1 h`, `1 h 30 min`: the two largest units. */
function durationText(length: number): string {
  let rest = length;
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

/** The statistics as a value for JSON. Times are as sent to the service; a number that was not requested is null. */
export function statsJson({ window, types, buckets, ...whole }: Stats) {
  return {
    after: window.after.text,
    before: window.before.text,
    ...tallyJson(whole),
    types: types.map(({ eventType, ...tally }) => ({ eventType, ...tallyJson(tally) })),
    buckets: buckets.map(({ from, to, ...tally }) => ({ from: from.text, to: to.text, ...tallyJson(tally) })),
  };
}

function tallyJson(tally: Tally) {
  const { total, success, failed } = tally;
  return { total, success, failed, failureRate: failureRate(tally) };
}

/** The table of types as CSV. */
export function statsCsv({ types }: Stats, output: Pick<Output, 'isTerminal'>): string {
  const safe = (text: string) => (output.isTerminal ? terminalSafe(text) : text);
  const rows = types.map((type) => [
    safe(csvText(type.eventType ?? UNLISTED, false)),
    type.total,
    type.success,
    type.failed,
    failureRate(type),
  ]);
  return csvLines([['eventType', 'total', 'success', 'failed', 'failureRate'], ...rows]);
}
