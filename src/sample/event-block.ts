/** Initial size; doubled when it is full. */
const FIRST_BYTES = 64 * 1024;
/** Move events together once the gaps take more than this share of their bytes … */
const MAX_GAPS = 0.125;
/** … and more than this. */
const MIN_GAPS_BYTES = 1024 * 1024;

export interface BlockRange {
  readonly start: number;
  readonly length: number;
}

interface MovableRange extends BlockRange {
  start: number;
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
  /** Ascending, since events are only added at the end. */
  readonly #ranges = new Set<MovableRange>();

  add(bytes: Buffer, start: number, end: number): BlockRange {
    const length = end - start;
    const gaps = this.#end - this.length;
    const isSparse = gaps > Math.max(MAX_GAPS * this.length, MIN_GAPS_BYTES);
    if (isSparse || this.#end + length > this.#bytes.length) this.#moveTogether(this.length + length);
    bytes.copy(this.#bytes, this.#end, start, end);
    const range = { start: this.#end, length };
    this.#ranges.add(range);
    this.#end += length;
    this.length += length;
    return range;
  }

  remove(range: BlockRange): void {
    if (this.#ranges.delete(range)) this.length -= range.length;
  }

  /** Its bytes change with the next `add`. */
  view({ start, length }: BlockRange): Buffer {
    return this.#bytes.subarray(start, start + length);
  }

  clear(): void {
    this.#ranges.clear();
    this.#bytes = Buffer.alloc(0);
    this.#end = 0;
    this.length = 0;
  }

  #moveTogether(needed: number): void {
    const from = this.#bytes;
    if (needed > from.length) this.#bytes = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * needed));
    let end = 0;
    for (const range of this.#ranges) {
      from.copy(this.#bytes, end, range.start, range.start + range.length);
      range.start = end;
      end += range.length;
    }
    this.#end = end;
  }
}
