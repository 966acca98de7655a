import type { Output } from '../context.ts';
import { loadWidthsFor, wrapWords } from '../terminal/cell-width.ts';
import { type Palette, paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafeLine, unicodeEscape } from '../terminal/terminal-text.ts';
import { type Column, type ColumnHead, type TableCell, wholeColumns } from './table-columns.ts';
import { type Draw, loadDraw, plainDraw } from './table-drawing.ts';
import { fitColumns, missingColumn } from './table-layout.ts';

/** On a terminal, fitted to its width by `fitColumns`. Cells are escaped here. */
export interface Table {
  readonly heads: readonly ColumnHead[];
  readonly rows: readonly (readonly TableCell[])[];
}

export interface TableLook {
  readonly room: number | undefined;
  readonly palette: Palette;
  readonly draw: Draw;
  readonly hasHeader?: boolean;
}

/** Text other than simple letters also needs `loadWidthsFor`. */
export async function loadTableLook(
  output: Pick<Output, 'isTerminal' | 'columns'>,
  reporter: Pick<Reporter, 'stdoutColor' | 'takesUnicode'>,
): Promise<TableLook> {
  const palette = await paletteOf(reporter.stdoutColor);
  if (!output.isTerminal) return { room: undefined, palette, draw: plainDraw(palette) };
  return { room: output.columns, palette, draw: await loadDraw(palette, reporter.takesUnicode) };
}

export async function tableText(
  table: Table,
  output: Pick<Output, 'isTerminal' | 'columns'>,
  reporter: Pick<Reporter, 'stdoutColor' | 'takesUnicode'>,
): Promise<string> {
  const texts = table.rows.flatMap((row) => row.map((cell) => (typeof cell === 'string' ? cell : '')));
  await loadWidthsFor([...table.heads.map(({ title }) => title), ...texts]);
  return ended(tableLines(table, await loadTableLook(output, reporter)));
}

/** Returns lines without ends. Text other than simple letters needs `loadWidths` first. */
export function tableLines(table: Table, look: TableLook): string[] {
  const { columns, rows } = fittedTable(table, look);
  return look.draw(columns, rows, look.hasHeader);
}

/** Adds a note about columns that are left out. */
export function tableWithNote(table: Table, look: TableLook): string[] {
  const { columns, rows } = fittedTable(table, look);
  const note = leftOutNote({ heads: table.heads, rows }, columns, true);
  const lines = look.draw(columns, rows, look.hasHeader);
  if (note === undefined) return lines;
  const said = wrapWords(`${note}; ${WIDER}`, look.room ?? Number.POSITIVE_INFINITY);
  return [...lines, ...said.map(look.palette.dim)];
}

const WIDER = 'a wider terminal shows them';

function fittedTable({ heads, rows }: Table, look: TableLook) {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? oneLine(cell) : cell)));
  const titled = heads.map((head) => ({ ...head, title: oneLine(head.title) }));
  return { columns: layOut({ heads: titled, rows: cells }, look, true), rows: cells };
}

export function layOut(
  { heads, rows }: Table,
  { room, hasHeader = true }: Pick<TableLook, 'room' | 'hasHeader'>,
  isComplete: boolean,
): Column[] {
  const shown = hasHeader ? heads : heads.map(untitled);
  if (room === undefined) return wholeColumns(shown, rows);
  const columns = fitColumns(shown, rows, room, isComplete);
  const missing = missingColumn(shown, rows, columns);
  if (missing === undefined) return columns;
  const needed = shown.map((head, index) =>
    index === missing ? { ...head, spare: 0, restoreOrder: undefined } : head,
  );
  return layOut({ heads: needed, rows }, { room, hasHeader }, isComplete);
}

function untitled({ shortTitle: _, ...head }: ColumnHead): ColumnHead {
  return { ...head, title: '', ...(isStatusTitle(head.title) ? { kind: 'status' } : {}) };
}

const isStatusTitle = (title: string) => /(status|state)$/i.test(title);

/**
 * `columns left out: eventId, publishStatus (FAILED in every row)`; undefined if there are none. A shared
 * value is known only from the filters or a complete table.
 */
export function leftOutNote(
  { heads, rows }: Table,
  columns: readonly Column[],
  isComplete: boolean,
): string | undefined {
  const shown = new Set(columns.map(({ index }) => index));
  const names = heads.flatMap((head, index) => {
    if (shown.has(index)) return [];
    const first = rows[0]?.[index];
    const isShared = isComplete || head.isConstant === true;
    const value =
      isShared && isStatusTitle(head.title) && rows.every((row) => row[index] === first) ? first : undefined;
    return typeof value === 'string' ? `${head.title} (${value} in every row)` : head.title;
  });
  return names.length === 0 ? undefined : `columns left out: ${names.join(', ')}`;
}

/** More characters that end a line, which would break a row. */
const BREAKS = /[\u2028\u2029]/g;

/** Escapes line ends and control characters. */
export function oneLine(text: string): string {
  // Half a surrogate pair prints as U+FFFD, so measure that.
  return terminalSafeLine(text.toWellFormed()).replace(BREAKS, unicodeEscape);
}

export function ended(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
