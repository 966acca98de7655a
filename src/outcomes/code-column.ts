import { type Codes, enlarged } from './rows.ts';

/** The code of a field that is missing or null. */
export const NO_VALUE = 0;
/** The code of a field that is there without a value to compare. */
export const UNCODED = 1;
/** The code of a field's first value. */
export const FIRST_CODE = 2;

/** Cells for which there is room at first. */
const FIRST_CELLS = 64;
/** Cells get more room by a quarter. */
const GROWTH_OF_CELLS = 1.25;
/** A cell takes a code and its row. */
const BYTES_OF_CELL = 5;
/** Columns of fewer rows are small. */
const FEWEST_ROWS_OF_CELLS = 16_384;
/** Cells are worth it where they take this part of a column, or less. */
const WORTH_CELLS = 0.5;
/** A byte holds so many codes. */
const CODES_OF_BYTE = 0x100;

/**
 * For each row the code of a value, in a place of its own. Of a field behind a `[]` the values of a row are
 * cells, one behind the other, of which each row has any number. A field that few events have is kept in
 * cells too. It knows nothing of what the codes stand for.
 */
export class CodeColumn {
  /** By row, or by cell. */
  codes: Codes;
  /** True for a field behind a `[]`, of which a row may have several values. */
  readonly isInList: boolean;
  /** For each cell its row, in ascending order; undefined for a column with a place for each row. */
  cellRows: Int32Array | undefined;
  cells = 0;
  /** The numbers by row or cell, `NaN` where there is none, once the field has too many for codes. */
  numbers: Float64Array | undefined;
  /** Rows in which the field is there, null included. */
  present = 0;
  /** Of a field behind a `[]`: its values in the row that was set last. */
  filled = 0;
  /** In cells: the last row with a value, by its code. */
  #lastRows: number[] = [];

  constructor(isInList: boolean, capacity: number) {
    this.isInList = isInList;
    this.codes = new Uint8Array(isInList ? FIRST_CELLS : capacity);
    if (isInList) this.cellRows = new Int32Array(FIRST_CELLS);
  }

  /** True if the field has a value other than null in the row, which is the last one. */
  isSet(row: number): boolean {
    return this.cellRows ? this.#hasCells(row) : (this.codes[row] ?? NO_VALUE) !== NO_VALUE;
  }

  /** The codes of what the field has in a row, be it long ago. */
  codesOf(row: number): number[] {
    const { cellRows, codes } = this;
    if (!cellRows) return codes[row] === NO_VALUE ? [] : [codes[row] as number];
    return Array.from(codes.subarray(0, this.cells)).filter((_, cell) => cellRows[cell] === row);
  }

  /** The code of each of so many rows, of a field that is in no list. */
  codesByRow(rows: number): Codes {
    return this.cellRows ? this.#spread(this.codes, this.cellRows, rows) : this.codes;
  }

  /** The rows of the first ones in which the field has something. */
  rowsAmong(count: number): number[] {
    if (this.cellRows) return [...new Set(this.cellRows.subarray(0, this.cells))];
    return Array.from({ length: count }, (_, row) => row).filter((row) => this.codes[row] !== NO_VALUE);
  }

  get byteLength(): number {
    const { codes, cellRows, numbers } = this;
    return codes.byteLength + (cellRows?.byteLength ?? 0) + (numbers?.byteLength ?? 0);
  }

  /** Records that the field is there, as null, as an object or with a value that is not compared. */
  setPresent(row: number, code: typeof NO_VALUE | typeof UNCODED): void {
    if (this.cellRows && code === NO_VALUE) {
      if (!this.isInList) this.present++;
      return;
    }
    const place = this.openPlace(row);
    this.fillPlace(row, place, code);
  }

  /** The row of the next value, or its cell. `fillPlace` has to follow. */
  protected openPlace(row: number): number {
    if (!this.cellRows) {
      this.present++;
      return row;
    }
    if (!this.#hasCells(row)) {
      this.present++;
      this.filled = 0;
    }
    this.filled++;
    if (this.cells === this.codes.length) this.#enlarge(Math.ceil(GROWTH_OF_CELLS * this.cells));
    if (this.numbers) this.numbers[this.cells] = Number.NaN;
    return this.cells;
  }

  /** Notes the code of a value at its place. Equal values of a row take one cell. */
  protected fillPlace(row: number, place: number, code: number): void {
    if (!this.cellRows) {
      this.codes[row] = code;
      return;
    }
    const isNumber = this.numbers && !Number.isNaN(this.numbers[place]);
    if (!isNumber && this.#lastRows[code] === row && this.#hasCells(row)) return;
    this.#lastRows[code] = row;
    this.codes[place] = code;
    this.cellRows[place] = row;
    this.cells++;
  }

  /** The values so far. */
  protected get valueCount(): number {
    return this.cellRows ? this.cells : this.present;
  }

  /** Takes back what was recorded in this row, which is the last one. */
  protected clearRow(row: number): void {
    if (this.isSet(row)) this.present--;
    if (this.cellRows) {
      while (this.#hasCells(row)) this.cells--;
      this.#lastRows = [];
      return;
    }
    this.codes[row] = NO_VALUE;
    if (this.numbers) this.numbers[row] = Number.NaN;
  }

  /** Called when a code is given out for the first time: a byte may not hold it. */
  protected makeRoomFor(code: number): void {
    if (code === CODES_OF_BYTE) this.codes = Uint16Array.from(this.codes);
  }

  /** How often each of so many codes is there, among all places. */
  protected countByCode(codes: number): Uint32Array {
    const counts = new Uint32Array(codes);
    for (const code of this.codes) counts[code] = (counts[code] as number) + 1;
    return counts;
  }

  /** Replaces codes by others, of which there are so many. */
  protected recode(newCodes: readonly number[], count: number): void {
    const recoded = this.codes.map((code) => newCodes[code] as number);
    this.codes = count <= CODES_OF_BYTE ? Uint8Array.from(recoded) : recoded;
    this.#lastRows = [];
  }

  /**
   * Takes the rows or cells of another column of as many places, with other codes; cells without a value go.
   */
  protected takeRecoded(from: CodeColumn, newCodes: readonly number[]): void {
    if (!from.cellRows) {
      this.codes = from.codes.map((code) => newCodes[code] as number);
      for (const code of this.codes) this.present += Number(code !== NO_VALUE);
      return;
    }
    this.cellRows ??= new Int32Array(this.codes.length);
    for (let cell = 0; cell < from.cells; cell++) {
      const code = newCodes[from.codes[cell] as number] as number;
      if (code === NO_VALUE) continue;
      const row = from.cellRows[cell] as number;
      const place = this.openPlace(row);
      this.fillPlace(row, place, code);
    }
  }

  /**
   * Keeps the values in cells, or in a column for `capacity` rows, whichever takes less memory for so many
   * rows.
   */
  protected keepInLess(rows: number, capacity: number): void {
    if (this.isInList || capacity < FEWEST_ROWS_OF_CELLS) return;
    const share = (BYTES_OF_CELL * this.present) / rows;
    if (!this.cellRows && share <= WORTH_CELLS) this.#keepInCells();
    else if (this.cellRows && share > 1) this.#keepInColumn(this.cellRows, capacity);
  }

  /** Makes a column with a place for each row longer. */
  protected growTo(capacity: number): void {
    // One that has become a column is as long already.
    if (!this.cellRows && this.codes.length < capacity) this.#enlarge(capacity);
  }

  #keepInCells(): void {
    const { codes, numbers } = this;
    const room = Math.max(FIRST_CELLS, Math.ceil(GROWTH_OF_CELLS * this.present));
    this.codes = new (codes.constructor as typeof Uint16Array)(room);
    this.cellRows = new Int32Array(room);
    if (numbers) this.numbers = new Float64Array(room).fill(Number.NaN);
    for (let row = 0; this.present > 0 && row < codes.length; row++) {
      if (codes[row] === NO_VALUE) continue;
      this.codes[this.cells] = codes[row] as number;
      this.cellRows[this.cells] = row;
      if (numbers && this.numbers) this.numbers[this.cells] = numbers[row] as number;
      this.cells++;
    }
    this.#lastRows = [];
  }

  #keepInColumn(cellRows: Int32Array, capacity: number): void {
    if (this.numbers) {
      const numbers = new Float64Array(capacity).fill(Number.NaN);
      for (let cell = 0; cell < this.cells; cell++)
        numbers[cellRows[cell] as number] = this.numbers[cell] as number;
      this.numbers = numbers;
    }
    this.codes = this.#spread(this.codes, cellRows, capacity);
    this.cellRows = undefined;
    this.cells = 0;
  }

  /** The codes of cells by their rows. */
  #spread(codes: Codes, cellRows: Int32Array, rows: number): Codes {
    const spread = new (codes.constructor as typeof Uint16Array)(rows);
    for (let cell = 0; cell < this.cells; cell++) spread[cellRows[cell] as number] = codes[cell] as number;
    return spread;
  }

  #hasCells(row: number): boolean {
    return this.cells > 0 && this.cellRows?.[this.cells - 1] === row;
  }

  #enlarge(capacity: number): void {
    this.codes = enlarged(this.codes, capacity);
    if (this.cellRows) this.cellRows = enlarged(this.cellRows, capacity);
    if (this.numbers) this.numbers = enlarged(this.numbers, capacity).fill(Number.NaN, this.numbers.length);
  }
}
