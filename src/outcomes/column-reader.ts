import { jsonInText } from '../items/json-in-text.ts';
import { startsWith, stringEnd, valueEnd } from '../items/json-scanner.ts';
import { isKnownName } from '../items/known-fields.ts';
import { NO_VALUE, UNCODED } from './code-column.ts';
import type { Field } from './field-column.ts';
import type { FieldTree } from './field-tree.ts';
import { bareText } from './value-texts.ts';

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

const SUCCESS_TEXT = '"SUCCESS"';

const NO_BYTES = Buffer.alloc(0);

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

/** Reads items into the columns of their fields. */
export class ColumnReader {
  readonly #tree: FieldTree;
  readonly #createdOn: Field;
  /** Of the item that is read: whether its top has a text `eventId`, and the members that have one. */
  #hasIdAtTop = false;
  #holders: Field[] = [];
  /** True while known fields in an event are taken for the item's own. */
  #joinsEvents = true;
  /** The page that is read, or a text in it that is JSON, and the row of its item. */
  #bytes: Buffer = NO_BYTES;
  #isInText = false;
  #row = 0;
  /** When the event that was read was created. */
  readonly time: TimePlace = { bytes: NO_BYTES, start: 0, end: 0 };

  constructor(tree: FieldTree) {
    this.#tree = tree;
    this.#createdOn = tree.createdOn;
  }

  /** Reads an item, whose known fields are where `known-fields.ts` says. */
  read({ bytes, start, end, row }: ItemPlace): void {
    this.#bytes = bytes;
    this.#row = row;
    this.#readWhole(start);
    this.#tree.size?.setNumber(row, end - start - this.#moreOfSuccess());
  }

  #readWhole(start: number): void {
    this.#readOnce(start, true);
    const [holder] = this.#holders;
    if (holder === undefined) return;
    const isEvent = this.#holders.length === 1 && !this.#hasIdAtTop;
    if (isEvent && holder.isEvent) return;
    this.#tree.root.clear(this.#row);
    if (isEvent) this.#tree.makeEvent(holder);
    // Otherwise the event is at the top, or nobody can tell which it is: fields in members are none of the
    // item's own.
    this.#readOnce(start, isEvent);
  }

  /**
   * The outcome is written with a byte more in a delivered event than in a failed one: sizes are compared
   * without it.
   */
  #moreOfSuccess(): number {
    const { status } = this.#tree;
    const code = status.codes[this.#row] as number;
    return status.texts[code] === SUCCESS_TEXT ? 1 : 0;
  }

  #readOnce(start: number, joinsEvents: boolean): void {
    const bytes = this.#bytes;
    this.time.end = this.time.start;
    this.#hasIdAtTop = false;
    if (this.#holders.length > 0) this.#holders = [];
    this.#joinsEvents = joinsEvents;
    if (bytes[start] === OBJECT && bytes[start + 1] !== END_OF_OBJECT)
      this.#readMembers(start, this.#tree.root);
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
    if (parent.names.novelty) this.#noteNames(parent, count);
    return index + 1;
  }

  /**
   * Notes the names of an object, which may show that it is a map. The members of items and events are known.
   */
  #noteNames(object: Field, names: number): void {
    const isKnown = object === this.#tree.root || object.isEvent;
    const isMap = isKnown ? false : object.names.novelty?.note(names);
    if (isMap === undefined) return;
    object.names.novelty = undefined;
    if (isMap && !this.#tree.isFull) this.#tree.makeMap(object, this.#row);
  }

  /** The place among the members of the one whose name stands between two offsets, or `LEFT_OUT`. */
  #placeOf(parent: Field, members: readonly Field[], start: number, valueAt: number): number {
    const bytes = this.#bytes;
    const isEvent = members === parent.eventMembers;
    const known = parent.names.placesAmong(isEvent).get(bytes, start, valueAt);
    if (known !== undefined) return known;
    const member = this.#memberNamed(parent, bytes.subarray(start, valueAt), valueAt);
    const place = member ? members.indexOf(member) : LEFT_OUT;
    // They begin anew where members made room for this one.
    const places = parent.names.placesAmong(isEvent);
    // With few fields it is the value that decides.
    if (!this.#tree.only && places.size < MOST_PLACES) places.add(bytes, start, valueAt, place);
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
    if (parent === this.#tree.root) this.#hasIdAtTop = true;
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
    const name = bareText(token.toString().slice(0, -1));
    const isJoined = this.#joinsEvents && parent.isEvent;
    const owner = isJoined && isKnownName(name) ? this.#tree.root : parent;
    if (!this.#isKept(owner, name, valueAt)) return undefined;
    const member = this.#tree.member(owner, name, token);
    if (member && isJoined && !parent.eventMembers.includes(member)) parent.eventMembers.push(member);
    return member;
  }

  /**
   * False for members that a table of few fields leaves out. Members that may be the event are read for these
   * fields.
   */
  #isKept(owner: Field, name: string, valueAt: number): boolean {
    const { only } = this.#tree;
    if (only === undefined) return true;
    if (owner !== this.#tree.root) return owner.steps.length === 1 && name === 'eventId';
    return only.includes(name) || (!this.#hasIdAtTop && this.#bytes[valueAt] === OBJECT);
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
    if (this.#isInText || this.#tree.only) return false;
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
    const element = this.#tree.element(list);
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

/** Notes that a field inside the elements has a value in some of them alone. */
function noteLacks(element: Field, row: number, count: number): void {
  if (element.isSet(row) && element.filled < count) element.setLack(row);
  for (const member of element.members) noteLacks(member, row, count);
}
