import wrapAnsi from 'wrap-ansi';
import type { Items } from '../json/items.ts';
import { prettyJson } from '../output/json.ts';
import { groupCells } from '../output/statistics-text.ts';
import { itemTable, oneLine, rowCells, type TableLook, tableLines, titleCells } from '../output/table.ts';
import { fitColumns } from '../output/table-layout.ts';
import { cellWidth, cutToWidth } from '../terminal/cell-width.ts';
import type { Palette } from '../terminal/palette.ts';
import { grouped, terminalSafeLine } from '../terminal/terminal-text.ts';
import type { TimeZone } from '../time/time-zone.ts';
import {
  type Browsing,
  type EventList,
  type EventRows,
  type GroupRows,
  type OpenedEvent,
  rememberLatest,
  type Typing,
} from './browsing.ts';

export interface Look extends Pick<TableLook, 'draw' | 'palette'> {
  /** Fields that have the same value in every event, failed or not, because of the filters. */
  readonly constant: ReadonlySet<string>;
  readonly unicode: boolean;
  /** The place that the events come from. */
  readonly place: string;
  /** The keys' effects, a line each. */
  readonly help: readonly string[];
}

/** The number of events whose values decide the widths of the columns. */
const MEASURED = 200;
const GAP = '  ';

/** Returns exactly as many lines as the screen has rows. */
export function screenLines(browsing: Browsing, look: Look): string[] {
  const { columns, rows } = browsing.screen;
  const shown = bodyLines(browsing, look).slice(0, rows - 1);
  const blank = Array.from({ length: rows - 1 - shown.length }, () => '');
  return [...shown, ...blank, footerLine(browsing, look, columns)];
}

function bodyLines(browsing: Browsing, look: Look): readonly string[] {
  const { level, typing, screen } = browsing;
  if (browsing.isHelpShown) {
    const keys = look.help.map((line) => cutToWidth(line, screen.columns - 1));
    return [look.palette.bold('Keys'), '', ...keys];
  }
  if (typing?.into === 'field') return fieldLines(browsing, typing, look);
  if (level.kind === 'event') return openedLines(browsing, level, look);
  const body =
    level.kind === 'events' ? eventsLines(browsing, level, look) : groupsLines(browsing, level, look);
  return [titleLine(browsing, look), ...body];
}

function eventsLines(browsing: Browsing, level: EventRows, look: Look): string[] {
  const { list, zone, failedOnly, screen, listRows } = browsing;
  const measured = Math.min(MEASURED, list.items.length);
  const { columns, cellsOf } = layOut(list, measured, failedOnly, look.constant, zone, screen.columns - 2);
  const rows = level.items.slice(level.top, level.top + listRows);
  const lines = look.draw(columns, [
    titleCells(columns, look.palette),
    ...rows.map((item) => rowCells(cellsOf(item), columns, look.palette)),
  ]);
  const nothing = browsing.canGoBack ? 'none of the events read so far' : 'no events match';
  return selectedLines(lines, level, list.loading ? 'reading' : nothing, browsing, look);
}

/** Lays the columns out by the first events, so that they stay while others are scrolled to. */
const layOut = rememberLatest(
  (
    { items }: EventList,
    measured: number,
    failedOnly: boolean,
    constant: ReadonlySet<string>,
    zone: TimeZone,
    room: number,
  ) => {
    const same = failedOnly ? new Set([...constant, 'publishStatus']) : constant;
    const first = items.slice(0, measured);
    const table = itemTable(first, { list: 'events', constant: same, zone }, true);
    const cellsOf = (item: Items) => table.read(item)[0] as string[];
    return { columns: fitColumns(table.heads, first.map(cellsOf), room), cellsOf };
  },
);

function groupsLines(browsing: Browsing, level: GroupRows, look: Look): string[] {
  const { zone, screen, listRows } = browsing;
  const { groups, field, total, top } = level;
  const rows = groups.slice(top, top + listRows).map((group) => groupCells(group, total, zone));
  const heads = [
    { title: field.text },
    { title: 'events' },
    { title: 'share' },
    { title: 'first', spare: 2 },
    { title: 'last', spare: 2 },
  ];
  const lines = tableLines({ heads, rows }, { ...look, room: screen.columns - 2 });
  return selectedLines(lines, level, 'reading', browsing, look);
}

/** The fields to choose from while one is typed. */
function fieldLines(browsing: Browsing, { selected }: Typing, look: Look): string[] {
  const { fields, listRows, screen } = browsing;
  const top = Math.max(0, selected - listRows + 1);
  const rows = fields
    .slice(top, top + listRows)
    .map((field) => cutToWidth(oneLine(field), screen.columns - 2));
  const empty = 'no field has this in its name';
  return [
    titleLine(browsing, look),
    ...selectedLines(['', ...rows], { selected, top }, empty, browsing, look),
  ];
}

/** Marks the selected one of the rows that follow the column heads. */
function selectedLines(
  [titles = '', ...rows]: readonly string[],
  { selected, top }: { readonly selected: number; readonly top: number },
  empty: string,
  { screen }: Browsing,
  { palette, unicode }: Look,
): string[] {
  const head = `${GAP}${titles}`.trimEnd();
  if (rows.length === 0) return [head, `${GAP}${palette.dim(cutToWidth(empty, screen.columns - 2))}`];
  const mark = palette.accent(unicode ? '❯' : '>');
  const shown = rows.map((row, index) =>
    index === selected - top ? `${mark} ${palette.bold(row)}` : `${GAP}${row}`,
  );
  return [head, ...shown];
}

function openedLines(browsing: Browsing, level: OpenedEvent, look: Look): string[] {
  const lines = browsing.linesOf(level);
  const from = Math.min(level.line, Math.max(0, lines.length - browsing.eventRows));
  const to = Math.min(lines.length, from + browsing.eventRows);
  const title = `event, lines ${grouped(from + 1)} to ${grouped(to)} of ${grouped(lines.length)}`;
  return [placedTitle(title, browsing, look), ...lines.slice(from, to)];
}

/** Returns the bottom line, which shows a message or else the keys. It is never empty, and narrower than the screen. */
function footerLine(browsing: Browsing, { palette }: Look, columns: number): string {
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
  if (level.kind === 'event')
    return 'esc back  n next  p previous  y copy id  z zone  o report  ? keys  q quit';
  const back = canGoBack ? 'esc back  ' : '';
  if (level.kind === 'groups')
    return `enter show the events  g group by another field  ${back}? keys  q quit`;
  return `enter open  / filter  w where  g group  ${back}f ${failedOnly ? 'all events' : 'failed only'}  ? keys  q quit`;
}

function titleLine(browsing: Browsing, look: Look): string {
  const { level, events, typing, failedOnly, list } = browsing;
  const cursor = look.unicode ? '▏' : '_';
  if (typing && typing.into !== 'filter') {
    const prompt = typing.into === 'condition' ? 'where' : 'group by';
    return look.palette.bold(
      cutToWidth(`${prompt} ${terminalSafeLine(typing.text)}${cursor}`, browsing.screen.columns - 1),
    );
  }
  const read = list.items.length;
  const all = list.ended ? read : (list.total ?? read);
  const more = list.ended || list.total !== undefined ? '' : ' or more';
  const parts = [`${grouped(all)}${more} ${failedOnly ? 'failed ' : ''}${all === 1 ? 'event' : 'events'}`];
  const ofRead = list.ended ? '' : ` of the first ${grouped(read)}`;
  // The latest first: a narrow screen cuts the others off.
  const chosen = [
    ...(events.filter !== '' || typing ? [`/${terminalSafeLine(events.filter)}${typing ? cursor : ''}`] : []),
    ...events.narrowings
      .map(({ flag, text }) => terminalSafeLine(flag === 'grep' ? `"${text}"` : text))
      .toReversed(),
  ];
  if (chosen.length > 0) parts.push(`${grouped(events.count)}${ofRead} with ${chosen.join(' and ')}`);
  if (level.kind === 'groups') {
    const what = `${grouped(level.count)} ${level.count === 1 ? 'group' : 'groups'}`;
    parts.push(`${what}${chosen.length > 0 ? '' : ofRead} by ${terminalSafeLine(level.field.text)}`);
  }
  if (list.loading) parts.push('reading');
  return placedTitle(parts.join(', '), browsing, look);
}

/** A title, and at the right end of the line where the events come from, which a narrow screen cuts off last. */
function placedTitle(title: string, { screen: { columns } }: Browsing, { palette, place }: Look): string {
  const shown = cutToWidth(terminalSafeLine(place), Math.max(0, (columns - 1) >> 1));
  const room = columns - 1 - cellWidth(shown) - (shown === '' ? 0 : GAP.length);
  const cut = cutToWidth(title, room);
  const space = shown === '' ? '' : ' '.repeat(room - cellWidth(cut) + GAP.length);
  return `${palette.bold(cut)}${space}${palette.dim(shown)}`;
}

/** Returns an event as indented JSON with its times in the zone, wrapped to the width of the screen. */
export function eventLines(item: Items, columns: number, zone: TimeZone, palette: Palette): string[] {
  const json = prettyJson(item.bytes, item.start(0), item.end(0), palette);
  const text = zone.isUtc
    ? json
    : json.replaceAll(/"(\d{4}-\d\d-\d\dT[^"\\]*)"/g, (_, time) => `"${zone.shown(time)}"`);
  return wrapAnsi(text, columns, { hard: true, trim: false }).split('\n');
}
