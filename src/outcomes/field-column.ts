import { type Derive, derive } from '../items/derived-values.ts';
import { type Derivation, EACH, type PathStep } from '../items/field-path.ts';
import { UTC } from '../time/time-zone.ts';
import { CodeColumn, FIRST_CODE, NO_VALUE, UNCODED } from './code-column.ts';
import { CodedValues, type KeptValues } from './coded-values.ts';
import { derivedText, worthDeriving } from './derived-texts.ts';
import { MemberNames } from './member-names.ts';
import { orderedNumber } from './ordered-number.ts';
import { canonicalText, NULL_TEXT, orderedNumbers } from './value-texts.ts';

/** Longer values are not compared. */
export const LONGEST_VALUE_BYTES = 512;
/** A field with fewer values is not given up. */
const LEAST_VALUES = 20;
/** A value in fewer events than these is given up with the others. */
const MANY = 10;
/** So is one in a smaller share of the events that have the field. */
const MANY_OF_ALL = 0.005;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Filters of the service that ignore case. */
const IGNORE_CASE = new Set(['eventType', 'subscriptionId']);

/** What is derived of the texts of a field that keeps its values no more. */
interface DerivedFields {
  readonly field: Field;
  readonly derive: Derive;
}

/** A field of the events, wherever it stands in them: its place, its column, and the values in it. */
export class Field extends CodeColumn {
  /** Names of members, and `EACH` for the elements of a list or the values of a map. */
  readonly steps: readonly PathStep[];
  readonly derivation: Derivation | undefined;
  /** The member's name and the colon behind it as the events write them. */
  readonly token: Buffer;
  readonly members: Field[] = [];
  /** The same for an object that is the event of an item: its known fields are those of the item. */
  readonly eventMembers: Field[] = [];
  readonly names = new MemberNames();
  /** What the elements of a list are, or the values of a map. */
  element: Field | undefined;
  /** The number of elements of a list or a map. */
  length: Field | undefined;
  /** True for an object whose names hardly repeat. */
  isMap = false;
  /** True for a member of the items that has been the event of one. */
  isEvent = false;
  /** True for an `eventId` of the items, or of a member of theirs: it tells where the event is. */
  readonly isId: boolean;
  /** The JSON texts of values by their codes. */
  readonly texts: readonly string[];
  /** The values that were given up at the end, if they are sentences, such as messages with an id in them. */
  prose: Pick<Field, 'codes' | 'texts' | 'cellRows' | 'cells'> | undefined;
  /** True if values are not compared: nearly every event has another one, or there are too many. */
  isUncompared = false;
  /** True if some values are not compared, since they are longer than `LONGEST_VALUE_BYTES`. */
  hasLongValue = false;
  /** True if elements after the first ones are not compared, or members that few events have. */
  isOverfull = false;
  readonly #values: CodedValues;
  /** Once the values are given up, what is derived of texts. */
  #derived: readonly DerivedFields[] = [];

  constructor(
    steps: readonly PathStep[],
    token: Buffer,
    capacity: number,
    derivation?: Derivation,
    keptInAll: KeptValues = { count: 0 },
  ) {
    super(steps.includes(EACH), capacity);
    this.steps = steps;
    this.token = token;
    this.derivation = derivation;
    this.isId = steps.length <= 2 && steps.at(-1) === 'eventId';
    this.#values = new CodedValues(keptInAll);
    this.texts = this.#values.texts;
  }

  /** Records the value between two offsets. */
  set(row: number, bytes: Buffer, start: number, end: number): void {
    const place = this.openPlace(row);
    // Of texts that are too long to be compared their lengths are.
    const isLong = end - start > LONGEST_VALUE_BYTES && bytes[start] === QUOTE && !this.derivation;
    if (isLong && this.#derived.length === 0) this.#deriveFromNowOn(['length']);
    if (this.#derived.length > 0) this.#setDerivedOf(row, bytes, start, end);
    this.fillPlace(row, place, this.#codeOf(place, bytes, start, end));
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
    const place = this.openPlace(row);
    this.fillPlace(row, place, this.#codeOfDerived(value, place));
  }

  /** Records a number, of a field that has numbers alone. */
  setNumber(row: number, number: number): void {
    this.numbers ??= new Float64Array(this.codes.length).fill(Number.NaN);
    this.#values.keepsAll = false;
    this.present++;
    this.codes[row] = UNCODED;
    this.numbers[row] = number;
  }

  /** Records that some of the elements have no value. */
  setLack(row: number): void {
    const { filled } = this;
    const place = this.openPlace(row);
    if (this.#values.keepsAll) this.fillPlace(row, place, this.codeFor(NULL_TEXT, place));
    this.filled = filled;
  }

  /** The code of the value that is this JSON text, for columns that are filled by hand. */
  codeFor(json: string, place = 0): number {
    const bytes = Buffer.from(json);
    return this.#codeOf(place, bytes, 0, bytes.length);
  }

  /** Takes back what was recorded in this row, which is the last one. */
  clear(row: number): void {
    this.clearRow(row);
    for (const inner of this.#inner()) inner.clear(row);
  }

  /** The fields of the members, of the elements, and of what is derived. */
  #inner(): Field[] {
    const parts = [this.element, this.length, ...this.#derived.map(({ field }) => field)];
    return [...this.members, ...parts.filter((field) => field !== undefined)];
  }

  /**
   * Keeps the field in cells, or in a column for `capacity` rows, whichever takes less memory for so many
   * rows. Fields of the items themselves are always columns.
   */
  fit(rows: number, capacity: number): void {
    for (const { field } of this.#derived) field.fit(rows, capacity);
    if (this.steps.length > 1) this.keepInLess(rows, capacity);
  }

  /** Makes the columns of a field with one value a row longer. */
  grow(capacity: number): void {
    for (const { field } of this.#derived) field.grow(capacity);
    this.growTo(capacity);
  }

  override get byteLength(): number {
    return this.#derived.reduce((sum, { field }) => sum + field.byteLength, super.byteLength);
  }

  /** Called for a field that makes room for others, with what is derived of it. */
  release(): void {
    this.#values.release();
    for (const { field } of this.#derived) field.release();
  }

  /**
   * Decides at the end which fields hardly repeat a value, which values are one, and what is derived of them.
   */
  finish(): readonly Field[] {
    const values = this.#values;
    const isDerived = this.#derived.length > 0 || !values.keepsAll;
    const derived = isDerived ? this.#derived.map(({ field }) => field) : this.#deriveOfCodes();
    if (values.keepsAll && values.count >= LEAST_VALUES && values.hardlyRepeat(this.valueCount)) {
      this.#keepProse();
      this.#giveUp();
    }
    this.#joinAlike();
    return derived.filter(({ texts, numbers }) => texts.length - FIRST_CODE > 1 || numbers);
  }

  /** Keeps values that are sentences, beside the column. */
  #keepProse(): void {
    const { codes, cellRows, cells } = this;
    const isProse = isSentence(this.texts[FIRST_CODE] as string);
    if (isProse) this.prose = { codes, texts: [...this.texts], cellRows, cells };
  }

  /** Gives the values that a filter takes for one the same code. */
  #joinAlike(): void {
    const ignoresCase = this.steps.length === 1 && IGNORE_CASE.has(this.steps[0] as string);
    const joined = this.#values.joinedCodes(ignoresCase);
    if (joined) this.recode(joined, joined.length);
  }

  /** The code of the value between two offsets; numbers are kept at their place. */
  #codeOf(place: number, bytes: Buffer, start: number, end: number): number {
    if (end - start > LONGEST_VALUE_BYTES) {
      this.hasLongValue = true;
      return UNCODED;
    }
    if (this.numbers) this.#noteNumber(this.numbers, place, orderedNumber(bytes, start, end));
    const { codes, keepsAll } = this.#values;
    if (!keepsAll && codes.size === 0) return UNCODED;
    const code = codes.get(bytes, start, end);
    if (code !== undefined) return code;
    return keepsAll ? this.#newCode(place, bytes, start, end) : this.#keptCode(bytes, start, end);
  }

  #noteNumber(numbers: Float64Array, place: number, number: number): void {
    numbers[place] = number;
    if (!Number.isNaN(number)) return;
    this.numbers = undefined;
    this.isUncompared = true;
  }

  /** The code of a value that is kept, but was not written in this way before. */
  #keptCode(bytes: Buffer, start: number, end: number): number {
    // Of texts only those with escapes are written in several ways.
    if (bytes[start] === QUOTE && !bytes.subarray(start, end).includes(BACKSLASH)) return UNCODED;
    const value = Buffer.from(canonicalText(bytes.toString('utf8', start, end)));
    return this.#values.codes.get(value, 0, value.length) ?? UNCODED;
  }

  #codeOfDerived(value: string | number, place: number): number {
    const known = this.#values.codeOfDerived(value);
    if (known !== undefined) return known;
    const code = this.codeFor(JSON.stringify(value), place);
    this.#values.addDerived(value, code);
    return code;
  }

  /** The code of a value that was not written in this way before. */
  #newCode(place: number, bytes: Buffer, start: number, end: number): number {
    if (this.#values.areTooMany(this.valueCount)) {
      if (this.#derived.length === 0) this.#deriveFromNowOn(this.#derivations());
      this.#giveUp();
      return this.#codeOf(place, bytes, start, end);
    }
    const text = bytes.toString('utf8', start, end);
    const value = canonicalText(text);
    if (value === text) return this.#addValue(value, bytes, start, end);
    const code = this.codeFor(value);
    this.#values.codes.add(bytes, start, end, code);
    return code;
  }

  #addValue(value: string, bytes: Buffer, start: number, end: number): number {
    const code = this.#values.add(value, bytes, start, end);
    this.makeRoomFor(code);
    return code;
  }

  /**
   * Keeps numbers as they are. Of other values it keeps those of many events, such as "", and which rows have
   * the rest.
   */
  #giveUp(): void {
    const values = this.#values;
    const events = this.countByCode(values.texts.length);
    const numbers = orderedNumbers(values.texts.slice(FIRST_CODE));
    if (numbers)
      this.numbers = Float64Array.from(this.codes, (code) => numbers[code - FIRST_CODE] ?? Number.NaN);
    else this.isUncompared = true;
    const least = numbers ? Number.POSITIVE_INFINITY : Math.max(MANY, MANY_OF_ALL * this.present);
    const newCodes = values.giveUp(events, least, UNCODED);
    this.recode(newCodes, values.texts.length);
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

  #derivations(): Derivation[] {
    return this.derivation ? [] : worthDeriving(this.texts.slice(FIRST_CODE));
  }

  /** A field with what the values so far derive. */
  #derivedField(derivation: Derivation): Field {
    const { keptInAll } = this.#values;
    const field = new Field(this.steps, this.token, this.codes.length, derivation, keptInAll);
    const codes = this.texts.map((json, code) => {
      const text = code < FIRST_CODE ? undefined : derivedText(json, derivation);
      return text === undefined ? NO_VALUE : field.codeFor(text);
    });
    field.takeRecoded(this, codes);
    return field;
  }
}

/** True for a field somewhere inside another one, or derived of it. */
export function isInside(inner: Field, outer: Field): boolean {
  if (outer.derivation) return false;
  const { steps } = outer;
  const isDeeper = inner.steps.length > steps.length || inner.derivation !== undefined;
  return isDeeper && steps.every((step, index) => step === inner.steps[index]);
}

/** True if a text has a word of letters, a space, and more after it. */
function isSentence(text: string): boolean {
  for (const [word, space] of text.matchAll(/\S+( \S)?/g))
    if (space !== undefined && /\p{L}{2}/u.test(word)) return true;
  return false;
}
