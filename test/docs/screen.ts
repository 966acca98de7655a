import xterm from '@xterm/headless';

/**
 * Neighbouring cells of the same style. `color` is the number of an ANSI colour; null is the terminal's
 * default.
 */
export interface Run {
  readonly text: string;
  readonly column: number;
  readonly color: number | null;
  readonly bold: boolean;
  readonly dim: boolean;
}

/**
 * Returns what a terminal shows after it has been sent `sent`: its lines as runs, without the white space
 * between them.
 */
export async function screenLines(sent: string, columns: number): Promise<Run[][]> {
  const terminal = new xterm.Terminal({ cols: columns, rows: 100, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(sent, resolve));
  const { active } = terminal.buffer;
  const lines: Run[][] = [];
  for (let row = 0; row < active.length; row++) lines.push(runsOf(active.getLine(row)!));
  terminal.dispose();
  while (lines.at(-1)?.length === 0) lines.pop();
  return lines;
}

type Line = NonNullable<ReturnType<xterm.Terminal['buffer']['active']['getLine']>>;
type Cell = NonNullable<ReturnType<Line['getCell']>>;

function runsOf(line: Line): Run[] {
  const runs: Run[] = [];
  for (let column = 0; column < line.length; column++) {
    const cell = line.getCell(column)!;
    const run = { text: cell.getChars() || ' ', column, ...lookOf(cell) };
    const last = runs.at(-1);
    if (last && sameLook(last, run)) runs[runs.length - 1] = { ...last, text: last.text + run.text };
    else runs.push(run);
  }
  return runs.flatMap(({ text, column, ...look }) => {
    const start = column + text.length - text.trimStart().length;
    return text.trim() === '' ? [] : [{ text: text.trim(), column: start, ...look }];
  });
}

function lookOf(cell: Cell): Omit<Run, 'text' | 'column'> {
  if (cell.getWidth() !== 1 || cell.isInverse() || !cell.isBgDefault() || cell.isFgRGB())
    throw new Error(`the pictures have no way to draw this cell: ${JSON.stringify(cell.getChars())}`);
  const color = cell.isFgPalette() ? cell.getFgColor() : null;
  return { color, bold: cell.isBold() !== 0, dim: cell.isDim() !== 0 };
}

function sameLook(one: Run, other: Run): boolean {
  return one.color === other.color && one.bold === other.bold && one.dim === other.dim;
}
