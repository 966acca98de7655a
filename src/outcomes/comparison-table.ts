import { ServiceError } from '../errors.ts';
import { compareNumbers, isNumber, normalNumber } from '../items/item-conditions.ts';
import type { Items } from '../items/items.ts';
import { startsWith, stringEnd, stringText, valueEnd } from '../items/json-scanner.ts';
import { isKnownName } from '../items/known-fields.ts';
import { type Instant, knownInstant, parseInstant, trimZeros } from '../time/instant.ts';

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
/** Elements of an array that are compared. */
const MOST_ELEMENTS = 16;
/** Steps of a path that is looked at: each takes a piece of the stack. */
const DEEPEST = 64;
/** Fields in all: those that the fewest failures have make room for others. */
const MOST_FIELDS = 4000;
/** Columns take at most about this much. */
const MOST_BYTES = 135 * 1024 * 1024;
/** The part of the fields that makes room at once. */
const PART_LEFT_OUT = 0.25;
/** An object from which more members were left out has names that hardly repeat: it gets no new ones. */
const MOST_LEFT_OUT = 1000;
/** The place of a member that is not kept. */
const LEFT_OUT = -1;
/** Names of an object whose places are remembered. */
const MOST_PLACES = 8000;
/** From so many rows on columns grow by a quarter. */
const MANY_ROWS = 65_536;
/** More events than this would take about half a gigabyte. */
const MOST_ROWS = 6_000_000;
/** At most 15 digits, which a double holds exactly (IEEE 754): other numbers are compared only as texts. */
const EXACT_NUMBER = /^"?-?(?!0\d)(?:\d{1,15}|(?=[\d.]{1,16}"?$)\d+\.\d+)"?$/;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OBJECT = 0x7b;
const ARRAY = 0x5b;
const NULL = 0x6e;
const END_OF_OBJECT = 0x7d;
const END_OF_ARRAY = 0x5d;

/** Elements have no names. */
const NO_TOKEN = Buffer.alloc(0);

/** The outcomes that a `publishStatus` tells: true for failed (service description, part 3). */
export const OUTCOMES: ReadonlyMap<string, boolean> = new Map([
  ['FAILED', true],
  ['SUCCESS', false],
]);

type Codes = Uint8Array | Uint16Array;

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

function enlarged<Rows extends Uint8Array | Uint16Array | Float64Array>(from: Rows, capacity: number): Rows {
  const to = new (from.constructor as new (length: number) => Rows)(capacity);
  to.set(from);
  return to;
}

/**
 * Events as columns, for questions about many of them at once: every field, which of them failed, and when
 * they were created. About 80 bytes an event of twenty fields; the values of a field are kept once.
 */
export class ComparisonTable {
  /** Rows that are complete. */
  rows = 0;
  failed = 0;
  /** Events that do not tell their outcome: they have no row. */
  untold = 0;
  readonly fields: Field[] = [];
  readonly times = new TimeColumn();
  /** 1 for a row that failed. */
  failures = new Uint8Array(1024);
  readonly #root = new Field([], NO_TOKEN, 0);
  // Outcome and time (service description, part 4) are no fields to compare.
  readonly #status = new Field(['publishStatus'], Buffer.from('"publishStatus":'), this.failures.length);
  readonly #createdOn = new Field(['createdOn'], Buffer.from('"createdOn":'), 0);
  readonly #only: readonly string[] | undefined;
  /** False while no field can make room for another. */
  #canLeaveOut = true;
  /** Of the item that is read: whether its top has a text `eventId`, and the members that have one. */
  #hasIdAtTop = false;
  #holders: Field[] = [];
  /** True while known fields in an event are taken for the item's own. */
  #joinsEvents = true;
  /** The page that is read. */
  #bytes: Buffer = NO_TOKEN;
  /** When the event that is read was created. */
  #time = '';

  /** With `only`, no other fields are kept than these of the first level. */
  constructor(only?: readonly string[]) {
    this.#only = only && [...only, 'eventId', 'publishStatus', 'createdOn'];
  }

  /**
   * `haveFailed` is for items that do not tell their outcome themselves. Throws `ServiceError` for too many
   * events.
   */
  add(items: Items, haveFailed?: boolean): void {
    if (this.rows > MOST_ROWS)
      throw new ServiceError(
        `there are more than ${MOST_ROWS / 1e6} million events: too many to compare at once`,
        { next: 'narrow the time with --since and --until, or choose events with --type or --subscription' },
      );
    const { bytes, count } = items;
    const status = this.#status;
    this.#bytes = bytes;
    for (let item = 0; item < count; item++) {
      if (this.rows === this.failures.length) this.#grow();
      this.#readItem(items.start(item));
      const text = status.texts[status.codes[this.rows] as number] as string;
      const hasFailed = haveFailed ?? OUTCOMES.get(bareText(text));
      if (hasFailed === undefined) {
        this.#root.clear(this.rows);
        this.untold++;
        continue;
      }
      this.times.push(this.#time);
      if (hasFailed) {
        this.failures[this.rows] = 1;
        this.failed++;
      }
      this.rows++;
    }
  }

  /** Reads an item, whose known fields are where `known-fields.ts` says. */
  #readItem(start: number): void {
    this.#readOnce(start, true);
    const [holder, another] = this.#holders;
    if (holder === undefined) return;
    const event = this.#hasIdAtTop || another ? undefined : holder;
    if (event?.isEvent) return;
    this.#root.clear(this.rows);
    if (event) this.#makeEvent(event);
    // Otherwise the event is at the top, or nobody can tell which it is: fields in members are none of the
    // item's own.
    this.#readOnce(start, event !== undefined);
  }

  /**
   * From now on known fields in this member are those of the item, and columns of its own without any value
   * go.
   */
  #makeEvent(member: Field): void {
    member.isEvent = true;
    const left = member.members.filter(
      ({ steps, present }) => present === 0 && isKnownName(steps.at(-1) as string),
    );
    for (const field of left) {
      member.members.splice(member.members.indexOf(field), 1);
      member.places.clear();
      this.fields.splice(this.fields.indexOf(field), 1);
    }
  }

  #readOnce(start: number, joinsEvents: boolean): void {
    const bytes = this.#bytes;
    this.#time = '';
    this.#hasIdAtTop = false;
    if (this.#holders.length > 0) this.#holders = [];
    this.#joinsEvents = joinsEvents;
    if (bytes[start] === OBJECT && bytes[start + 1] !== END_OF_OBJECT) this.#readMembers(start, this.#root);
  }

  /** Called after the last event. */
  finish(): void {
    for (const field of this.fields) field.finish();
  }

  /** The numbers of failed and of other events by the codes of a field. */
  countCodes({ codes, texts }: Pick<Field, 'codes' | 'texts'>): { failed: Uint32Array; others: Uint32Array } {
    const [others, failed] = [new Uint32Array(texts.length), new Uint32Array(texts.length)];
    for (let row = 0; row < this.rows; row++) {
      const counts = this.failures[row] === 1 ? failed : others;
      const code = codes[row] as number;
      counts[code] = (counts[code] as number) + 1;
    }
    return { failed, others };
  }

  fieldAtTop(name: string): Field | undefined {
    return this.fields.find(({ steps }) => steps.length === 1 && steps[0] === name);
  }

  /** Events by the text of a field of the first level; null for those that have no text there. */
  outcomesOf(
    name: string,
  ): { readonly value: string | null; readonly total: number; readonly failed: number }[] {
    const field = this.fieldAtTop(name);
    if (!field) return this.rows > 0 ? [{ value: null, total: this.rows, failed: this.failed }] : [];
    const { failed, others } = this.countCodes(field);
    const none = { value: null, total: this.rows, failed: this.failed };
    const named = field.texts.flatMap((json, code) => {
      const failures = failed[code] as number;
      const total = failures + (others[code] as number);
      if (!json.startsWith('"') || total === 0) return [];
      none.total -= total;
      none.failed -= failures;
      return [{ value: JSON.parse(json) as string, total, failed: failures }];
    });
    return none.total > 0 ? [none, ...named] : named;
  }

  #grow(): void {
    const rows = this.failures.length;
    const capacity = rows < MANY_ROWS ? 2 * rows : Math.ceil(1.25 * rows);
    this.#canLeaveOut = true;
    while (this.#isFull(capacity) && this.#canLeaveOut) this.#leaveOutRarest();
    this.failures = enlarged(this.failures, capacity);
    for (const field of [...this.fields, this.#status]) field.grow(capacity);
  }

  /** Reads the members of the object at `at`; the offset after it. */
  #readMembers(at: number, parent: Field): number {
    const bytes = this.#bytes;
    const isJoined = this.#joinsEvents && parent.isEvent;
    const members = isJoined ? parent.eventMembers : parent.members;
    let index = at;
    let expected = 0;
    do {
      const start = index + 1;
      // Members mostly come in the same order.
      const next = members[expected];
      const isNext = next !== undefined && startsWith(bytes, start, next.token);
      const valueAt = isNext ? start + next.token.length : stringEnd(bytes, start) + 1;
      if (!isNext) expected = this.#placeOf(parent, members, start, valueAt);
      index = this.#readMember(valueAt, members[expected], parent);
      expected++;
    } while (bytes[index] === COMMA);
    return index + 1;
  }

  /** The place among the members of the one whose name stands between two offsets, or `LEFT_OUT`. */
  #placeOf(parent: Field, members: readonly Field[], start: number, valueAt: number): number {
    const bytes = this.#bytes;
    const places = members === parent.eventMembers ? parent.eventPlaces : parent.places;
    const written = bytes.toString('latin1', start, valueAt);
    const known = places.get(written);
    if (known !== undefined) return known;
    const member = this.#memberNamed(parent, bytes.subarray(start, valueAt), valueAt);
    const place = member ? members.indexOf(member) : LEFT_OUT;
    // With few fields it is the value that decides.
    if (!this.#only && places.size < MOST_PLACES) places.set(written, place);
    return place;
  }

  /** Reads the value of a member, or passes over it where it is not kept; the offset after it. */
  #readMember(valueAt: number, member: Field | undefined, parent: Field): number {
    const bytes = this.#bytes;
    if (!member) return valueEnd(bytes, valueAt);
    if (member.isId && bytes[valueAt] === QUOTE) this.#noteId(parent);
    const isJoined = this.#joinsEvents && parent.isEvent;
    const isOutdone = isJoined && member.steps.length === 1 && this.#isSet(member);
    return isOutdone ? valueEnd(bytes, valueAt) : this.#readValue(valueAt, member);
  }

  #noteId(parent: Field): void {
    if (parent === this.#root) this.#hasIdAtTop = true;
    else if (parent.steps.length === 1) this.#holders.push(parent);
  }

  /** True if the item that is read has a value for a field other than null. */
  #isSet(field: Field): boolean {
    return field === this.#createdOn ? this.#time !== '' : field.codes[this.rows] !== NO_VALUE;
  }

  /**
   * The member that an event writes in this way for the first time, with its value at an offset; undefined if
   * it is not kept.
   */
  #memberNamed(parent: Field, token: Buffer, valueAt: number): Field | undefined {
    const json = token.toString().slice(0, -1);
    const name = json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
    const isJoined = this.#joinsEvents && parent.isEvent;
    const owner = isJoined && isKnownName(name) ? this.#root : parent;
    if (!this.#isKept(owner, name, valueAt)) return undefined;
    const member =
      owner.members.find(({ steps }) => steps.at(-1) === name) ?? this.#newMember(owner, name, token);
    if (member && isJoined && !parent.eventMembers.includes(member)) parent.eventMembers.push(member);
    return member;
  }

  /**
   * False for members that a table of few fields leaves out. Members that may be the event are read for these
   * fields.
   */
  #isKept(owner: Field, name: string, valueAt: number): boolean {
    if (this.#only === undefined) return true;
    if (owner !== this.#root) return owner.steps.length === 1 && name === 'eventId';
    return this.#only.includes(name) || (!this.#hasIdAtTop && this.#bytes[valueAt] === OBJECT);
  }

  #newMember(owner: Field, name: string, token: Buffer): Field | undefined {
    if (!this.#isAlwaysCompared(owner, name) && !this.#hasRoomFor(owner, name)) {
      owner.isOverfull = true;
      return undefined;
    }
    const own = [this.#status, this.#createdOn].find(
      ({ steps }) => owner === this.#root && steps[0] === name,
    );
    const member = own ?? this.#newField([...owner.steps, name], Buffer.from(token));
    owner.members.push(member);
    return member;
  }

  /** Known fields and other members of the items themselves are. */
  #isAlwaysCompared(owner: Field, name: string): boolean {
    return owner === this.#root || (owner.steps.length === 1 && isKnownName(name));
  }

  #hasRoomFor(owner: Field, name: string): boolean {
    const isOpen = () => owner.leftOut.size <= MOST_LEFT_OUT && !owner.leftOut.has(name);
    if (!isOpen()) return false;
    if (!this.#isFull(this.failures.length)) return true;
    return this.#canLeaveOut && this.#leaveOutRarest() && isOpen();
  }

  /** True if one more field has no place when columns have this many rows. */
  #isFull(capacity: number): boolean {
    const growth = capacity / this.failures.length;
    const bytes = this.fields.reduce((sum, { byteLength }) => sum + byteLength, 0);
    return this.fields.length >= MOST_FIELDS || bytes * growth + capacity > MOST_BYTES;
  }

  /**
   * Leaves out fields that the fewest failures have, and of these the ones that the fewest events have.
   * False if there are none but those of the item that is read.
   */
  #leaveOutRarest(): boolean {
    const ownerOf = new Map<Field, Field>();
    for (const owner of [this.#root, ...this.fields])
      for (const member of owner.members) ownerOf.set(member, owner);
    const inFailures = ({ codes }: Field) => {
      let count = 0;
      for (let row = 0; row < this.rows; row++)
        if (codes[row] !== NO_VALUE) count += this.failures[row] as number;
      return count;
    };
    const candidates = [...ownerOf]
      .filter(([field, owner]) => !this.#isAlwaysCompared(owner, field.steps.at(-1) as string))
      .filter(([{ members, elements }]) => members.length === 0 && elements.length === 0)
      // Between two items there is no such row yet.
      .filter(([{ codes }]) => (codes[this.rows] ?? NO_VALUE) === NO_VALUE)
      .map(([field, owner]) => ({ field, owner, failures: inFailures(field) }))
      .sort((a, b) => a.failures - b.failures || a.field.present - b.field.present)
      .slice(0, Math.ceil(PART_LEFT_OUT * this.fields.length));
    const gone = new Set(candidates.map(({ field }) => field));
    for (const owner of new Set(candidates.map(({ owner }) => owner))) {
      const left = owner.members.filter((member) => gone.has(member));
      for (const member of left) owner.leftOut.add(member.steps.at(-1) as string);
      owner.isOverfull = true;
      owner.members.splice(0, owner.members.length, ...owner.members.filter((member) => !gone.has(member)));
      owner.places.clear();
    }
    this.fields.splice(0, this.fields.length, ...this.fields.filter((field) => !gone.has(field)));
    this.#canLeaveOut = candidates.length > 0;
    return this.#canLeaveOut;
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
    const first = bytes[at];
    // What the event says stands where the item itself has null.
    if (first === NULL && this.#holders.length > 0 && field.steps.length === 1 && this.#isSet(field))
      return at + 4;
    // Of members of the same name the last one counts.
    if (field.codes[row]) field.clear(row);
    if (field.steps.length === DEEPEST && (first === OBJECT || first === ARRAY)) {
      field.isOverfull = true;
      field.setPresent(row, UNCODED);
      return valueEnd(bytes, at);
    }
    if (first === OBJECT && bytes[at + 1] !== END_OF_OBJECT) {
      field.setPresent(row, UNCODED);
      return this.#readMembers(at, field);
    }
    if (first === ARRAY && bytes[at + 1] !== END_OF_ARRAY) return this.#readElements(at, field);
    const end = valueEnd(bytes, at);
    if (field === this.#createdOn) this.#time = first === QUOTE ? stringText(bytes, at, end) : '';
    else if (first === NULL) field.setPresent(row, NO_VALUE);
    else field.set(row, bytes, at, end);
    return end;
  }

  /** The next element of a list whose elements are all looked at so far; undefined if there is no room. */
  #newElement(list: Field): Field | undefined {
    if (list.isOverfull) return undefined;
    list.isOverfull = this.#isFull(this.failures.length);
    if (list.isOverfull) return undefined;
    const element = this.#newField([...list.steps, String(list.elements.length)], NO_TOKEN);
    list.elements.push(element);
    return element;
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
      const element = elements[count] ?? this.#newElement(field);
      index = element ? this.#readValue(index + 1, element) : valueEnd(bytes, index + 1);
    }
    if (isFlat) field.set(this.rows, bytes, at, index + 1);
    else field.setPresent(this.rows, UNCODED);
    return index + 1;
  }
}

/** When rows were created, with every digit up to nanoseconds. */
export class TimeColumn {
  #rows = 0;
  /** Rows whose time is not known. */
  unknown = 0;
  /** Whole seconds since the epoch, `NaN` for a time that is not known. */
  #seconds = new Float64Array(1024);
  /** Nanoseconds, and behind the point a sixteenth for each digit of the text's fraction. */
  #fractions = new Float64Array(1024);

  /** Adds a row, and returns it. The text may be anything. */
  push(text: string): number {
    if (this.#rows === this.#seconds.length) {
      this.#seconds = enlarged(this.#seconds, 2 * this.#rows);
      this.#fractions = enlarged(this.#fractions, 2 * this.#rows);
    }
    const instant = parseInstant(text);
    const row = this.#rows++;
    this.#seconds[row] = instant?.seconds ?? Number.NaN;
    if (!instant) {
      this.unknown++;
      return row;
    }
    const point = instant.text.indexOf('.');
    const digits = point === -1 ? 0 : Math.min(9, instant.text.length - point - 2);
    this.#fractions[row] = digits / 16 + Number(instant.fraction.slice(0, 9).padEnd(9, '0'));
    return row;
  }

  isKnown(row: number): boolean {
    return !Number.isNaN(this.#seconds[row]);
  }

  /** Negative if the first row was created earlier; 0 if one of them does not say when. */
  compare(a: number, b: number): number {
    const difference = (this.#seconds[a] as number) - (this.#seconds[b] as number);
    if (difference !== 0) return difference || 0;
    return Math.trunc(this.#fractions[a] as number) - Math.trunc(this.#fractions[b] as number);
  }

  /** The time of a row that has one; undefined for no row. */
  at<Row extends number | undefined>(row: Row): Row extends number ? Instant : Instant | undefined;
  at(row: number | undefined): Instant | undefined {
    if (row === undefined) return undefined;
    const { text, seconds } = knownInstant((this.#seconds[row] as number) * 1000);
    const nanoseconds = Math.trunc(this.#fractions[row] as number);
    const digits = 16 * ((this.#fractions[row] as number) - nanoseconds);
    const fraction = String(nanoseconds).padStart(9, '0').slice(0, digits);
    return {
      text: digits === 0 ? text : text.replace('Z', `.${fraction}Z`),
      seconds,
      fraction: trimZeros(fraction),
    };
  }

  /**
   * The first of some rows in order of creation, or of those after a row; undefined if none of them says
   * when.
   */
  oldest(rows: Int32Array, after?: number): number | undefined {
    return this.#extreme(rows, -1, after);
  }

  newest(rows: Int32Array, before?: number): number | undefined {
    return this.#extreme(rows, 1, before);
  }

  /** The times of the first and the last row. */
  get bounds(): { readonly first: Instant | undefined; readonly last: Instant | undefined } {
    const rows = allRows(this.#rows);
    return { first: this.at(this.oldest(rows)), last: this.at(this.newest(rows)) };
  }

  #extreme(rows: Int32Array, direction: 1 | -1, limit?: number): number | undefined {
    let found: number | undefined;
    for (const row of rows) {
      if (!this.isKnown(row) || (limit !== undefined && this.compare(row, limit) * direction >= 0)) continue;
      if (found === undefined || this.compare(row, found) * direction > 0) found = row;
    }
    return found;
  }
}

export function allRows(count: number): Int32Array {
  const rows = new Int32Array(count);
  for (let row = 0; row < count; row++) rows[row] = row;
  return rows;
}

/** The rows for which it holds, several times as fast as their own method. */
export function filterRows(rows: Int32Array, holds: (row: number) => boolean): Int32Array {
  const kept = new Int32Array(rows.length);
  let count = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as number;
    if (holds(row)) kept[count++] = row;
  }
  return kept.slice(0, count);
}

/** The rows whose code is accepted, which is 1 by such a code and 0 by others. */
export function selectRows(rows: Int32Array, codes: Codes | Uint32Array, accepted: Uint8Array): Int32Array {
  const kept = new Int32Array(rows.length);
  let count = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as number;
    kept[count] = row;
    count += accepted[codes[row] as number] as number;
  }
  return kept.slice(0, count);
}

/** The rows that are not among some of them, which are in the same order. */
export function rowsWithout(rows: Int32Array, some: Int32Array): Int32Array {
  let next = 0;
  return filterRows(rows, (row) => {
    if (row !== some[next]) return true;
    next++;
    return false;
  });
}

/** Rows in order of creation, those whose time is not known last. */
export function sortRows(rows: number[], times: TimeColumn): number[] {
  const compare = (a: number, b: number) =>
    Number(times.isKnown(b)) - Number(times.isKnown(a)) || times.compare(a, b) || a - b;
  // Services list the newest events first as a rule.
  const isDescending = rows.every((row, at) => at === 0 || compare(row, rows[at - 1] as number) <= 0);
  return isDescending ? rows.reverse() : rows.sort(compare);
}
