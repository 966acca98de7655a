import type { Output } from '../context.ts';
import type { CellOf } from '../json/item-cells.ts';
import { valueText } from '../json/json-bytes.ts';
import { cellWidth, cutTo, loadWidthsFor } from '../terminal/cell-width.ts';
import { type Palette, paletteOf, statusPaint } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafeLine, unicodeEscape } from '../terminal/terminal-safe.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { type Column, fittedColumns, GAP, NONE, timeForms, wholeColumns } from './table-layout.ts';

/** Other characters that end a line: a row of a table has to stay on one line. */
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

/** The cells of a row of values, unchanged, with statuses in their colour. */
export function wholeCells(row: readonly string[], columns: readonly Column[], palette: Palette): Cell[] {
  return columns.map(({ index, kind }) => {
    const text = row[index] as string;
    return { text, paint: kind === 'status' ? statusPaint(text, palette) : undefined };
  });
}

/** The titles of the columns as cells. */
export function titleCells(columns: readonly Column[], palette: Palette): Cell[] {
  return columns.map(({ title }) => ({ text: title, paint: palette.bold }));
}

/** Draws rows as lines, without line ends, each cell aligned in its column; no line ends in spaces. */
export type Draw = (columns: readonly DrawnColumn[], rows: readonly Cell[][]) => string[];

type DrawnColumn = Pick<Column, 'width' | 'kind'>;

/** For a text that is wider than its column: cut it, wrap it, or print it whole and push the rest of its row. */
type TooWide = 'cut' | 'wrap' | 'push';

/**
 * The rows of one table of the library, which compares each of its cells with every row above. A table of 500 rows
 * takes a quarter longer than five of 100.
 */
const ROWS = 100;

/**
 * Loads cli-table3, which draws every table: 5,000 rows take it 0.4 s, and padding them here would take 0.01 s, but
 * there would be two ways of drawing. Text beyond ASCII is drawn after `loadWidths()`.
 */
export async function tableDrawing(tooWide: TooWide = 'cut'): Promise<Draw> {
  const { default: Table } = await import('cli-table3');
  const drawn = (columns: readonly DrawnColumn[], rows: readonly Cell[][]) => {
    const table = new Table({
      chars: { ...NO_BORDERS, middle: ' '.repeat(GAP) },
      colWidths: columns.map(({ width }) => width),
      colAligns: columns.map(({ kind }) => (kind === 'number' ? 'right' : 'left')),
      style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
      wrapOnWordBoundary: false,
    });
    const cell = ({ text, paint }: Cell, index: number) => ({
      content: paint ? paint(text) : text,
      wordWrap: tooWide === 'wrap' && cellWidth(text) > (columns[index] as DrawnColumn).width,
    });
    table.push(...rows.map((row) => row.map(cell)));
    return table.toString().split('\n');
  };
  return (columns, rows) => {
    const lines: string[] = [];
    let alike: Cell[][] = [];
    const drawAlike = () => {
      if (alike.length > 0) lines.push(...drawn(columns, alike));
      alike = [];
    };
    for (const row of rows) {
      const own = tooWide === 'push' ? pushed(columns, row) : columns;
      const isMeasured = row.every(({ text }) => MEASURED_ALIKE.test(text));
      if (isMeasured && own === columns) {
        alike.push(row);
        if (alike.length === ROWS) drawAlike();
      } else {
        drawAlike();
        lines.push(...(isMeasured ? drawn(own, [row]) : [drawnByOurselves(own, row)]));
      }
    }
    drawAlike();
    return lines.map((line) => line.trimEnd());
  };
}

/** The columns as wide as a row needs: the same columns if all of it fits. */
function pushed(columns: readonly DrawnColumn[], row: readonly Cell[]): readonly DrawnColumn[] {
  const widths = row.map(({ text }) => cellWidth(text));
  if (columns.every(({ width }, index) => width >= (widths[index] as number))) return columns;
  return columns.map(({ width, kind }, index) => ({ width: Math.max(width, widths[index] as number), kind }));
}

const NO_BORDERS = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
  ].map((name) => [name, '']),
);

/**
 * Matches text that cli-table3 0.6 measures as terminals do and can cut anywhere. In other scripts it counts some
 * combining marks as columns, and it cuts within a character: a test shows both.
 */
const MEASURED_ALIKE =
  /^[\x20-\x7e\xa1-\xac\xae-\u024f\u0386-\u0481\u2010-\u2015\u2018-\u201f…\u2580-\u259f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]*$/;

function drawnByOurselves(columns: readonly DrawnColumn[], row: readonly Cell[]): string {
  const cells = row.map(({ text, paint }, index) => {
    const { width, kind } = columns[index] as DrawnColumn;
    const cut = cutTo(text, width);
    const padding = ' '.repeat(Math.max(0, width - cellWidth(cut)));
    const shown = paint ? paint(cut) : cut;
    return kind === 'number' ? padding + shown : shown + padding;
  });
  return cells.join(' '.repeat(GAP));
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
  const [draw] = await Promise.all([tableDrawing('wrap'), loadWidthsFor([...header, ...cells.flat()])]);
  const columns = output.isTerminal
    ? fittedColumns(heads, cells, output.columns)
    : wholeColumns(heads, cells);
  const palette = await paletteOf(reporter.stdoutColor);
  return ended(
    draw(columns, [titleCells(columns, palette), ...cells.map((row) => valueCells(row, columns, palette))]),
  );
}
