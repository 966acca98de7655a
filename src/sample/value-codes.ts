import { murmur } from '../items/byte-hash.ts';

const FIRST_SLOTS = 16;
/** Maximum load: beyond it a lookup probes too many slots. */
const MAX_TAKEN = 0.5;
const NO_ENTRY = 0;

/** A hash table of values by their bytes, which avoids a string for each lookup. */
export class ValueCodes {
  size = 0;
  #bytes = Buffer.alloc(0);
  readonly #starts: number[] = [];
  readonly #hashes: number[] = [];
  readonly #codes: number[] = [];
  /** Open addressing: entry numbers from 1, at the slot of their hash or after it. */
  #slots = new Int32Array(FIRST_SLOTS);

  get(bytes: Uint8Array, start: number, end: number): number | undefined {
    const hash = murmur(bytes, start, end, 0);
    const slots = this.#slots;
    const last = slots.length - 1;
    for (let slot = hash & last; slots[slot] !== NO_ENTRY; slot = (slot + 1) & last) {
      const entry = (slots[slot] as number) - 1;
      if (this.#hashes[entry] === hash && this.#isAt(entry, bytes, start, end)) return this.#codes[entry];
    }
    return undefined;
  }

  /** The value must be new. */
  add(bytes: Uint8Array, start: number, end: number, code: number): void {
    const hash = murmur(bytes, start, end, 0);
    const at = this.#starts[this.size] ?? 0;
    this.#makeRoom(at + end - start);
    for (let index = start; index < end; index++) this.#bytes[at + index - start] = bytes[index] as number;
    this.#hashes.push(hash);
    this.#codes.push(code);
    this.#starts[this.size] = at;
    this.size++;
    this.#starts[this.size] = at + end - start;
    if (this.size > MAX_TAKEN * this.#slots.length) this.#spread();
    else this.#place(this.size, hash);
  }

  *entries(): Generator<[Buffer, number]> {
    for (const [entry, code] of this.#codes.entries())
      yield [this.#bytes.subarray(this.#starts[entry], this.#starts[entry + 1]), code];
  }

  #isAt(entry: number, bytes: Uint8Array, start: number, end: number): boolean {
    const at = this.#starts[entry] as number;
    if ((this.#starts[entry + 1] as number) - at !== end - start) return false;
    const own = this.#bytes;
    for (let index = start; index < end; index++) if (bytes[index] !== own[at + index - start]) return false;
    return true;
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.length) return;
    const larger = Buffer.alloc(2 * length);
    larger.set(this.#bytes);
    this.#bytes = larger;
  }

  #spread(): void {
    this.#slots = new Int32Array(2 * this.#slots.length);
    for (let entry = 0; entry < this.size; entry++) this.#place(entry + 1, this.#hashes[entry] as number);
  }

  #place(number: number, hash: number): void {
    const slots = this.#slots;
    const last = slots.length - 1;
    let slot = hash & last;
    while (slots[slot] !== NO_ENTRY) slot = (slot + 1) & last;
    slots[slot] = number;
  }
}
