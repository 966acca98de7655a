import wrapAnsi from 'wrap-ansi';
import type { Items } from '../json/items.ts';
import { groupValue, toSeconds } from '../output/groups-text.ts';
import { prettyJson } from '../output/json.ts';
import { type Draw, itemTable, oneLine, rowCells, titleCells } from '../output/table.ts';
import { type Column, fitColumns } from '../output/table-layout.ts';
import { cutToWidth } from '../terminal/cell-width.ts';
import { grouped, percent } from '../terminal/numbers-text.ts';
import type { Palette } from '../terminal/palette.ts';
import { terminalSafeLine } from '../terminal/terminal-safe.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { Browsing, Mode, ScreenSize } from './browsing.ts';
import type { EventList, GroupList } from './event-list.ts';

export interface Look {
  /** Fields that have the same value in every event, failed or not, because of the filters. */
  readonly constant: ReadonlySet<string>;
  readonly draw: Draw;
  readonly palette: Palette;
  readonly unicode: boolean;
  /** The zone in which the list shows times. */
  readonly zone: TimeZone;
}

/** The number of events whose values decide the widths of the columns. */
const MEASURED = 200;
const GAP = '  ';
/** Characters of a group's value that are drawn at most. */
const LONGEST_VALUE = 1000;
/** The keys that the bottom line names. */
const KEYS: Readonly<Record<Mode, (browsing: Browsing) => string>> = {
  list: ({ failedOnly, isNarrowed }) =>
    `enter open  / filter  w where  g group  ${isNarrowed ? 'esc back  ' : ''}f ${failedOnly ? 'all events' : 'failed only'}  ? keys  q quit`,
  filter: () => 'type to filter what was read  enter keep  esc clear',
  condition: () => 'type FIELD OP VALUE, or a text to find  enter filter  esc cancel',
  field: () => 'type a field, as delivery.attempts  enter group  esc cancel',
  groups: () => 'enter show the events  g group by another field  esc back  ? keys  q quit',
  event: () => 'esc back  n next  p previous  y copy id  o report  ? keys  q quit',
  help: () => 'any key goes back  q quit',
};

const HELP = [
  'up down j k          one event, or one line of an open one',
  'page up, page down   one screen; also b and space',
  'home end < > G       to the first and the last that was read',
  'enter                opens the event; esc goes back to the list',
  'n p                  next and previous event, while one is open',
  '/                    filters what was read by words; esc clears the filter',
  'w                    filters by FIELD OP VALUE or a text; esc takes it back',
  'g                    groups by a field; enter shows the events of a group',
  'f                    failed events only, and all again',
  'r                    reads the events again; replays an open one (--forward-to)',
  "y                    copies the event's id",
  'z                    shows times in UTC, the local zone, that of --timezone',
  'o                    shows a report of these events in the browser',
  'q                    quits; so does esc in the list when nothing is filtered',
];

/** Returns exactly as many lines as the screen has rows. `linesOf` returns the lines of an open event. */
export function screenLines(
  browsing: Browsing,
  linesOf: (item: Items) => readonly string[],
  { columns, rows }: ScreenSize,
  look: Look,
): string[] {
  const { mode, opened } = browsing;
  if (mode === 'help') return helpLines(browsing, columns, rows, look.palette);
  if (mode === 'groups') return groupLines(browsing, columns, look);
  return opened
    ? openedLines(browsing, linesOf(opened.item), columns, look.palette)
    : listLines(browsing, columns, look);
}

function helpLines(browsing: Browsing, columns: number, rows: number, palette: Palette): string[] {
  const shown = ['Keys', '', ...HELP].slice(0, rows - 1).map((line) => cutToWidth(line, columns - 1));
  const blank = Array.from({ length: rows - 1 - shown.length }, () => '');
  const [title = '', ...rest] = shown;
  return [palette.bold(title), ...rest, ...blank, footerLine(browsing, '', columns, palette)];
}

function listLines(browsing: Browsing, columns: number, look: Look): string[] {
  const { palette, draw, constant, zone } = look;
  const { shown, selected, top, listRows } = browsing;
  const table = layoutOf(
    shown.list,
    columns - 2,
    browsing.failedOnly ? [...constant, 'publishStatus'] : [...constant],
    zone,
  );
  const places = shown.places.slice(top, top + listRows);
  const [titles = '', ...rows] = draw(table.columns, [
    titleCells(table.columns, palette),
    ...places.map((place) => rowCells(table.read(shown.list.at(place)), table.columns, palette)),
  ]);
  const lines = tableLines(titles, rows, selected - top, columns, browsing, look);
  const { problem } = shown.list;
  const message = browsing.message || (problem ? `could not read on: ${problem.message}` : '');
  return [...lines, footerLine(browsing, message, columns, palette)];
}

/** Returns the title, the column heads and the rows, one of them selected, on all lines but the bottom one. */
function tableLines(
  titles: string,
  rows: readonly string[],
  selected: number,
  columns: number,
  browsing: Browsing,
  look: Look,
): string[] {
  const { palette, unicode } = look;
  const lines = [
    titleLine(browsing, columns, look),
    `${GAP}${titles}`,
    ...rows.map((row, index) =>
      index === selected ? `${palette.accent(unicode ? '❯' : '>')} ${palette.bold(row)}` : `${GAP}${row}`,
    ),
  ];
  if (rows.length === 0) lines.push(`${GAP}${palette.dim(cutToWidth(emptyText(browsing), columns - 2))}`);
  while (lines.length < browsing.listRows + 2) lines.push('');
  return lines;
}

function groupLines(browsing: Browsing, columns: number, look: Look): string[] {
  const { palette, draw, zone } = look;
  const { groups, field, total, selected, top } = browsing.groups as GroupList;
  const rows = groups
    .slice(top, top + browsing.listRows)
    .map(({ values: [value = null], count, first, last }) => [
      oneLine(zone.shown(groupValue(value).slice(0, LONGEST_VALUE))),
      grouped(count),
      percent(count / total),
      zone.shown(toSeconds(first)),
      zone.shown(toSeconds(last)),
    ]);
  const heads = [
    { title: oneLine(field.text) },
    { title: 'events' },
    { title: 'share' },
    { title: 'first', spare: 2 },
    { title: 'last', spare: 1 },
  ];
  const table = fitColumns(heads, rows, columns - 2);
  const [titles = '', ...drawn] = draw(table, [
    titleCells(table, palette),
    ...rows.map((row) => rowCells(row, table, palette)),
  ]);
  const lines = tableLines(titles, drawn, selected - top, columns, browsing, look);
  return [...lines, footerLine(browsing, browsing.message, columns, palette)];
}

/** Returns the bottom line, which shows the message or else the keys. It is never empty, and narrower than the screen. */
function footerLine(browsing: Browsing, message: string, columns: number, palette: Palette): string {
  const text = cutToWidth(
    terminalSafeLine(message || KEYS[browsing.mode](browsing)) || ' ',
    Math.max(1, columns - 1),
  );
  return message ? palette.caution(text) : palette.dim(text);
}

function titleLine(browsing: Browsing, columns: number, { palette, unicode }: Look): string {
  const { shown, filter, typing, asked, groups, narrowings, failedOnly } = browsing;
  const { list } = shown;
  const cursor = unicode ? '▏' : '_';
  if (asked) {
    const prompt = asked.question === 'condition' ? 'where' : 'group by';
    return palette.bold(cutToWidth(`${prompt} ${terminalSafeLine(asked.text)}${cursor}`, columns - 1));
  }
  const all = list.ended ? list.length : (list.total ?? list.length);
  const more = list.ended || list.total !== undefined ? '' : ' or more';
  const parts = [`${grouped(all)}${more} ${failedOnly ? 'failed ' : ''}${all === 1 ? 'event' : 'events'}`];
  const read = list.ended ? '' : ` of the first ${grouped(list.length)}`;
  // The latest first: a narrow screen cuts the others off.
  const chosen = [
    ...(filter !== '' || typing ? [`/${terminalSafeLine(filter)}${typing ? cursor : ''}`] : []),
    ...narrowings
      .map(({ flag, text }) => terminalSafeLine(flag === 'grep' ? `"${text}"` : text))
      .toReversed(),
  ];
  if (chosen.length > 0) parts.push(`${grouped(shown.places.length)}${read} with ${chosen.join(' and ')}`);
  if (groups) {
    const what = `${grouped(groups.groups.length)} ${groups.groups.length === 1 ? 'group' : 'groups'}`;
    parts.push(`${what}${chosen.length > 0 ? '' : read} by ${terminalSafeLine(groups.field.text)}`);
  }
  if (list.loading) parts.push('reading');
  return palette.bold(cutToWidth(parts.join(', '), columns - 1));
}

function emptyText({ shown, isNarrowed }: Browsing): string {
  if (shown.list.loading) return 'reading';
  return isNarrowed ? 'none of the events read so far' : 'no events match';
}

interface Layout {
  readonly room: number;
  readonly zone: TimeZone;
  readonly measured: number;
  readonly columns: readonly Column[];
  readonly read: (item: Items) => string[];
}
const layouts = new WeakMap<EventList, Layout>();

/** Lays the columns out by the first events, and again when the width of the screen or the zone changes. */
function layoutOf(list: EventList, room: number, constant: readonly string[], zone: TimeZone): Layout {
  const measured = Math.min(MEASURED, list.length);
  const known = layouts.get(list);
  if (known && known.room === room && known.zone === zone && known.measured === measured) return known;
  const items = Array.from({ length: measured }, (_, place) => list.at(place));
  const table = itemTable(items, { list: 'events', constant: new Set(constant), zone }, true);
  const read = (item: Items) => table.read(item)[0] as string[];
  const layout = { room, zone, measured, columns: fitColumns(table.heads, items.map(read), room), read };
  layouts.set(list, layout);
  return layout;
}

/** Returns an event as indented JSON, wrapped to the width of the screen. */
export function eventLines(item: Items, columns: number, palette: Palette): string[] {
  const text = prettyJson(item.bytes, item.start(0), item.end(0), palette);
  return wrapAnsi(text, columns, { hard: true, trim: false }).split('\n');
}

function openedLines(
  browsing: Browsing,
  lines: readonly string[],
  columns: number,
  palette: Palette,
): string[] {
  const { opened, eventRows, message } = browsing;
  const from = Math.min(opened?.line ?? 0, Math.max(0, lines.length - eventRows));
  const to = Math.min(lines.length, from + eventRows);
  const title = `event, lines ${grouped(from + 1)} to ${grouped(to)} of ${grouped(lines.length)}`;
  const body = lines.slice(from, to);
  return [
    palette.bold(cutToWidth(title, columns - 1)),
    ...body,
    ...Array.from({ length: eventRows - body.length }, () => ''),
    footerLine(browsing, message, columns, palette),
  ];
}
