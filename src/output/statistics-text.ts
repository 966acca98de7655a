import { type Call, typedCommand } from '../command.ts';
import type { Output } from '../context.ts';
import type { EventFilters } from '../events/event-filters.ts';
import { type Bucket, failureRate, type Stats, type Tally } from '../events/statistics.ts';
import type { EventGroup, EventGroups } from '../events/stats.ts';
import { exactValue } from '../json/item-conditions.ts';
import { scalarsText } from '../json/json-scanner.ts';
import { shellWord } from '../settings/flag-values.ts';
import { loadWidths } from '../terminal/cell-width.ts';
import { takesUnicode } from '../terminal/palette.ts';
import { runFlags } from '../terminal/reporter.ts';
import { grouped, percent, terminalSafe } from '../terminal/terminal-text.ts';
import { type Instant, milliseconds } from '../time/instant.ts';
import { offsetText, type TimeZone } from '../time/time-zone.ts';
import { csvLines, csvText } from './csv.ts';
import type { SummaryFormat } from './format-flags.ts';
import { printJson } from './formats.ts';
import { markdownNote, markdownTable } from './markdown.ts';
import { ended, loadTableLook, type Table, type TableLook, tableLines, tableText } from './table.ts';
import { type ColumnHead, NONE } from './table-layout.ts';

interface StatsOptions extends SummaryFormat {
  readonly filters: EventFilters;
  readonly from: string | undefined;
}

/** Prints statistics in the format asked for. `name` is the service's host or the place of stored events. */
export async function printStats(
  stats: Stats,
  { format, jq, hasHeader, filters, from, name }: StatsOptions & { readonly name: string },
  call: Pick<Call, 'flags' | 'context' | 'reporter' | 'commands'>,
): Promise<void> {
  const { flags, context, reporter } = call;
  const { stdout, stderr } = context;
  if (format === 'json') return await printJson(statsJson(stats), jq, context, reporter);
  if (format === 'csv') return await stdout.write(statsCsv(stats, stdout, hasHeader));
  if (format === 'markdown') {
    const facts = [countsText(stats), spanText(stats), ...conditionTexts(filters)];
    const table = stats.total === 0 ? '' : `${markdownTable(typesTable(stats, false))}\n`;
    return await stdout.write(table + markdownNote({ facts, command: typedCommand(call) }));
  }
  await loadWidths();
  const look = { ...(await loadTableLook(stdout, reporter)), unicode: takesUnicode(context), hasHeader };
  const { profile } = runFlags(flags, context.environment);
  // A person with two services side by side has to see which one this is.
  const place = stdout.isTerminal
    ? ` at ${name}${profile && from === undefined ? ` (profile ${profile})` : ''}`
    : '';
  await stdout.write(ended(statsLines(stats, look, place)));
  if (!stats.failed || !stdout.isTerminal || !stderr.isTerminal) return;
  const source = from === undefined ? [] : ['--from', shellWord(from)];
  const words = ['hooktrail events explain', ...filters.words('status'), ...source].join(' ');
  reporter.notice(`next: \`${words}\` says what the failed ones have in common`);
}

function conditionTexts(filters: EventFilters): string[] {
  return filters.texts().filter((text) => !/^--(since|until) /.test(text));
}

export interface StatsLook extends TableLook {
  readonly unicode: boolean;
  readonly hasHeader?: boolean;
}

/** The name shown for types that the service does not list. */
export const UNLISTED = '(not listed)';
const LONGEST_BAR = 40;
/** The width of bars without a terminal. */
const PLAIN_BAR = 30;
const SHORTEST_BAR = 4;
const SHORTEST_NAME = 12;
/** So few failures never fill a bar. */
const FEW_FAILURES = 10;

/** The statistics as lines: the types worst first, what happened when, and the totals. */
export function statsLines(stats: Stats, look: StatsLook, place = ''): string[] {
  const { palette, hasHeader = true } = look;
  if (stats.total === 0) return [`no ${statusWord(stats)}events ${spanText(stats)}${place}`];
  const paint = stats.failed === null ? palette.good : palette.bad;
  const painted = (table: Table): Table => ({
    ...table,
    hasHeader,
    rows: table.rows.map((row) =>
      row.map((cell) => (typeof cell === 'function' ? { text: cell, paint } : cell)),
    ),
  });
  const silent = stats.types.filter(({ total }) => total === 0).length;
  return [
    ...tableLines(painted(typesTable(stats, look.unicode, look.room)), look),
    ...(silent > 0
      ? [palette.dim(`${grouped(silent)} ${silent === 1 ? 'type has' : 'types have'} no events`)]
      : []),
    '',
    ...tableLines(painted(timeTable(stats, look.unicode, look.room)), look),
    '',
    // At the end, so that it stays visible on a terminal however long the rest is.
    palette.bold(countsText(stats)),
    ...fittingLines(spanText(stats), place, look.room).map((line) => palette.dim(line)),
  ];
}

/** The window and the place on one line, or below each other where they do not fit. */
function fittingLines(span: string, place: string, room = Number.POSITIVE_INFINITY): string[] {
  return span.length + place.length <= room ? [`${span}${place}`] : [span, place.replace(/^, /, '')];
}

function spanText({ window: { after, before, zone } }: Stats): string {
  return `created after ${zone.shown(after.text)} and before ${zone.shown(before.text)}`;
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

/** The columns of figures are the same for types and for times. */
function figureHeads(stats: Stats): ColumnHead[] {
  return (hasRates(stats) ? ['failed', 'events', 'rate'] : ['events']).map((title) => ({
    title,
    kind: 'number',
  }));
}

function figuresOf(stats: Stats, tally: Tally): string[] {
  if (!hasRates(stats)) return [grouped(tally.total)];
  const rate = failureRate(tally);
  return [grouped(tally.failed as number), grouped(tally.total), rate === null ? '' : percent(rate)];
}

function hasRates({ success, failed }: Tally): boolean {
  return success !== null && failed !== null;
}

function barHead(title: string, room: number | undefined): ColumnHead {
  return {
    title,
    kind: 'bar',
    least: SHORTEST_BAR,
    most: room === undefined ? PLAIN_BAR : LONGEST_BAR,
    spare: 1,
  };
}

function typesTable(stats: Stats, unicode: boolean, room?: number): Table {
  const shown = stats.types.filter(({ total }) => total > 0);
  const values = shown.map((type) => (hasRates(stats) ? (failureRate(type) ?? 0) : type.total));
  const full = hasRates(stats) ? rateScale(Math.max(...values)) : Math.max(...values);
  return {
    heads: [
      { title: 'type', kind: 'text', least: SHORTEST_NAME },
      ...figureHeads(stats),
      barHead(hasRates(stats) ? `0 to ${percent(full)}` : '', room),
    ],
    rows: shown.map((type, index) => [
      type.eventType ?? UNLISTED,
      ...figuresOf(stats, type),
      (width: number) => bar(values[index] as number, full, width, unicode),
    ]),
  };
}

/** A bar for each bucket: of its failures if any bucket has some, else of its events. */
function timeTable(stats: Stats, unicode: boolean, room?: number): Table {
  const { buckets, window } = stats;
  const clock = timeLabels(buckets, window.zone);
  const isOfFailures = Boolean(stats.failed);
  const values = buckets.map(({ failed, total }) => (isOfFailures ? (failed as number) : total));
  const full = Math.max(...values, isOfFailures ? FEW_FAILURES : 1);
  return {
    heads: [{ title: clock.title, kind: 'text' }, ...figureHeads(stats), barHead(lengthTitle(buckets), room)],
    rows: buckets.map((bucket, index) => [
      clock.label(bucket),
      ...figuresOf(stats, bucket),
      (width: number) => bar(values[index] as number, full, width, unicode),
    ]),
  };
}

/** `each 1 h`, if all buckets have this length except the first and the last, which the window cuts. */
function lengthTitle(buckets: readonly Bucket[]): string {
  const lengths = new Set((buckets.length > 2 ? buckets.slice(1, -1) : buckets.slice(0, 1)).map(lengthOf));
  const [length = 0] = lengths;
  return lengths.size === 1 ? `each ${durationText(length)}` : '';
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
export function statsCsv({ types }: Stats, output: Pick<Output, 'isTerminal'>, hasHeader = true): string {
  const safe = (text: string) => (output.isTerminal ? terminalSafe(text) : text);
  const rows = types.map((type) => [
    safe(csvText(type.eventType ?? UNLISTED, false)),
    type.total,
    type.success,
    type.failed,
    failureRate(type),
  ]);
  const header = ['eventType', 'total', 'success', 'failed', 'failureRate'];
  return csvLines(hasHeader ? [header, ...rows] : rows);
}

/** Prints the largest groups in the format asked for. */
export async function printGroups(
  groups: EventGroups,
  { format, jq, hasHeader, filters, limit }: StatsOptions & { readonly limit: number },
  call: Pick<Call, 'context' | 'reporter' | 'commands'>,
): Promise<void> {
  const { context, reporter } = call;
  const { stdout } = context;
  for (const { text } of groups.missing) reporter.warning(`--by: no event has the field '${text}'`);
  if (format === 'json') return await printJson(groupsJson(groups, limit), jq, context, reporter);
  const others = otherGroups(groups, limit);
  if (format === 'csv') {
    await stdout.write(groupsCsv(groups, limit, stdout, hasHeader));
    if (others !== undefined) reporter.notice(`not shown: ${others}`);
    return;
  }
  const events = `${grouped(groups.total)} ${groups.total === 1 ? 'event' : 'events'}`;
  if (format === 'markdown') {
    const facts = [events, ...(others === undefined ? [] : [others]), ...filters.texts()];
    const table = groups.total === 0 ? '' : `${markdownTable(groupsTable(groups, limit, filters.zone))}\n`;
    return await stdout.write(table + markdownNote({ facts, command: typedCommand(call) }));
  }
  if (groups.total === 0) return await stdout.write('no events match\n');
  const table = { ...groupsTable(groups, limit, filters.zone), hasHeader };
  await stdout.write(await tableText(table, stdout, reporter));
  if (others !== undefined) await stdout.write(`${others}\n`);
}

/** The characters of a value in a table. */
const LONGEST_VALUE = 1000;

/** The value of a group's field for people: a string's characters, an object's scalars, nothing if it is missing. */
export function groupValue(value: string | null): string {
  // Groups without the field are not those in which it is null.
  if (value === null || value === 'null') return value ?? NONE;
  const bytes = Buffer.from(value);
  return scalarsText(bytes, 0, bytes.length, LONGEST_VALUE);
}

/** Fractions of seconds stay out of tables: JSON and CSV have them. */
export function toSeconds(instant: Instant | undefined): string {
  return instant?.text.replace(/\.\d+/, '') ?? NONE;
}

function groupsTable(groups: EventGroups, limit: number, zone: TimeZone): Table {
  const time = (instant: Instant | undefined) => zone.shown(toSeconds(instant));
  const lasts = groups.fields.map(({ steps }) => steps.at(-1) ?? 'value');
  const fields = groups.fields.map(({ text }, index): ColumnHead => {
    const last = lasts[index] as string;
    return { title: lasts.indexOf(last) === lasts.lastIndexOf(last) ? last : text };
  });
  return {
    heads: [
      ...fields,
      { title: 'events', kind: 'number' },
      { title: 'share', kind: 'number', spare: 1 },
      { title: 'first', kind: 'time', spare: 3 },
      { title: 'last', kind: 'time', spare: 2 },
      { title: 'example', isWhole: true },
    ],
    rows: split(groups, limit).kept.map((group) => [
      ...group.values.map((value) => zone.shown(groupValue(value))),
      grouped(group.count),
      percent(group.count / groups.total),
      time(group.first),
      time(group.last),
      group.example ?? NONE,
    ]),
  };
}

/** The number of groups and events that `limit` leaves out, in one line; undefined if it leaves out none. */
function otherGroups(groups: EventGroups, limit: number): string | undefined {
  const { others, otherEvents } = split(groups, limit);
  if (others === 0) return undefined;
  const share = percent(otherEvents / groups.total);
  const what = others === 1 ? '1 other group' : `${grouped(others)} other groups`;
  return `${what}: ${grouped(otherEvents)} ${otherEvents === 1 ? 'event' : 'events'} (${share})`;
}

/** The same as a value for JSON; the fields' values are those of the events. */
function groupsJson(groups: EventGroups, limit: number) {
  const { kept, others, otherEvents } = split(groups, limit);
  return {
    total: groups.total,
    groups: kept.map((group) => ({
      by: Object.fromEntries(
        groups.fields.map(({ text }, field) => [text, exactValue(group.values[field] ?? 'null')]),
      ),
      count: group.count,
      share: group.count / groups.total,
      first: group.first?.text ?? null,
      last: group.last?.text ?? null,
      example: group.example ?? null,
    })),
    others: { groups: others, count: otherEvents },
  };
}

/** The largest groups as CSV. */
function groupsCsv(
  groups: EventGroups,
  limit: number,
  output: Pick<Output, 'isTerminal'>,
  hasHeader: boolean,
): string {
  const safe = (text: string) => {
    const cell = csvText(text, false);
    return output.isTerminal ? terminalSafe(cell) : cell;
  };
  const header = [
    ...groups.fields.map(({ text }) => safe(text)),
    'count',
    'share',
    'first',
    'last',
    'example',
  ];
  const rows = split(groups, limit).kept.map((group) => [
    ...group.values.map((value) =>
      value === null ? '' : safe(value.startsWith('"') ? (JSON.parse(value) as string) : value),
    ),
    group.count,
    group.count / groups.total,
    group.first?.text ?? '',
    group.last?.text ?? '',
    safe(group.example ?? ''),
  ]);
  return csvLines(hasHeader ? [header, ...rows] : rows);
}

function split(groups: EventGroups, limit: number) {
  const largest: readonly EventGroup[] = groups.largest();
  const kept = largest.slice(0, limit);
  const rest = largest.slice(limit);
  return { kept, others: rest.length, otherEvents: rest.reduce((sum, { count }) => sum + count, 0) };
}
