import { type ColumnFacts, countGuids, holdsGuid, isColumnName } from './id-column.ts';

const QUOTE = 0x22;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** The separators of tables: of CSV, of Excel where the comma is the decimal sign, of TSV, and of `psql`. */
const SEPARATORS = [',', ';', '\t', '|'] as const;

/** The form of a table in a text, as its first rows show it. */
export interface TableForm {
  readonly separator: number;
  /** True if a cell in quotes may hold separators and line feeds. */
  readonly hasQuotes: boolean;
  /** True if the first row has the names of the columns. */
  readonly hasHeader: boolean;
  readonly columns: readonly ColumnFacts[];
}

/** The share of the rows that has to have as many cells as the first one. */
const LEAST_ALIKE = 0.9;

/**
 * The form of the table that a text begins with; undefined for a text that is not a table: a list of ids, a
 * log. `isWhole`: the text has an end, so its last line is a row too. `field`: the column that was asked for,
 * which may be the only one.
 */
export function tableFormOf(
  text: string,
  isWhole: boolean,
  field: string | undefined,
): TableForm | undefined {
  const leastColumns = field === undefined ? 2 : 1;
  for (const separator of SEPARATORS) {
    // Dumps of databases are TSV without quotes.
    const hasQuotes = separator !== '\t';
    const rows = rowsOf(text, separator, hasQuotes);
    // A row without a line end may be cut off.
    if (rows.length > 2 && !(isWhole && text.endsWith('\n'))) rows.pop();
    const [first = [], ...others] = rows;
    if (first.length < leastColumns || others.length === 0) continue;
    const alike = others.filter(({ length }) => length === first.length).length;
    if (alike < LEAST_ALIKE * others.length) continue;
    const hasHeader = !first.some(holdsGuid);
    const data = hasHeader ? others : rows;
    const columns = first.map((title, index) => ({
      name: hasHeader ? title : `${index + 1}`,
      guids: countGuids(data.map((row) => row[index])),
    }));
    if (columns.some(({ name, guids }) => guids > 0 || (field !== undefined && isColumnName(name, field))))
      return { separator: separator.charCodeAt(0), hasQuotes, hasHeader, columns };
  }
  return undefined;
}

/**
 * The form of CSV that begins with a line of names; undefined for a line that cannot be one. Spreadsheets
 * save it with semicolons where the comma is the decimal sign, and copy cells with tabs, in quotes where they
 * need them.
 */
export function formOfHeader(line: string): TableForm | undefined {
  const separator = /[,;\t]/.exec(line)?.[0];
  if (separator === undefined && /\s/.test(line.trim())) return undefined;
  const [names = []] = rowsOf(line, separator ?? ',', true);
  const columns = names.map((name) => ({ name, guids: 0 }));
  return { separator: (separator ?? ',').charCodeAt(0), hasQuotes: true, hasHeader: true, columns };
}

/** The cells of the rows of a text (RFC 4180); empty rows, and rules between rows, are left out. */
function rowsOf(text: string, separator: string, hasQuotes: boolean): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (const character of `${text}\n`) {
    if (isQuoted) {
      if (character === '"') isQuoted = false;
      else cell += character;
    } else if (character === '"' && hasQuotes) isQuoted = true;
    else if (character === separator) {
      row.push(cell.trim());
      cell = '';
    } else if (character === '\n') {
      row.push(cell.trim());
      cell = '';
      if (row.length > 1 || row[0] !== '') rows.push(row);
      row = [];
    } else cell += character;
  }
  return rows.filter((cells) => !cells.every((one) => /^[-+=:]*$/.test(one) && one !== ''));
}

/** Takes the bytes of a cell. */
export type UseCell = (bytes: Buffer, start: number, end: number) => void;

/** Reads one column of a table whose bytes come in pieces. */
export class TableColumnReader {
  readonly #separator: number;
  readonly #column: number;
  readonly #cells: number;
  readonly #use: UseCell;
  readonly #hasQuotes: boolean;
  /** The row that is not whole yet. */
  #rest: Buffer[] = [];
  /** A byte without which the row cannot end: a long cell is not read again with each of its pieces. */
  #awaited = NEWLINE;
  #isFirstRow = true;
  readonly #hasHeader: boolean;

  constructor({ separator, hasQuotes, hasHeader, columns }: TableForm, column: number, use: UseCell) {
    this.#separator = separator;
    this.#hasQuotes = hasQuotes;
    this.#hasHeader = hasHeader;
    this.#column = column;
    this.#cells = columns.length;
    this.#use = use;
  }

  /** Uses the cells of the rows that are whole. */
  add(piece: Buffer): void {
    this.#rest.push(piece);
    if (!piece.includes(this.#awaited)) return;
    const bytes = this.#rest.length === 1 ? piece : Buffer.concat(this.#rest);
    let start = 0;
    for (;;) {
      const end = this.#rowEnd(bytes, start);
      if (end === -1) break;
      this.#useRow(bytes, start, end);
      start = end + 1;
    }
    this.#rest = start === bytes.length ? [] : [Buffer.from(bytes.subarray(start))];
  }

  /** Uses the last row, which has no line end. Returns false if it is cut off. */
  end(): boolean {
    const rest = Buffer.concat(this.#rest);
    if (rest.length === 0) return true;
    const line = Buffer.concat([rest, Buffer.from('\n')]);
    if (this.#rowEnd(line, 0) === -1) return false;
    return this.#useRow(line, 0, rest.length) === this.#cells;
  }

  /**
   * The offset of the line feed that ends a row; -1 if the row goes on. Cells in quotes may have line feeds.
   */
  #rowEnd(bytes: Buffer, start: number): number {
    this.#awaited = NEWLINE;
    let end = bytes.indexOf(NEWLINE, start);
    if (!this.#hasQuotes) return end;
    let closed = start - 1;
    for (
      let quote = indexBefore(end, bytes, QUOTE, start);
      quote !== -1;
      quote = indexBefore(end, bytes, QUOTE, quote + 1)
    ) {
      // Others are a part of their cell, such as 5" for inches.
      const isOpening = quote === closed + 1 || bytes[quote - 1] === this.#separator;
      if (!isOpening) continue;
      closed = bytes.indexOf(QUOTE, quote + 1);
      if (closed === -1) {
        this.#awaited = QUOTE;
        return -1;
      }
      if (closed > end) end = bytes.indexOf(NEWLINE, closed);
      quote = closed;
    }
    return end;
  }

  /** Uses the cell of a row. Returns how many cells the row has. */
  #useRow(bytes: Buffer, start: number, lineEnd: number): number {
    const end = bytes[lineEnd - 1] === RETURN && lineEnd > start ? lineEnd - 1 : lineEnd;
    const isHeader = this.#isFirstRow && this.#hasHeader;
    if (end > start) this.#isFirstRow = false;
    let at = start;
    for (let cell = 0; ; cell++) {
      const cellEnd = this.#cellEnd(bytes, at, end);
      if (cell === this.#column && !isHeader) this.#use(bytes, at, cellEnd);
      if (cellEnd >= end) return cell + 1;
      at = cellEnd + 1;
    }
  }

  #cellEnd(bytes: Buffer, start: number, end: number): number {
    let from = start;
    while (this.#hasQuotes && bytes[from] === QUOTE && from < end) {
      const closing = bytes.indexOf(QUOTE, from + 1);
      if (closing === -1 || closing >= end) return end;
      from = closing + 1;
    }
    const next = indexBefore(end, bytes, this.#separator, from);
    return next === -1 ? end : next;
  }
}

/**
 * The offset of a byte before another offset; -1 if it is not there. Only the row is searched: the next quote
 * may be megabytes away.
 */
function indexBefore(end: number, bytes: Buffer, byte: number, start: number): number {
  const at = end <= start ? -1 : bytes.subarray(start, end).indexOf(byte);
  return at === -1 ? -1 : start + at;
}
