import type { Output } from '../context.ts';
import type { CellOf } from '../items/item-cells.ts';
import { valueText } from '../items/json-bytes.ts';
import type { TimeZone } from '../items/time-zone.ts';
import { cellWidth, cutTo, loadWidths } from '../terminal/cell-width.ts';
import { type Palette, paletteOf, statusPaint } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafeLine, unicodeEscape } from '../terminal/terminal-safe.ts';
import { type Column, fittedColumns, GAP, NONE, timeForms, wholeColumns } from './table-layout.ts';

/** Other characters that end a line: a row of a table has to stay one row. */
const BREAKS = /[\u2028\u2029]/g;
/** A cell is cut after this many UTF-16 units, which is more than any terminal shows on a line. */
const LONGEST = 4000;

/** A value as a cell of a terminal's table. */
export function terminalCell(bytes: Buffer, start: number, end: number): string {
  const text = bytes[start] === 0x6e ? NONE : valueText(bytes, start, end);
  return oneLine(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}

/** A value as a cell of a table in a pipe: whole. */
export function plainCell(bytes: Buffer, start: number, end: number): string {
  return bytes[start] === 0x6e ? NONE : oneLine(valueText(bytes, start, end));
}

/** The same cells with times in a zone. */
export function cellsIn(zone: TimeZone, cellOf: CellOf): CellOf {
  return zone.isUtc ? cellOf : (bytes, start, end) => zone.shown(cellOf(bytes, start, end));
}

/** Text that keeps to its line and does nothing to a terminal. */
export function oneLine(text: string): string {
  // Half a surrogate pair is printed as U+FFFD, so it is measured as that.
  return terminalSafeLine(text.toWellFormed()).replace(BREAKS, unicodeEscape);
}

export interface Cell {
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

/** The cells of a row of values: times in the form that fits, statuses in their colour. */
export function valueCells(row: readonly string[], columns: readonly Column[], palette: Palette): Cell[] {
  return columns.map(({ index, kind, width }) => {
    const text = row[index] as string;
    if (kind === 'time') return { text: timeForms(text).find((form) => cellWidth(form) <= width) ?? text };
    return { text, paint: kind === 'status' ? statusPaint(text, palette) : undefined };
  });
}

/** The titles of the columns as cells. */
export function titleCells(columns: readonly Column[], palette: Palette): Cell[] {
  return columns.map(({ title }) => ({ text: title, paint: palette.bold }));
}

/** Draws rows as lines, without line ends, each cell cut or padded to its column; no line ends in spaces. */
export type Draw = (columns: readonly Pick<Column, 'width' | 'kind'>[], rows: readonly Cell[][]) => string[];

/**
 * Loads cli-table3 and the library that measures text beyond ASCII. With `wrap`, text that does not fit is wrapped
 * instead of cut.
 */
export async function tableDrawing(wrap = false): Promise<Draw> {
  const [{ default: Table }] = await Promise.all([import('cli-table3'), loadWidths()]);
  return (columns, rows) => {
    const drawn = (some: readonly Cell[][]) => {
      const table = new Table({
        chars: { ...NO_BORDERS, middle: ' '.repeat(GAP) },
        colWidths: columns.map(({ width }) => width),
        colAligns: columns.map(({ kind }) => (kind === 'number' ? 'right' : 'left')),
        style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
        wrapOnWordBoundary: false,
      });
      const cell = ({ text, paint }: Cell, index: number) => ({
        content: paint ? paint(text) : text,
        wordWrap: wrap && cellWidth(text) > (columns[index] as Column).width,
      });
      table.push(...some.map((row) => row.map(cell)));
      return table.toString().split('\n');
    };
    const isMeasured = (row: readonly Cell[]) => row.every(({ text }) => MEASURED_ALIKE.test(text));
    const lines = rows.every(isMeasured)
      ? drawn(rows)
      : rows.flatMap((row) => (isMeasured(row) ? drawn([row]) : [drawnByOurselves(row, columns)]));
    return lines.map((line) => line.trimEnd());
  };
}

const NO_BORDERS = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
  ].map((name) => [name, '']),
);

/**
 * Matches text that cli-table3 0.6 measures as terminals do and can cut anywhere. In other scripts it counts combining
 * marks and joiners as columns, and cuts within a character.
 */
const MEASURED_ALIKE =
  /^[\x20-\x7e\xa1-\xac\xae-\u024f\u0386-\u0481\u2010-\u2015\u2018-\u201f…\u2580-\u259f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]*$/;

function drawnByOurselves(row: readonly Cell[], columns: readonly Pick<Column, 'width' | 'kind'>[]): string {
  const cells = row.map(({ text, paint }, index) => {
    const { width, kind } = columns[index] as Column;
    const cut = cutTo(text, width);
    const padding = ' '.repeat(Math.max(0, width - cellWidth(cut)));
    const shown = paint ? paint(cut) : cut;
    return kind === 'number' ? padding + shown : shown + padding;
  });
  return cells.join(' '.repeat(GAP));
}

/** Rows for a pipe: aligned unless a value is wider than its column, and never cut. */
export function plainLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  paint?: (text: string, column: Column) => string,
): string[] {
  const padded = (text: string, column: Column) => {
    const padding = ' '.repeat(Math.max(0, column.width - cellWidth(text)));
    const shown = paint ? paint(text, column) : text;
    return column.kind === 'number' ? padding + shown : shown + padding;
  };
  return rows.map((row) =>
    columns
      .map((column) => padded(row[column.index] as string, column))
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
}

/** Lines as a text, each ended. */
export function ended(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** A small table as text: on a terminal within its width, texts that do not fit on further lines; elsewhere whole. */
export async function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  output: Pick<Output, 'isTerminal' | 'columns'>,
  reporter: Pick<Reporter, 'stdoutColor'>,
): Promise<string> {
  const heads = header.map((title) => ({ title: oneLine(title) }));
  const cells = rows.map((row) => row.map(oneLine));
  const draw = await tableDrawing(true);
  const columns = output.isTerminal
    ? fittedColumns(heads, cells, output.columns)
    : wholeColumns(heads, cells);
  const palette = await paletteOf(reporter.stdoutColor);
  return ended(
    draw(columns, [titleCells(columns, palette), ...cells.map((row) => valueCells(row, columns, palette))]),
  );
}
