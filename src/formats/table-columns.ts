import { cellWidth, cutMiddle, cutToWidth, widest } from '../terminal/cell-width.ts';

export const NONE = '-';

export type TableCell = string | BarCell;
interface BarCell {
  readonly share: number;
  readonly draw: (width: number) => string;
  readonly paint?: (text: string) => string;
}

/** A column before layout. Its `kind` defaults to that of its title and texts. */
export interface ColumnHead {
  readonly title: string;
  readonly shortTitle?: string;
  readonly kind?: ColumnKind;
  /** Columns with a higher number are left out earlier, those with 0 (the default) last of all. */
  readonly spare?: number;
  readonly isConstant?: boolean;
  /** Minimum width of a text or bar before columns are left out. */
  readonly least?: number;
  /** True if its values distinguish rows: they are cut in the middle, and only while they stay different. */
  readonly isDistinctive?: boolean;
  /** Order in which left out columns return if rows would look alike, the lowest first. */
  readonly restoreOrder?: number | undefined;
  readonly most?: number;
  /** Never cut from 80 terminal columns on, nor left out without `spare`: for an event's id. */
  readonly isWhole?: boolean;
  /** True for field paths, which are cut at the front, since the last names are most specific. */
  readonly isPath?: boolean;
}

export interface KindedColumn {
  readonly index: number;
  readonly title: string;
  readonly kind: ColumnKind;
}

export interface Column extends KindedColumn {
  readonly width: number;
  readonly isPath?: boolean;
  readonly isDistinctive?: boolean;
}

/** Determines cutting, alignment and colour. A `bar` takes the remaining room. */
export type ColumnKind = 'time' | 'id' | 'status' | 'number' | 'text' | 'bar';

export type TableRows = readonly (readonly TableCell[])[];

export const OR_EARLIER = ' or earlier';

const TIME = /^(\d{4})-(\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?( or earlier)?$/;
const ID = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i;
const NUMBER = /^[<>]?-?\d[\d,]*(\.\d+)?([eE][+-]?\d+)?( %)?$/;

/** A GUID in braces, with some margin. */
const LONGEST_ID_COLUMNS = 40;

export function columnKindOf({ title, kind, isWhole }: ColumnHead, texts: readonly string[]): ColumnKind {
  if (kind) return kind;
  if (/(status|state)$/i.test(title)) return 'status';
  const present = texts.filter((text) => text !== NONE);
  if (present.length === 0) return 'text';
  if (isWhole && widest(present) <= LONGEST_ID_COLUMNS) return 'id';
  if (present.every((text) => TIME.test(text))) return 'time';
  if (present.every((text) => ID.test(text))) return 'id';
  return present.every((text) => NUMBER.test(text)) ? 'number' : 'text';
}

/** Widest first: whole, without fraction, without year, also without seconds, without date. */
export function timeForms(text: string): readonly string[] {
  const match = TIME.exec(text);
  if (!match) return [text];
  const [, year, day, time = '', fraction = '', offset = '', edge = ''] = match;
  const zone = offset + edge;
  return [
    `${year}-${day} ${time}${fraction}${zone}`,
    `${year}-${day} ${time}${zone}`,
    `${day} ${time}${zone}`,
    `${day} ${time.slice(0, -3)}${zone}`,
    `${time}${zone}`,
  ];
}

export function timeWithin(text: string, width: number): string {
  return timeForms(text).find((form) => cellWidth(form) <= width) ?? text;
}

/** Measures nothing, so no width data has to be loaded. */
export function kindedColumns(heads: readonly ColumnHead[], rows: TableRows): KindedColumn[] {
  return heads.map((head, index) => ({
    index,
    title: head.title,
    kind: columnKindOf(head, textsOf(rows, index)),
  }));
}

export function wholeColumns(heads: readonly ColumnHead[], rows: TableRows): Column[] {
  return kindedColumns(heads, rows).map((column) => {
    const { index, title } = column;
    const width = heads[index]?.most ?? widest([title, ...textsOf(rows, index)]);
    return { ...column, width };
  });
}

export function shownText(cell: string, { kind, width, isPath, isDistinctive }: Column): string {
  if (kind === 'time') return timeWithin(cell, width);
  if (isPath) return lastNames(cell, width);
  return isDistinctive ? cutMiddle(cell, width) : cutToWidth(cell, width);
}

/** Keeps as many last names as fit: `…amount.currency`. */
function lastNames(path: string, width: number): string {
  if (cellWidth(path) <= width) return path;
  const names = path.split(/(?<!\\)\./);
  for (let first = 1; first < names.length; first++) {
    const rest = `…${names.slice(first).join('.')}`;
    if (cellWidth(rest) <= width || first === names.length - 1) return cutToWidth(rest, width);
  }
  return cutToWidth(path, width);
}

export function textsOf(rows: TableRows, index: number): string[] {
  return rows.flatMap((row) => (typeof row[index] === 'string' ? [row[index]] : []));
}
