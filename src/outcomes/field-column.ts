import { type Derive, derive } from '../items/derived-values.ts';
import { compareNumbers, isNumber, normalNumber } from '../items/exact-numbers.ts';
import { type Derivation, EACH, type PathStep } from '../items/field-path.ts';
import { UTC } from '../time/time-zone.ts';
import { NameNovelty } from './name-novelty.ts';
import { orderedNumber } from './ordered-number.ts';
import { type Codes, enlarged } from './rows.ts';
import { ValueCodes } from './value-codes.ts';

/** The code of a field that is missing or null. */
export const NO_VALUE = 0;
/** The code of a field that is there without a value to compare. */
export const UNCODED = 1;
/** The code of a field's first value. */
export const FIRST_CODE = 2;
/** A field with more different values keeps its numbers, or only its presence. */
const MOST_VALUES = 0xffff - FIRST_CODE;
/** After this many values, a field that had hardly any value twice is given up early. */
const EARLY = 8192;
/** The same once the fields of a table keep more values than `MANY_IN_ALL`. */
const EARLY_OF_MANY = 512;
/** So many values take about 20 MB. */
const MANY_IN_ALL = 200_000;
/** The share of different values among these from which on hardly any came twice. */
const NEARLY_ALL = 0.9;
/** A field with fewer values is not given up. */
const LEAST_VALUES = 20;
/** A value in fewer events than these is given up with the others. */
const MANY = 10;
/** So is one in a smaller share of the events that have the field. */
const MANY_OF_ALL = 0.005;
/** Longer values are not compared. */
export const LONGEST_VALUE_BYTES = 512;
/** From so many values on the lengths of texts are compared: of a few the value itself says more. */
const FEWEST_TEXTS_MEASURED = 50;
/** Texts of fewer lengths are names and ids with numbers in them. */
const FEWEST_DIFFERENT = 10;
/** Values of which it is tried what they derive. */
const MOST_TRIED = 2048;
/** Of what a text derives from: more domains than these are ids. */
const MOST_DERIVED_SHARE = 0.5;
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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Filters of the service that ignore case. */
const IGNORE_CASE = new Set(['eventType', 'subscriptionId']);

/** In a list: that some of its elements have no value, as `= null` asks. */
export const NULL_TEXT = 'null';

/** The number of values that the fields of a table keep: those of thousands of fields need much memory. */
export interface KeptValues {
  count: number;
}

/** What is derived of the texts of a field that keeps its values no more. */
interface DerivedFields {
  readonly field: Field;
  readonly derive: Derive;
}

/**
 * A field of the events, wherever it stands in them: for each row a code of its value. Of a field behind a
 * `[]` the values of a row are cells, one behind the other, of which each row has any number. A field that
 * few events have is kept in cells too.
 */
export class Field {
  /** Names of members, and `EACH` for the elements of a list or the values of a map. */
  readonly steps: readonly PathStep[];
  readonly derivation: Derivation | undefined;
  readonly members: Field[] = [];
  /** The same for an object that is the event of an item: its known fields are those of the item. */
  readonly eventMembers: Field[] = [];
  /** What the elements of a list are, or the values of a map. */
  element: Field | undefined;
  /** The number of elements of a list or a map. */
  length: Field | undefined;
  /** The member's name and the colon behind it as the events write them. */
  readonly token: Buffer;
  /** By row, or by cell. */
  codes: Codes;
  /** True for a field behind a `[]`, of which a row may have several values. */
  readonly isInList: boolean;
  /** For each cell its row, in ascending order; undefined for a column with a place for each row. */
  cellRows: Int32Array | undefined;
  cells = 0;
  /** The JSON texts of values by their codes. */
  readonly texts: string[] = ['null', 'null'];
  /** The numbers by row or cell, `NaN` where there is none, once the field has too many for codes. */
  numbers: Float64Array | undefined;
  /** The values that were given up at the end, if they are sentences, such as messages with an id in them. */
  prose: Pick<Field, 'codes' | 'texts' | 'cellRows' | 'cells'> | undefined;
  /** True if values are not compared: nearly every event has another one, or there are too many. */
  isUncompared = false;
  /** True if some values are not compared, since they are longer than `LONGEST_VALUE_BYTES`. */
  hasLongValue = false;
  /** True if elements after the first ones are not compared, or members that few events have. */
  isOverfull = false;
  /** True for an object whose names hardly repeat. */
  isMap = false;
  /** Counts the names of an object that may be a map; undefined once that is known. */
  novelty: NameNovelty | undefined = new NameNovelty();
  /** The places of members among these by their names as events write them, as far as they are known. */
  places: ValueCodes | undefined;
  eventPlaces: ValueCodes | undefined;
  /** Names of members that made room for others: a column begun anew would lack their first events. */
  readonly leftOut = new Set<string>();
  /** True for a member of the items that has been the event of one. */
  isEvent = false;
  /** True for an `eventId` of the items, or of a member of theirs: it tells where the event is. */
  readonly isId: boolean;
  /** Rows in which the field is there, null included. */
  present = 0;
  /** Of a field behind a `[]`: its values in the row that was set last. */
  filled = 0;
  /** Of the values as the events write them. Once they are given up, of those alone that many events have. */
  #codes = new ValueCodes();
  /** The codes of derived values, while these have codes. */
  readonly #derivedCodes = new Map<string | number, number>();
  /** True until the values are given up: a new one gets a code. */
  #keepsValues = true;
  readonly #keptInAll: KeptValues;
  /** Of a field behind a `[]`: the last row with a value, by its code. */
  #lastRows: number[] = [];
  /** Once the values are given up, what is derived of texts. */
  #derived: readonly DerivedFields[] = [];

  constructor(
    steps: readonly PathStep[],
    token: Buffer,
    capacity: number,
    derivation?: Derivation,
    keptInAll: KeptValues = { count: 0 },
  ) {
    this.steps = steps;
    this.#keptInAll = keptInAll;
    this.derivation = derivation;
    this.isId = steps.length <= 2 && steps.at(-1) === 'eventId';
    this.token = token;
    this.isInList = steps.includes(EACH);
    this.codes = new Uint8Array(this.isInList ? FIRST_CELLS : capacity);
    if (this.isInList) this.cellRows = new Int32Array(FIRST_CELLS);
  }

  /** Records the value between two offsets. */
  set(row: number, bytes: Buffer, start: number, end: number): void {
    const cell = this.#begin(row);
    // Of texts that are too long to be compared their lengths are.
    const isLong = end - start > LONGEST_VALUE_BYTES && bytes[start] === QUOTE && !this.derivation;
    if (isLong && this.#derived.length === 0) this.#deriveFromNowOn(['length']);
    if (this.#derived.length > 0) this.#setDerivedOf(row, bytes, start, end);
    this.#end(row, cell, this.#codeOf(cell, bytes, start, end));
  }

  #setDerivedOf(row: number, bytes: Buffer, start: number, end: number): void {
    for (const { field, derive } of this.#derived) {
      const value = bytes[start] === QUOTE ? derive(bytes, start, end) : undefined;
      if (value !== undefined) field.setDerived(row, value);
    }
  }

  /** Records the value that is this JSON text. */
  setText(row: number, json: string): void {
    const bytes = Buffer.from(json);
    this.set(row, bytes, 0, bytes.length);
  }

  /** Records the value of a field that is derived, of which nothing else is. */
  setDerived(row: number, value: string | number): void {
    const cell = this.#begin(row);
    this.#end(row, cell, this.#codeOfDerived(value, cell));
  }

  /** Records a number, of a field that has numbers alone. */
  setNumber(row: number, number: number): void {
    this.numbers ??= new Float64Array(this.codes.length).fill(Number.NaN);
    this.#keepsValues = false;
    this.present++;
    this.codes[row] = UNCODED;
    this.numbers[row] = number;
  }

  /** The code of the value that is this JSON text, for columns that are filled by hand. */
  codeFor(json: string, cell = 0): number {
    const bytes = Buffer.from(json);
    return this.#codeOf(cell, bytes, 0, bytes.length);
  }

  /** Records that the field is there, as null, as an object or with a value that is not compared. */
  setPresent(row: number, code: typeof NO_VALUE | typeof UNCODED): void {
    if (this.cellRows && code === NO_VALUE) {
      if (!this.isInList) this.present++;
      return;
    }
    const cell = this.#begin(row);
    this.#end(row, cell, code);
  }

  /** Records that some of the elements have no value. */
  setLack(row: number): void {
    const { filled } = this;
    const cell = this.#begin(row);
    if (this.#keepsValues) this.#end(row, cell, this.codeFor(NULL_TEXT, cell));
    this.filled = filled;
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

  /** Takes back what was recorded in this row, which is the last one. */
  clear(row: number): void {
    if (this.isSet(row)) this.present--;
    if (this.cellRows) {
      while (this.#hasCells(row)) this.cells--;
      this.#lastRows = [];
    } else {
      this.codes[row] = NO_VALUE;
      if (this.numbers) this.numbers[row] = Number.NaN;
    }
    for (const inner of this.#inner()) inner.clear(row);
  }

  /**
   * Keeps the field in cells, or in a column for `capacity` rows, whichever takes less memory for so many
   * rows. Fields of the items themselves are always columns.
   */
  fit(rows: number, capacity: number): void {
    for (const { field } of this.#derived) field.fit(rows, capacity);
    if (this.isInList || this.steps.length <= 1 || capacity < FEWEST_ROWS_OF_CELLS) return;
    const share = (BYTES_OF_CELL * this.present) / rows;
    if (!this.cellRows && share <= WORTH_CELLS) this.#keepInCells();
    else if (this.cellRows && share > 1) this.#keepInColumn(this.cellRows, capacity);
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

  /** Makes the columns of a field with one value a row longer. */
  grow(capacity: number): void {
    for (const { field } of this.#derived) field.grow(capacity);
    // One that has become a column is as long already.
    if (!this.cellRows && this.codes.length < capacity) this.#enlarge(capacity);
  }

  get byteLength(): number {
    const derived = this.#derived.reduce((sum, { field }) => sum + field.byteLength, 0);
    const own = this.codes.byteLength + (this.cellRows?.byteLength ?? 0);
    return own + (this.numbers?.byteLength ?? 0) + derived;
  }

  /**
   * Decides at the end which fields hardly repeat a value, which values are one, and what is derived of them.
   */
  finish(): readonly Field[] {
    const isDerived = this.#derived.length > 0 || !this.#keepsValues;
    const derived = isDerived ? this.#derived.map(({ field }) => field) : this.#deriveOfCodes();
    const values = this.texts.length - FIRST_CODE;
    const all = this.cellRows ? this.cells : this.present;
    if (this.#keepsValues && values >= LEAST_VALUES && values > NEARLY_ALL * all) {
      const isProse = /\p{L}{2}\S* \S/u.test(this.texts[FIRST_CODE] as string);
      const { codes, cellRows, cells } = this;
      if (isProse) this.prose = { codes, texts: [...this.texts], cellRows, cells };
      this.#giveUp();
    }
    this.#joinAlike(this.steps.length === 1 && IGNORE_CASE.has(this.steps[0] as string));
    return derived.filter((field) => field.texts.length - FIRST_CODE > 1 || field.numbers);
  }

  /** The fields of the members, of the elements, and of what is derived. */
  #inner(): Field[] {
    const parts = [this.element, this.length, ...this.#derived.map(({ field }) => field)];
    return [...this.members, ...parts.filter((field) => field !== undefined)];
  }

  #hasCells(row: number): boolean {
    return this.cells > 0 && this.cellRows?.[this.cells - 1] === row;
  }

  /** The place of the next value. */
  #begin(row: number): number {
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

  /** Notes the code at its place, of equal values in a row one. */
  #end(row: number, cell: number, code: number): void {
    if (!this.cellRows) {
      this.codes[row] = code;
      return;
    }
    const isNumber = this.numbers && !Number.isNaN(this.numbers[cell]);
    if (!isNumber && this.#lastRows[code] === row && this.#hasCells(row)) return;
    this.#lastRows[code] = row;
    this.codes[cell] = code;
    this.cellRows[cell] = row;
    this.cells++;
  }

  #enlarge(capacity: number): void {
    this.codes = enlarged(this.codes, capacity);
    if (this.cellRows) this.cellRows = enlarged(this.cellRows, capacity);
    if (this.numbers) this.numbers = enlarged(this.numbers, capacity).fill(Number.NaN, this.numbers.length);
  }

  /**
   * Gives the values that a filter takes for one the same code: `--type` and `--subscription` ignore case,
   * and `--where 'field = 1'` takes the text "1" for the number, if there is one.
   */
  #joinAlike(ignoresCase: boolean): void {
    const keyOf = (json: string) => {
      if (ignoresCase) return json.toLowerCase();
      const text = bareText(json);
      return isNumber(text) ? canonicalText(text) : text;
    };
    const codes = new Map<string, number>();
    for (const [code, json] of this.texts.entries())
      if (code >= FIRST_CODE && (ignoresCase || !json.startsWith('"'))) codes.set(keyOf(json), code);
    if (codes.size === 0 || codes.size === this.texts.length - FIRST_CODE) return;
    const joined = this.texts.map((json, code) =>
      code < FIRST_CODE ? code : (codes.get(keyOf(json)) ?? code),
    );
    this.codes = this.codes.map((code) => joined[code] as number);
  }

  /** The code of the value between two offsets; numbers are kept. A new code may need a wider array. */
  #codeOf(cell: number, bytes: Buffer, start: number, end: number): number {
    if (end - start > LONGEST_VALUE_BYTES) {
      this.hasLongValue = true;
      return UNCODED;
    }
    if (this.numbers) this.#noteNumber(this.numbers, cell, orderedNumber(bytes, start, end));
    if (!this.#keepsValues && this.#codes.size === 0) return UNCODED;
    const code = this.#codes.get(bytes, start, end);
    if (code !== undefined) return code;
    return this.#keepsValues ? this.#newCode(cell, bytes, start, end) : this.#keptCode(bytes, start, end);
  }

  /** The code of a value that is kept, but was not written in this way before. */
  #keptCode(bytes: Buffer, start: number, end: number): number {
    // Of texts only those with escapes are written in several ways.
    if (bytes[start] === QUOTE && !bytes.subarray(start, end).includes(BACKSLASH)) return UNCODED;
    const value = Buffer.from(canonicalText(bytes.toString('utf8', start, end)));
    return this.#codes.get(value, 0, value.length) ?? UNCODED;
  }

  /** There are few of them: their texts are made once. */
  #codeOfDerived(value: string | number, cell: number): number {
    const known = this.#keepsValues ? this.#derivedCodes.get(value) : undefined;
    if (known !== undefined) return known;
    const code = this.codeFor(JSON.stringify(value), cell);
    if (this.#keepsValues) this.#derivedCodes.set(value, code);
    return code;
  }

  #noteNumber(numbers: Float64Array, cell: number, number: number): void {
    numbers[cell] = number;
    if (!Number.isNaN(number)) return;
    this.numbers = undefined;
    this.isUncompared = true;
  }

  #newCode(cell: number, bytes: Buffer, start: number, end: number): number {
    const values = this.texts.length - FIRST_CODE;
    const isUnique = values > NEARLY_ALL * (this.cellRows ? this.cells : this.present);
    const early = this.#keptInAll.count > MANY_IN_ALL ? EARLY_OF_MANY : EARLY;
    if (values === MOST_VALUES || (values >= early && values % EARLY_OF_MANY === 0 && isUnique)) {
      if (this.#derived.length === 0) this.#deriveFromNowOn(this.#derivations());
      this.#giveUp();
      return this.#codeOf(cell, bytes, start, end);
    }
    return this.#addValue(bytes, start, end);
  }

  /** The code of a value that was not written in this way before. */
  #addValue(bytes: Buffer, start: number, end: number): number {
    const text = bytes.toString('utf8', start, end);
    const value = canonicalText(text);
    const code = value === text ? this.#addCode(value, bytes, start, end) : this.codeFor(value);
    if (value !== text) this.#codes.add(bytes, start, end, code);
    return code;
  }

  #addCode(value: string, bytes: Buffer, start: number, end: number): number {
    const code = this.#keep(value);
    if (code === 0x100) this.codes = Uint16Array.from(this.codes);
    this.#codes.add(bytes, start, end, code);
    return code;
  }

  #keep(value: string): number {
    this.#keptInAll.count++;
    return this.texts.push(value) - 1;
  }

  /** Called for a field that makes room for others, with what is derived of it. */
  release(): void {
    this.#keptInAll.count -= this.texts.length - FIRST_CODE;
    for (const { field } of this.#derived) field.release();
  }

  /**
   * Keeps numbers as they are. Of other values it keeps those of many events, such as "", and which rows have
   * the rest.
   */
  #giveUp(): void {
    const texts = this.texts.splice(FIRST_CODE);
    const oldCodes = this.#codes;
    this.#keptInAll.count -= texts.length;
    this.#codes = new ValueCodes();
    this.#derivedCodes.clear();
    this.#keepsValues = false;
    this.#lastRows = [];
    const events = new Uint32Array(texts.length + FIRST_CODE);
    for (const code of this.codes) events[code] = (events[code] as number) + 1;
    let least = Math.max(MANY, MANY_OF_ALL * this.present);
    const numbers = numbersOf(texts);
    if (numbers) {
      this.numbers = Float64Array.from(this.codes, (code) => numbers[code - FIRST_CODE] ?? Number.NaN);
      least = Number.POSITIVE_INFINITY;
    } else this.isUncompared = true;
    const codeOf = (count: number, code: number) =>
      count >= least ? this.#keep(texts[code - FIRST_CODE] as string) : UNCODED;
    const newCodes = events.map((count, code) => (code < FIRST_CODE ? code : codeOf(count, code)));
    const renamed = this.codes.map((code) => newCodes[code] as number);
    this.codes = this.texts.length <= 0x100 ? Uint8Array.from(renamed) : renamed;
    for (const [bytes, oldCode] of oldCodes.entries()) {
      const code = newCodes[oldCode] as number;
      if (code >= FIRST_CODE) this.#codes.add(bytes, 0, bytes.length, code);
    }
  }

  /** Derives from the texts that follow what the texts so far derive. */
  #deriveFromNowOn(derivations: readonly Derivation[]): void {
    this.#derived = derivations.map((derivation) => ({
      field: this.#derivedField(derivation),
      derive: derive(derivation, UTC),
    }));
  }

  /** The fields that are derived of the values, which all have codes. */
  #deriveOfCodes(): Field[] {
    return this.#derivations().map((derivation) => this.#derivedField(derivation));
  }

  /**
   * What the texts so far tell by their lengths or domains: neither if all are alike in it, or hardly any
   * two.
   */
  #derivations(): Derivation[] {
    if (this.derivation) return [];
    const values = this.texts.slice(FIRST_CODE, FIRST_CODE + MOST_TRIED);
    const texts = values.filter((json) => json.startsWith('"'));
    return (['length', 'domain'] as const).filter((derivation) => {
      if (derivation === 'length' && texts.length < FEWEST_TEXTS_MEASURED) return false;
      const derived = new Set(texts.map((json) => derivedText(json, derivation)));
      derived.delete(undefined);
      if (derivation === 'length' && derived.size < FEWEST_DIFFERENT) return false;
      return derived.size > 1 && derived.size <= MOST_DERIVED_SHARE * texts.length;
    });
  }

  /** A field with what the values so far derive. */
  #derivedField(derivation: Derivation): Field {
    const field = new Field(this.steps, this.token, this.codes.length, derivation, this.#keptInAll);
    if (this.cellRows && !this.isInList) field.cellRows = new Int32Array(this.codes.length);
    const codes = this.texts.map((json, code) => {
      const text = code < FIRST_CODE ? undefined : derivedText(json, derivation);
      return text === undefined ? NO_VALUE : field.codeFor(text);
    });
    field.#takeCells(this, codes);
    return field;
  }

  /** Takes the rows and cells of another field, with other codes for its values; cells without a value go. */
  #takeCells(from: Field, codes: readonly number[]): void {
    if (!from.cellRows) {
      this.codes = from.codes.map((code) => codes[code] as number);
      for (const code of this.codes) this.present += Number(code !== NO_VALUE);
      return;
    }
    for (let cell = 0; cell < from.cells; cell++) {
      const code = codes[from.codes[cell] as number] as number;
      if (code === NO_VALUE) continue;
      const row = from.cellRows[cell] as number;
      const place = this.#begin(row);
      this.#end(row, place, code);
    }
  }
}

/** The numbers that JSON texts are, if they all are such that can be put in order. */
function numbersOf(texts: readonly string[]): Float64Array | undefined {
  const numbers = new Float64Array(texts.length);
  for (const [index, text] of texts.entries()) {
    const bytes = Buffer.from(text);
    const number = orderedNumber(bytes, 0, bytes.length);
    if (Number.isNaN(number)) return undefined;
    numbers[index] = number;
  }
  return numbers;
}

/** The JSON text of what a text derives. */
function derivedText(json: string, derivation: Derivation): string | undefined {
  if (!json.startsWith('"')) return undefined;
  const bytes = Buffer.from(json);
  const value = derive(derivation, UTC)(bytes, 0, bytes.length);
  return value === undefined ? undefined : JSON.stringify(value);
}

/** The characters of a string, the JSON text of anything else. */
export function bareText(json: string): string {
  if (!json.startsWith('"')) return json;
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

/** One text of the many that JSON has for a value. */
function canonicalText(json: string): string {
  if (json.startsWith('"')) return json.includes('\\') ? JSON.stringify(JSON.parse(json)) : json;
  const number = String(Number(json));
  if (number === json || !isNumber(json)) return json;
  return isNumber(number) && compareNumbers(number, json) === 0 ? number : normalNumber(json);
}

/** True for a field somewhere inside another one, or derived of it. */
export function isInside(inner: Field, outer: Field): boolean {
  if (outer.derivation) return false;
  const { steps } = outer;
  const isDeeper = inner.steps.length > steps.length || inner.derivation !== undefined;
  return isDeeper && steps.every((step, index) => step === inner.steps[index]);
}
