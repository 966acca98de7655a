/** Initial size; doubled when it is full. */
const FIRST_BYTES = 64 * 1024;
/** Move events together once the gaps take more than this share of their bytes … */
const MAX_GAPS = 0.125;
/** … and more than this. */
const MIN_GAPS_BYTES = 1024 * 1024;

/** An event's bytes, and after them those that a longer event left. */
interface Slot {
  start: number;
  length: number;
  capacity: number;
}

/**
 * The bytes of many events in one block. A buffer for each event takes twice the memory, since buffers of
 * pages come and go between them.
 */
export class EventBlock {
  /** Of the events, without the gaps. */
  length = 0;
  #bytes = Buffer.alloc(0);
  #end = 0;
  readonly #slots = new Map<number, Slot>();

  /** Replaces the event at this place, if there is one. */
  set(place: number, bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    const own = this.#slots.get(place);
    if (own && length <= own.capacity) {
      this.length += length - own.length;
      own.length = length;
      bytes.copy(this.#bytes, own.start, start, end);
      return;
    }
    this.delete(place);
    const gaps = this.#end - this.length;
    const isSparse = gaps > Math.max(MAX_GAPS * this.length, MIN_GAPS_BYTES);
    if (isSparse || this.#end + length > this.#bytes.length) this.#moveTogether(this.length + length);
    bytes.copy(this.#bytes, this.#end, start, end);
    // A new entry is the last one, which keeps the entries in the order of their bytes.
    this.#slots.set(place, { start: this.#end, length, capacity: length });
    this.#end += length;
    this.length += length;
  }

  delete(place: number): void {
    this.length -= this.#slots.get(place)?.length ?? 0;
    this.#slots.delete(place);
  }

  /** Its bytes change with the next `set`. */
  view(place: number): Buffer {
    const { start, length } = this.#slots.get(place) as Slot;
    return this.#bytes.subarray(start, start + length);
  }

  clear(): void {
    this.#slots.clear();
    this.#bytes = Buffer.alloc(0);
    this.#end = 0;
    this.length = 0;
  }

  #moveTogether(needed: number): void {
    const from = this.#bytes;
    if (needed > from.length) this.#bytes = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * needed));
    let end = 0;
    for (const slot of this.#slots.values()) {
      from.copy(this.#bytes, end, slot.start, slot.start + slot.length);
      slot.start = end;
      slot.capacity = slot.length;
      end += slot.length;
    }
    this.#end = end;
  }
}
