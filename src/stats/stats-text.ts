import {
  conditionTexts,
  printSummary,
  type Summary,
  type SummaryCall,
  type SummaryLook,
  type SummaryOptions,
} from '../formats/summary.ts';
import { oneLine, type Table, tableLines } from '../formats/table.ts';
import type { ColumnHead } from '../formats/table-columns.ts';
import { wrapWords } from '../terminal/cell-width.ts';
import { plain } from '../terminal/palette.ts';
import { eventsText, grouped, percent } from '../terminal/terminal-text.ts';
import { milliseconds, utcText } from '../time/instant.ts';
import { durationText, MINUTE_MS, SECOND_MS } from '../time/lengths.ts';
import { createdText } from '../time/period.ts';
import { offsetText, type TimeZone } from '../time/time-zone.ts';
import type { BucketSpan } from './buckets.ts';
import { type Bucket, failureRate, type Stats, type Tally } from './tallies.ts';

/** `name` is the service's host or the path of stored events; `unknownOutcomes` events are left out. */
export async function printStats(
  stats: Stats,
  {
    name,
    unknownOutcomes,
    ...options
  }: SummaryOptions & { readonly name: string; readonly unknownOutcomes: number },
  call: SummaryCall,
): Promise<void> {
  const { profile } = call.reporter.runFlags;
  // Distinguishes two services used at once.
  const shownProfile = profile && options.from === undefined ? ` (profile ${profile})` : '';
  const place = call.context.stdout.isTerminal ? oneLine(` at ${name}${shownProfile}`) : '';
  const summary: Summary = {
    json: statsJson(stats),
    csv: (guarded) => ({
      titles: ['eventType', 'total', 'success', 'failed', 'failureRate'],
      rows: stats.types.map((one) => [guarded(one.eventType ?? UNLISTED), ...Object.values(tallyJson(one))]),
    }),
    table: typesTable(stats),
    facts: [countsText(stats), spanText(stats), ...conditionTexts(options.filters)],
    window: stats.window,
    lines: (look) => statsLines(stats, look, place, unknownOutcomes),
    next: Boolean(stats.failed) && 'says what the failed ones have in common',
  };
  await printSummary(summary, options, call);
}

export const UNLISTED = '(not listed)';

export function statsLines(
  stats: Stats,
  look: SummaryLook,
  place: string,
  unknownOutcomes: number,
): string[] {
  const { palette, room = Number.POSITIVE_INFINITY } = look;
  const span = spanText(stats);
  if (stats.total === 0 && unknownOutcomes > 0)
    return [`the outcome of ${eventsText(unknownOutcomes)} is unknown`];
  if (stats.total === 0) return [`no ${statusWord(stats)}events ${span}${place}`];
  const silent = stats.types.filter(({ total }) => total === 0).length;
  return [
    ...tableLines(typesTable(stats, look), look),
    ...(silent > 0
      ? [palette.dim(`${grouped(silent)} ${silent === 1 ? 'type has' : 'types have'} no events`)]
      : []),
    '',
    ...tableLines(timeTable(stats, look), look),
    '',
    // Last, so it stays visible on a terminal.
    palette.bold(countsText(stats)),
    ...wrapWords(span + place, room).map(palette.dim),
  ];
}

export function spanText({ window }: Pick<Stats, 'window'>): string {
  return createdText(window, ({ text }) => window.zone.shown(text));
}

function countsText(stats: Stats): string {
  const { total, failed } = stats;
  const events = `${grouped(total)} ${statusWord(stats)}${total === 1 ? 'event' : 'events'}`;
  const rate = failureRate(stats);
  return rate === null ? events : `${events}, ${grouped(failed as number)} failed (${percent(rate)})`;
}

function statusWord({ success, failed }: Tally): string {
  if (success === null) return 'failed ';
  return failed === null ? 'successful ' : '';
}

function typesTable(stats: Stats, look?: SummaryLook): Table {
  const rows = stats.types.map((type): NamedTally => [type.eventType ?? UNLISTED, type]);
  return talliesTable('type', rows, stats, look);
}

type NamedTally = readonly [name: string, tally: Tally];

export function talliesTable(
  title: string,
  parts: readonly NamedTally[],
  stats: Stats,
  look?: SummaryLook,
): Table {
  const shown = parts.filter(([, { total }]) => total > 0);
  const values = shown.map(([, one]) => (hasRates(stats) ? (failureRate(one) ?? 0) : one.total));
  const highest = Math.max(...values);
  const full = hasRates(stats) ? rateScale(highest) : highest;
  return barTable(
    stats,
    { title, kind: 'text', least: SHORTEST_NAME_COLUMNS },
    shown.map(([name, tally], index) => [name, tally, values[index] as number]),
    { title: hasRates(stats) ? `0 to ${percent(full)}` : '', full },
    look,
  );
}

/** The bars show failures if there are any, otherwise events. */
export function timeTable(stats: Stats, look?: SummaryLook): Table {
  const { buckets, window } = stats;
  const clock = timeLabels(buckets, window.zone);
  const shownOf = ({ failed, total }: Tally) => (stats.failed ? (failed as number) : total);
  return barTable(
    stats,
    { title: clock.title, kind: 'text' },
    buckets.map((bucket) => [bucketLabel(clock, bucket), bucket, shownOf(bucket)]),
    { title: lengthTitle(buckets), full: Math.max(...buckets.map(shownOf), stats.failed ? FEW_FAILURES : 1) },
    look,
  );
}

/** Maximum width on a terminal. */
const LONGEST_BAR_COLUMNS = 40;
/** Maximum width elsewhere. */
const PLAIN_BAR_COLUMNS = 30;
const SHORTEST_BAR_COLUMNS = 4;
const SHORTEST_NAME_COLUMNS = 12;
/** Fewer failures than this never fill a bar. */
const FEW_FAILURES = 10;

function barTable(
  stats: Stats,
  name: ColumnHead,
  rows: readonly (readonly [name: string, tally: Tally, value: number])[],
  { title, full }: { readonly title: string; readonly full: number },
  { palette, room, unicode }: Pick<SummaryLook, 'palette' | 'room' | 'unicode'> = PLAIN_LOOK,
): Table {
  const figures = hasRates(stats) ? ['failed', 'events', 'rate'] : ['events'];
  const paint = stats.failed === null ? palette.good : palette.bad;
  const figuresOf = (tally: Tally) => {
    const rate = failureRate(tally);
    const rates = [grouped(tally.failed ?? 0), grouped(tally.total), rate === null ? '' : percent(rate)];
    return hasRates(stats) ? rates : [grouped(tally.total)];
  };
  const most = room === undefined ? PLAIN_BAR_COLUMNS : LONGEST_BAR_COLUMNS;
  return {
    heads: [
      name,
      ...figures.map((figure) => ({ title: figure, kind: 'number' as const })),
      { title, kind: 'bar', least: SHORTEST_BAR_COLUMNS, most, spare: 1 },
    ],
    rows: rows.map(([text, tally, value]) => [
      text,
      ...figuresOf(tally),
      { share: value / full, draw: (width: number) => bar(value, full, width, unicode), paint },
    ]),
  };
}

const PLAIN_LOOK = { palette: plain, room: undefined, unicode: false };

function hasRates({ success, failed }: Tally): boolean {
  return success !== null && failed !== null;
}

/** Buckets count as equal if they differ by less than this share of the longest. */
const MAX_DIFFERENCE = 0.1;

/**
 * `each 1h`; `each about 1d` if some differ a little because buckets begin at round times; empty if they
 * differ by more. The window may cut the first and last bucket.
 */
function lengthTitle(buckets: readonly Bucket[]): string {
  const whole = (buckets.length > 2 ? buckets.slice(1, -1) : buckets).map(lengthOf);
  const length = Math.max(...whole);
  const isNear = (other: number) => Math.abs(length - other) < length * MAX_DIFFERENCE;
  if (!whole.every(isNear)) return '';
  const isMoved = (other: number) => other > length || (other < length && isNear(other));
  return `each ${buckets.map(lengthOf).some(isMoved) ? 'about ' : ''}${durationText(length)}`;
}

/** Shows only what distinguishes buckets of this length (milliseconds). */
function clockFormOf(length: number): string {
  if (length < SECOND_MS) return '00:00:00.000';
  return length < MINUTE_MS ? '00:00:00' : '00:00';
}

/**
 * Labels show only the parts of date and time that distinguish buckets. The title names the zone; if the
 * clock changes in the window, each label has its offset.
 */
export function timeLabels(
  buckets: readonly BucketSpan[],
  zone: TimeZone,
): { readonly title: string; readonly label: (bucket: BucketSpan) => string } {
  const wallOf = ({ from }: BucketSpan) => {
    const time = milliseconds(from);
    return new Date(time + zone.offsetAt(time)).toISOString();
  };
  const offsetOf = ({ from }: BucketSpan) => offsetText(zone.offsetAt(milliseconds(from)));
  const starts = buckets.map(wallOf);
  const [first, last] = [starts[0] as string, starts.at(-1) as string];
  // The window's start may cut the first bucket.
  const length = lengthOf((buckets[1] ?? buckets[0]) as BucketSpan);
  const dates = first.slice(0, 10) !== last.slice(0, 10);
  const years = first.slice(0, 4) !== last.slice(0, 4);
  const onDays = (starts.length > 1 ? starts.slice(1) : starts).every((start) =>
    start.endsWith('T00:00:00.000Z'),
  );
  const clockForm = clockFormOf(length);
  const label = (bucket: BucketSpan) => {
    const [date = '', time = ''] = wallOf(bucket).split('T');
    const day = years ? date : date.slice('2026-'.length);
    const clock = time.slice(0, clockForm.length);
    if (!dates) return clock;
    return onDays ? day : `${day} ${clock}`;
  };
  if (zone.isUtc) return { title: 'UTC', label };
  const [offset, other] = new Set(buckets.map(offsetOf));
  if (other === undefined) return { title: `UTC${offset}`, label };
  return { title: zone.name, label: (bucket) => `${label(bucket)}${offsetOf(bucket)}` };
}

export function bucketLabel({ label }: ReturnType<typeof timeLabels>, bucket: BucketSpan): string {
  return bucket.isPart ? `${label(bucket)} (part)` : label(bucket);
}

function lengthOf({ from, to }: BucketSpan): number {
  return milliseconds(to) - milliseconds(from);
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** Without padding. Any value above zero gets at least the thinnest mark. Uses `#` in ASCII. */
export function bar(value: number, full: number, width: number, unicode: boolean): string {
  if (!(value > 0) || !(full > 0)) return '';
  const length = Math.min(1, value / full) * width;
  if (!unicode) return '#'.repeat(Math.max(1, Math.round(length)));
  const eighths = Math.max(1, Math.round(length * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** Rounds up to a scale on which the highest rate (0 to 1) fills much of the bar. */
export function rateScale(highest: number): number {
  return STEPS.find((step) => highest <= step) ?? 1;
}

function statsJson({ window, types, buckets, ...whole }: Stats) {
  return {
    after: utcText(window.after),
    before: utcText(window.before),
    ...tallyJson(whole),
    types: types.map(({ eventType, ...tally }) => ({ eventType, ...tallyJson(tally) })),
    buckets: buckets.map((one) => ({ ...spanJson(one), ...tallyJson(one) })),
  };
}

/** `partial`: the window cuts the hour, day or week. */
export function spanJson({ from, to, isPart }: BucketSpan) {
  return { from: utcText(from), to: utcText(to), partial: isPart };
}

function tallyJson(tally: Tally) {
  const { total, success, failed } = tally;
  return { total, success, failed, failureRate: failureRate(tally) };
}
