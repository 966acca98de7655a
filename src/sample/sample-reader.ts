import { EACH } from '../items/field-path.ts';
import { jsonInText } from '../items/json-in-text.ts';
import {
  ARRAY,
  ARRAY_CLOSE,
  COMMA,
  NULL,
  OBJECT,
  OBJECT_CLOSE,
  QUOTE,
  readEach,
  startsWith,
  stringEnd,
  valueEnd,
} from '../items/json-scanner.ts';
import { isKnownName } from '../items/known-fields.ts';
import { bareText } from '../items/value-texts.ts';
import { OTHER_VALUE, SampleField } from './sample-field.ts';

/** Maximum fields. Beyond it, those in the fewest failures are dropped. */
const MAX_FIELDS = 4000;
/** Share of the fields dropped at once, since it takes a pass over all of them. */
const PART_LEFT_OUT = 0.25;
/** An object that has lost more members than this gets no new ones: its names hardly repeat. */
const MAX_LEFT_OUT = 1000;
/** Maximum names cached for an object; others are decoded for each event. */
const MAX_NAMES = 8000;
/** Maximum elements compared: longer lists are data. */
const MAX_ELEMENTS = 10_000;
/** Maximum depth, since each level takes stack. */
const DEEPEST_STEPS = 64;
/** Objects of one field that decide if their names repeat. */
const OBJECTS_LOOKED_AT = 64;
/** Minimum share of names in the second half of these objects that the first half lacked, for a map. */
const HARDLY_REPEATED = 0.8;

const NO_BYTES = Buffer.alloc(0);

export interface SampledEvent {
  readonly text: Buffer;
  readonly hasFailed: boolean;
  readonly eventAt: number;
  /** Offsets of the JSON value of `createdOn`, equal if it is missing. */
  readonly createdOnStart: number;
  readonly createdOnEnd: number;
}

interface Name {
  readonly token: Buffer;
  readonly place: number;
  field: SampleField | undefined;
}

class Names {
  readonly inOrder: Name[] = [];
  readonly byToken = new Map<string, Name>();
  readonly leftOut = new Set<string>();
  objects = 0;
  names = 0;
  newNames = 0;
}

/** `failures` has a 1 for each failed event. */
export function readFields(
  readEvents: () => Iterable<SampledEvent>,
  failures: Readonly<Uint8Array>,
): SampleField[] {
  const maps = new Set<string>();
  for (;;) {
    const reader = new SampleReader(failures, maps);
    if (reader.readAll(readEvents())) return reader.fields;
    // An object turned out to have ids as names: read again, with its members as elements of a list.
  }
}

class SampleReader {
  readonly fields: SampleField[] = [];
  readonly #failures: Readonly<Uint8Array>;
  readonly #maps: Set<string>;
  readonly #root = new SampleField([]);
  readonly #namesOf = new Map<SampleField, Names>();
  /** Names in an object that is the event itself: its known fields count as the item's. */
  readonly #namesInEventOf = new Map<SampleField, Names>();
  #bytes: Buffer = NO_BYTES;
  #isInText = false;
  #row = 0;
  #eventAt = 0;
  #foundMap = false;

  constructor(failures: Readonly<Uint8Array>, maps: Set<string>) {
    this.#failures = failures;
    this.#maps = maps;
  }

  /** Returns false if it found an object with ids as names, which needs another pass. */
  readAll(events: Iterable<SampledEvent>): boolean {
    let row = 0;
    for (const { text, eventAt } of events) {
      this.#bytes = text;
      this.#row = row++;
      if (text[0] !== OBJECT || text.length === 2) continue;
      this.#eventAt = eventAt;
      this.#readMembers(0, this.#root);
      if (this.#foundMap) return false;
    }
    return true;
  }

  /** The object must not be empty. Returns the offset after it. */
  #readMembers(at: number, parent: SampleField): number {
    const bytes = this.#bytes;
    const isEvent = at === this.#eventAt && parent !== this.#root && !this.#isInText;
    const names = namesIn(isEvent ? this.#namesInEventOf : this.#namesOf, parent);
    let index = at;
    let expected = 0;
    let count = 0;
    do {
      const start = index + 1;
      // Members mostly come in the same order, so a name is compared before its end is looked for.
      const next = names.inOrder[expected];
      const isNext = next !== undefined && startsWith(bytes, start, next.token);
      const name = isNext ? next : this.#nameAt(start, parent, names, isEvent);
      expected = name.place + 1;
      index = this.#readMember(start + name.token.length, name.field, parent);
      count++;
    } while (bytes[index] === COMMA);
    if (parent !== this.#root && !isEvent) this.#noteNames(parent, names, count);
    return index + 1;
  }

  #nameAt(start: number, parent: SampleField, names: Names, isEvent: boolean): Name {
    const token = this.#bytes.subarray(start, stringEnd(this.#bytes, start) + 1);
    const written = token.toString('latin1');
    const known = names.byToken.get(written);
    if (known) return known;
    names.newNames++;
    const name = bareText(token.toString('utf8', 0, token.length - 1));
    const isKnown = isEvent && isKnownName(name);
    const field = this.#memberOf(isKnown ? this.#root : parent, name);
    const added = { token: Buffer.from(token), place: names.inOrder.length, field };
    if (names.inOrder.length >= MAX_NAMES) return added;
    names.inOrder.push(added);
    names.byToken.set(written, added);
    return added;
  }

  #memberOf(owner: SampleField, name: string): SampleField | undefined {
    // Every event has its own outcome and time (service description, part 4).
    if (owner === this.#root && (name === 'publishStatus' || name === 'createdOn')) return undefined;
    const known = owner.members.get(name);
    if (known) return known;
    if (!this.#isOpenFor(owner, name)) {
      owner.isOverfull = true;
      return undefined;
    }
    const member = new SampleField([...owner.steps, name]);
    member.isMap = this.#maps.has(member.path);
    if (member.isMap) this.#addElement(member);
    owner.members.set(name, member);
    this.fields.push(member);
    return member;
  }

  #addElement(list: SampleField): void {
    list.element = new SampleField([...list.steps, EACH]);
    list.element.isMap = this.#maps.has(list.element.path);
    if (list.element.isMap) this.#addElement(list.element);
    list.length = new SampleField(list.steps, 'length');
    this.fields.push(list.element, list.length);
  }

  #readMember(at: number, member: SampleField | undefined, parent: SampleField): number {
    if (!member) return valueEnd(this.#bytes, at);
    const isOfItem = parent === this.#root;
    const isKnownOfEvent = !isOfItem && member.steps.length === 1;
    // A known field inside the event counts only if the item itself lacks it or has null.
    if (isKnownOfEvent && member.isSet(this.#row)) return valueEnd(this.#bytes, at);
    const isLack = isOfItem && this.#bytes[at] === NULL && this.#isFromEvent(member);
    if (isLack && member.isSet(this.#row)) return at + 4;
    return this.#readValue(at, member);
  }

  #isFromEvent({ steps }: SampleField): boolean {
    return this.#eventAt !== 0 && isKnownName(steps[0] as string);
  }

  #readValue(at: number, field: SampleField): number {
    const end = this.#recordValue(at, field);
    field.mostBytes = Math.max(field.mostBytes, end - at);
    return end;
  }

  #recordValue(at: number, field: SampleField): number {
    const bytes = this.#bytes;
    const row = this.#row;
    const first = bytes[at];
    if (!field.isInList && field.isSet(row)) field.clear(row);
    if (first === OBJECT || first === ARRAY) return this.#readInner(at, field);
    const end = valueEnd(bytes, at);
    if (first === NULL) field.setNull(row);
    else if (first !== QUOTE || !this.#readText(at, end, field)) field.setValue(row, bytes, at, end);
    return end;
  }

  /** Returns false unless the text is JSON. JSON nested in such a text stays a text. */
  #readText(start: number, end: number, field: SampleField): boolean {
    if (this.#isInText) return false;
    const text = jsonInText(this.#bytes, start, end);
    if (!text) return false;
    const item = this.#bytes;
    this.#bytes = text;
    this.#isInText = true;
    this.#readInner(0, field);
    this.#isInText = false;
    this.#bytes = item;
    return true;
  }

  #readInner(at: number, field: SampleField): number {
    const isObject = this.#bytes[at] === OBJECT;
    const isEmpty = this.#bytes[at + 1] === (isObject ? OBJECT_CLOSE : ARRAY_CLOSE);
    if (isEmpty) {
      field.setValue(this.#row, this.#bytes, at, at + 2);
      if (!isObject || field.isMap) field.length?.setJson(this.#row, '0');
      return at + 2;
    }
    if (field.steps.length === DEEPEST_STEPS) {
      field.isOverfull = true;
      field.setCode(this.#row, OTHER_VALUE);
      return valueEnd(this.#bytes, at);
    }
    if (!isObject) return this.#readList(at, field);
    field.setCode(this.#row, OTHER_VALUE);
    return field.isMap ? this.#readMap(at, field) : this.#readMembers(at, field);
  }

  /** A list of scalars is also compared as a value. */
  #readList(at: number, list: SampleField): number {
    const bytes = this.#bytes;
    if (!list.element && !list.isOverfull) {
      if (this.fields.length < MAX_FIELDS) this.#addElement(list);
      else list.isOverfull = true;
    }
    let count = 0;
    let isOfValues = true;
    const end = readEach(bytes, at, (start) => {
      const first = bytes[start];
      if (first === OBJECT || first === ARRAY) isOfValues = false;
      return this.#readElement(start, count++, list);
    });
    if (isOfValues) list.setValue(this.#row, bytes, at, end);
    else list.setCode(this.#row, OTHER_VALUE);
    this.#endList(list, count);
    return end;
  }

  #readMap(at: number, map: SampleField): number {
    const bytes = this.#bytes;
    let count = 0;
    const end = readEach(bytes, at, (start) => this.#readElement(stringEnd(bytes, start) + 1, count++, map));
    this.#endList(map, count);
    return end;
  }

  #readElement(at: number, place: number, list: SampleField): number {
    if (list.element && place < MAX_ELEMENTS) return this.#readValue(at, list.element);
    list.isOverfull = true;
    return valueEnd(this.#bytes, at);
  }

  #endList(list: SampleField, count: number): void {
    list.length?.setJson(this.#row, String(count));
    // Lists inside a list count as one list.
    if (list.element && !list.isInList) this.#noteLacks(list.element, Math.min(count, MAX_ELEMENTS));
  }

  #noteLacks(element: SampleField, count: number): void {
    if (element.isSet(this.#row) && element.filled < count) element.setLack(this.#row);
    for (const member of element.members.values()) this.#noteLacks(member, count);
  }

  /** Decides by a field's first objects if their names are ids. */
  #noteNames(object: SampleField, names: Names, count: number): void {
    if (names.objects >= OBJECTS_LOOKED_AT) return;
    names.objects++;
    if (names.objects > OBJECTS_LOOKED_AT / 2) names.names += count;
    else names.newNames = 0;
    if (names.objects !== OBJECTS_LOOKED_AT) return;
    if (names.newNames < HARDLY_REPEATED * names.names || this.fields.length >= MAX_FIELDS) return;
    this.#maps.add(object.path);
    this.#foundMap = true;
  }

  /** Members of the item and known fields always have room. */
  #isOpenFor(owner: SampleField, name: string): boolean {
    if (this.#isAlwaysCompared(owner, name)) return true;
    const { leftOut } = namesIn(this.#namesOf, owner);
    const isOpen = () => leftOut.size <= MAX_LEFT_OUT && !leftOut.has(name);
    if (!isOpen()) return false;
    if (this.fields.length < MAX_FIELDS || (this.#leaveOutRarest() && isOpen())) return true;
    leftOut.add(name);
    return false;
  }

  #isAlwaysCompared(owner: SampleField, name: string): boolean {
    return owner === this.#root || (owner.steps.length === 1 && isKnownName(name));
  }

  /** Drops the fields that occur in the fewest failures, then in the fewest events. */
  #leaveOutRarest(): boolean {
    const rarest = [this.#root, ...this.fields]
      .flatMap((owner) => [...owner.members].map(([name, field]) => ({ owner, name, field })))
      .filter(({ owner, name }) => !this.#isAlwaysCompared(owner, name))
      .filter(({ field }) => field.members.size === 0 && !field.element && !field.isSet(this.#row))
      .map((member) => ({ ...member, failures: this.#failuresWith(member.field) }))
      .sort((a, b) => a.failures - b.failures || a.field.present - b.field.present)
      .slice(0, Math.ceil(PART_LEFT_OUT * this.fields.length));
    const gone = new Set(rarest.map(({ field }) => field));
    for (const { owner, name } of rarest) {
      owner.members.delete(name);
      owner.isOverfull = true;
      namesIn(this.#namesOf, owner).leftOut.add(name);
    }
    for (const names of [...this.#namesOf.values(), ...this.#namesInEventOf.values()])
      for (const name of names.inOrder) if (name.field && gone.has(name.field)) name.field = undefined;
    this.fields.splice(0, this.fields.length, ...this.fields.filter((field) => !gone.has(field)));
    return rarest.length > 0;
  }

  #failuresWith({ rows, cells }: SampleField): number {
    let failures = 0;
    for (let cell = 0; cell < cells; cell++) failures += this.#failures[rows[cell] as number] as number;
    return failures;
  }
}

function namesIn(all: Map<SampleField, Names>, field: SampleField): Names {
  const names = all.get(field) ?? new Names();
  all.set(field, names);
  return names;
}
