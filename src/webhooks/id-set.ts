const SHARDS = 256;
const FIRST_SLOTS = 16;
/** The maximum number of ids per slot; above it probes get long. */
const FULLEST = 0.8;
const GROWTH = 1.5;

/**
 * A set of 128-bit ids in open-addressing tables of typed arrays, 16 bytes per slot: 20 to 30 bytes per id in total (a
 * `Set` of strings takes over 100). There are 256 small tables, which grow one at a time, each within a millisecond at
 * ten million ids.
 */
export class IdSet {
  readonly #tables: Uint32Array[] = [];
  readonly #sizes = new Uint32Array(SHARDS);
  /** An empty slot is all zeros, so the id that is all zeros is kept here. */
  #hasZero = false;
  size = 0;

  /** `expected`: the number of ids to make room for at once. */
  constructor(expected = 0) {
    const slots = Math.max(FIRST_SLOTS, Math.ceil((expected / SHARDS) * 1.35));
    for (let shard = 0; shard < SHARDS; shard++) this.#tables.push(new Uint32Array(slots * 4));
  }

  /** The tables' memory in bytes. */
  get bytes(): number {
    return this.#tables.reduce((sum, table) => sum + table.byteLength, 0);
  }

  /** Returns whether the id whose 16 bytes start at `at` is in the set. */
  has(bytes: Uint8Array, at = 0): boolean {
    const a = word(bytes, at);
    const b = word(bytes, at + 4);
    const c = word(bytes, at + 8);
    const d = word(bytes, at + 12);
    if ((a | b | c | d) === 0) return this.#hasZero;
    const hash = mixed(a, b, c, d);
    const table = this.#tables[hash & (SHARDS - 1)] as Uint32Array;
    return occupied(table, slotOf(table, hash, a, b, c, d));
  }

  /** Adds the id whose 16 bytes start at `at`. Returns false if it was there already. */
  add(bytes: Uint8Array, at = 0): boolean {
    const a = word(bytes, at);
    const b = word(bytes, at + 4);
    const c = word(bytes, at + 8);
    const d = word(bytes, at + 12);
    if ((a | b | c | d) === 0) {
      if (this.#hasZero) return false;
      this.#hasZero = true;
      this.size++;
      return true;
    }
    const hash = mixed(a, b, c, d);
    const shard = hash & (SHARDS - 1);
    let table = this.#tables[shard] as Uint32Array;
    let slot = slotOf(table, hash, a, b, c, d);
    if (occupied(table, slot)) return false;
    if ((this.#sizes[shard] as number) + 1 > (table.length / 4) * FULLEST) {
      table = grown(table);
      this.#tables[shard] = table;
      slot = slotOf(table, hash, a, b, c, d);
    }
    put(table, slot, a, b, c, d);
    this.#sizes[shard] = (this.#sizes[shard] as number) + 1;
    this.size++;
    return true;
  }
}

function word(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  );
}

/** Mixes all bits (the finaliser of MurmurHash3), since ids may be sequential or contain a time. */
function mixed(a: number, b: number, c: number, d: number): number {
  let hash = a ^ Math.imul(b, 0x9e3779b1) ^ Math.imul(c, 0x85ebca77) ^ Math.imul(d, 0xc2b2ae3d);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Returns the index of the slot that holds the id, or of the empty slot where it belongs. */
function slotOf(table: Uint32Array, hash: number, a: number, b: number, c: number, d: number): number {
  const slots = table.length / 4;
  // The low bits chose the table: the high ones choose the slot.
  let slot = Math.floor(((hash >>> 8) / 0x1000000) * slots) * 4;
  for (;;) {
    if (!occupied(table, slot)) return slot;
    if (table[slot] === a && table[slot + 1] === b && table[slot + 2] === c && table[slot + 3] === d)
      return slot;
    slot += 4;
    if (slot === table.length) slot = 0;
  }
}

function occupied(table: Uint32Array, slot: number): boolean {
  return table[slot] !== 0 || table[slot + 1] !== 0 || table[slot + 2] !== 0 || table[slot + 3] !== 0;
}

function put(table: Uint32Array, slot: number, a: number, b: number, c: number, d: number): void {
  table[slot] = a;
  table[slot + 1] = b;
  table[slot + 2] = c;
  table[slot + 3] = d;
}

function grown(table: Uint32Array): Uint32Array {
  const larger = new Uint32Array(Math.ceil((table.length / 4) * GROWTH) * 4);
  for (let slot = 0; slot < table.length; slot += 4) {
    if (!occupied(table, slot)) continue;
    const a = table[slot] as number;
    const b = table[slot + 1] as number;
    const c = table[slot + 2] as number;
    const d = table[slot + 3] as number;
    put(larger, slotOf(larger, mixed(a, b, c, d), a, b, c, d), a, b, c, d);
  }
  return larger;
}
