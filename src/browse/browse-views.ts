import wrapAnsi from 'wrap-ansi';
import type { SubscriptionLabels } from '../formats/format-options.ts';
import { itemTable } from '../formats/item-table.ts';
import { prettyJson } from '../formats/json.ts';
import { layOut, leftOutNote, oneLine, type TableLook, tableLines } from '../formats/table.ts';
import type { TableCell } from '../formats/table-columns.ts';
import type { FieldPath } from '../items/field-path.ts';
import type { Items } from '../items/items.ts';
import { groupTable } from '../stats/groups-text.ts';
import { cellWidth, cutToWidth } from '../terminal/cell-width.ts';
import type { Palette } from '../terminal/palette.ts';
import { grouped, terminalSafeLine, withAsciiCuts } from '../terminal/terminal-text.ts';
import type { TimeZone } from '../time/time-zone.ts';
import type { Narrowing } from './browse-rows.ts';
import type { Browsing, ListLayout } from './browsing.ts';

export interface Look extends Pick<TableLook, 'draw' | 'palette'> {
  readonly marked: readonly string[];
  readonly names?: SubscriptionLabels | undefined;
  readonly unicode: boolean;
  readonly place: string;
  readonly help: readonly string[];
}

const GAP = '  ';

/** Returns exactly one line per row of the screen. */
export function screenLines(browsing: Browsing, look: Look): string[] {
  const { columns, rows } = browsing.screen;
  const shown = bodyLines(browsing, look).slice(0, rows - 1);
  const { leftOut } = browsing;
  const note = leftOut === undefined ? [] : [look.palette.dim(cutToWidth(leftOut, columns - 1))];
  const blank = Array.from({ length: rows - 1 - note.length - shown.length }, () => '');
  const lines = [...shown, ...blank, ...note, footerLine(browsing, look, columns)];
  return look.unicode ? lines : lines.map(withAsciiCuts);
}

function bodyLines(browsing: Browsing, look: Look): readonly string[] {
  const { kind, rows, screen } = browsing;
  if (kind === 'help') {
    const keys = look.help.map((line) => cutToWidth(line, screen.columns - 1));
    return [look.palette.bold('Keys'), '', ...keys];
  }
  if (kind === 'event') return openedLines(browsing, look);
  const rowLines = rows.by ? groupsLines : eventsLines;
  const listLines = kind === 'field' ? fieldLines : rowLines;
  return [titleLine(browsing, look), ...listLines(browsing, look)];
}

function eventsLines(browsing: Browsing, look: Look): string[] {
  const { list, listRows } = browsing;
  const { items, top, selected } = browsing.rows;
  const { columns, cellsOf } = browsing.layout;
  const rows = items.slice(top, top + listRows);
  const [titles = '', ...lines] = look.draw(columns, rows.map(cellsOf));
  const marked = lines.map((line) => markTexts(line, markedTexts(browsing, look), look.palette.mark));
  const nothing = browsing.canGoBack ? 'no event read so far matches' : 'no events match';
  return selectedLines(
    [titles, ...marked],
    selected - top,
    list.loading ? 'reading' : nothing,
    browsing,
    look,
  );
}

function markedTexts({ rows }: Browsing, { marked }: Look): string[] {
  return [...marked, ...rows.shown.flatMap(({ flag, text }) => (flag === 'grep' ? [text] : []))];
}

export interface ListedColumns {
  /** Fields with a single value in all events because of the filters. */
  readonly constant: ReadonlySet<string>;
  readonly fields: readonly FieldPath[] | undefined;
  readonly nameField: FieldPath | undefined;
  readonly names?: SubscriptionLabels | undefined;
}

/** Fits the columns to the given events. */
export function layOutList(
  events: readonly Items[],
  { constant, fields, nameField, names }: ListedColumns,
  zone: TimeZone,
  screenColumns: number,
): ListLayout {
  const saved = fields ? { fields, areFieldsSaved: true } : {};
  const table = itemTable(events, { list: 'events', constant, zone, names, nameField, ...saved }, true);
  const cellsOf = (item: Items) => table.read(item)[0] as string[];
  const rows = events.map(cellsOf);
  const columns = layOut({ heads: table.heads, rows }, { room: screenColumns - GAP.length }, false);
  const leftOut = leftOutNote({ heads: table.heads, rows }, columns, false);
  return { columns, cellsOf, leftOut: leftOut && `${leftOut}; enter shows the whole event` };
}

function groupsLines(browsing: Browsing, look: Look): string[] {
  const { zone, screen, listRows } = browsing;
  const { groups, by, items, top, selected } = browsing.rows;
  const whole = { fields: by ? [by] : [], total: items.length };
  const { heads, rows } = groupTable(groups.slice(top, top + listRows), whole, zone);
  const isBySubscription = by?.text === 'subscriptionId';
  const named = isBySubscription
    ? rows.map(([id = '', ...others]) => [shownName(id, look), ...others])
    : rows;
  // Enter shows the events themselves, so the example id is left out.
  const lines = tableLines({ heads: heads.slice(0, -1), rows: named }, { ...look, room: screen.columns - 2 });
  return selectedLines(lines, selected - top, 'reading', browsing, look);
}

function shownName(id: TableCell, { names }: Look): TableCell {
  return typeof id === 'string' ? (names?.labelOf(id) ?? id) : id;
}

function fieldLines(browsing: Browsing, look: Look): string[] {
  const { fields, cover, listRows, screen } = browsing;
  const selected = cover?.place ?? 0;
  const top = Math.max(0, selected - listRows + 1);
  const rows = fields
    .slice(top, top + listRows)
    .map((field) => cutToWidth(oneLine(field), screen.columns - 2));
  return selectedLines(['', ...rows], selected - top, 'no field has this in its name', browsing, look);
}

function selectedLines(
  [titles = '', ...rows]: readonly string[],
  selected: number,
  empty: string,
  { screen }: Browsing,
  { palette, unicode }: Look,
): string[] {
  const head = `${GAP}${titles}`.trimEnd();
  if (rows.length === 0) return [head, `${GAP}${palette.dim(cutToWidth(empty, screen.columns - 2))}`];
  const mark = palette.accent(unicode ? '❯' : '>');
  const shown = rows.map((row, index) =>
    index === selected ? `${mark} ${palette.bold(row)}` : `${GAP}${row}`,
  );
  return [head, ...shown];
}

function openedLines(browsing: Browsing, look: Look): string[] {
  const { eventLines: lines, eventRows, cover } = browsing;
  const from = Math.min(cover?.place ?? 0, Math.max(0, lines.length - eventRows));
  const to = Math.min(lines.length, from + eventRows);
  const title = `event, lines ${grouped(from + 1)} to ${grouped(to)} of ${grouped(lines.length)}`;
  const shown = lines.slice(from, to);
  const texts = markedTexts(browsing, look);
  return [
    placedTitle(title, browsing, look),
    ...shown.map((line) => markTexts(line, texts, look.palette.mark)),
  ];
}

function footerLine(browsing: Browsing, { palette }: Look, columns: number): string {
  const { problem } = browsing.list;
  const message = browsing.message || (problem ? `could not read more: ${problem.message}` : '');
  const text = cutToWidth(terminalSafeLine(message || keysOf(browsing)) || ' ', Math.max(1, columns - 1));
  return message ? palette.caution(text) : palette.dim(text);
}

function keysOf({ kind, list, canGoBack }: Browsing): string {
  const back = canGoBack ? 'esc back  ' : '';
  const keys: Readonly<Record<Browsing['kind'], string>> = {
    help: 'any key goes back  q quit',
    filter: 'type to filter the events read  enter keep  esc clear',
    condition: 'type FIELD OP VALUE, or a text to find  enter filter  esc cancel',
    field: 'type a part of a field  up down choose  tab complete  enter group  esc cancel',
    event: 'esc back  n next  p previous  y Y copy  z zone  o report  ? keys  q quit',
    groups: `enter show the events  g group by another field  ${back}? keys  q quit`,
    events: `enter open  / filter  w where  g group  ${back}f ${list.failedOnly ? 'all events' : 'failed only'}  ? keys  q quit`,
  };
  return keys[kind];
}

function cursorOf({ unicode }: Look): string {
  return unicode ? '▏' : '_';
}

function titleLine(browsing: Browsing, look: Look): string {
  const { kind, cover, list, screen } = browsing;
  if (kind === 'condition' || kind === 'field') {
    const prompt = kind === 'field' ? 'group by' : 'where';
    const typed = `${prompt} ${terminalSafeLine(cover?.text ?? '')}${cursorOf(look)}`;
    return look.palette.bold(cutToWidth(typed, screen.columns - 1));
  }
  const parts = [
    countText(browsing),
    chosenText(browsing, look),
    groupsText(browsing),
    list.loading ? 'reading' : '',
  ];
  return placedTitle(parts.filter(Boolean).join(', '), browsing, look);
}

function isWhole({ list }: Browsing): boolean {
  return list.ended && !list.problem;
}

function countText(browsing: Browsing): string {
  const { list } = browsing;
  const read = list.items.length;
  const all = isWhole(browsing) ? read : (list.total ?? read);
  const more = isWhole(browsing) || list.total !== undefined ? '' : ' or more';
  return `${grouped(all)}${more} ${list.failedOnly ? 'failed ' : ''}${all === 1 ? 'event' : 'events'}`;
}

function ofReadText(browsing: Browsing): string {
  return isWhole(browsing) ? '' : ` of the first ${grouped(browsing.list.items.length)}`;
}

function chosenText(browsing: Browsing, look: Look): string {
  const { cover, rows } = browsing;
  const cursor = cover ? cursorOf(look) : '';
  const isFiltered = rows.filter !== '' || cover !== undefined;
  // The latest first, since a narrow screen cuts off the rest.
  const chosen = [
    ...(isFiltered ? [`/${terminalSafeLine(rows.filter)}${cursor}`] : []),
    ...rows.narrowings.map((narrowing) => narrowingText(narrowing, look)).toReversed(),
  ];
  if (chosen.length === 0) return '';
  return `${grouped(rows.items.length)}${ofReadText(browsing)} with ${chosen.join(' and ')}`;
}

function narrowingText({ flag, text }: Narrowing, look: Look): string {
  if (flag === 'grep') return terminalSafeLine(`"${text}"`);
  const [, before = text, id = ''] = /^(subscriptionId *!?= *)(\S+)$/.exec(text) ?? [];
  return terminalSafeLine(`${before}${shownName(id, look)}`);
}

function groupsText(browsing: Browsing): string {
  const { rows, cover } = browsing;
  if (!rows.by) return '';
  const isFiltered = rows.filter !== '' || cover !== undefined || rows.narrowings.length > 0;
  const what = `${grouped(rows.count)} ${rows.count === 1 ? 'group' : 'groups'}`;
  return `${what}${isFiltered ? '' : ofReadText(browsing)} by ${terminalSafeLine(rows.by.text)}`;
}

/** Places the source of the events at the right end of the title line; a narrow screen cuts it off last. */
function placedTitle(title: string, { screen: { columns } }: Browsing, { palette, place }: Look): string {
  const shown = cutToWidth(terminalSafeLine(place), Math.max(0, (columns - 1) >> 1));
  const room = columns - 1 - cellWidth(shown) - (shown === '' ? 0 : GAP.length);
  const cut = cutToWidth(title, room);
  const space = shown === '' ? '' : ' '.repeat(room - cellWidth(cut) + GAP.length);
  return `${palette.bold(cut)}${space}${palette.dim(shown)}`;
}

/** Formats an event as indented JSON with its times in the zone, wrapped to the screen. */
export function eventLines(item: Items, columns: number, zone: TimeZone, palette: Palette): string[] {
  const json = prettyJson(item.bytes, item.start(0), item.end(0), palette);
  const text = json.replaceAll(/"(\d{4}-\d\d-\d\dT[^"\\]*)"/g, (_, time) => `"${zone.shown(time)}"`);
  return wrapAnsi(text, columns, { hard: true, trim: false }).split('\n');
}

const STYLE = /(\u001b\[[\d;]*m)/;

export function markTexts(line: string, texts: readonly string[], mark: (text: string) => string): string {
  const wanted = texts.filter((text) => text !== '');
  if (wanted.length === 0) return line;
  // The longest first: one may begin with a shorter one.
  const longestFirst = wanted.toSorted((a, b) => b.length - a.length);
  const exact = longestFirst.map((text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'));
  const any = new RegExp(exact.join('|'), 'giu');
  const pieces = line.split(STYLE);
  return pieces.map((piece, index) => (index % 2 === 1 ? piece : piece.replace(any, mark))).join('');
}
