/** The widths that a column can make do with, from all it wants to all it can bear. */
export interface ColumnSizes {
  /** Room to spare: the title is not cut, a time has its fraction. */
  readonly extra: number;
  /** No value is cut. */
  readonly values: number;
  /** Good to read. */
  readonly soft: number;
  readonly tight: number;
  readonly hard: number;
  /** Widths between are of no use: a GUID is whole or short, a time has its year or not. */
  readonly stepped: boolean;
  /** Left out before anything gets tight. */
  readonly spare: boolean;
}

/**
 * Widths for columns that share `room` with a gap between each two; 0 for a column that is left out. Spare columns
 * go first, from the right; what is then left over goes to running text, to whole GUIDs and times, to titles.
 */
export function fitColumns(columns: readonly ColumnSizes[], room: number, gap: number): number[] {
  const shown = columns.map(() => true);
  const fits = (size: (column: ColumnSizes) => number) => left(columns.map(size), shown, room, gap) >= 0;
  const grown = (size: (column: ColumnSizes) => number) => grow(columns, shown, columns.map(size), room, gap);
  if (fits((column) => column.soft)) return grown((column) => column.soft);
  for (let index = columns.length - 1; index > 0; index--) {
    if (!columns[index]?.spare) continue;
    shown[index] = false;
    if (fits((column) => column.soft)) return grown((column) => column.soft);
  }
  if (fits((column) => column.tight)) return grown((column) => column.tight);
  for (let index = columns.length - 1; index > 0 && !fits((column) => column.hard); index--)
    shown[index] = false;
  if (fits((column) => column.hard)) return grown((column) => column.hard);
  return columns.map((_, index) => (index === 0 ? Math.max(1, room) : 0));
}

function left(widths: readonly number[], shown: readonly boolean[], room: number, gap: number): number {
  let used = -gap;
  for (const [index, width] of widths.entries()) if (shown[index]) used += width + gap;
  return room - used;
}

function grow(
  columns: readonly ColumnSizes[],
  shown: readonly boolean[],
  start: number[],
  room: number,
  gap: number,
): number[] {
  const widths = start.map((width, index) => (shown[index] ? width : 0));
  let rest = left(start, shown, room, gap);
  const raise = (index: number, width: number) => {
    const more = width - (widths[index] as number);
    if (!shown[index] || more <= 0 || more > rest) return;
    rest -= more;
    widths[index] = width;
  };
  const raiseStepped = (size: 'tight' | 'soft' | 'values') => {
    for (const [index, column] of columns.entries()) if (column.stepped) raise(index, column[size]);
  };
  raiseStepped('tight');
  // Running text grows evenly: always the narrowest that wants more.
  while (rest > 0) {
    let narrowest = -1;
    for (const [index, { stepped, values }] of columns.entries()) {
      const width = widths[index] as number;
      const wants = shown[index] && !stepped && width < values;
      if (wants && !(width >= (widths[narrowest] ?? Number.POSITIVE_INFINITY))) narrowest = index;
    }
    if (narrowest < 0) break;
    raise(narrowest, (widths[narrowest] as number) + 1);
  }
  raiseStepped('soft');
  raiseStepped('values');
  for (const [index, { extra }] of columns.entries()) raise(index, extra);
  return widths;
}
