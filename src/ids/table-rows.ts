import { type ColumnFacts, countGuids, holdsGuid, isColumnName } from './id-column.ts';

const QUOTE = 0x22;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

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
 * `isWhole`: the text is complete, including its last line. `field`: the requested column, which may be the
 * only one.
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
    // A row without a line end may be incomplete.
    if (rows.length > 2 && !(isWhole && text.endsWith('\n'))) rows.pop();
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

/** Splits text into rows of cells (RFC 4180), without empty rows and rules. */
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

export type UseCell = (bytes: Buffer, start: number, end: number) => void;

export class TableColumnReader {
  readonly #separator: number;
  readonly #column: number;
  readonly #cells: number;
  readonly #use: UseCell;
  readonly #hasQuotes: boolean;
  #rest: Buffer[] = [];
  /** A byte that the row needs to end, so that a long cell is not rescanned for each piece. */
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

  /** Uses the last row, which has no line end. Returns false if it is incomplete. */
  end(): boolean {
    const rest = Buffer.concat(this.#rest);
    if (rest.length === 0) return true;
    const line = Buffer.concat([rest, Buffer.from('\n')]);
    if (this.#rowEnd(line, 0) === -1) return false;
    return this.#useRow(line, 0, rest.length) === this.#cells;
  }

  /**
   * Returns the offset of the line feed at a row's end; -1 if the row is incomplete. Quoted cells may contain
   * line feeds.
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
      // Other quotes are part of their cell, such as 5" for inches.
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

  /** Uses the cell of a row. Returns the row's number of cells. */
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
 * Searches for a byte before an offset; -1 if missing. Limited to the row: the next quote may be megabytes
 * away.
 */
function indexBefore(end: number, bytes: Buffer, byte: number, start: number): number {
  const at = end <= start ? -1 : bytes.subarray(start, end).indexOf(byte);
  return at === -1 ? -1 : start + at;
}
