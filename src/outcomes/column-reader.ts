import { type Derivation, EACH, type PathStep } from '../items/field-path.ts';
import { jsonInText } from '../items/json-in-text.ts';
import { startsWith, stringEnd, valueEnd } from '../items/json-scanner.ts';
import { isKnownName } from '../items/known-fields.ts';
import { ColumnRoom, type RowsSoFar } from './column-room.ts';
import { FIRST_CODE, Field, type KeptValues, NO_VALUE, UNCODED } from './field-column.ts';
import { ValueCodes } from './value-codes.ts';

/** Elements of a list that are compared. */
const MOST_ELEMENTS = 10_000;
/** Steps of a path that is looked at: each takes a piece of the stack. */
const DEEPEST = 64;
/** The place of a member that is not kept. */
const LEFT_OUT = -1;
/** Names of an object whose places are remembered. */
const MOST_PLACES = 8000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OBJECT = 0x7b;
const ARRAY = 0x5b;
const NULL = 0x6e;
const END_OF_OBJECT = 0x7d;
const END_OF_ARRAY = 0x5d;

/** Of items that are alike in size, the size only repeats what their values are. */
const LARGER_BY = 1.5;

const SUCCESS_TEXT = '"SUCCESS"';

/** Elements have no names. */
const NO_TOKEN = Buffer.alloc(0);

/** An item without white space between tokens, between two offsets, and its row. */
interface ItemPlace {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly row: number;
}

/** The offsets of an item's `createdOn`, equal where it has none. */
interface TimePlace {
  bytes: Buffer;
  start: number;
  end: number;
}

/** Reads items into columns, one a field, wherever the field stands in them. */
export class ColumnReader {
  readonly root = new Field([], NO_TOKEN, 0);
  // Outcome and time (service description, part 4) are no fields to compare.
  readonly status: Field;
  readonly #createdOn = new Field(['createdOn'], Buffer.from('"createdOn":'), 0);
  /** The bytes of items, without those that only tell the outcome. */
  readonly #size: Field | undefined;
  readonly #only: readonly string[] | undefined;
  readonly #soFar: RowsSoFar;
  readonly #room: ColumnRoom;
  readonly #keptValues: KeptValues = { count: 0 };
  /** Of the item that is read: whether its top has a text `eventId`, and the members that have one. */
  #hasIdAtTop = false;
  #holders: Field[] = [];
  /** True while known fields in an event are taken for the item's own. */
  #joinsEvents = true;
  /** The page that is read, or a text in it that is JSON, and the row of its item. */
  #bytes: Buffer = NO_TOKEN;
  #isInText = false;
  #row = 0;
  /** When the event that was read was created. */
  readonly time: TimePlace = { bytes: NO_TOKEN, start: 0, end: 0 };

  /** With `only`, no other fields are kept than these of the first level. */
  constructor(soFar: RowsSoFar, only?: readonly string[]) {
    this.#soFar = soFar;
    this.#only = only && [...only, 'eventId', 'publishStatus', 'createdOn'];
    this.status = new Field(['publishStatus'], Buffer.from('"publishStatus":'), soFar.failures.length);
    this.#room = new ColumnRoom(this.root, soFar, this.#keptValues);
    this.#size = only ? undefined : new Field([], NO_TOKEN, soFar.failures.length, 'size');
  }

  get fields(): readonly Field[] {
    return this.#room.fields;
  }

  /** Called after the last item: adds what is derived of fields. */
  finish(): void {
    const derived = this.fields.flatMap((field) => field.finish());
    for (const field of derived) field.finish();
    this.#room.fields.push(...derived);
    if (this.#size && isOfManySizes(this.#size)) this.#room.fields.push(this.#size);
  }

  /** Takes back what was read of the last item. */
  clear(row: number): void {
    this.root.clear(row);
    this.#size?.clear(row);
  }

  /** Adds a field that is no part of the items. */
  addDerived(field: Field): void {
    this.#room.fields.push(field);
  }

  /** Makes columns longer. */
  grow(capacity: number): void {
    // With room for many more, the rows so far show how many have a field.
    const rows = Math.min(capacity, 2 * this.#soFar.rows);
    for (const field of this.fields) field.fit(rows, capacity);
    this.#room.prepare(capacity);
    for (const field of [...this.fields, this.status]) field.grow(capacity);
    this.#size?.grow(capacity);
  }

  /** Reads an item, whose known fields are where `known-fields.ts` says. */
  read({ bytes, start, end, row }: ItemPlace): void {
    this.#bytes = bytes;
    this.#row = row;
    this.#readWhole(start);
    this.#size?.setNumber(row, end - start - this.#moreOfSuccess());
  }

  #readWhole(start: number): void {
    this.#readOnce(start, true);
    const [holder, another] = this.#holders;
    if (holder === undefined) return;
    const event = this.#hasIdAtTop || another ? undefined : holder;
    if (event?.isEvent) return;
    this.root.clear(this.#row);
    if (event) this.#makeEvent(event);
    // Otherwise the event is at the top, or nobody can tell which it is: fields in members are none of the
    // item's own.
    this.#readOnce(start, event !== undefined);
  }

  /**
   * The outcome is written with a byte more in a delivered event than in a failed one: sizes are compared
   * without it.
   */
  #moreOfSuccess(): number {
    const code = this.status.codes[this.#row] as number;
    return this.status.texts[code] === SUCCESS_TEXT ? 1 : 0;
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
      member.places = undefined;
      this.#room.fields.splice(this.#room.fields.indexOf(field), 1);
    }
  }

  #readOnce(start: number, joinsEvents: boolean): void {
    const bytes = this.#bytes;
    this.time.end = this.time.start;
    this.#hasIdAtTop = false;
    if (this.#holders.length > 0) this.#holders = [];
    this.#joinsEvents = joinsEvents;
    if (bytes[start] === OBJECT && bytes[start + 1] !== END_OF_OBJECT) this.#readMembers(start, this.root);
  }

  /** Reads the members of the object at `at`; the offset after it. */
  #readMembers(at: number, parent: Field): number {
    const bytes = this.#bytes;
    const isJoined = this.#joinsEvents && parent.isEvent;
    const members = isJoined ? parent.eventMembers : parent.members;
    let index = at;
    let expected = 0;
    let count = 0;
    do {
      const start = index + 1;
      // Members mostly come in the same order.
      const next = members[expected];
      const isNext = next !== undefined && startsWith(bytes, start, next.token);
      const valueAt = isNext ? start + next.token.length : stringEnd(bytes, start) + 1;
      if (!isNext) expected = this.#placeOf(parent, members, start, valueAt);
      index = this.#readMember(valueAt, members[expected], parent);
      expected++;
      count++;
    } while (bytes[index] === COMMA);
    if (parent.novelty) this.#noteNames(parent, count);
    return index + 1;
  }

  /**
   * Notes the names of an object, which may show that it is a map. The members of items and events are known.
   */
  #noteNames(object: Field, names: number): void {
    const isMap = object === this.root || object.isEvent ? false : object.novelty?.note(names);
    if (isMap === undefined) return;
    object.novelty = undefined;
    if (isMap && !this.#room.isFull(this.#soFar.failures.length)) this.#makeMap(object);
  }

  /** From now on the members of this object are the elements of a list; those so far are copied. */
  #makeMap(object: Field): void {
    const element = this.#newField([...object.steps, EACH], NO_TOKEN);
    const length = this.#newField(object.steps, NO_TOKEN, 'length');
    const members = object.members.splice(0);
    object.places = undefined;
    object.isMap = true;
    object.element = element;
    object.length = length;
    for (const row of object.rowsAmong(this.#row + 1)) {
      const present = members.filter((member) => member.codesOf(row).length > 0);
      for (const member of present) this.#copy(row, member, element);
      if (present.length > 0 && !object.isInList) length.setDerived(row, present.length);
    }
    this.#room.remove(members);
  }

  /** Copies what a field and those inside it have in a row. */
  #copy(row: number, from: Field, to: Field): void {
    for (const code of from.codesOf(row)) {
      if (code >= FIRST_CODE) to.setText(row, from.texts[code] as string);
      else if (code === UNCODED) to.setPresent(row, UNCODED);
    }
    for (const member of from.members) {
      const name = member.steps.at(-1) as string;
      if (member.codesOf(row).length > 0) this.#copy(row, member, this.#memberOf(to, name, member.token));
    }
    if (from.element && from.element.codesOf(row).length > 0)
      this.#copy(row, from.element, this.#elementOf(to));
  }

  /** The place among the members of the one whose name stands between two offsets, or `LEFT_OUT`. */
  #placeOf(parent: Field, members: readonly Field[], start: number, valueAt: number): number {
    const bytes = this.#bytes;
    const known = placesOf(parent, members).get(bytes, start, valueAt);
    if (known !== undefined) return known;
    const member = this.#memberNamed(parent, bytes.subarray(start, valueAt), valueAt);
    const place = member ? members.indexOf(member) : LEFT_OUT;
    // They begin anew where members made room for this one.
    const places = placesOf(parent, members);
    // With few fields it is the value that decides.
    if (!this.#only && places.size < MOST_PLACES) places.add(bytes, start, valueAt, place);
    return place;
  }

  /** Reads the value of a member, or passes over it where it is not kept; the offset after it. */
  #readMember(valueAt: number, member: Field | undefined, parent: Field): number {
    const bytes = this.#bytes;
    if (!member) return valueEnd(bytes, valueAt);
    if (member.isId && bytes[valueAt] === QUOTE && !this.#isInText) this.#noteId(parent);
    const isJoined = this.#joinsEvents && parent.isEvent;
    const isOutdone = isJoined && member.steps.length === 1 && this.#isSet(member);
    return isOutdone ? valueEnd(bytes, valueAt) : this.#readValue(valueAt, member);
  }

  #noteId(parent: Field): void {
    if (parent === this.root) this.#hasIdAtTop = true;
    else if (parent.steps.length === 1) this.#holders.push(parent);
  }

  /** True if the item that is read has a value for a field other than null. */
  #isSet(field: Field): boolean {
    return field === this.#createdOn ? this.time.end > this.time.start : field.codes[this.#row] !== NO_VALUE;
  }

  /**
   * The member that an event writes in this way for the first time, with its value at an offset; undefined if
   * it is not kept.
   */
  #memberNamed(parent: Field, token: Buffer, valueAt: number): Field | undefined {
    const json = token.toString().slice(0, -1);
    const name = json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
    const isJoined = this.#joinsEvents && parent.isEvent;
    const owner = isJoined && isKnownName(name) ? this.root : parent;
    if (!this.#isKept(owner, name, valueAt)) return undefined;
    const known = owner.members.find(({ steps }) => steps.at(-1) === name);
    const member = known ?? this.#newMember(owner, name, token);
    if (!known) owner.novelty?.noteNew();
    if (member && isJoined && !parent.eventMembers.includes(member)) parent.eventMembers.push(member);
    return member;
  }

  /**
   * False for members that a table of few fields leaves out. Members that may be the event are read for these
   * fields.
   */
  #isKept(owner: Field, name: string, valueAt: number): boolean {
    if (this.#only === undefined) return true;
    if (owner !== this.root) return owner.steps.length === 1 && name === 'eventId';
    return this.#only.includes(name) || (!this.#hasIdAtTop && this.#bytes[valueAt] === OBJECT);
  }

  #newMember(owner: Field, name: string, token: Buffer): Field | undefined {
    if (!this.#room.isOpenFor(owner, name)) {
      owner.isOverfull = true;
      return undefined;
    }
    const own = [this.status, this.#createdOn].find(({ steps }) => owner === this.root && steps[0] === name);
    if (own) owner.members.push(own);
    return own ?? this.#addMember(owner, name, Buffer.from(token));
  }

  /** The member of an object, which is added if it is new. */
  #memberOf(owner: Field, name: string, token: Buffer): Field {
    const known = owner.members.find(({ steps }) => steps.at(-1) === name);
    return known ?? this.#addMember(owner, name, token);
  }

  #addMember(owner: Field, name: string, token: Buffer): Field {
    const member = this.#newField([...owner.steps, name], token);
    owner.members.push(member);
    return member;
  }

  /** What the elements of a list are. */
  #elementOf(list: Field): Field {
    list.element ??= this.#newField([...list.steps, EACH], NO_TOKEN);
    list.length ??= this.#newField(list.steps, NO_TOKEN, 'length');
    return list.element;
  }

  #newField(steps: readonly PathStep[], token: Buffer, derivation?: Derivation): Field {
    const capacity = this.#soFar.failures.length;
    const field = new Field(steps, token, capacity, derivation, this.#keptValues);
    field.fit(capacity, capacity);
    this.#room.fields.push(field);
    return field;
  }

  /** Records the value at `at`; the offset after it. */
  #readValue(at: number, field: Field): number {
    const bytes = this.#bytes;
    const row = this.#row;
    const first = bytes[at];
    // What the event says stands where the item itself has null.
    if (first === NULL && this.#holders.length > 0 && field.steps.length === 1 && this.#isSet(field))
      return at + 4;
    // Of members of the same name the last one counts.
    if (!field.isInList && field.isSet(row)) field.clear(row);
    if (first === OBJECT || first === ARRAY) return this.#readInner(at, field);
    const end = valueEnd(bytes, at);
    if (field === this.#createdOn) this.#noteTime(at, first === NULL ? at : end);
    else if (first === NULL) field.setPresent(row, NO_VALUE);
    else if (first !== QUOTE || !this.#readText(at, end, field)) field.set(row, bytes, at, end);
    return end;
  }

  #noteTime(start: number, end: number): void {
    this.time.bytes = this.#bytes;
    this.time.start = start;
    this.time.end = end;
  }

  /** Reads an object or a list; the offset after it. */
  #readInner(at: number, field: Field): number {
    const bytes = this.#bytes;
    const row = this.#row;
    const isObject = bytes[at] === OBJECT;
    if (bytes[at + 1] === (isObject ? END_OF_OBJECT : END_OF_ARRAY)) {
      field.set(row, bytes, at, at + 2);
      if (!isObject || field.isMap) field.length?.setDerived(row, 0);
      return at + 2;
    }
    if (field.steps.length === DEEPEST) {
      field.isOverfull = true;
      field.setPresent(row, UNCODED);
      return valueEnd(bytes, at);
    }
    if (!isObject) return this.#readElements(at, field);
    field.setPresent(row, UNCODED);
    return field.isMap ? this.#readMap(at, field) : this.#readMembers(at, field);
  }

  /**
   * Reads a text that is JSON; false for any other. Texts in it are texts: a path goes on inside one alone.
   */
  #readText(start: number, end: number, field: Field): boolean {
    if (this.#isInText || this.#only) return false;
    const bytes = this.#bytes;
    const text = jsonInText(bytes, start, end);
    if (!text) return false;
    this.#bytes = text;
    this.#isInText = true;
    this.#readInner(0, field);
    this.#isInText = false;
    this.#bytes = bytes;
    return true;
  }

  /** Reads the elements of a list. One of values is a value itself, and so is each element. */
  #readElements(at: number, list: Field): number {
    const bytes = this.#bytes;
    const element = this.#openElement(list);
    let index = at;
    let isFlat = true;
    let count = 0;
    do {
      const first = bytes[index + 1];
      if (first === OBJECT || first === ARRAY) isFlat = false;
      index = this.#readElement(index + 1, count++, list, element);
    } while (bytes[index] === COMMA);
    if (isFlat) list.set(this.#row, bytes, at, index + 1);
    else list.setPresent(this.#row, UNCODED);
    this.#endList(list, count);
    return index + 1;
  }

  /** Reads the values of a map; its names are passed over. */
  #readMap(at: number, map: Field): number {
    const bytes = this.#bytes;
    let index = at;
    let count = 0;
    do {
      const valueAt = stringEnd(bytes, index + 1) + 1;
      index = this.#readElement(valueAt, count++, map, map.element);
    } while (bytes[index] === COMMA);
    this.#endList(map, count);
    return index + 1;
  }

  /** The field of the elements; undefined if there is no room for one. */
  #openElement(list: Field): Field | undefined {
    if (list.element || list.isOverfull) return list.element;
    list.isOverfull = this.#room.isFull(this.#soFar.failures.length);
    return list.isOverfull ? undefined : this.#elementOf(list);
  }

  #readElement(at: number, place: number, list: Field, element: Field | undefined): number {
    if (element && place < MOST_ELEMENTS) return this.#readValue(at, element);
    list.isOverfull = true;
    return valueEnd(this.#bytes, at);
  }

  /** Notes how many elements there are, and which fields not all of them have. */
  #endList(list: Field, count: number): void {
    const row = this.#row;
    list.length?.setDerived(row, count);
    // An element of a list inside another is not told from its brothers.
    if (list.element && !list.isInList) noteLacks(list.element, row, count);
  }
}

/**
 * True if a tenth of the items is so much larger than another tenth that their size may be why they failed.
 */
function isOfManySizes({ numbers, present }: Field): boolean {
  const sizes = (numbers ?? new Float64Array(0)).slice(0, present).sort();
  const small = sizes[Math.floor(0.1 * present)] ?? 0;
  const large = sizes[Math.floor(0.9 * present)] ?? 0;
  return large >= LARGER_BY * small;
}

/** The places that are known among some members of an object: its own, or those as an event. */
function placesOf(parent: Field, members: readonly Field[]): ValueCodes {
  if (members === parent.eventMembers) {
    parent.eventPlaces ??= new ValueCodes();
    return parent.eventPlaces;
  }
  parent.places ??= new ValueCodes();
  return parent.places;
}

/** Notes that a field inside the elements has a value in some of them alone. */
function noteLacks(element: Field, row: number, count: number): void {
  if (element.isSet(row) && element.filled < count) element.setLack(row);
  for (const member of element.members) noteLacks(member, row, count);
}
