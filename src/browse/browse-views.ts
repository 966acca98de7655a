import wrapAnsi from 'wrap-ansi';
import type { Items } from '../json/items.ts';
import { prettyJson } from '../output/json.ts';
import { groupValue, toSeconds } from '../output/statistics-text.ts';
import { itemTable, oneLine, rowCells, type TableLook, titleCells } from '../output/table.ts';
import { type Column, fitColumns } from '../output/table-layout.ts';
import { cellWidth, cutToWidth } from '../terminal/cell-width.ts';
import { grouped, percent, terminalSafeLine } from '../terminal/terminal-text.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { Browsing, OpenedEvent } from './browsing.ts';
import { type EventList, EventRows, type GroupRows } from './event-list.ts';

export interface Look extends Pick<TableLook, 'draw' | 'palette'> {
  readonly columns: number;
  readonly rows: number;
  /** Fields that have the same value in every event, failed or not, because of the filters. */
  readonly constant: ReadonlySet<string>;
  readonly unicode: boolean;
  /** The zone in which times are shown. */
  readonly zone: TimeZone;
  /** The place that the events come from. */
  readonly place: string;
  /** The keys' effects, a line each. */
  readonly help: readonly string[];
}

/** The number of events whose values decide the widths of the columns. */
const MEASURED = 200;
const GAP = '  ';
/** Characters of a group's value that are drawn at most. */
const LONGEST_VALUE = 1000;

/** Returns exactly as many lines as the screen has rows. `linesOf` returns the lines of an open event. */
export function screenLines(browsing: Browsing, linesOf: (item: Items) => readonly string[], look: Look) {
  const { level, typing } = browsing;
  const lines = browsing.isHelpShown
    ? [look.palette.bold('Keys'), '', ...look.help.map((line) => cutToWidth(line, look.columns - 1))]
    : typing?.into === 'field'
      ? fieldLines(browsing, look)
      : level instanceof EventRows
        ? eventsLines(browsing, level, look)
        : 'item' in level
          ? openedLines(browsing, level, linesOf(level.item), look)
          : groupsLines(browsing, level, look);
  const shown = lines.slice(0, look.rows - 1);
  const blank = Array.from({ length: look.rows - 1 - shown.length }, () => '');
  return [...shown, ...blank, footerLine(browsing, look)];
}

function eventsLines(browsing: Browsing, level: EventRows, look: Look): string[] {
  const { palette, draw, constant } = look;
  const status = browsing.failedOnly ? ['publishStatus'] : [];
  const table = layoutOf(level.list, new Set([...constant, ...status]), look);
  const places = level.places.slice(level.top, level.top + browsing.listRows);
  const [titles = '', ...rows] = draw(table.columns, [
    titleCells(table.columns, palette),
    ...places.map((place) => rowCells(table.read(level.list.at(place)), table.columns, palette)),
  ]);
  const empty = level.list.loading
    ? 'reading'
    : browsing.canGoBack
      ? 'none of the events read so far'
      : 'no events match';
  return [titleLine(browsing, look), ...tableLines(titles, rows, level.selected - level.top, empty, look)];
}

/** Returns the column heads and the rows, one of them selected. */
function tableLines(
  titles: string,
  rows: readonly string[],
  selected: number,
  empty: string,
  look: Look,
): string[] {
  const { palette, unicode, columns } = look;
  if (rows.length === 0) return [`${GAP}${titles}`, `${GAP}${palette.dim(cutToWidth(empty, columns - 2))}`];
  const mark = palette.accent(unicode ? '❯' : '>');
  return [
    `${GAP}${titles}`.trimEnd(),
    ...rows.map((row, index) => (index === selected ? `${mark} ${palette.bold(row)}` : `${GAP}${row}`)),
  ];
}

function groupsLines(browsing: Browsing, level: GroupRows, look: Look): string[] {
  const { palette, draw, zone, columns } = look;
  const { groups, field, total, selected, top } = level;
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
    { title: 'last', spare: 2 },
  ];
  const table = fitColumns(heads, rows, columns - 2);
  const [titles = '', ...drawn] = draw(table, [
    titleCells(table, palette),
    ...rows.map((row) => rowCells(row, table, palette)),
  ]);
  return [titleLine(browsing, look), ...tableLines(titles, drawn, selected - top, 'reading', look)];
}

/** The fields to choose from while one is typed. */
function fieldLines(browsing: Browsing, look: Look): string[] {
  const { fields, typing, listRows } = browsing;
  const selected = typing?.selected ?? 0;
  const from = Math.max(0, selected - listRows + 1);
  const rows = fields
    .slice(from, from + listRows)
    .map((field) => cutToWidth(oneLine(field), look.columns - 2));
  return [
    titleLine(browsing, look),
    ...tableLines('', rows, selected - from, 'no field has this in its name', look),
  ];
}

function openedLines(
  browsing: Browsing,
  { line }: OpenedEvent,
  lines: readonly string[],
  look: Look,
): string[] {
  const from = Math.min(line, Math.max(0, lines.length - browsing.eventRows));
  const to = Math.min(lines.length, from + browsing.eventRows);
  const title = `event, lines ${grouped(from + 1)} to ${grouped(to)} of ${grouped(lines.length)}`;
  return [placed(title, look), ...lines.slice(from, to)];
}

/** Returns the bottom line, which shows a message or else the keys. It is never empty, and narrower than the screen. */
function footerLine(browsing: Browsing, { palette, columns }: Look): string {
  const { problem } = browsing.list;
  const message = browsing.message || (problem ? `could not read on: ${problem.message}` : '');
  const text = cutToWidth(terminalSafeLine(message || keysOf(browsing)) || ' ', Math.max(1, columns - 1));
  return message ? palette.caution(text) : palette.dim(text);
}

/** The keys that the bottom line names. */
function keysOf({ typing, level, isHelpShown, failedOnly, canGoBack }: Browsing): string {
  if (isHelpShown) return 'any key goes back  q quit';
  if (typing?.into === 'filter') return 'type to filter what was read  enter keep  esc clear';
  if (typing?.into === 'condition') return 'type FIELD OP VALUE, or a text to find  enter filter  esc cancel';
  if (typing) return 'type a part of a field  up down choose  tab complete  enter group  esc cancel';
  if ('item' in level) return 'esc back  n next  p previous  y copy id  z zone  o report  ? keys  q quit';
  const back = canGoBack ? 'esc back  ' : '';
  if (!(level instanceof EventRows))
    return `enter show the events  g group by another field  ${back}? keys  q quit`;
  return `enter open  / filter  w where  g group  ${back}f ${failedOnly ? 'all events' : 'failed only'}  ? keys  q quit`;
}

function titleLine(browsing: Browsing, look: Look): string {
  const { level, events, typing, failedOnly, list } = browsing;
  const cursor = look.unicode ? '▏' : '_';
  if (typing && typing.into !== 'filter') {
    const prompt = typing.into === 'condition' ? 'where' : 'group by';
    return look.palette.bold(
      cutToWidth(`${prompt} ${terminalSafeLine(typing.text)}${cursor}`, look.columns - 1),
    );
  }
  const all = list.ended ? list.length : (list.total ?? list.length);
  const more = list.ended || list.total !== undefined ? '' : ' or more';
  const parts = [`${grouped(all)}${more} ${failedOnly ? 'failed ' : ''}${all === 1 ? 'event' : 'events'}`];
  const read = list.ended ? '' : ` of the first ${grouped(list.length)}`;
  // The latest first: a narrow screen cuts the others off.
  const chosen = [
    ...(events.filter !== '' || typing ? [`/${terminalSafeLine(events.filter)}${typing ? cursor : ''}`] : []),
    ...events.narrowings
      .map(({ flag, text }) => terminalSafeLine(flag === 'grep' ? `"${text}"` : text))
      .toReversed(),
  ];
  if (chosen.length > 0) parts.push(`${grouped(events.places.length)}${read} with ${chosen.join(' and ')}`);
  if ('groups' in level) {
    const what = `${grouped(level.groups.length)} ${level.groups.length === 1 ? 'group' : 'groups'}`;
    parts.push(`${what}${chosen.length > 0 ? '' : read} by ${terminalSafeLine(level.field.text)}`);
  }
  if (list.loading) parts.push('reading');
  return placed(parts.join(', '), look);
}

/** A title, and at the right end of the line where the events come from, which a narrow screen cuts off last. */
function placed(title: string, { palette, columns, place }: Look): string {
  const shown = cutToWidth(terminalSafeLine(place), Math.max(0, (columns - 1) >> 1));
  const room = columns - 1 - cellWidth(shown) - (shown === '' ? 0 : GAP.length);
  const cut = cutToWidth(title, room);
  const space = shown === '' ? '' : ' '.repeat(room - cellWidth(cut) + GAP.length);
  return `${palette.bold(cut)}${space}${palette.dim(shown)}`;
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
function layoutOf(list: EventList, constant: ReadonlySet<string>, { columns, zone }: Look): Layout {
  const measured = Math.min(MEASURED, list.length);
  const room = columns - 2;
  const known = layouts.get(list);
  if (known && known.room === room && known.zone === zone && known.measured === measured) return known;
  const items = Array.from({ length: measured }, (_, place) => list.at(place));
  const table = itemTable(items, { list: 'events', constant, zone }, true);
  const read = (item: Items) => table.read(item)[0] as string[];
  const layout = { room, zone, measured, columns: fitColumns(table.heads, items.map(read), room), read };
  layouts.set(list, layout);
  return layout;
}

/** Returns an event as indented JSON with its times in the zone, wrapped to the width of the screen. */
export function eventLines(
  item: Items,
  { columns, palette, zone }: Pick<Look, 'columns' | 'palette' | 'zone'>,
) {
  const json = prettyJson(item.bytes, item.start(0), item.end(0), palette);
  const text = zone.isUtc
    ? json
    : json.replaceAll(/"(\d{4}-\d\d-\d\dT[^"\\]*)"/g, (_, time) => `"${zone.shown(time)}"`);
  return wrapAnsi(text, columns, { hard: true, trim: false }).split('\n');
}
