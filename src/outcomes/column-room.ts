import { isKnownName } from '../items/known-fields.ts';
import { NO_VALUE } from './code-column.ts';
import type { KeptValues } from './coded-values.ts';
import type { Field } from './field-column.ts';

/** Fields in all: those that the fewest failures have make room for others. */
const MOST_FIELDS = 4000;
/** Columns and the values in them take at most about this much. */
const MOST_BYTES = 112 * 1024 * 1024;
/** The text of a value takes about so much, with its code. */
const BYTES_OF_VALUE = 100;
/** The part of the fields that makes room at once. */
const PART_LEFT_OUT = 0.25;
/** New columns until the bytes of all are added up again: that takes as long as there are columns. */
const COLUMNS_BETWEEN_COUNTS = 16;
/** An object from which more members were left out has names that hardly repeat: it gets no new ones. */
const MOST_LEFT_OUT = 1000;

/** The rows that are read so far. */
export interface RowsSoFar {
  /** Rows that are complete: the next one may be half read. */
  readonly rows: number;
  /** 1 for a row that failed; as long as columns are. */
  readonly failures: Uint8Array;
}

/** The columns of a table, within a budget of bytes. */
export class ColumnRoom {
  readonly fields: Field[] = [];
  readonly #root: Field;
  readonly #soFar: RowsSoFar;
  readonly #keptValues: KeptValues;
  /** False while no field can make room for another. */
  #canLeaveOut = true;
  /** New columns that get their place before the bytes are added up again. */
  #roomLeft = 0;

  constructor(root: Field, soFar: RowsSoFar, keptValues: KeptValues) {
    this.#root = root;
    this.#soFar = soFar;
    this.#keptValues = keptValues;
  }

  /** Makes room for columns of more rows. */
  prepare(capacity: number): void {
    this.#canLeaveOut = true;
    this.#roomLeft = 0;
    while (this.isFull(capacity) && this.#canLeaveOut) this.#leaveOutRarest();
  }

  /** True if a new member of an object gets a column. */
  isOpenFor(owner: Field, name: string): boolean {
    if (this.#isAlwaysCompared(owner, name)) return true;
    const isOpen = () => owner.names.leftOut.size <= MOST_LEFT_OUT && !owner.names.leftOut.has(name);
    if (!isOpen()) return false;
    if (this.#hasRoomForOne()) return true;
    return this.#canLeaveOut && this.#leaveOutRarest() && isOpen();
  }

  /** True if one more field has no place when columns have this many rows. */
  isFull(capacity: number): boolean {
    const growth = capacity / this.#soFar.failures.length;
    const columnBytes = this.fields.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const bytes = columnBytes * growth + capacity + BYTES_OF_VALUE * this.#keptValues.count;
    return this.fields.length >= MOST_FIELDS || bytes > MOST_BYTES;
  }

  #hasRoomForOne(): boolean {
    if (this.fields.length >= MOST_FIELDS) return false;
    if (this.#roomLeft > 0) {
      this.#roomLeft--;
      return true;
    }
    if (this.isFull(this.#soFar.failures.length)) return false;
    this.#roomLeft = COLUMNS_BETWEEN_COUNTS - 1;
    return true;
  }

  /** Takes columns out, with those inside them. */
  remove(fields: readonly Field[]): void {
    const gone = new Set<Field>();
    const take = (field: Field | undefined): void => {
      if (!field) return;
      gone.add(field);
      for (const inner of [...field.members, field.element, field.length]) take(inner);
    };
    for (const field of fields) take(field);
    this.#drop(gone);
  }

  #drop(gone: ReadonlySet<Field>): void {
    for (const field of gone) field.release();
    this.fields.splice(0, this.fields.length, ...this.fields.filter((field) => !gone.has(field)));
  }

  /** Known fields and other members of the items themselves are. */
  #isAlwaysCompared(owner: Field, name: string): boolean {
    return owner === this.#root || (owner.steps.length === 1 && isKnownName(name));
  }

  /**
   * Leaves out fields that the fewest failures have, and of these the ones that the fewest events have.
   * False if there are none but those of the item that is read.
   */
  #leaveOutRarest(): boolean {
    const rarest = this.#byFailures().slice(0, Math.ceil(PART_LEFT_OUT * this.fields.length));
    const gone = new Set(rarest.map(({ field }) => field));
    for (const owner of new Set(rarest.map(({ owner }) => owner))) {
      const left = owner.members.filter((member) => gone.has(member));
      for (const member of left) owner.names.leftOut.add(String(member.steps.at(-1)));
      owner.isOverfull = true;
      for (const members of [owner.members, owner.eventMembers])
        members.splice(0, members.length, ...members.filter((member) => !gone.has(member)));
      owner.names.forgetPlaces();
    }
    this.#drop(gone);
    this.#canLeaveOut = rarest.length > 0;
    return this.#canLeaveOut;
  }

  /** Fields that may be left out, with the objects that they are members of. */
  #byFailures(): { readonly field: Field; readonly owner: Field }[] {
    const ownerOf = new Map<Field, Field>();
    for (const owner of [this.#root, ...this.fields])
      for (const member of owner.members) ownerOf.set(member, owner);
    return (
      [...ownerOf]
        .filter(([field, owner]) => !this.#isAlwaysCompared(owner, field.steps.at(-1) as string))
        .filter(([{ members, element }]) => members.length === 0 && !element)
        // Between two items there is no such row yet.
        .filter(([field]) => !field.isSet(this.#soFar.rows))
        .map(([field, owner]) => ({ field, owner, failures: this.#failuresWith(field) }))
        .sort((a, b) => a.failures - b.failures || a.field.present - b.field.present)
    );
  }

  #failuresWith({ codes, cellRows, cells }: Field): number {
    const { rows, failures } = this.#soFar;
    let count = 0;
    if (cellRows) {
      for (let cell = 0; cell < cells; cell++) count += failures[cellRows[cell] as number] as number;
      return count;
    }
    for (let row = 0; row < rows; row++) if (codes[row] !== NO_VALUE) count += failures[row] as number;
    return count;
  }
}
