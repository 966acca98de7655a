import { type Derivation, EACH, type PathStep } from '../items/field-path.ts';
import { isKnownName } from '../items/known-fields.ts';
import { FIRST_CODE, UNCODED } from './code-column.ts';
import type { KeptValues } from './coded-values.ts';
import { ColumnRoom, type RowsSoFar } from './column-room.ts';
import { Field } from './field-column.ts';

/** Of items that are alike in size, the size only repeats what their values are. */
const LARGER_BY = 1.5;

/** Elements have no names. */
const NO_TOKEN = Buffer.alloc(0);

/**
 * The fields of the items, wherever they stand in them: the members of an object, the elements of a list, the
 * values of a map. Each is there from the first item on that has it, as far as there is room.
 */
export class FieldTree {
  readonly root = new Field([], NO_TOKEN, 0);
  // Outcome and time (service description, part 4) are no fields to compare.
  readonly status: Field;
  readonly createdOn = new Field(['createdOn'], Buffer.from('"createdOn":'), 0);
  /** The bytes of items, without those that only tell the outcome; undefined in a table of few fields. */
  readonly size: Field | undefined;
  /** The names of the fields in a table of few; undefined in one of all. */
  readonly only: readonly string[] | undefined;
  readonly #soFar: RowsSoFar;
  readonly #room: ColumnRoom;
  readonly #keptValues: KeptValues = { count: 0 };

  /** With `only`, no other fields are kept than these of the first level. */
  constructor(soFar: RowsSoFar, only?: readonly string[]) {
    const rows = soFar.failures.length;
    this.#soFar = soFar;
    this.only = only && [...only, 'eventId', 'publishStatus', 'createdOn'];
    this.status = new Field(['publishStatus'], Buffer.from('"publishStatus":'), rows);
    this.#room = new ColumnRoom(this.root, soFar, this.#keptValues);
    this.size = only ? undefined : new Field([], NO_TOKEN, rows, 'size');
  }

  get fields(): readonly Field[] {
    return this.#room.fields;
  }

  /** True if no more fields are added but members of the items themselves. */
  get isFull(): boolean {
    return this.#room.isFull(this.#soFar.failures.length);
  }

  /** Called after the last item: adds what is derived of fields. */
  finish(): void {
    const derived = this.fields.flatMap((field) => field.finish());
    for (const field of derived) field.finish();
    this.#room.fields.push(...derived);
    if (this.size && isOfManySizes(this.size)) this.#room.fields.push(this.size);
  }

  /** Adds a field that is no part of the items. */
  add(field: Field): void {
    this.#room.fields.push(field);
  }

  /** Takes back what was read of the last item. */
  clear(row: number): void {
    this.root.clear(row);
    this.size?.clear(row);
  }

  /** Makes columns longer. */
  grow(capacity: number): void {
    // With room for many more, the rows so far show how many have a field.
    const rows = Math.min(capacity, 2 * this.#soFar.rows);
    for (const field of this.fields) field.fit(rows, capacity);
    this.#room.prepare(capacity);
    for (const field of [...this.fields, this.status]) field.grow(capacity);
    this.size?.grow(capacity);
  }

  /**
   * The member of an object that has a name, which is added if it is new; undefined if there is no room for
   * it. `token`: the name as events write it, and its colon.
   */
  member(owner: Field, name: string, token: Buffer): Field | undefined {
    const known = memberNamed(owner, name);
    if (known) return known;
    const member = this.#newMember(owner, name, token);
    owner.names.novelty?.noteNew();
    return member;
  }

  #newMember(owner: Field, name: string, token: Buffer): Field | undefined {
    if (!this.#room.isOpenFor(owner, name)) {
      owner.isOverfull = true;
      return undefined;
    }
    const own = [this.status, this.createdOn].find(({ steps }) => owner === this.root && steps[0] === name);
    if (own) owner.members.push(own);
    return own ?? this.#addMember(owner, name, Buffer.from(token));
  }

  #addMember(owner: Field, name: string, token: Buffer): Field {
    const member = this.#newField([...owner.steps, name], token);
    owner.members.push(member);
    return member;
  }

  /** The field of a list's elements; undefined if there is no room for one. */
  element(list: Field): Field | undefined {
    if (list.element || list.isOverfull) return list.element;
    list.isOverfull = this.isFull;
    return list.isOverfull ? undefined : this.#elementOf(list);
  }

  #elementOf(list: Field): Field {
    list.element ??= this.#newField([...list.steps, EACH], NO_TOKEN);
    list.length ??= this.#newField(list.steps, NO_TOKEN, 'length');
    return list.element;
  }

  /**
   * From now on known fields in this member are those of the item, and columns of its own without any value
   * go.
   */
  makeEvent(member: Field): void {
    member.isEvent = true;
    const left = member.members.filter(
      ({ steps, present }) => present === 0 && isKnownName(steps.at(-1) as string),
    );
    for (const field of left) {
      member.members.splice(member.members.indexOf(field), 1);
      member.names.forgetPlaces();
      this.#room.fields.splice(this.#room.fields.indexOf(field), 1);
    }
  }

  /**
   * From now on the members of this object are the elements of a list; those so far are copied, up to `row`.
   */
  makeMap(object: Field, row: number): void {
    const element = this.#newField([...object.steps, EACH], NO_TOKEN);
    const length = this.#newField(object.steps, NO_TOKEN, 'length');
    const members = object.members.splice(0);
    object.names.forgetPlaces();
    object.isMap = true;
    object.element = element;
    object.length = length;
    for (const each of object.rowsAmong(row + 1)) {
      const present = members.filter((member) => member.codesOf(each).length > 0);
      for (const member of present) this.#copy(each, member, element);
      if (present.length > 0 && !object.isInList) length.setDerived(each, present.length);
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
      if (member.codesOf(row).length === 0) continue;
      const name = member.steps.at(-1) as string;
      this.#copy(row, member, memberNamed(to, name) ?? this.#addMember(to, name, member.token));
    }
    if (from.element && from.element.codesOf(row).length > 0)
      this.#copy(row, from.element, this.#elementOf(to));
  }

  #newField(steps: readonly PathStep[], token: Buffer, derivation?: Derivation): Field {
    const capacity = this.#soFar.failures.length;
    const field = new Field(steps, token, capacity, derivation, this.#keptValues);
    field.fit(capacity, capacity);
    this.#room.fields.push(field);
    return field;
  }
}

function memberNamed(owner: Field, name: string): Field | undefined {
  return owner.members.find(({ steps }) => steps.at(-1) === name);
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
