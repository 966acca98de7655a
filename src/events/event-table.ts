import { ServiceError } from '../errors.ts';
import type { Items } from '../json/items.ts';
import { scalarEnd, stringEnd, valueEnd } from '../json/json-scanner.ts';
import { type Instant, knownInstant, parseInstant } from '../time/instant.ts';

/** Rows of a part of a column. Parts in which no event has the field take no memory. */
const PART = 1 << 14;
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
/** Digits that a double holds exactly (IEEE 754): more of them are compared only as texts. */
const EXACT_DIGITS = 15;

const [QUOTE, BACKSLASH, OBJECT, ARRAY, NULL] = [0x22, 0x5c, 0x7b, 0x5b, 0x6e];

/** More events than this would take more than 400 MB. */
const MOST_ROWS = 6_000_000;

/** Why a field is not compared by value: nearly every event has another one, or there are too many. */
export type Uncompared = 'unique' | 'many';

/** A field of the events, wherever it stands in them: its values as small numbers, one for each row. */
export class FieldColumn {
  /** Names of members, or indexes of elements. */
  readonly steps: readonly string[];
  readonly #table: EventTable;
  #parts: (Uint8Array | Uint16Array | undefined)[] = [];
  #numbers: (Float64Array | undefined)[] | undefined;
  #values: ValueCodes | undefined = new ValueCodes();
  /** Rows in which the field is there, null included. */
  present = 0;
  #isNumeric = true;
  uncompared: Uncompared | undefined;

  constructor(steps: readonly string[], table: EventTable) {
    this.steps = steps;
    this.#table = table;
  }

  /** Values found; those with codes from `FIRST_CODE` on. */
  get codes(): number {
    return FIRST_CODE + (this.#values?.size ?? 0);
  }

  /** True if the field has so many numbers that they are kept as such, without codes. */
  get hasNumbers(): boolean {
    return this.#numbers !== undefined;
  }

  /** The JSON text of a code's value. */
  textOf(code: number): string {
    return this.#values?.text(code - FIRST_CODE) ?? 'null';
  }

  codeAt(row: number): number {
    return this.#parts[row >>> 14]?.[row & (PART - 1)] ?? NO_VALUE;
  }

  /** The codes of `PART` rows; undefined if none of them has the field. */
  partAt(at: number): Uint8Array | Uint16Array | undefined {
    return this.#parts[at];
  }

  /** The number in that row; NaN if it has none, or if `hasNumbers` is false. */
  numberAt(row: number): number {
    return this.#numbers?.[row >>> 14]?.[row & (PART - 1)] ?? Number.NaN;
  }

  /** Records the value between two offsets. `hash` is that of its bytes. */
  set(bytes: Buffer, start: number, end: number, hash: number): void {
    this.present++;
    const row = this.#table.rows;
    const first = bytes[start] as number;
    if (first === NULL) return;
    const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
    if (!isNumber) this.#isNumeric = false;
    else if (end - start > EXACT_DIGITS) this.#isNumeric &&= isExact(bytes.toString('latin1', start, end));
    if (end - start > LONGEST_VALUE) {
      this.uncompared ??= 'many';
      this.#put(row, UNCODED);
    } else if (this.#values) {
      const code = FIRST_CODE + this.#values.codeOf(bytes, start, end, hash);
      this.#put(row, code);
      const { size } = this.#values;
      if (size === MOST_VALUES || (size >= EARLY && size % 1024 === 0 && size > NEARLY_ALL * this.present))
        this.#giveUp();
    } else {
      this.#put(row, UNCODED);
      if (!this.#numbers) return;
      if (this.#isNumeric) this.#putNumber(row, Number(bytes.toString('latin1', start, end)));
      else this.#dropNumbers();
    }
  }

  /** True once values are neither kept nor compared. */
  get isGivenUp(): boolean {
    return this.#values === undefined && this.#numbers === undefined;
  }

  /** Records that the field is there, as an object or with a value that is not compared. */
  setPresent(): void {
    this.present++;
    this.#isNumeric = false;
    this.#put(this.#table.rows, UNCODED);
  }

  /** Takes back what was recorded in this row: of members of the same name the last one counts. */
  clear(row: number): void {
    const part = this.#parts[row >>> 14];
    if (part) part[row & (PART - 1)] = NO_VALUE;
    const numbers = this.#numbers?.[row >>> 14];
    if (numbers) numbers[row & (PART - 1)] = Number.NaN;
  }

  /** Decides at the end which fields hardly repeat a value. */
  finish(): void {
    const { size = 0 } = this.#values ?? {};
    const hasCodes = this.#values !== undefined && size > 0;
    if (hasCodes && size >= 20 && size > NEARLY_ALL * this.present) {
      if (this.#isNumeric) this.#toNumbers();
      else this.#values = undefined;
      this.uncompared ??= 'unique';
    }
    if (this.#numbers) this.uncompared = undefined;
  }

  #put(row: number, code: number): void {
    const at = row >>> 14;
    let part = this.#parts[at];
    if (!part) part = this.#parts[at] = new Uint8Array(PART);
    if (code > 0xff && part instanceof Uint8Array) part = this.#parts[at] = Uint16Array.from(part);
    part[row & (PART - 1)] = code;
  }

  #putNumber(row: number, number: number): void {
    const parts = this.#numbers as (Float64Array | undefined)[];
    let part = parts[row >>> 14];
    if (!part) part = parts[row >>> 14] = new Float64Array(PART).fill(Number.NaN);
    part[row & (PART - 1)] = number;
  }

  #giveUp(): void {
    this.uncompared = (this.#values?.size ?? 0) > NEARLY_ALL * this.present ? 'unique' : 'many';
    if (this.#isNumeric) this.#toNumbers();
    else {
      this.#values = undefined;
      this.#forgetCodes();
    }
  }

  #toNumbers(): void {
    const numbers = Array.from({ length: this.codes - FIRST_CODE }, (_, code) =>
      Number(this.textOf(FIRST_CODE + code)),
    );
    this.#numbers = [];
    for (const [at, part] of this.#parts.entries()) {
      for (let index = 0; part && index < PART; index++) {
        const code = part[index] as number;
        if (code >= FIRST_CODE) this.#putNumber(at * PART + index, numbers[code - FIRST_CODE] as number);
      }
    }
    this.#values = undefined;
    this.#forgetCodes();
  }

  #dropNumbers(): void {
    this.#numbers = undefined;
    this.uncompared = 'many';
  }

  /** Keeps only in which rows the field is there. */
  #forgetCodes(): void {
    this.#parts = this.#parts.map((part) => part && Uint8Array.from(part, (code) => Math.min(code, UNCODED)));
  }
}

/** True if a double holds the number exactly, so that no two different texts become one number. */
function isExact(number: string): boolean {
  return number.replace(/[-.]|^-?0\.0*/g, '').length <= EXACT_DIGITS && !/[eE]/.test(number);
}

/** The different values of a field, numbered in the order in which they came, by their JSON texts. */
class ValueCodes {
  #slots = new Int32Array(64).fill(-1);
  #hashes = new Int32Array(32);
  #ends = new Int32Array(32);
  #bytes = Buffer.allocUnsafe(256);
  size = 0;

  codeOf(bytes: Buffer, start: number, end: number, hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (let code = this.#slots[slot] as number; code !== -1; code = this.#slots[slot] as number) {
      if (this.#hashes[code] === hash && this.#equals(code, bytes, start, end)) return code;
      slot = (slot + 1) & mask;
    }
    return this.#add(slot, bytes, start, end, hash);
  }

  text(code: number): string {
    return this.#bytes.toString('utf8', this.#startOf(code), this.#ends[code]);
  }

  #startOf(code: number): number {
    return code === 0 ? 0 : (this.#ends[code - 1] as number);
  }

  #equals(code: number, bytes: Buffer, start: number, end: number): boolean {
    const own = this.#bytes;
    let at = this.#startOf(code);
    if ((this.#ends[code] as number) - at !== end - start) return false;
    for (let index = start; index < end; index++) if (bytes[index] !== own[at++]) return false;
    return true;
  }

  #add(slot: number, bytes: Buffer, start: number, end: number, hash: number): number {
    const code = this.size++;
    const from = this.#startOf(code);
    const to = from + end - start;
    if (code === this.#hashes.length) {
      this.#hashes = enlarged(this.#hashes);
      this.#ends = enlarged(this.#ends);
    }
    if (to > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(to, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, from);
      this.#bytes = larger;
    }
    bytes.copy(this.#bytes, from, start, end);
    this.#hashes[code] = hash;
    this.#ends[code] = to;
    this.#slots[slot] = code;
    if (2 * this.size > this.#slots.length) this.#rehash();
    return code;
  }

  #rehash(): void {
    this.#slots = new Int32Array(2 * this.#slots.length).fill(-1);
    const mask = this.#slots.length - 1;
    for (let code = 0; code < this.size; code++) {
      let slot = (this.#hashes[code] as number) & mask;
      while (this.#slots[slot] !== -1) slot = (slot + 1) & mask;
      this.#slots[slot] = code;
    }
  }
}

function enlarged(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
}

/** A member or an element of the events, with those inside it. */
class Node {
  readonly column: FieldColumn;
  /** The member's name between its quotes, as it is usually written. */
  readonly name: Buffer;
  readonly children: Node[] = [];
  readonly elements: (Node | undefined)[] = [];

  constructor(column: FieldColumn, name: Buffer) {
    this.column = column;
    this.name = name;
  }
}

/**
 * Events as columns, for questions about many of them at once: every field, which of them failed, and when they were
 * created. About 20 bytes an event; the values of a field are kept once.
 */
export class EventTable {
  /** Rows that are complete. */
  rows = 0;
  failed = 0;
  readonly columns: FieldColumn[] = [];
  /** Objects and arrays that have too many members: those after the first ones are not compared. */
  readonly overfull = new Set<FieldColumn>();
  readonly times = new TimeColumn();
  readonly #failures: Uint8Array[] = [];
  readonly #root = new Node(new FieldColumn([], this), Buffer.alloc(0));
  readonly #status = new Node(new FieldColumn(['publishStatus'], this), Buffer.from('publishStatus'));
  readonly #createdOn = new Node(new FieldColumn(['createdOn'], this), Buffer.from('createdOn'));
  #isFailed = false;

  readonly #only: readonly string[] | undefined;

  /** With `only`, no other fields are kept than these of the first level, and outcome and time. */
  constructor(only?: readonly string[]) {
    this.#only = only;
    this.#root.children.push(this.#status, this.#createdOn);
  }

  /** `haveFailed` is for items that do not tell their outcome themselves. Throws `ServiceError` for too many events. */
  add(items: Items, haveFailed?: boolean): void {
    if (this.rows > MOST_ROWS)
      throw new ServiceError(
        `there are more than ${MOST_ROWS / 1e6} million events: too many to compare at once`,
        {
          next: 'narrow the time with --since and --until, or choose events with --type or --subscription',
        },
      );
    for (let item = 0; item < items.count; item++) this.#addItem(items.bytes, items.start(item), haveFailed);
  }

  hasFailed(row: number): boolean {
    return (this.#failures[row >>> 14] as Uint8Array)[row & (PART - 1)] === 1;
  }

  /** The numbers of failed and of other events by the codes of a field. */
  countCodes(column: FieldColumn): { readonly failed: Uint32Array; readonly others: Uint32Array } {
    const [others, failed] = [new Uint32Array(column.codes), new Uint32Array(column.codes)];
    for (const [at, failures] of this.#failures.entries()) {
      const part = column.partAt(at);
      const end = Math.min(PART, this.rows - at * PART);
      for (let index = 0; index < end; index++) {
        const code = part === undefined ? NO_VALUE : (part[index] as number);
        if (failures[index] === 1) failed[code] = (failed[code] as number) + 1;
        else others[code] = (others[code] as number) + 1;
      }
    }
    return { failed, others };
  }

  /** Events by the text of a field of the first level; null for those that have no text there. */
  outcomesOf(
    name: string,
  ): { readonly value: string | null; readonly total: number; readonly failed: number }[] {
    const column = this.columns.find(({ steps }) => steps.length === 1 && steps[0] === name);
    const { failed, others } = column
      ? this.countCodes(column)
      : { failed: [this.failed], others: [this.rows - this.failed] };
    const totals = new Map<string | null, { total: number; failed: number }>();
    for (const [code, failures = 0] of failed.entries()) {
      const json = code < FIRST_CODE ? 'null' : (column as FieldColumn).textOf(code);
      const value = json.startsWith('"') ? (JSON.parse(json) as string) : null;
      const total = totals.get(value) ?? { total: 0, failed: 0 };
      total.total += failures + (others[code] as number);
      total.failed += failures;
      totals.set(value, total);
    }
    return [...totals].flatMap(([value, counts]) => (counts.total > 0 ? [{ value, ...counts }] : []));
  }

  /** The times of the first and the last event. */
  get bounds(): { readonly first: Instant | undefined; readonly last: Instant | undefined } {
    const { times } = this;
    let [first, last] = [-1, -1];
    for (let row = 0; row < this.rows; row++) {
      if (!times.isKnown(row)) continue;
      if (first === -1 || times.compare(row, first) < 0) first = row;
      if (last === -1 || times.compare(row, last) > 0) last = row;
    }
    return first === -1
      ? { first: undefined, last: undefined }
      : { first: times.at(first), last: times.at(last) };
  }

  /** Called after the last event. */
  finish(): void {
    for (const column of this.columns) column.finish();
  }

  #addItem(bytes: Buffer, at: number, haveFailed: boolean | undefined): void {
    this.times.begin(this.rows);
    if ((this.rows & (PART - 1)) === 0) this.#failures.push(new Uint8Array(PART));
    this.#isFailed = false;
    this.#members(bytes, at, this.#root);
    if (haveFailed ?? this.#isFailed) {
      (this.#failures[this.rows >>> 14] as Uint8Array)[this.rows & (PART - 1)] = 1;
      this.failed++;
    }
    this.rows++;
  }

  /** Reads the members of the object at `at`; the offset after it. Anything else is skipped. */
  #members(bytes: Buffer, at: number, parent: Node): number {
    if (bytes[at] !== OBJECT) return valueEnd(bytes, at);
    if (bytes[at + 1] === 0x7d) return at + 2;
    let index = at;
    let expected = 0;
    do {
      const nameStart = index + 2;
      // Members mostly come in the same order.
      let child = parent.children[expected];
      let nameEnd: number;
      if (child && isNamed(child, bytes, nameStart)) nameEnd = nameStart + child.name.length;
      else {
        nameEnd = stringEnd(bytes, index + 1) - 1;
        child = this.#childNamed(parent, bytes, nameStart, nameEnd);
        expected = child ? parent.children.indexOf(child) : expected - 1;
      }
      expected++;
      index = child ? this.#value(bytes, nameEnd + 2, child) : valueEnd(bytes, nameEnd + 2);
    } while (bytes[index] === 0x2c);
    return index + 1;
  }

  #childNamed(parent: Node, bytes: Buffer, start: number, end: number): Node | undefined {
    const { children } = parent;
    for (const child of children) if (isNamed(child, bytes, start)) return child;
    const text = bytes.toString('utf8', start, end);
    const name = text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
    const isOther = (node: Node) => node.column.steps.at(-1) === name;
    const known = text === name ? undefined : children.find(isOther);
    if (known) return known;
    if (this.#only && !(parent === this.#root && this.#only.includes(name))) return undefined;
    const isFull = children.length === MOST_MEMBERS || this.columns.length === MOST_FIELDS;
    if (isFull) this.overfull.add(parent.column);
    else children.push(this.#node(parent, name));
    return isFull ? undefined : children.at(-1);
  }

  #node(parent: Node, step: string): Node {
    const column = new FieldColumn([...parent.column.steps, step], this);
    this.columns.push(column);
    return new Node(column, Buffer.from(JSON.stringify(step).slice(1, -1)));
  }

  /** Records the value at `at`; the offset after it. */
  #value(bytes: Buffer, at: number, node: Node): number {
    const { column } = node;
    if (column.codeAt(this.rows) !== NO_VALUE) this.#clear(node);
    const first = bytes[at];
    if (first === OBJECT && bytes[at + 1] !== 0x7d) {
      column.setPresent();
      return this.#members(bytes, at, node);
    }
    if (first === ARRAY && bytes[at + 1] !== 0x5d) return this.#elements(bytes, at, node);
    if (column.isGivenUp && first !== NULL) {
      column.setPresent();
      return valueEnd(bytes, at);
    }
    let end = at + 1;
    let hash = first as number;
    let isPlain = true;
    if (first === QUOTE) {
      for (let byte = bytes[end] as number; byte !== QUOTE; byte = bytes[end] as number) {
        if (byte === BACKSLASH) {
          isPlain = false;
          hash = Math.imul(hash ^ byte, 0x01000193);
          byte = bytes[++end] as number;
        }
        hash = Math.imul(hash ^ byte, 0x01000193);
        end++;
      }
      end++;
    } else {
      end = first === OBJECT || first === ARRAY ? at + 2 : scalarEnd(bytes, at);
      for (let index = at + 1; index < end; index++)
        hash = Math.imul(hash ^ (bytes[index] as number), 0x01000193);
    }
    if (!isPlain) this.#setEscaped(bytes, at, end, node);
    else if (!this.#setKnown(bytes, at, end, node)) column.set(bytes, at, end, hash ^ (hash >>> 15));
    return end;
  }

  /** One text has many escaped forms: they are one value. */
  #setEscaped(bytes: Buffer, at: number, end: number, node: Node): void {
    const text = Buffer.from(JSON.stringify(JSON.parse(bytes.toString('utf8', at, end))));
    let hash = text[0] as number;
    for (let index = 1; index < text.length; index++)
      hash = Math.imul(hash ^ (text[index] as number), 0x01000193);
    if (!this.#setKnown(text, 0, text.length, node))
      node.column.set(text, 0, text.length, hash ^ (hash >>> 15));
  }

  /** Records the outcome and the time (service description, part 4), which are no fields to compare; false for others. */
  #setKnown(bytes: Buffer, at: number, end: number, node: Node): boolean {
    if (node === this.#status) {
      node.column.setPresent();
      this.#isFailed = end - at === 8 && bytes.toString('latin1', at, end) === '"FAILED"';
    } else if (node === this.#createdOn) {
      node.column.setPresent();
      this.times.set(this.rows, bytes, at, end);
    } else return false;
    return true;
  }

  /** A short array of values is a value itself, and so is each of its first elements. */
  #elements(bytes: Buffer, at: number, node: Node): number {
    let index = at;
    let element = 0;
    let isFlat = true;
    const row = this.rows;
    node.column.setPresent();
    do {
      const first = bytes[index + 1];
      if (first === OBJECT || first === ARRAY) isFlat = false;
      if (element < MOST_ELEMENTS && (node.elements[element] || this.columns.length < MOST_FIELDS)) {
        const known = node.elements[element] ?? this.#node(node, String(element));
        node.elements[element] = known;
        index = this.#value(bytes, index + 1, known);
      } else index = valueEnd(bytes, index + 1);
      element++;
    } while (bytes[index] === 0x2c);
    if (element > MOST_ELEMENTS) this.overfull.add(node.column);
    if (isFlat && index + 1 - at <= LONGEST_VALUE) {
      node.column.clear(row);
      node.column.present--;
      let hash = ARRAY;
      for (let byte = at; byte <= index; byte++) hash = Math.imul(hash ^ (bytes[byte] as number), 0x01000193);
      node.column.set(bytes, at, index + 1, hash ^ (hash >>> 15));
    }
    return index + 1;
  }

  #clear(node: Node): void {
    if (node.column.codeAt(this.rows) !== NO_VALUE) node.column.present--;
    node.column.clear(this.rows);
    for (const child of node.children) this.#clear(child);
    for (const child of node.elements) if (child) this.#clear(child);
  }
}

/** True if the name that starts there, after its quote, is the node's. */
function isNamed({ name }: Node, bytes: Buffer, start: number): boolean {
  const { length } = name;
  if (bytes[start + length] !== QUOTE) return false;
  for (let index = 0; index < length; index++) if (bytes[start + index] !== name[index]) return false;
  return true;
}

/** When the rows were created, with every digit up to nanoseconds. */
export class TimeColumn {
  readonly #seconds: Float64Array[] = [];
  readonly #nanoseconds: Uint32Array[] = [];
  readonly #digits: Uint8Array[] = [];
  /** The date that was read last, and its first second. */
  readonly #date = Buffer.alloc(10);
  #dayStart = 0;

  begin(row: number): void {
    if ((row & (PART - 1)) !== 0) return;
    this.#seconds.push(new Float64Array(PART).fill(Number.NaN));
    this.#nanoseconds.push(new Uint32Array(PART));
    this.#digits.push(new Uint8Array(PART));
  }

  /** Records the JSON string between two offsets, if it is a time. */
  set(row: number, bytes: Buffer, start: number, end: number): void {
    if (this.#setUsual(row, bytes, start + 1, end - 1)) return;
    const instant =
      bytes[start] === QUOTE ? parseInstant(bytes.toString('utf8', start + 1, end - 1)) : undefined;
    if (!instant) return;
    const { seconds, fraction } = instant;
    const digits = /\.(\d+)/.exec(instant.text)?.[1]?.length ?? 0;
    this.#put(row, seconds, Number(fraction.slice(0, 9).padEnd(9, '0')), Math.min(9, digits));
  }

  /** Reads `2026-11-22T06:18:16.5779000Z`, the form that services write; false for any other. */
  #setUsual(row: number, bytes: Buffer, start: number, end: number): boolean {
    const length = end - start;
    if (length < 20 || length > 30 || bytes[end - 1] !== 0x5a || bytes[start + 10] !== 0x54) return false;
    if (length > 20 && bytes[start + 19] !== 0x2e) return false;
    if (length === 21 || bytes[start + 13] !== 0x3a || bytes[start + 16] !== 0x3a) return false;
    for (let index = 0; index < 10; index++) {
      if (bytes[start + index] === this.#date[index]) continue;
      const day = parseInstant(bytes.toString('latin1', start, start + 10));
      if (!day) return false;
      bytes.copy(this.#date, 0, start, start + 10);
      this.#dayStart = day.seconds;
      break;
    }
    const hours = twoDigits(bytes, start + 11);
    const minutes = twoDigits(bytes, start + 14);
    const seconds = twoDigits(bytes, start + 17);
    if (!(hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60 && seconds >= 0 && seconds < 60))
      return false;
    let fraction = 0;
    for (let at = start + 20; at < end - 1; at++) {
      const digit = (bytes[at] as number) - 48;
      if (digit < 0 || digit > 9) return false;
      fraction = fraction * 10 + digit;
    }
    const digits = Math.max(0, length - 21);
    this.#put(
      row,
      this.#dayStart + hours * 3600 + minutes * 60 + seconds,
      fraction * 10 ** (9 - digits),
      digits,
    );
    return true;
  }

  #put(row: number, seconds: number, nanoseconds: number, digits: number): void {
    const [at, index] = [row >>> 14, row & (PART - 1)];
    (this.#seconds[at] as Float64Array)[index] = seconds;
    (this.#nanoseconds[at] as Uint32Array)[index] = nanoseconds;
    (this.#digits[at] as Uint8Array)[index] = digits;
  }

  isKnown(row: number): boolean {
    return !Number.isNaN((this.#seconds[row >>> 14] as Float64Array)[row & (PART - 1)]);
  }

  /** Negative if the first row was created earlier; 0 if one of them does not say when. */
  compare(a: number, b: number): number {
    const difference =
      ((this.#seconds[a >>> 14] as Float64Array)[a & (PART - 1)] as number) -
      ((this.#seconds[b >>> 14] as Float64Array)[b & (PART - 1)] as number);
    if (difference !== 0) return difference || 0;
    return (
      ((this.#nanoseconds[a >>> 14] as Uint32Array)[a & (PART - 1)] as number) -
      ((this.#nanoseconds[b >>> 14] as Uint32Array)[b & (PART - 1)] as number)
    );
  }

  /** The time of a row that has one. */
  at(row: number): Instant {
    const [part, index] = [row >>> 14, row & (PART - 1)];
    const { text, seconds } = knownInstant(((this.#seconds[part] as Float64Array)[index] as number) * 1000);
    const digits = (this.#digits[part] as Uint8Array)[index] as number;
    const nanoseconds = String((this.#nanoseconds[part] as Uint32Array)[index]).padStart(9, '0');
    const fraction = nanoseconds.slice(0, digits);
    return {
      text: digits === 0 ? text : text.replace('Z', `.${fraction}Z`),
      seconds,
      fraction: fraction.replace(/0+$/, ''),
    };
  }
}

function twoDigits(bytes: Buffer, at: number): number {
  return ((bytes[at] as number) - 48) * 10 + ((bytes[at + 1] as number) - 48);
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
