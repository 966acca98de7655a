import { copyEnlarged } from '../items/array-capacity.ts';
import { type Derivation, derive } from '../items/derived-values.ts';
import { isNumber } from '../items/exact-numbers.ts';
import { EACH, fieldPath, type PathStep } from '../items/field-path.ts';
import { ignoresCase } from '../items/filter-keys.ts';
import { QUOTE } from '../items/json-scanner.ts';
import { bareText, canonicalText } from '../items/value-texts.ts';
import { parseInstant } from '../time/instant.ts';
import { UTC } from '../time/time-zone.ts';
import { ValueCodes } from './value-codes.ts';

export const NO_VALUE = 0;
/** The code of values that are not compared: objects, long texts and rare values. */
export const OTHER_VALUE = 1;
export const FIRST_CODE = 2;

/** Longer values, such as messages and stack traces, differ each time and are not compared. */
export const LONGEST_VALUE_BYTES = 512;
/** Fields with fewer distinct values are always compared. */
const MIN_VALUES = 20;
/** From this share of distinct values on, a field counts as ids, a few of which repeat. */
const NEARLY_ALL_DIFFERENT = 0.9;
/** Even then compare values that at least this many events have, such as `""` or `N/A`. */
const MANY_EVENTS = 10;
/** They also need this share of the events with the field: 10 of 24,000 are chance. */
const MANY_OF_ALL = 0.005;
/** Minimum distinct texts to compare their lengths: of a few texts, the text itself is the better name. */
const FEWEST_TEXTS_MEASURED = 50;
/** Fewer distinct lengths come from names and ids with numbers in them, such as `customer 7`. */
const FEWEST_DIFFERENT = 10;
/** Maximum distinct derived values, as a share of the texts: above, nearly every text has its own domain. */
const MAX_DERIVED_SHARE = 0.5;
/** Maximum texts to derive values from, since each takes a regular expression. */
const MAX_TRIED = 2048;
/** Initial capacity. */
const FIRST_CELLS = 64;

/** Also the value of a list element without the field, as for `= null`. */
export const NULL_TEXT = 'null';

/**
 * A field of the sampled events. A cell is a row and the code of a value, in order of rows. Rows without a
 * cell lack the field or have null. Only fields in lists have several cells in a row.
 */
export class SampleField {
  readonly steps: readonly PathStep[];
  readonly derivation: Derivation | undefined;
  readonly isInList: boolean;
  readonly members = new Map<string, SampleField>();
  element: SampleField | undefined;
  length: SampleField | undefined;
  /** True for an object whose names hardly repeat: ids, each with the same kind of value. */
  isMap = false;
  isOverfull = false;
  hasLongValue = false;
  /** True if only frequent values are compared, since nearly every event has a different one. */
  isUncompared = false;
  /** True if nearly all numbers are distinct, so only limits can explain failures. */
  hasOnlyLimits = false;
  mostBytes = 0;
  texts: string[] = [NULL_TEXT, NULL_TEXT];
  /** All values and cells of an uncompared field whose values are sentences. */
  prose: { readonly texts: readonly string[]; readonly codes: Int32Array } | undefined;
  rows = new Int32Array(FIRST_CELLS);
  codes = new Int32Array(FIRST_CELLS);
  cells = 0;
  present = 0;
  /** Values in the last row, including duplicates. */
  filled = 0;
  #lastRow = -1;
  #codes = new ValueCodes();
  /** By code: the last row with that value, in a list. */
  #lastRowOf: number[] = [];
  #longRows: number[] = [];
  #longLengths: number[] = [];

  constructor(steps: readonly PathStep[], derivation?: Derivation) {
    this.steps = steps;
    this.derivation = derivation;
    this.isInList = steps.includes(EACH);
  }

  get path(): string {
    return fieldPath(this.steps, this.derivation).text;
  }

  isSet(row: number): boolean {
    return this.cells > 0 && this.rows[this.cells - 1] === row;
  }

  setValue(row: number, bytes: Buffer, start: number, end: number): void {
    if (end - start > LONGEST_VALUE_BYTES) {
      this.hasLongValue = true;
      if (bytes[start] === QUOTE) {
        this.#longRows.push(row);
        this.#longLengths.push(derive('length', UTC)(bytes, start, end) as number);
      }
      this.setCode(row, OTHER_VALUE);
      return;
    }
    this.setCode(row, this.#codes.get(bytes, start, end) ?? this.#addValue(bytes, start, end));
  }

  setJson(row: number, json: string): void {
    this.setCode(row, this.codeFor(json));
  }

  setNull(row: number): void {
    if (!this.isInList) this.#notePresence(row);
  }

  /** Records that some elements in the row lack the field while others have it. */
  setLack(row: number): void {
    const { filled } = this;
    this.setJson(row, NULL_TEXT);
    this.filled = filled;
  }

  setCode(row: number, code: number): void {
    if (!this.isSet(row)) this.filled = 0;
    this.filled++;
    this.#notePresence(row);
    if (this.isInList) {
      if (this.#lastRowOf[code] === row) return;
      this.#lastRowOf[code] = row;
    }
    if (this.cells === this.rows.length) this.#enlarge();
    this.rows[this.cells] = row;
    this.codes[this.cells] = code;
    this.cells++;
  }

  codeFor(json: string): number {
    const bytes = Buffer.from(json);
    return this.#codes.get(bytes, 0, bytes.length) ?? this.#addValue(bytes, 0, bytes.length);
  }

  /** Drops the values of the last row: of duplicate members the last one counts. */
  clear(row: number): void {
    while (this.isSet(row)) this.cells--;
    this.#lastRowOf = [];
    while (this.#longRows.at(-1) === row) {
      this.#longRows.pop();
      this.#longLengths.pop();
    }
    if (this.#lastRow === row) {
      this.#lastRow = -1;
      this.present--;
    }
    for (const inner of this.inner()) inner.clear(row);
  }

  /** For a table of `count` rows. Of several cells in a row, the last one counts. */
  codesByRow(count: number): Int32Array {
    const byRow = new Int32Array(count);
    for (let cell = 0; cell < this.cells; cell++)
      byRow[this.rows[cell] as number] = this.codes[cell] as number;
    return byRow;
  }

  inner(): SampleField[] {
    return [...this.members.values(), this.element, this.length].filter((field) => field !== undefined);
  }

  /** Call after the last event. Returns the derived fields. */
  finish(): SampleField[] {
    this.rows = this.rows.slice(0, this.cells);
    this.codes = this.codes.slice(0, this.cells);
    const derived = this.#derivedFields();
    const values = this.texts.length - FIRST_CODE;
    const all = this.isInList ? this.cells : this.present;
    if (values >= MIN_VALUES && values > NEARLY_ALL_DIFFERENT * all) this.#leaveOutRareValues();
    this.#joinAlike();
    this.#codes = new ValueCodes();
    this.#lastRowOf = [];
    return derived.filter(({ texts }) => texts.length - FIRST_CODE > 1);
  }

  #notePresence(row: number): void {
    if (this.#lastRow === row) return;
    this.#lastRow = row;
    this.present++;
  }

  #addValue(bytes: Buffer, start: number, end: number): number {
    const json = bytes.toString('utf8', start, end);
    const canonical = canonicalText(json);
    const code = canonical === json ? this.texts.push(json) - 1 : this.codeFor(canonical);
    this.#codes.add(bytes, start, end, code);
    return code;
  }

  #enlarge(): void {
    this.rows = copyEnlarged(this.rows, 2 * this.cells);
    this.codes = copyEnlarged(this.codes, 2 * this.cells);
  }

  /** Keeps the limits of numbers, and only frequent texts. */
  #leaveOutRareValues(): void {
    const texts = this.texts.slice(FIRST_CODE);
    this.hasOnlyLimits = texts.every((json) => isOrdered(bareText(json))) || areTimes(texts);
    if (this.hasOnlyLimits) return;
    this.isUncompared = true;
    if (isSentence(texts[0] as string)) this.prose = { texts: this.texts, codes: this.codes };
    const counts = new Uint32Array(this.texts.length);
    for (const code of this.codes) counts[code] = (counts[code] as number) + 1;
    const least = Math.max(MANY_EVENTS, MANY_OF_ALL * this.present);
    const kept: string[] = [NULL_TEXT, NULL_TEXT];
    const newCodes = this.texts.map((json, code) => {
      if (code < FIRST_CODE) return code;
      return (counts[code] as number) >= least ? kept.push(json) - 1 : OTHER_VALUE;
    });
    this.texts = kept;
    this.codes = this.codes.map((code) => newCodes[code] as number);
  }

  /** Joins values that filters treat as equal: `1` and `"1"`, and types that differ in case. */
  #joinAlike(): void {
    const isInAnyCase = this.steps.length === 1 && ignoresCase(this.steps[0]);
    const codes = new Map<string, number>();
    for (const [code, json] of this.texts.entries())
      if (code >= FIRST_CODE && (isInAnyCase || !json.startsWith('"')))
        codes.set(filteredText(json, isInAnyCase), code);
    if (codes.size === 0 || codes.size === this.texts.length - FIRST_CODE) return;
    const joined = this.texts.map((json, code) =>
      code < FIRST_CODE ? code : (codes.get(filteredText(json, isInAnyCase)) ?? code),
    );
    this.codes = this.codes.map((code) => joined[code] as number);
  }

  #derivedFields(): SampleField[] {
    if (this.derivation) return [];
    const texts = this.texts.slice(FIRST_CODE, FIRST_CODE + MAX_TRIED).filter((json) => json.startsWith('"'));
    const derivations: Derivation[] = [];
    if (this.#longRows.length > 0 || lengthsFormGroups(texts)) derivations.push('length');
    if (formsGroups(texts, countDerived(texts, 'domain'))) derivations.push('domain');
    return derivations.map((derivation) => this.#derivedField(derivation));
  }

  #derivedField(derivation: Derivation): SampleField {
    const field = new SampleField(this.steps, derivation);
    const codes = this.texts.map((json, code) => {
      const text = code < FIRST_CODE ? undefined : derivedText(json, derivation);
      return text === undefined ? NO_VALUE : field.codeFor(text);
    });
    let long = 0;
    for (let cell = 0; cell < this.cells; cell++) {
      const row = this.rows[cell] as number;
      const isLong = derivation === 'length' && this.codes[cell] === OTHER_VALUE;
      for (; isLong && this.#longRows[long] === row; long++)
        field.setJson(row, String(this.#longLengths[long]));
      const code = codes[this.codes[cell] as number] as number;
      if (code !== NO_VALUE) field.setCode(row, code);
    }
    return field;
  }
}

export function isInside(inner: SampleField, outer: SampleField): boolean {
  if (outer.derivation) return false;
  const { steps } = outer;
  const isDeeper = inner.steps.length > steps.length || inner.derivation !== undefined;
  return isDeeper && steps.every((step, index) => step === inner.steps[index]);
}

function filteredText(json: string, isInAnyCase: boolean): string {
  if (isInAnyCase) return json.toLowerCase();
  const text = bareText(json);
  return isNumber(text) ? canonicalText(text) : text;
}

/** Doubles keep the order of integers up to 18 digits, and of fractions up to 15. */
function isOrdered(text: string): boolean {
  return /^-?(?:0|[1-9]\d{0,17}|(?=[\d.]{3,16}$)(?:0|[1-9]\d*)\.\d+)$/.test(text);
}

/** A sentence has a word of letters, a space, and more after it. */
function isSentence(text: string): boolean {
  for (const [word, space] of text.matchAll(/\S+( \S)?/g))
    if (space !== undefined && /\p{L}{2}/u.test(word)) return true;
  return false;
}

function areTimes(texts: readonly string[]): boolean {
  return texts.every((json) => json.startsWith('"') && parseInstant(bareText(json)) !== undefined);
}

function lengthsFormGroups(texts: readonly string[]): boolean {
  if (texts.length < FEWEST_TEXTS_MEASURED) return false;
  const lengths = countDerived(texts, 'length');
  return lengths >= FEWEST_DIFFERENT && formsGroups(texts, lengths);
}

/** True if the derived values form several groups but are not nearly unique. */
function formsGroups(texts: readonly string[], derived: number): boolean {
  return derived > 1 && derived <= MAX_DERIVED_SHARE * texts.length;
}

function countDerived(texts: readonly string[], derivation: Derivation): number {
  const derived = new Set(texts.map((json) => derivedText(json, derivation)));
  derived.delete(undefined);
  return derived.size;
}

function derivedText(json: string, derivation: Derivation): string | undefined {
  if (!json.startsWith('"')) return undefined;
  const bytes = Buffer.from(json);
  const value = derive(derivation, UTC)(bytes, 0, bytes.length);
  return value === undefined ? undefined : JSON.stringify(value);
}
