import { ServiceError } from '../errors.ts';
import { compareNumbers, isNumber } from '../json/item-conditions.ts';
import type { Items } from '../json/items.ts';
import { stringEnd, valueEnd } from '../json/json-scanner.ts';
import { type Instant, knownInstant, parseInstant } from '../time/instant.ts';

/** Codes of values: a field that is missing or null, one that is there without a value to compare, and the first value. */
export const [NO_VALUE, UNCODED, FIRST_CODE] = [0, 1, 2];
/** A field with more different values keeps its numbers, or only its presence. */
const MOST_VALUES = 0xffff - FIRST_CODE;
/** After this many values, a field that had hardly any value twice is given up early. */
const [EARLY, NEARLY_ALL] = [8192, 0.9];
/** Longer values are not compared. */
const LONGEST_VALUE = 512;
/** Elements of arrays, members of one object, and fields in all. */
const [MOST_ELEMENTS, MOST_MEMBERS, MOST_FIELDS] = [16, 100, 400];
/** More events than this would take about half a gigabyte. */
const MOST_ROWS = 6_000_000;
/** Digits that a double holds exactly (IEEE 754): numbers with more of them are compared only as texts. */
const EXACT_DIGITS = 15;

const [QUOTE, COMMA, OBJECT, ARRAY, NULL] = [0x22, 0x2c, 0x7b, 0x5b, 0x6e];
const [END_OF_OBJECT, END_OF_ARRAY] = [0x7d, 0x5d];

/** Elements have no names. */
const NO_TOKEN = Buffer.alloc(0);

/** A field of the events, wherever it stands in them: for each row a code of its value. */
export class Field {
  /** Names of members, or indexes of elements. */
  readonly steps: readonly string[];
  readonly members: Field[] = [];
  readonly elements: Field[] = [];
  /** The member's name and the colon behind it as the events write them. */
  readonly token: Buffer;
  codes: Uint8Array | Uint16Array;
  /** The JSON texts of values by their codes. */
  readonly texts: string[] = ['null', 'null'];
  /** The numbers by row, `NaN` where there is none, once the field has too many for codes. */
  numbers: Float64Array | undefined;
  /** Why values are not compared: nearly every event has another one, or there are too many. */
  uncompared: 'unique' | 'many' | undefined;
  /** True if members or elements after the first ones are not compared. */
  isOverfull = false;
  /** Rows in which the field is there, null included. */
  present = 0;
  #codes: Map<string, number> | undefined = new Map();

  constructor(steps: readonly string[], token: Buffer, capacity: number) {
    this.steps = steps;
    this.token = token;
    this.codes = new Uint8Array(capacity);
  }

  /** True once no value is kept. */
  get isGivenUp(): boolean {
    return !this.#codes && !this.numbers;
  }

  /** Records the value with this JSON text, of which each byte of its UTF-8 is one character. */
  set(row: number, text: string): void {
    this.present++;
    const code = this.#codes?.get(text) ?? this.#newCode(row, text);
    this.codes[row] = code;
  }

  /** Records that the field is there, as null, as an object or with a value that is not compared. */
  setPresent(row: number, code: typeof NO_VALUE | typeof UNCODED): void {
    this.present++;
    this.codes[row] = code;
  }

  /** Takes back what was recorded in this row. */
  clear(row: number): void {
    if (this.codes[row] !== NO_VALUE) this.present--;
    this.codes[row] = NO_VALUE;
    if (this.numbers) this.numbers[row] = Number.NaN;
    for (const inner of [...this.members, ...this.elements]) inner.clear(row);
  }

  grow(capacity: number): void {
    this.codes = enlarged(
      this.codes,
      this.codes instanceof Uint8Array ? new Uint8Array(capacity) : new Uint16Array(capacity),
    );
    if (this.numbers) this.numbers = enlarged(this.numbers, new Float64Array(capacity).fill(Number.NaN));
  }

  /** Decides at the end which fields hardly repeat a value. */
  finish(): void {
    const values = this.texts.length - FIRST_CODE;
    if (this.#codes && values >= 20 && values > NEARLY_ALL * this.present) this.#giveUp('unique');
  }

  #newCode(row: number, text: string): number {
    if (text.length > LONGEST_VALUE) {
      this.uncompared ??= 'many';
      return UNCODED;
    }
    if (this.numbers) {
      if (isExact(text)) this.numbers[row] = Number(text);
      else {
        this.numbers = undefined;
        this.uncompared = 'many';
      }
    }
    if (!this.#codes) return UNCODED;
    const values = this.texts.length - FIRST_CODE;
    const isUnique = values > NEARLY_ALL * this.present;
    if (values === MOST_VALUES || (values >= EARLY && values % 1024 === 0 && isUnique)) {
      this.#giveUp(isUnique ? 'unique' : 'many');
      return this.#newCode(row, text);
    }
    // A slice would keep all the text that it was cut from.
    const bytes = Buffer.from(text, 'latin1');
    const value = canonicalText(bytes.toString());
    const code = this.#codes.get(value) ?? this.texts.push(value) - 1;
    if (code === 0x100) this.codes = Uint16Array.from(this.codes);
    this.#codes.set(value, code).set(bytes.toString('latin1'), code);
    return code;
  }

  /** Keeps numbers as they are, and of other values only in which rows they are. */
  #giveUp(why: 'unique' | 'many'): void {
    const texts = this.texts.splice(FIRST_CODE);
    this.#codes = undefined;
    if (texts.every(isExact)) {
      const numbers = Float64Array.from(texts, Number);
      this.numbers = Float64Array.from(this.codes, (code) => numbers[code - FIRST_CODE] ?? Number.NaN);
    } else this.uncompared = why;
    this.codes = this.codes.map((code) => Math.min(code, UNCODED));
  }
}

/** One text of the many that JSON has for a value. */
function canonicalText(json: string): string {
  if (json.startsWith('"')) return JSON.stringify(JSON.parse(json));
  if (!isNumber(json)) return json;
  const number = String(Number(json));
  return isNumber(number) && compareNumbers(number, json) === 0 ? number : json;
}

/** True for a number that a double holds exactly, so that no two different texts become one number. */
function isExact(json: string): boolean {
  return isNumber(json) && !/e/i.test(json) && json.replace(/[-.]|^-?0\.0*/g, '').length <= EXACT_DIGITS;
}

function enlarged<Rows extends Uint8Array | Uint16Array | Float64Array>(from: Rows, to: Rows): Rows {
  to.set(from);
  return to;
}

/**
 * Events as columns, for questions about many of them at once: every field, which of them failed, and when they were
 * created. About 80 bytes an event of twenty fields; the values of a field are kept once.
 */
export class EventTable {
  /** Rows that are complete. */
  rows = 0;
  failed = 0;
  readonly fields: Field[] = [];
  readonly times = new TimeColumn();
  /** 1 for a row that failed. */
  failures = new Uint8Array(1024);
  readonly #root = new Field([], NO_TOKEN, 0);
  // Outcome and time (service description, part 4) are no fields to compare.
  #status: Field | undefined;
  #createdOn: Field | undefined;
  readonly #only: readonly string[] | undefined;
  /** The page that is read, and a text with a character for each of its bytes. */
  #bytes: Buffer = NO_TOKEN;
  #text = '';
  /** What the event that is read says about itself. */
  #outcome = '';
  #time = '';

  /** With `only`, no other fields are kept than these of the first level. */
  constructor(only?: readonly string[]) {
    this.#only = only && [...only, 'publishStatus', 'createdOn'];
  }

  /** `haveFailed` is for items that do not tell their outcome themselves. Throws `ServiceError` for too many events. */
  add(items: Items, haveFailed?: boolean): void {
    if (this.rows > MOST_ROWS)
      throw new ServiceError(
        `there are more than ${MOST_ROWS / 1e6} million events: too many to compare at once`,
        { next: 'narrow the time with --since and --until, or choose events with --type or --subscription' },
      );
    const { bytes, count } = items;
    if (count === 0) return;
    this.#bytes = bytes;
    this.#text = bytes.toString('latin1', 0, items.end(count - 1));
    for (let item = 0; item < count; item++) {
      if (this.rows === this.failures.length) this.#grow();
      this.#outcome = this.#time = '';
      const start = items.start(item);
      if (bytes[start] === OBJECT && bytes[start + 1] !== END_OF_OBJECT) this.#readMembers(start, this.#root);
      this.times.push(this.#time);
      if (haveFailed ?? this.#outcome === '"FAILED"') {
        this.failures[this.rows] = 1;
        this.failed++;
      }
      this.rows++;
    }
  }

  /** Called after the last event. */
  finish(): void {
    for (const field of this.fields) field.finish();
  }

  /** The numbers of failed and of other events by the codes of a field. */
  countCodes({ codes, texts }: Field): { readonly failed: Uint32Array; readonly others: Uint32Array } {
    const [others, failed] = [new Uint32Array(texts.length), new Uint32Array(texts.length)];
    for (let row = 0; row < this.rows; row++) {
      const counts = this.failures[row] === 1 ? failed : others;
      const code = codes[row] as number;
      counts[code] = (counts[code] as number) + 1;
    }
    return { failed, others };
  }

  /** Events by the text of a field of the first level; null for those that have no text there. */
  outcomesOf(
    name: string,
  ): { readonly value: string | null; readonly total: number; readonly failed: number }[] {
    const field = this.fields.find(({ steps }) => steps.length === 1 && steps[0] === name);
    if (!field) return this.rows > 0 ? [{ value: null, total: this.rows, failed: this.failed }] : [];
    const { failed, others } = this.countCodes(field);
    const outcomes = field.texts.map((json, code) => {
      const failures = failed[code] as number;
      const value = json.startsWith('"') ? (JSON.parse(json) as string) : null;
      return { value, total: failures + (others[code] as number), failed: failures };
    });
    const none = { value: null, total: 0, failed: 0 };
    for (const { value, total, failed } of outcomes) {
      if (value !== null) continue;
      none.total += total;
      none.failed += failed;
    }
    return [none, ...outcomes.filter(({ value }) => value !== null)].filter(({ total }) => total > 0);
  }

  #grow(): void {
    const capacity = 2 * this.failures.length;
    this.failures = enlarged(this.failures, new Uint8Array(capacity));
    for (const field of this.fields) field.grow(capacity);
  }

  /** Reads the members of the object at `at`; the offset after it. */
  #readMembers(at: number, parent: Field): number {
    const bytes = this.#bytes;
    let index = at;
    let expected = 0;
    do {
      const start = index + 1;
      // Members mostly come in the same order.
      let member = parent.members[expected];
      let valueAt: number;
      if (member && isAt(bytes, start, member.token)) valueAt = start + member.token.length;
      else {
        valueAt = stringEnd(bytes, start) + 1;
        expected = parent.members.findIndex(({ token }) => isAt(bytes, start, token));
        member = parent.members[expected] ?? this.#memberNamed(parent, bytes.subarray(start, valueAt));
      }
      expected++;
      index = member ? this.#readValue(valueAt, member) : valueEnd(bytes, valueAt);
    } while (bytes[index] === COMMA);
    return index + 1;
  }

  /** The member that an event writes in this way for the first time; undefined if it is not kept. */
  #memberNamed(parent: Field, token: Buffer): Field | undefined {
    const json = token.toString().slice(0, -1);
    const name = json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
    if (this.#only && !(parent === this.#root && this.#only.includes(name))) return undefined;
    const known = parent.members.find(({ steps }) => steps.at(-1) === name);
    if (known) return known;
    if (parent.members.length === MOST_MEMBERS || this.fields.length === MOST_FIELDS) {
      parent.isOverfull = true;
      return undefined;
    }
    const steps = [...parent.steps, name];
    const isOutcome = parent === this.#root && /^(publishStatus|createdOn)$/.test(name);
    const member = isOutcome
      ? new Field(steps, Buffer.from(token), 0)
      : this.#newField(steps, Buffer.from(token));
    if (name === 'publishStatus' && isOutcome) this.#status = member;
    if (name === 'createdOn' && isOutcome) this.#createdOn = member;
    parent.members.push(member);
    return member;
  }

  #newField(steps: readonly string[], token: Buffer): Field {
    const field = new Field(steps, token, this.failures.length);
    this.fields.push(field);
    return field;
  }

  /** Records the value at `at`; the offset after it. */
  #readValue(at: number, field: Field): number {
    const bytes = this.#bytes;
    const row = this.rows;
    // Of members of the same name the last one counts.
    if (field.codes[row]) field.clear(row);
    const first = bytes[at];
    if (first === OBJECT && bytes[at + 1] !== END_OF_OBJECT) {
      field.setPresent(row, UNCODED);
      return this.#readMembers(at, field);
    }
    if (first === ARRAY && bytes[at + 1] !== END_OF_ARRAY) return this.#readElements(at, field);
    const end = valueEnd(bytes, at);
    if (field === this.#status) this.#outcome = this.#text.slice(at, end);
    else if (field === this.#createdOn) this.#time = first === QUOTE ? this.#text.slice(at + 1, end - 1) : '';
    else if (first === NULL) field.setPresent(row, NO_VALUE);
    else if (field.isGivenUp) field.setPresent(row, UNCODED);
    else field.set(row, this.#text.slice(at, end));
    return end;
  }

  /** A short array of values is a value itself, and so is each of its first elements. */
  #readElements(at: number, field: Field): number {
    const bytes = this.#bytes;
    const { elements } = field;
    let index = at;
    let isFlat = true;
    for (let count = 0; count === 0 || bytes[index] === COMMA; count++) {
      const first = bytes[index + 1];
      if (first === OBJECT || first === ARRAY) isFlat = false;
      if (count === MOST_ELEMENTS) field.isOverfull = true;
      if (count === elements.length && count < MOST_ELEMENTS && this.fields.length < MOST_FIELDS)
        elements.push(this.#newField([...field.steps, String(count)], NO_TOKEN));
      const element = elements[count];
      index = element ? this.#readValue(index + 1, element) : valueEnd(bytes, index + 1);
    }
    if (isFlat && index + 1 - at <= LONGEST_VALUE) field.set(this.rows, this.#text.slice(at, index + 1));
    else field.setPresent(this.rows, UNCODED);
    return index + 1;
  }
}

function isAt(bytes: Buffer, start: number, token: Buffer): boolean {
  for (let index = 0; index < token.length; index++) if (bytes[start + index] !== token[index]) return false;
  return true;
}

/** When rows were created, with every digit up to nanoseconds. */
export class TimeColumn {
  #rows = 0;
  /** Whole seconds since the epoch, `NaN` for a time that is not known. */
  #seconds = new Float64Array(1024);
  /** The number of digits after the point times 10⁹, and the nanoseconds. */
  #fractions = new Float64Array(1024);

  /** Adds a row, and returns it. The text may be anything. */
  push(text: string): number {
    if (this.#rows === this.#seconds.length) {
      this.#seconds = enlarged(this.#seconds, new Float64Array(2 * this.#rows));
      this.#fractions = enlarged(this.#fractions, new Float64Array(2 * this.#rows));
    }
    const instant = parseInstant(text);
    const row = this.#rows++;
    this.#seconds[row] = instant?.seconds ?? Number.NaN;
    if (!instant) return row;
    const point = instant.text.indexOf('.');
    const digits = point === -1 ? 0 : Math.min(9, instant.text.length - point - 2);
    this.#fractions[row] = digits * 1e9 + Number(instant.fraction.slice(0, 9).padEnd(9, '0'));
    return row;
  }

  isKnown(row: number): boolean {
    return !Number.isNaN(this.#seconds[row]);
  }

  /** Negative if the first row was created earlier; 0 if one of them does not say when. */
  compare(a: number, b: number): number {
    const difference = (this.#seconds[a] as number) - (this.#seconds[b] as number);
    if (difference !== 0) return difference || 0;
    return ((this.#fractions[a] as number) % 1e9) - ((this.#fractions[b] as number) % 1e9);
  }

  /** The time of a row that has one; undefined for no row. */
  at<Row extends number | undefined>(row: Row): Row extends number ? Instant : Instant | undefined;
  at(row: number | undefined): Instant | undefined {
    if (row === undefined) return undefined;
    const { text, seconds } = knownInstant((this.#seconds[row] as number) * 1000);
    const [digits, nanoseconds] = [
      Math.floor((this.#fractions[row] as number) / 1e9),
      (this.#fractions[row] as number) % 1e9,
    ];
    const fraction = String(nanoseconds).padStart(9, '0').slice(0, digits);
    return {
      text: digits === 0 ? text : text.replace('Z', `.${fraction}Z`),
      seconds,
      fraction: fraction.replace(/0+$/, ''),
    };
  }

  /** The first row in order of creation of those that are wanted; undefined if none of them says when. */
  oldest(isWanted: (row: number) => boolean): number | undefined {
    return this.#extreme(isWanted, -1);
  }

  newest(isWanted: (row: number) => boolean): number | undefined {
    return this.#extreme(isWanted, 1);
  }

  /** The times of the first and the last row. */
  get bounds(): { readonly first: Instant | undefined; readonly last: Instant | undefined } {
    return { first: this.at(this.oldest(() => true)), last: this.at(this.newest(() => true)) };
  }

  #extreme(isWanted: (row: number) => boolean, direction: 1 | -1): number | undefined {
    let found: number | undefined;
    for (let row = 0; row < this.#rows; row++) {
      if (!this.isKnown(row) || !isWanted(row)) continue;
      if (found === undefined || this.compare(row, found) * direction > 0) found = row;
    }
    return found;
  }
}

/** Rows in order of creation, those whose time is not known last. */
export function sortRows(rows: number[], times: TimeColumn): number[] {
  const compare = (a: number, b: number) =>
    Number(times.isKnown(b)) - Number(times.isKnown(a)) || times.compare(a, b) || a - b;
  // Services list the newest events first as a rule.
  const isDescending = rows.every(
    (row, index) => index === 0 || compare(row, rows[index - 1] as number) <= 0,
  );
  return isDescending ? rows.reverse() : rows.sort(compare);
}
