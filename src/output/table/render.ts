import type { Output } from '../../context.ts';
import { paletteOf } from '../palette.ts';
import type { Reporter } from '../reporter.ts';
import { oneLine } from './cell.ts';
import { plainColumns, terminalColumns } from './layout.ts';
import { plainRows, terminalTable } from './rows.ts';

/** A small table as text: fitted to the terminal where there is one, else aligned and whole. */
export async function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  output: Pick<Output, 'isTerminal' | 'columns'>,
  reporter: Pick<Reporter, 'stdoutColor'>,
): Promise<string> {
  const heads = header.map((title) => ({ title: oneLine(title, output.isTerminal) }));
  const cells = rows.map((row) => row.map((text) => oneLine(text, output.isTerminal)));
  if (!output.isTerminal) return plainRows(plainColumns(heads, cells), cells, true);
  const palette = await paletteOf(reporter.stdoutColor);
  return await terminalTable(terminalColumns(heads, cells, output.columns), cells, palette);
}
