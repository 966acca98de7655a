import type { Output } from '../context.ts';
import { padTo } from '../terminal/cell-width.ts';
import { type Palette, paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { oneLine } from './table-cell.ts';
import {
  type Column,
  fittedCells,
  fittedTitles,
  GAP,
  plainColumns,
  terminalColumns,
} from './table-layout.ts';

type Rows = readonly (readonly string[])[];

/** Text that cli-table3 measures as we do: it counts characters where we count what a terminal shows as one. */
const MEASURED_ALIKE =
  /^(?:[\x20-\x7e\xa1-\xac\xae-\u024f\u0386-\u0481\u2010-\u2015\u2018-\u201f…]|\x1b\[[\d;]*m)*$/;

/** A page of rows fitted to a terminal, with its titles. */
export async function terminalTable(
  columns: readonly Column[],
  rows: Rows,
  palette: Palette,
): Promise<string> {
  const cells = [fittedTitles(columns, palette), ...rows.map((row) => fittedCells(row, columns, palette))];
  if (!cells.every((row) => row.every((cell) => MEASURED_ALIKE.test(cell)))) return lines(cells);
  const { default: Table } = await import('cli-table3');
  const none = Object.fromEntries(BORDERS.map((name) => [name, '']));
  const table = new Table({
    chars: { ...none, middle: ' '.repeat(GAP) },
    colWidths: columns.map(({ width }) => width),
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
  });
  table.push(...cells);
  return lines(
    table
      .toString()
      .split('\n')
      .map((line) => [line]),
  );
}

const BORDERS = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
];

/** Further rows of the same table; laying them out again through the library would cost several times as much. */
export function terminalRows(columns: readonly Column[], rows: Rows, palette: Palette): string {
  return lines(rows.map((row) => fittedCells(row, columns, palette)));
}

/** Titles and rows for a pipe: aligned as far as the columns' widths go, and never cut. */
export function plainRows(columns: readonly Column[], rows: Rows, withTitles: boolean): string {
  const all = withTitles ? [columns.map(({ head }) => head.title), ...rows] : rows;
  return lines(all.map((row) => columns.map(({ width }, index) => padTo(row[index] as string, width))));
}

/** No line ends in spaces: it would wrap where the last cell still fits. */
function lines(rows: Rows): string {
  return rows.map((row) => `${row.join(' '.repeat(GAP)).trimEnd()}\n`).join('');
}

/** A small table as text: fitted to the terminal where there is one, else aligned and whole. */
export async function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  output: Pick<Output, 'isTerminal' | 'columns'>,
  reporter: Pick<Reporter, 'stdoutColor'>,
): Promise<string> {
  const heads = header.map((title) => ({ title: oneLine(title) }));
  const cells = rows.map((row) => row.map(oneLine));
  if (!output.isTerminal) return plainRows(plainColumns(heads, cells), cells, true);
  const palette = await paletteOf(reporter.stdoutColor);
  return await terminalTable(terminalColumns(heads, cells, output.columns), cells, palette);
}
