import { cellWidth, cutToWidth } from '../terminal/cell-width.ts';
import { type Palette, statusPaint } from '../terminal/palette.ts';
import { withAsciiCuts } from '../terminal/terminal-text.ts';
import { type Column, shownText, type TableCell, type TableRows, timeWithin } from './table-columns.ts';
import { GAP } from './table-layout.ts';

/** Returns aligned lines without line ends or trailing spaces. */
export type Draw = (columns: readonly Column[], rows: TableRows, hasTitles?: boolean) => string[];

interface DrawnCell {
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

type DrawnRow = readonly DrawnCell[];

/** Longer tables are padded by hand: cli-table3 takes a minute for 100,000 rows. */
const SCREEN_ROWS = 100;

/**
 * Text that cli-table3 0.6 measures like `cellWidth`. In other scripts it counts some combining marks as
 * columns and cuts within characters. Its time is quadratic in the length.
 */
const MEASURED_ALIKE = /^[\x20-\x7e…\u2580-\u259f]{0,200}$/;

const BORDERS = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
];

/** Uses cli-table3 if the rows fit a screen and the library measures all texts as `cellWidth` does. */
export async function loadDraw(palette: Palette, takesUnicode: boolean): Promise<Draw> {
  const { default: CliTable } = await import('cli-table3');
  const noBorders = Object.fromEntries(BORDERS.map((name) => [name, '']));
  const drawByLibrary = (columns: readonly Column[], rows: readonly DrawnRow[]) => {
    const table = new CliTable({
      chars: { ...noBorders, middle: ' '.repeat(GAP) },
      colWidths: columns.map(({ width }) => width),
      colAligns: columns.map(({ kind }) => (kind === 'number' ? 'right' : 'left')),
      style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    });
    table.push(...rows.map((row) => row.map(({ text, paint }) => (paint ? paint(text) : text))));
    return table.toString().split('\n');
  };
  const draw = drawer(palette, (columns, wholeRows) => {
    const rows = wholeRows.map((row) => row.map((cell, index) => fitted(cell, columns[index] as Column)));
    const isForScreen = rows.length > 0 && rows.length <= SCREEN_ROWS;
    const isMeasuredAlike =
      isForScreen && rows.every((row) => row.every(({ text }) => MEASURED_ALIKE.test(text)));
    if (isMeasuredAlike) return drawByLibrary(columns, rows);
    return rows.map((row) => paddedLine(columns, row, cutToWidth));
  });
  return takesUnicode ? draw : (...table) => draw(...table).map(withAsciiCuts);
}

function fitted(cell: DrawnCell, column: Column): DrawnCell {
  return { ...cell, text: shownText(cell.text, column) };
}

/** For a pipe: text wider than its column shifts the rest of the row. */
export function plainDraw(palette: Palette): Draw {
  return drawer(palette, (columns, rows) => rows.map((row) => paddedLine(columns, row, (text) => text)));
}

type DrawCells = (columns: readonly Column[], rows: readonly DrawnRow[]) => string[];

function drawer(palette: Palette, drawCells: DrawCells): Draw {
  return (columns, rows, hasTitles = true) => {
    const titles = columns.map(({ title }) => ({ text: title, paint: palette.bold }));
    const cells = rows.map((row) => drawnCells(row, columns, palette));
    return drawCells(columns, hasTitles ? [titles, ...cells] : cells).map((line) => line.trimEnd());
  };
}

function drawnCells(row: readonly TableCell[], columns: readonly Column[], palette: Palette): DrawnRow {
  return columns.map(({ index, kind, width }) => {
    const cell = row[index] ?? '';
    if (typeof cell !== 'string') return { text: cell.draw(width), paint: cell.paint };
    if (kind === 'time') return { text: timeWithin(cell, width) };
    return { text: cell, paint: kind === 'status' ? statusPaint(cell, palette) : undefined };
  });
}

function paddedLine(
  columns: readonly Column[],
  row: DrawnRow,
  fit: (text: string, width: number) => string,
): string {
  const cells = row.map(({ text, paint }, index) => {
    const { width, kind } = columns[index] as Column;
    const fitted = fit(text, width);
    const padding = ' '.repeat(Math.max(0, width - cellWidth(fitted)));
    const shown = paint ? paint(fitted) : fitted;
    return kind === 'number' ? padding + shown : shown + padding;
  });
  return cells.join(' '.repeat(GAP));
}
