import { compareNumbers, isNumber, normalNumber } from '../items/item-conditions.ts';
import { startsWith } from '../items/json-scanner.ts';
import { type Codes, enlarged } from './rows.ts';

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
/** The share of different values among these from which on hardly any came twice. */
const NEARLY_ALL = 0.9;
/** A value in fewer events than these is given up with the others. */
const MANY = 10;
/** So is one in a smaller share of the events that have the field. */
const MANY_OF_ALL = 0.005;
/** Longer values are not compared. */
const LONGEST_VALUE_BYTES = 512;
/** At most 15 digits, which a double holds exactly (IEEE 754): other numbers are compared only as texts. */
const EXACT_NUMBER = /^"?-?(?!0\d)(?:\d{1,15}|(?=[\d.]{1,16}"?$)\d+\.\d+)"?$/;

/** A field of the events, wherever it stands in them: for each row a code of its value. */
export class Field {
  /** Names of members, or indexes of elements. */
  readonly steps: readonly string[];
  readonly members: Field[] = [];
  /** The same for an object that is the event of an item: its known fields are those of the item. */
  readonly eventMembers: Field[] = [];
  readonly elements: Field[] = [];
  /** The member's name and the colon behind it as the events write them. */
  readonly token: Buffer;
  codes: Codes;
  /** The JSON texts of values by their codes. */
  readonly texts: string[] = ['null', 'null'];
  /** The numbers by row, `NaN` where there is none, once the field has too many for codes. */
  numbers: Float64Array | undefined;
  /** The values that were given up at the end, if they are sentences, such as messages with an id in them. */
  prose: Pick<Field, 'codes' | 'texts'> | undefined;
  /**
   * True if values are not compared: nearly every event has another one, or there are too many, or they are
   * too long.
   */
  isUncompared = false;
  /** True if elements after the first ones are not compared, or members that few events have. */
  isOverfull = false;
  /** Where a member is among these by its name as events write it; `LEFT_OUT` if it is not kept. */
  readonly places = new Map<string, number>();
  readonly eventPlaces = new Map<string, number>();
  /** Names of members that made room for others: a column begun anew would lack their first events. */
  readonly leftOut = new Set<string>();
  /** True for a member of the items that has been the event of one. */
  isEvent = false;
  /** True for an `eventId` of the items, or of a member of theirs: it tells where the event is. */
  readonly isId: boolean;
  /** Rows in which the field is there, null included. */
  present = 0;
  /** By the bytes of the values as the events write them, each of which is one character here. */
  #codes: Map<string, number> | undefined = new Map();
  /** Once the others are given up, the codes of values that many events have. */
  readonly #kept = new Map<string, number>();
  /**
   * Some of the same by a few of their bytes: most values are one of few, and comparing bytes makes no text.
   */
  readonly #known: ({ readonly bytes: Buffer; readonly code: number } | undefined)[] = [];

  constructor(steps: readonly string[], token: Buffer, capacity: number) {
    this.steps = steps;
    this.isId = steps.length <= 2 && steps.at(-1) === 'eventId';
    this.token = token;
    this.codes = new Uint8Array(capacity);
  }

  /** Records the value between two offsets. */
  set(row: number, bytes: Buffer, start: number, end: number): void {
    this.present++;
    // Before the codes are named, since a new code may need a wider array.
    const code =
      this.#codes || this.numbers || this.#kept.size ? this.#codeOf(row, bytes, start, end) : UNCODED;
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
    this.codes = enlarged(this.codes, capacity);
    if (this.numbers) this.numbers = enlarged(this.numbers, capacity).fill(Number.NaN, this.numbers.length);
  }

  get byteLength(): number {
    return this.codes.byteLength + (this.numbers?.byteLength ?? 0);
  }

  /** Decides at the end which fields hardly repeat a value, and which values are one. */
  finish(): void {
    const values = this.texts.length - FIRST_CODE;
    if (this.#codes && values >= 20 && values > NEARLY_ALL * this.present) {
      const isProse = /\p{L}{2}\S* \S/u.test(this.texts[FIRST_CODE] as string);
      if (isProse) this.prose = { codes: this.codes, texts: [...this.texts] };
      this.#giveUp();
    }
    this.#joinAlike(/^(eventType|subscriptionId)$/.test(this.steps.join('.')));
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

  #codeOf(row: number, bytes: Buffer, start: number, end: number): number {
    const length = end - start;
    if (length > LONGEST_VALUE_BYTES) {
      this.isUncompared = true;
      return UNCODED;
    }
    const slot = slotOf(bytes, start, length);
    const known = this.#known[slot];
    if (known && known.bytes.length === length && startsWith(bytes, start, known.bytes)) return known.code;
    const text = bytes.toString('latin1', start, end);
    const code = this.#codes?.get(text) ?? this.#newCode(row, text);
    if (!known && this.#codes) this.#known[slot] = { bytes: Buffer.from(text, 'latin1'), code };
    return code;
  }

  #newCode(row: number, text: string): number {
    if (this.numbers) {
      if (EXACT_NUMBER.test(text)) this.numbers[row] = Number(bareText(text));
      else {
        this.numbers = undefined;
        this.isUncompared = true;
      }
    }
    if (!this.#codes) return this.#kept.get(text) ?? UNCODED;
    const values = this.texts.length - FIRST_CODE;
    const isUnique = values > NEARLY_ALL * this.present;
    if (values === MOST_VALUES || (values >= EARLY && values % 1024 === 0 && isUnique)) {
      this.#giveUp();
      return this.#newCode(row, text);
    }
    const value = canonicalText(Buffer.from(text, 'latin1').toString());
    const key = Buffer.from(value).toString('latin1');
    const code = this.#codes.get(key) ?? this.texts.push(value) - 1;
    if (code === 0x100) this.codes = Uint16Array.from(this.codes);
    this.#codes.set(key, code).set(text, code);
    return code;
  }

  /**
   * Keeps numbers as they are. Of other values it keeps those of many events, such as "", and which rows have
   * the rest.
   */
  #giveUp(): void {
    const texts = this.texts.splice(FIRST_CODE);
    const oldCodes = this.#codes ?? [];
    this.#codes = undefined;
    this.#known.length = 0;
    const events = new Uint32Array(texts.length + FIRST_CODE);
    for (const code of this.codes) events[code] = (events[code] as number) + 1;
    let least = Math.max(MANY, MANY_OF_ALL * this.present);
    if (texts.every((text) => EXACT_NUMBER.test(text))) {
      const numbers = Float64Array.from(texts, (text) => Number(bareText(text)));
      this.numbers = Float64Array.from(this.codes, (code) => numbers[code - FIRST_CODE] ?? Number.NaN);
      least = Number.POSITIVE_INFINITY;
    } else this.isUncompared = true;
    const codeOf = (count: number, code: number) =>
      count >= least ? this.texts.push(texts[code - FIRST_CODE] as string) - 1 : UNCODED;
    const newCodes = events.map((count, code) => (code < FIRST_CODE ? code : codeOf(count, code)));
    this.codes = this.codes.map((code) => newCodes[code] as number);
    for (const [text, code] of oldCodes)
      if ((newCodes[code] as number) >= FIRST_CODE) this.#kept.set(text, newCodes[code] as number);
  }
}

/** A number up to 255 that is rarely the same for two values of a field. */
function slotOf(bytes: Buffer, start: number, length: number): number {
  const middle = 31 * length + (bytes[start + (length >> 1)] as number);
  const quarter = 31 * middle + (bytes[start + (length >> 2)] as number);
  return (31 * quarter + (bytes[start + length - 2] as number)) & 0xff;
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

/** True for a field somewhere inside another one. */
export function isInside(inner: Field, outer: Field): boolean {
  const { steps } = outer;
  return inner.steps.length > steps.length && steps.every((step, index) => step === inner.steps[index]);
}
