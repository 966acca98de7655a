import type { EventColumns } from './event-columns.ts';
import type { GuidWords } from './guid.ts';

/** Finds rows by event id: a hash table with open addressing, built when first needed and after rows moved. */
export class IdIndex {
  readonly #columns: EventColumns;
  #slots: Int32Array | undefined;

  constructor(columns: EventColumns) {
    this.#columns = columns;
  }

  /** The row with this id, or -1. */
  find(id: GuidWords): number {
    const slots = this.#slots ?? this.#build();
    const { ids } = this.#columns;
    for (let slot = hash(id[0], id[3], slots.length); ; slot = (slot + 1) % slots.length) {
      const row = (slots[slot] as number) - 1;
      if (row < 0) return -1;
      const at = row * 4;
      if (ids[at] === id[0] && ids[at + 1] === id[1] && ids[at + 2] === id[2] && ids[at + 3] === id[3])
        return row;
    }
  }

  /** Takes note of a row just added; rows that moved, or a table that got too full, make it be built anew. */
  added(row: number): void {
    const slots = this.#slots;
    if (!slots) return;
    if (row !== this.#columns.size - 1 || this.#columns.size * 2 > slots.length) this.#slots = undefined;
    else this.#put(slots, row);
  }

  #build(): Int32Array {
    let size = 1024;
    while (size < this.#columns.size * 3) size *= 2;
    const slots = new Int32Array(size);
    for (let row = 0; row < this.#columns.size; row++) this.#put(slots, row);
    this.#slots = slots;
    return slots;
  }

  #put(slots: Int32Array, row: number): void {
    const { ids } = this.#columns;
    let slot = hash(ids[row * 4] as number, ids[row * 4 + 3] as number, slots.length);
    while (slots[slot] !== 0) slot = (slot + 1) % slots.length;
    slots[slot] = row + 1;
  }
}

function hash(first: number, last: number, slots: number): number {
  return ((first ^ Math.imul(last, 0x9e3779b1)) >>> 0) & (slots - 1);
}
