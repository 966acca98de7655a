import { QUOTE } from '../items/json-scanner.ts';
import { type ColumnFacts, countGuids, holdsGuid, isColumnName } from './id-column.ts';

const NEWLINE = 0x0a;
const PARENTHESIS = 0x28;

/** Bytes of empty rows, and of the rules in tables of `psql`, MySQL and Markdown. */
const RULE_BYTES = new Set(Buffer.from(' \t\r,;|-+=:'));
/** The number of rows below a table of `psql`, whose word is in the user's language. */
const ROW_COUNT = /^\(\d+ \p{L}+\)\s*$/u;

/** Separators of tables: of CSV, of Excel with decimal commas, of TSV, and of `psql`. */
const SEPARATORS = [',', ';', '\t', '|'] as const;

export interface TableForm {
  readonly separator: number;
  /** True if quoted cells may hold separators and line feeds. */
  readonly hasQuotes: boolean;
  readonly hasHeader: boolean;
  readonly columns: readonly ColumnFacts[];
}

/** Share of the rows that must have as many cells as the first one. */
const MIN_ALIKE = 0.9;

/**
 * Detects the form of a table at the start of a text; undefined for other texts: a list of ids, a log.
 * `field`: the requested column, which may be the only one.
 */
export function tableFormOf(text: string, field: string | undefined): TableForm | undefined {
  const leastColumns = field === undefined ? 2 : 1;
  for (const separator of SEPARATORS) {
    // Dumps of databases are TSV without quotes.
    const hasQuotes = separator !== '\t';
    const rows = rowsOf(text, separator, hasQuotes);
    // A row without a line end may be incomplete.
    if (rows.length > 2 && !text.endsWith('\n')) rows.pop();
    const [first = [], ...others] = rows;
    if (first.length < leastColumns || others.length === 0) continue;
    const alike = others.filter(({ length }) => length === first.length).length;
    if (alike < MIN_ALIKE * others.length) continue;
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
 * Detects the form of CSV by its header line; undefined for a line that cannot be one. Spreadsheets with
 * decimal commas save it with semicolons, and copy cells with tabs, quoted if needed.
 */
export function formOfHeader(line: string): TableForm | undefined {
  const separator = /[,;\t]/.exec(line)?.[0];
  if (separator === undefined && /\s/.test(line.trim())) return undefined;
  const [names = []] = rowsOf(line, separator ?? ',', true);
  const columns = names.map((name) => ({ name, guids: 0 }));
  return { separator: (separator ?? ',').charCodeAt(0), hasQuotes: true, hasHeader: true, columns };
}

/** Splits text into rows of cells, without decoration. */
function rowsOf(text: string, separator: string, hasQuotes: boolean): string[][] {
  const bytes = Buffer.from(`${text}\n`);
  const scanner = new RowScanner(separator.charCodeAt(0), hasQuotes);
  const rows: string[][] = [];
  let start = 0;
  for (let end = scanner.rowEnd(bytes, start); end !== -1; end = scanner.rowEnd(bytes, start)) {
    if (!isDecoration(bytes, start, end)) {
      const row: string[] = [];
      scanner.eachCell(bytes, start, end, (_, from, to) =>
        row.push(cellText(bytes.toString('utf8', from, to), hasQuotes)),
      );
      rows.push(row);
    }
    start = end + 1;
  }
  return rows;
}

function cellText(cell: string, hasQuotes: boolean): string {
  const quoted = hasQuotes ? /^"(.*)"$/s.exec(cell.trim())?.[1] : undefined;
  return (quoted?.replaceAll('""', '"') ?? cell).trim();
}

export type UseCell = (bytes: Buffer, start: number, end: number) => void;

export class TableColumnReader {
  readonly #scanner: RowScanner;
  readonly #column: number;
  readonly #cells: number;
  readonly #use: UseCell;
  #rest: Buffer[] = [];
  #isHeader: boolean;
  #cell = 0;

  constructor({ separator, hasQuotes, hasHeader, columns }: TableForm, column: number, use: UseCell) {
    this.#scanner = new RowScanner(separator, hasQuotes);
    this.#isHeader = hasHeader;
    this.#column = column;
    this.#cells = columns.length;
    this.#use = use;
  }

  add(piece: Buffer): void {
    this.#rest.push(piece);
    if (!piece.includes(this.#scanner.awaited)) return;
    const bytes = Buffer.concat(this.#rest);
    let start = 0;
    for (;;) {
      const end = this.#scanner.rowEnd(bytes, start);
      if (end === -1) break;
      this.#useRow(bytes, start, end);
      start = end + 1;
    }
    this.#rest = [Buffer.from(bytes.subarray(start))];
  }

  /** Uses the last row, which has no line end. Returns false if it is incomplete. */
  end(): boolean {
    const line = Buffer.concat([...this.#rest, Buffer.from('\n')]);
    const end = this.#scanner.rowEnd(line, 0);
    return end !== -1 && this.#useRow(line, 0, end) === this.#cells;
  }

  /** Uses the cell of a row. Returns the row's number of cells, or of the table's for decoration. */
  #useRow(bytes: Buffer, start: number, end: number): number {
    if (isDecoration(bytes, start, end)) return this.#cells;
    this.#cell = 0;
    this.#scanner.eachCell(bytes, start, end, this.#useCell);
    this.#isHeader = false;
    return this.#cell;
  }

  readonly #useCell: UseCell = (bytes, start, end) => {
    if (this.#cell === this.#column && !this.#isHeader) this.#use(bytes, start, end);
    this.#cell++;
  };
}

/** Finds rows and their cells in bytes (RFC 4180). */
class RowScanner {
  /** A byte that the last row needs to end, so that a long cell is not rescanned for each piece. */
  awaited = NEWLINE;
  readonly #separator: number;
  readonly #hasQuotes: boolean;

  constructor(separator: number, hasQuotes: boolean) {
    this.#separator = separator;
    this.#hasQuotes = hasQuotes;
  }

  /**
   * Returns the offset of the line feed at a row's end; -1 if the row is incomplete. Quoted cells may contain
   * line feeds.
   */
  rowEnd(bytes: Buffer, start: number): number {
    this.awaited = NEWLINE;
    let end = bytes.indexOf(NEWLINE, start);
    if (!this.#hasQuotes) return end;
    let closed = start - 1;
    for (
      let quote = indexBefore(end, bytes, QUOTE, start);
      quote !== -1;
      quote = indexBefore(end, bytes, QUOTE, quote + 1)
    ) {
      // Other quotes are part of their cell, such as 5" for inches.
      const isOpening = quote === closed + 1 || bytes[quote - 1] === this.#separator;
      if (!isOpening) continue;
      closed = bytes.indexOf(QUOTE, quote + 1);
      if (closed === -1) {
        this.awaited = QUOTE;
        return -1;
      }
      if (closed > end) end = bytes.indexOf(NEWLINE, closed);
      quote = closed;
    }
    return end;
  }

  /** Calls `use` for each cell of a row, with its quotes and the space around it. `end`: from `rowEnd`. */
  eachCell(bytes: Buffer, start: number, end: number, use: UseCell): void {
    for (let at = start; at <= end; ) {
      const cellEnd = this.#cellEnd(bytes, at, end);
      use(bytes, at, cellEnd);
      at = cellEnd + 1;
    }
  }

  #cellEnd(bytes: Buffer, start: number, end: number): number {
    let from = start;
    // `rowEnd` has found the quote that closes each.
    while (this.#hasQuotes && bytes[from] === QUOTE) from = bytes.indexOf(QUOTE, from + 1) + 1;
    const next = indexBefore(end, bytes, this.#separator, from);
    return next === -1 ? end : next;
  }
}

/** True for a line that is not a row: an empty one, a rule, or the number of rows. */
function isDecoration(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at < end && RULE_BYTES.has(bytes[at] as number)) at++;
  return at === end || (bytes[at] === PARENTHESIS && ROW_COUNT.test(bytes.toString('utf8', at, end)));
}

/**
 * Searches for a byte before an offset; -1 if missing. Limited to the row: the next quote may be megabytes
 * away.
 */
function indexBefore(end: number, bytes: Buffer, byte: number, start: number): number {
  const at = end <= start ? -1 : bytes.subarray(start, end).indexOf(byte);
  return at === -1 ? -1 : start + at;
}
