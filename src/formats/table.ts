import type { Output } from '../context.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { createRowReader, errorField, membersOf, nothingFound, tableColumns } from '../items/item-columns.ts';
import type { Items, ItemWriter, ListKind } from '../items/items.ts';
import { scalarsText, valueText } from '../items/json-scanner.ts';
import { KNOWN_FIELDS } from '../items/known-fields.ts';
import { cellWidth, cutToWidth, loadWidthsFor } from '../terminal/cell-width.ts';
import { type Palette, paletteOf, statusPaint } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafeLine, unicodeEscape } from '../terminal/terminal-text.ts';
import { UTC } from '../time/time-zone.ts';
import type { FormatOptions, SubscriptionLabels } from './format-flags.ts';
import {
  type Column,
  type ColumnHead,
  fitColumns,
  GAP,
  NONE,
  type TableCell,
  timeWithin,
  wholeColumns,
} from './table-layout.ts';

/**
 * A table as data: text, or on a terminal fitted to its width by the rules of `fitColumns`. Texts are made
 * inert here.
 */
export interface Table {
  readonly heads: readonly ColumnHead[];
  readonly rows: readonly (readonly TableCell[])[];
}

/** The place that tables are drawn for. */
export interface TableLook {
  /** The columns available; undefined if text is never cut. */
  readonly room: number | undefined;
  readonly palette: Palette;
  readonly draw: Draw;
  /** False: without the line of titles. */
  readonly hasHeader?: boolean;
}

/** Loads what drawing takes. Text that is not made of simple letters needs `loadWidthsFor` too. */
export async function loadTableLook(
  output: Pick<Output, 'isTerminal' | 'columns'>,
  reporter: Pick<Reporter, 'stdoutColor'>,
): Promise<TableLook> {
  const palette = await paletteOf(reporter.stdoutColor);
  const draw = await loadDraw(palette, !output.isTerminal);
  return { room: output.isTerminal ? output.columns : undefined, palette, draw };
}

/** A complete table as text, each line ended. */
export async function tableText(
  table: Table,
  output: Pick<Output, 'isTerminal' | 'columns'>,
  reporter: Pick<Reporter, 'stdoutColor'>,
): Promise<string> {
  const texts = table.rows.flatMap((row) => row.map((cell) => (typeof cell === 'string' ? cell : '')));
  await loadWidthsFor([...table.heads.map(({ title }) => title), ...texts]);
  return ended(tableLines(table, await loadTableLook(output, reporter)));
}

/**
 * A complete table as lines, without their ends. Text that needs the library for widths is measured after
 * `loadWidths`.
 */
export function tableLines({ heads, rows }: Table, look: TableLook): string[] {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? oneLine(cell) : cell)));
  const titled = heads.map((head) => ({ ...head, title: oneLine(head.title) }));
  return look.draw(layOut({ heads: titled, rows: cells }, look, true), cells, look.hasHeader);
}

/** The columns of a table. `isComplete`: it has no other rows. */
function layOut(
  { heads, rows }: Table,
  { room, hasHeader = true }: Pick<TableLook, 'room' | 'hasHeader'>,
  isComplete: boolean,
): Column[] {
  const shown = hasHeader ? heads : heads.map(untitled);
  return room === undefined ? wholeColumns(shown, rows) : fitColumns(shown, rows, room, isComplete);
}

/** A column without its title, which takes no room then. */
function untitled(head: ColumnHead): ColumnHead {
  return { ...head, title: '', ...(isStatusTitle(head.title) ? { kind: 'status' } : {}) };
}

/** Other characters that end a line: a row of a table has to stay on one line. */
const BREAKS = /[\u2028\u2029]/g;

/** Text that keeps to its line and does nothing to a terminal. */
export function oneLine(text: string): string {
  // Half a surrogate pair is printed as U+FFFD, so it is measured as that.
  return terminalSafeLine(text.toWellFormed()).replace(BREAKS, unicodeEscape);
}

export function ended(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** Draws rows as lines, without line ends, each cell aligned in its column; no line ends in spaces. */
export type Draw = (
  columns: readonly Column[],
  rows: readonly (readonly TableCell[])[],
  hasTitles?: boolean,
) => string[];

interface DrawnCell {
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

/**
 * The library draws this many rows, and those that follow are padded here: 100,000 would take it a minute.
 */
const LIBRARY_ROWS = 100;

/**
 * Matches text that cli-table3 0.6 measures as terminals do and can cut anywhere: in other scripts it counts
 * some combining marks as columns, and it cuts within a character. Its time grows with the square of a text's
 * length.
 */
const MEASURED_ALIKE = /^[\x20-\x7e…\u2580-\u259f]{0,200}$/;

const BORDERS = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
];

/**
 * Loads cli-table3, which draws tables. Rows that it would measure or cut wrongly are drawn here, and with
 * `pushes`, in a pipe, also a row with a text that is wider than its column, which pushes the rest of its row
 * to the right.
 */
export async function loadDraw(palette: Palette, pushes = false): Promise<Draw> {
  const { default: CliTable } = await import('cli-table3');
  const noBorders = Object.fromEntries(BORDERS.map((name) => [name, '']));
  let drawn = 0;
  const drawByLibrary = (columns: readonly Column[], row: readonly DrawnCell[]) => {
    const table = new CliTable({
      chars: { ...noBorders, middle: ' '.repeat(GAP) },
      colWidths: columns.map(({ width }) => width),
      colAligns: columns.map(({ kind }) => (kind === 'number' ? 'right' : 'left')),
      style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    });
    table.push(row.map(({ text, paint }) => (paint ? paint(text) : text)));
    return table.toString();
  };
  const lineOf = (columns: readonly Column[], row: readonly DrawnCell[]) => {
    const isDrawnAlike = row.every(
      ({ text }, index) =>
        MEASURED_ALIKE.test(text) && !(pushes && cellWidth(text) > (columns[index] as Column).width),
    );
    const byLibrary = isDrawnAlike && drawn++ < LIBRARY_ROWS;
    return (byLibrary ? drawByLibrary(columns, row) : paddedLine(columns, row, pushes)).trimEnd();
  };
  return (columns, rows, hasTitles = true) => {
    const titles = columns.map(({ title }) => ({ text: title, paint: palette.bold }));
    const lines = rows.map((row) => lineOf(columns, drawnCells(row, columns, palette)));
    return hasTitles ? [lineOf(columns, titles), ...lines] : lines;
  };
}

/** The cells of a row that are shown: statuses in their colour, times in the form that fits. */
function drawnCells(row: readonly TableCell[], columns: readonly Column[], palette: Palette): DrawnCell[] {
  return columns.map(({ index, kind, width }) => {
    const cell = row[index] ?? '';
    if (typeof cell !== 'string') return { text: cell.draw(width), paint: cell.paint };
    if (kind === 'time') return { text: timeWithin(cell, width) };
    return { text: cell, paint: kind === 'status' ? statusPaint(cell, palette) : undefined };
  });
}

function paddedLine(columns: readonly Column[], row: readonly DrawnCell[], pushes: boolean): string {
  const cells = row.map(({ text, paint }, index) => {
    const { width, kind } = columns[index] as Column;
    const cut = pushes ? text : cutToWidth(text, width);
    const padding = ' '.repeat(Math.max(0, width - cellWidth(cut)));
    const shown = paint ? paint(cut) : cut;
    return kind === 'number' ? padding + shown : shown + padding;
  });
  return cells.join(' '.repeat(GAP));
}

/** A cell on a terminal is cut after this many UTF-16 units, which is more than a line has. */
const LONGEST_CELL_CHARACTERS = 4000;

/** The facts that decide the columns of a table of items. */
type ItemTableOptions = Pick<
  FormatOptions,
  'list' | 'fields' | 'constant' | 'zone' | 'onLate' | 'names' | 'nameField'
>;

/**
 * The columns of a table of items such as these, and a function that reads rows of cells: a text as it is, of
 * an object its scalars, times in the zone.
 */
export function itemTable(pages: readonly Items[], options: ItemTableOptions, isTerminal: boolean) {
  const { list, constant, zone = UTC, onLate } = options;
  const fields = options.fields ?? withNameField(defaultFields(pages, list), pages, options.nameField);
  const heads = fields.map((field, index): ColumnHead => {
    const title = oneLine(titleOf(field, fields));
    return options.fields ? { title, isWhole: isEventId(field) } : defaultHead(field, title, index, constant);
  });
  const longest = isTerminal ? LONGEST_CELL_CHARACTERS : Number.POSITIVE_INFINITY;
  const cellOf = (bytes: Buffer, start: number, end: number) => {
    const text = scalarsText(bytes, start, end, longest);
    return zone.shown(oneLine(text.length > longest ? `${text.slice(0, longest)}…` : text));
  };
  const shown = new Set(fields.map(({ text }) => text));
  const readCells = createRowReader(fields, cellOf, NONE);
  const subscription = options.fields ? -1 : fields.findIndex(({ text }) => text === 'subscriptionId');
  const readRows = (page: Items) => {
    const rows = readCells(page);
    const { names } = options;
    if (!names || subscription < 0) return rows;
    for (const row of rows) row[subscription] = namedCell(row[subscription] as string, names, isTerminal);
    return rows;
  };
  const read = (page: Items) => {
    const late = onLate ? defaultFields([page], list, shown) : [];
    for (const { steps } of late) onLate?.(JSON.stringify(steps.join('.')));
    return readRows(page);
  };
  return { heads, read };
}

/** A subscription as people know it: on a terminal in place of its id, elsewhere behind it. */
function namedCell(id: string, names: SubscriptionLabels, isTerminal: boolean): string {
  const label = names.labelOf(id);
  if (label === undefined) return id;
  return oneLine(isTerminal ? label : `${id} ${label}`);
}

/** The columns of a table of such pages, but for those that are `shown` already. */
function defaultFields(pages: readonly Items[], list: ListKind, shown = new Set<string>()): FieldPath[] {
  if (pages.length === 0) return [];
  const isKnown = KNOWN_FIELDS.every((name) => shown.has(name));
  const fields = isKnown ? [] : tableColumns(membersOf(pages), list);
  const error = list === 'events' && !shown.has(ERROR) ? errorField(pages) : undefined;
  const isShown = fields.some(({ steps }) => error?.steps.length === 1 && steps[0] === error.steps[0]);
  const all = error && !isShown ? [...fields, { ...error, text: ERROR }] : fields;
  return all.filter(({ text }) => !shown.has(text));
}

/**
 * The same with the field that names who an event is for, where the events have it: in front of the
 * subscription.
 */
function withNameField(
  fields: readonly FieldPath[],
  pages: readonly Items[],
  nameField: FieldPath | undefined,
): readonly FieldPath[] {
  if (!nameField || fields.some(({ text }) => text === nameField.text)) return fields;
  const read = createRowReader([nameField], valueText, '');
  if (!pages.some((page) => read(page).some(([name]) => name !== ''))) return fields;
  const at = fields.findIndex(({ text }) => text === 'subscriptionId');
  return fields.toSpliced(at < 0 ? fields.length : at, 0, nameField);
}

const ERROR = 'error';
/** Enough to tell one error from another, and what 100 columns leave beside the longest common types. */
const LEAST_ERROR_COLUMNS = 15;

/** The last part of a path, where no other column ends in it. */
function titleOf({ text, steps }: FieldPath, fields: readonly FieldPath[]): string {
  const last = steps.at(-1);
  const isAlone = fields.filter((field) => field.steps.at(-1) === last).length === 1;
  return last === undefined || text === ERROR || !isAlone || /^\d+$/.test(last) ? text : last;
}

const isEventId = ({ steps }: FieldPath) => steps.length === 1 && steps[0] === 'eventId';
const isStatusTitle = (title: string) => /(status|state)$/i.test(title);
/** The columns that tell events apart. */
const TELLING = new Set(['createdOn', 'publishStatus', 'eventType', 'eventId']);

/**
 * Among known columns the subscription is left out first and then the error, among unknown ones any but the
 * first.
 */
function defaultHead(path: FieldPath, title: string, at: number, constant?: ReadonlySet<string>): ColumnHead {
  const isWhole = isEventId(path);
  const isConstant = !isWhole && constant?.has(path.text) === true;
  if (path.text === ERROR) return { title, spare: 1, isConstant, least: LEAST_ERROR_COLUMNS };
  return { title, spare: at > 0 && !TELLING.has(path.text) ? 2 : 0, isConstant, isWhole };
}

/** The ids of the subscriptions of some events. */
export function subscriptionIdsOf(page: Items): string[] {
  const read = createRowReader([memberPath('subscriptionId')], valueText, '');
  return read(page).flatMap(([id = '']) => (id === '' ? [] : [id]));
}

/**
 * A table whose columns and widths the first page decides and all later pages keep, so that it streams. On a
 * terminal every row fits its width, also after the terminal was resized; elsewhere a later, wider value
 * pushes its own row's rest and is never cut.
 */
export async function createTableWriter(
  options: FormatOptions,
  stdout: Output,
  reporter: Reporter,
): Promise<ItemWriter> {
  const { hasHeader = true, sample } = options;
  const look = await loadTableLook(stdout, reporter);
  let table: ReturnType<typeof itemTable> | undefined;
  let measured: readonly (readonly string[])[] = [];
  let columns: Column[] = [];
  let room: number | undefined;

  return {
    write: async (page, isLast = false) => {
      if (page.count === 0) return;
      const isFirst = table === undefined;
      if (isFirst && !options.fields) await options.names?.learn(subscriptionIdsOf(page));
      table ??= itemTable(sample ? [page, sample] : [page], options, stdout.isTerminal);
      const rows = table.read(page);
      if (isFirst) measured = sample ? [...rows, ...table.read(sample)] : rows;
      const isFitted = isFirst || (stdout.isTerminal && stdout.columns !== room);
      if (isFitted) {
        const { heads } = table;
        await loadWidthsFor([...heads.map(({ title }) => title), ...measured.flat()]);
        room = look.room && stdout.columns;
        columns = layOut({ heads, rows: measured }, { room, hasHeader }, isFirst && isLast);
        // In a pipe times stay as they came.
        if (room === undefined)
          columns = columns.map((one) => (one.kind === 'time' ? { ...one, kind: 'text' } : one));
      }
      await loadWidthsFor(rows.flat());
      await stdout.write(ended(look.draw(columns, rows, isFitted && hasHeader)));
    },
    end: async () => {
      if (!table) reporter.notice(nothingFound(options.list));
    },
  };
}
