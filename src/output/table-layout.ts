import { cellWidth, cutTo, padTo, widest } from '../terminal/cell-width.ts';
import type { Palette } from '../terminal/palette.ts';
import { type CellKind, coloredStatus, kindOf, timeForms } from './table-cell.ts';

/** What a table shows where a value is missing or null. */
export const NONE = '-';
export const GAP = 2;

export interface ColumnHead {
  readonly title: string;
  /** Shown where the title does not fit. */
  readonly short?: string;
  /** May be left out where the terminal is narrow. */
  readonly spare?: boolean;
}

/** A column as it is printed: its width in terminal columns, and how its cells come to fit. */
export interface Column {
  readonly head: ColumnHead;
  /** Which cell of a row. */
  readonly index: number;
  readonly kind: CellKind;
  readonly width: number;
}

/** Columns that fit a terminal, by the rows at hand. */
export function terminalColumns(
  heads: readonly ColumnHead[],
  rows: readonly (readonly string[])[],
  room: number,
): Column[] {
  const kinds = heads.map(({ title }, index) =>
    kindOf(
      title,
      rows.map((row) => row[index] as string).filter((text) => text !== NONE),
    ),
  );
  const sizes = heads.map((head, index) => sizesOf(head, kinds[index] as CellKind, columnTexts(rows, index)));
  const widths = fitColumns(sizes, room, GAP);
  return heads
    .map((head, index) => ({ head, index, kind: kinds[index] as CellKind, width: widths[index] as number }))
    .filter(({ width }) => width > 0);
}

/** Columns as wide as the rows at hand need: nothing is cut. */
export function plainColumns(heads: readonly ColumnHead[], rows: readonly (readonly string[])[]): Column[] {
  return heads.map((head, index) => ({
    head,
    index,
    kind: 'text',
    width: widest([head.title, ...columnTexts(rows, index)]),
  }));
}

/** The cells of a terminal's row, each cut and padded to its column, in its colour. */
export function fittedCells(row: readonly string[], columns: readonly Column[], palette: Palette): string[] {
  return columns.map(({ index, kind, width }) => {
    const text = row[index] as string;
    const cell = padTo(kind === 'time' ? timeTo(text, width) : cutTo(text, width), width);
    return kind === 'status' ? coloredStatus(text, cell, palette) : cell;
  });
}

/** The titles, likewise. */
export function fittedTitles(columns: readonly Column[], palette: Palette): string[] {
  return columns.map(({ head: { title, short = title }, width }) =>
    palette.bold(padTo(cutTo(cellWidth(title) <= width ? title : short, width), width)),
  );
}

/** A whole GUID needs 36; this much of one still tells two apart. */
const SHORT_GUID = 9;

function sizesOf(head: ColumnHead, kind: CellKind, texts: string[]): ColumnSizes {
  const { title, short = title, spare = false } = head;
  const whole = widest(texts);
  if (kind === 'time') {
    const form = (index: number) => widest(texts.map((text) => timeForms(text)[index] ?? text));
    const [full, seconds, yearless] = [form(0), form(1), form(2)];
    const least = { values: seconds, soft: seconds, tight: yearless, hard: yearless };
    return { extra: Math.max(full, cellWidth(title)), ...least, stepped: true, spare };
  }
  const extra = Math.max(whole, cellWidth(title));
  if (kind === 'guid') {
    const soft = spare ? SHORT_GUID : whole;
    return { extra, values: whole, soft, tight: soft, hard: SHORT_GUID, stepped: true, spare };
  }
  const titled = Math.min(cellWidth(short), 12);
  const soft = Math.max(Math.min(whole, kind === 'status' ? 12 : 16), titled);
  const hard = Math.min(soft, kind === 'status' ? 7 : 3);
  return {
    extra,
    values: Math.max(whole, titled),
    soft,
    tight: Math.min(soft, 8),
    hard,
    stepped: false,
    spare,
  };
}

function timeTo(text: string, width: number): string {
  const forms = timeForms(text);
  return forms.find((form) => cellWidth(form) <= width) ?? cutTo(forms.at(-1) as string, width);
}

function columnTexts(rows: readonly (readonly string[])[], index: number): string[] {
  return rows.map((row) => row[index] as string);
}

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
