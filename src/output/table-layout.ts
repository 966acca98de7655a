import { type CellKind, kindOf, statusText, timeForms } from './cell-kind.ts';
import { cellWidth, cutTo, padTo } from './cell-width.ts';
import { type ColumnSizes, fitColumns } from './fit-columns.ts';
import type { Palette } from './palette.ts';

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
    return kind === 'status' ? statusText(text, cell, palette) : cell;
  });
}

/** The titles, likewise. */
export function fittedTitles(columns: readonly Column[], palette: Palette): string[] {
  return columns.map(({ head: { title, short = title }, width }) =>
    palette.bold(padTo(cutTo(cellWidth(title) <= width ? title : short, width), width)),
  );
}

function sizesOf(
  { title, short = title, spare = false }: ColumnHead,
  kind: CellKind,
  texts: string[],
): ColumnSizes {
  if (kind === 'time') {
    const forms = texts.map(timeForms);
    const [values, soft, tight] = [0, 1, 2].map((form) =>
      widest(forms.map((list) => list[form] ?? (list[0] as string))),
    );
    return sizes([values as number, soft as number, tight as number, tight as number], title, true, spare);
  }
  const values = widest(texts);
  if (kind === 'guid') return sizes([values, spare ? 9 : values, spare ? 9 : values, 9], title, true, spare);
  const head = Math.min(cellWidth(short), 12);
  const soft = Math.max(Math.min(values, kind === 'status' ? 12 : 16), head);
  const hard = kind === 'status' ? 7 : 3;
  return sizes([Math.max(values, head), soft, Math.min(soft, 8), Math.min(soft, hard)], title, false, spare);
}

function sizes(
  widths: [number, number, number, number],
  title: string,
  stepped: boolean,
  spare: boolean,
): ColumnSizes {
  const [values, soft, tight, hard] = widths;
  return { title: cellWidth(title), values, soft, tight, hard, stepped, spare };
}

function timeTo(text: string, width: number): string {
  const forms = timeForms(text);
  return forms.find((form) => cellWidth(form) <= width) ?? cutTo(forms.at(-1) as string, width);
}

function columnTexts(rows: readonly (readonly string[])[], index: number): string[] {
  return rows.map((row) => row[index] as string);
}

function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, cellWidth(text)), 1);
}
