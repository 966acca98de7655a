import { startsWith, stringEnd, stringText, valueEnd } from '../items/json-scanner.ts';
import { isKnownName } from '../items/known-fields.ts';
import { ColumnRoom, type RowsSoFar } from './column-room.ts';
import { Field, NO_VALUE, UNCODED } from './field-column.ts';

/** Elements of an array that are compared. */
const MOST_ELEMENTS = 16;
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

/** Elements have no names. */
const NO_TOKEN = Buffer.alloc(0);

/** Reads items into columns, one a field, wherever the field stands in them. */
export class ColumnReader {
  readonly root = new Field([], NO_TOKEN, 0);
  // Outcome and time (service description, part 4) are no fields to compare.
  readonly status: Field;
  readonly #createdOn = new Field(['createdOn'], Buffer.from('"createdOn":'), 0);
  readonly #only: readonly string[] | undefined;
  readonly #soFar: RowsSoFar;
  readonly #room: ColumnRoom;
  /** Of the item that is read: whether its top has a text `eventId`, and the members that have one. */
  #hasIdAtTop = false;
  #holders: Field[] = [];
  /** True while known fields in an event are taken for the item's own. */
  #joinsEvents = true;
  /** The page that is read, and the row of its item. */
  #bytes: Buffer = NO_TOKEN;
  #row = 0;
  /** When the event that was read was created. */
  time = '';

  /** With `only`, no other fields are kept than these of the first level. */
  constructor(soFar: RowsSoFar, only?: readonly string[]) {
    this.#soFar = soFar;
    this.#only = only && [...only, 'eventId', 'publishStatus', 'createdOn'];
    this.status = new Field(['publishStatus'], Buffer.from('"publishStatus":'), soFar.failures.length);
    this.#room = new ColumnRoom(this.root, soFar);
  }

  get fields(): readonly Field[] {
    return this.#room.fields;
  }

  /** Makes columns longer. */
  grow(capacity: number): void {
    this.#room.prepare(capacity);
    for (const field of [...this.fields, this.status]) field.grow(capacity);
  }

  /** Reads an item, whose known fields are where `known-fields.ts` says. */
  read({
    bytes,
    start,
    row,
  }: {
    readonly bytes: Buffer;
    readonly start: number;
    readonly row: number;
  }): void {
    this.#bytes = bytes;
    this.#row = row;
    this.#readOnce(start, true);
    const [holder, another] = this.#holders;
    if (holder === undefined) return;
    const event = this.#hasIdAtTop || another ? undefined : holder;
    if (event?.isEvent) return;
    this.root.clear(row);
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
      this.#room.fields.splice(this.#room.fields.indexOf(field), 1);
    }
  }

  #readOnce(start: number, joinsEvents: boolean): void {
    const bytes = this.#bytes;
    this.time = '';
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
    if (parent === this.root) this.#hasIdAtTop = true;
    else if (parent.steps.length === 1) this.#holders.push(parent);
  }

  /** True if the item that is read has a value for a field other than null. */
  #isSet(field: Field): boolean {
    return field === this.#createdOn ? this.time !== '' : field.codes[this.#row] !== NO_VALUE;
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
    if (owner !== this.root) return owner.steps.length === 1 && name === 'eventId';
    return this.#only.includes(name) || (!this.#hasIdAtTop && this.#bytes[valueAt] === OBJECT);
  }

  #newMember(owner: Field, name: string, token: Buffer): Field | undefined {
    if (!this.#room.isOpenFor(owner, name)) {
      owner.isOverfull = true;
      return undefined;
    }
    const own = [this.status, this.#createdOn].find(({ steps }) => owner === this.root && steps[0] === name);
    const member = own ?? this.#newField([...owner.steps, name], Buffer.from(token));
    owner.members.push(member);
    return member;
  }

  #newField(steps: readonly string[], token: Buffer): Field {
    const field = new Field(steps, token, this.#soFar.failures.length);
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
    if (field === this.#createdOn) this.time = first === QUOTE ? stringText(bytes, at, end) : '';
    else if (first === NULL) field.setPresent(row, NO_VALUE);
    else field.set(row, bytes, at, end);
    return end;
  }

  /** The next element of a list whose elements are all looked at so far; undefined if there is no room. */
  #newElement(list: Field): Field | undefined {
    if (list.isOverfull) return undefined;
    list.isOverfull = this.#room.isFull(this.#soFar.failures.length);
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
    if (isFlat) field.set(this.#row, bytes, at, index + 1);
    else field.setPresent(this.#row, UNCODED);
    return index + 1;
  }
}
