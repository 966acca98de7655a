import { hash } from 'node:crypto';
import { guidDigits } from '../items/guids.ts';

/** An `eventId` as stored in the journal: 32 hexadecimal digits, for any form of the id. */
export type EventKey = string;

/**
 * Returns the key of an `eventId`: the digits of a GUID, which makes the key independent of case and hyphens,
 * as `readGuid` does, and for any other text (the service description specifies no format for payloads) the
 * first 128 bits of its SHA-256.
 */
export function eventKey(id: string): EventKey {
  const digits = guidDigits(id);
  if (digits !== undefined) return digits;
  // UTF-8 would encode each half of a surrogate pair as the same replacement character.
  const encoding = id.isWellFormed() ? 'utf8' : 'utf16le';
  return hash('sha256', Buffer.from(id, encoding)).slice(0, 32);
}

const WORDS_OF_KEY = 4;
const DIGITS_OF_WORD = 8;
const DIGITS_OF_KEY = WORDS_OF_KEY * DIGITS_OF_WORD;
/** Keys per block. Blocks are never copied. */
const BLOCK_KEYS = 1 << 16;
const MIN_PLACES = 2048;
const GROWTH = 1.5;
/** Index slots per key: fewer make lookups slower. */
const PLACES_PER_KEY = 1.6;
const FREE = 0;
const HIGHEST_NUMBER = 0xffff_ffff;

interface Block {
  readonly words: Uint32Array;
  readonly numbers: Uint32Array;
}

/**
 * Keys of events, each with a 32-bit number (in a journal the seconds since the epoch), in order of
 * insertion. A key takes some 28 bytes, compared to 130 in a `Map` of strings, which is limited to 2^24 keys.
 */
export class EventKeys {
  readonly #blocks: Block[] = [];
  /** For each slot the rank of a key, counted from 1. A key is in its own slot or a later one. */
  #index = new Uint32Array(MIN_PLACES);
  readonly #wanted = new Uint32Array(WORDS_OF_KEY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: EventKey): boolean {
    return this.get(key) !== undefined;
  }

  get(key: EventKey): number | undefined {
    this.#read(key);
    const rank = this.#index[this.#placeOfWanted()] as number;
    return rank === FREE ? undefined : this.#numberAt(rank - 1);
  }

  /** Sets the number of a key, at most 2^32 - 1. A known key keeps its rank. */
  set(key: EventKey, number: number): void {
    this.#read(key);
    this.#put(number);
  }

  /** Like `set`, for a key as the 32 lower-case digits at an offset; false if there are none. */
  setFrom(bytes: Buffer, at: number, number: number): boolean {
    for (let word = 0; word < WORDS_OF_KEY; word++) {
      const value = wordAt(bytes, at + DIGITS_OF_WORD * word);
      if (value === undefined) return false;
      this.#wanted[word] = value;
    }
    this.#put(number);
    return true;
  }

  /** Counts occurrences of a key, given as text, or as the words from `readGuid`. */
  count(key: EventKey | Uint32Array): void {
    if (typeof key === 'string') this.#read(key);
    else this.#wanted.set(key);
    const rank = this.#index[this.#placeOfWanted()] as number;
    this.#put(rank === FREE ? 1 : this.#numberAt(rank - 1) + 1);
  }

  /** Allocates memory for more keys in advance. Throws `RangeError` if there is none. */
  reserve(more: number): void {
    const needed = this.#size + more;
    while (this.#blocks.length * BLOCK_KEYS < needed)
      this.#blocks.push({
        words: new Uint32Array(BLOCK_KEYS * WORDS_OF_KEY),
        numbers: new Uint32Array(BLOCK_KEYS),
      });
    const places = Math.ceil(needed * PLACES_PER_KEY);
    if (places <= this.#index.length) return;
    const index = new Uint32Array(Math.max(places, Math.ceil(this.#index.length * GROWTH)));
    this.#index = index;
    for (let rank = 0; rank < this.#size; rank++) this.#enter(rank);
  }

  forgetBefore(least: number): void {
    let kept = 0;
    for (let rank = 0; rank < this.#size; rank++) {
      if (this.#numberAt(rank) < least) continue;
      if (kept !== rank) this.#write(kept, this.#wordsAt(rank), this.#numberAt(rank));
      kept++;
    }
    if (kept === this.#size) return;
    this.#size = kept;
    this.#index.fill(FREE);
    for (let rank = 0; rank < kept; rank++) this.#enter(rank);
  }

  *[Symbol.iterator](): Generator<[key: EventKey, number: number]> {
    for (let rank = 0; rank < this.#size; rank++) {
      const digits = Array.from(this.#wordsAt(rank), (word) =>
        word.toString(16).padStart(DIGITS_OF_WORD, '0'),
      );
      yield [digits.join(''), this.#numberAt(rank)];
    }
  }

  #read(key: EventKey): void {
    for (let word = 0; word < WORDS_OF_KEY; word++)
      this.#wanted[word] = Number.parseInt(key.slice(DIGITS_OF_WORD * word, DIGITS_OF_WORD * (word + 1)), 16);
  }

  #put(number: number): void {
    const value = Math.min(number, HIGHEST_NUMBER);
    const known = this.#index[this.#placeOfWanted()] as number;
    if (known !== FREE) {
      this.#blockOf(known - 1).numbers[(known - 1) % BLOCK_KEYS] = value;
      return;
    }
    this.reserve(1);
    const rank = this.#size++;
    this.#write(rank, this.#wanted, value);
    this.#enter(rank);
  }

  #blockOf(rank: number): Block {
    return this.#blocks[Math.floor(rank / BLOCK_KEYS)] as Block;
  }

  #numberAt(rank: number): number {
    return this.#blockOf(rank).numbers[rank % BLOCK_KEYS] as number;
  }

  #wordsAt(rank: number): Uint32Array {
    const at = (rank % BLOCK_KEYS) * WORDS_OF_KEY;
    return this.#blockOf(rank).words.subarray(at, at + WORDS_OF_KEY);
  }

  #write(rank: number, words: Uint32Array, number: number): void {
    const block = this.#blockOf(rank);
    block.words.set(words, (rank % BLOCK_KEYS) * WORDS_OF_KEY);
    block.numbers[rank % BLOCK_KEYS] = number;
  }

  #enter(rank: number): void {
    const { words } = this.#blockOf(rank);
    this.#index[this.#placeOf(words, (rank % BLOCK_KEYS) * WORDS_OF_KEY)] = rank + 1;
  }

  #placeOfWanted(): number {
    return this.#placeOf(this.#wanted, 0);
  }

  /** Returns the index slot of a key at an offset of the words, or the free one for it. */
  #placeOf(words: Uint32Array, at: number): number {
    const { length } = this.#index;
    let place = mixed(words, at) % length;
    for (;;) {
      const rank = this.#index[place] as number;
      if (rank === FREE || this.#isKey(rank - 1, words, at)) return place;
      place++;
      if (place === length) place = 0;
    }
  }

  #isKey(rank: number, words: Uint32Array, at: number): boolean {
    const own = this.#blockOf(rank).words;
    const start = (rank % BLOCK_KEYS) * WORDS_OF_KEY;
    for (let word = 0; word < WORDS_OF_KEY; word++) if (own[start + word] !== words[at + word]) return false;
    return true;
  }
}

/** Spreads random and sequential ids over the index (the last steps of MurmurHash3). */
function mixed(words: Uint32Array, at: number): number {
  let hash = 0;
  for (let word = at; word < at + WORDS_OF_KEY; word++)
    hash = Math.imul(hash ^ (words[word] as number), 0x9e3779b1) ^ (hash >>> 15);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Offsets of the hyphens of a GUID in its usual form. */
const HYPHENS = [8, 13, 18, 23] as const;
const GUID_CHARACTERS = DIGITS_OF_KEY + HYPHENS.length;

/**
 * Reads the GUID at an offset into four words: 8-4-4-4-12 digits, or 32 without hyphens, in any case. Returns
 * the offset after it; undefined if there is none before `end`.
 */
export function readGuid(bytes: Buffer, at: number, end: number, words: Uint32Array): number | undefined {
  const hasHyphens = bytes[at + HYPHENS[0]] === HYPHEN;
  const after = at + (hasHyphens ? GUID_CHARACTERS : DIGITS_OF_KEY);
  if (after > end) return undefined;
  let from = at;
  for (let word = 0; word < WORDS_OF_KEY; word++) {
    let value = 0;
    for (let digits = 0; digits < DIGITS_OF_WORD; digits++) {
      if (hasHyphens && bytes[from] === HYPHEN && HYPHENS.includes((from - at) as 8)) from++;
      const digit = ANY_CASE[bytes[from++] as number] as number;
      if (digit === NO_DIGIT) return undefined;
      value = value * 16 + digit;
    }
    words[word] = value;
  }
  return from === after ? after : undefined;
}

const HYPHEN = 0x2d;

/** Parses eight lower-case hexadecimal digits; undefined for other characters. */
function wordAt(bytes: Buffer, at: number): number | undefined {
  let value = 0;
  for (let index = at; index < at + DIGITS_OF_WORD; index++) {
    const digit = DIGITS[bytes[index] as number] as number;
    if (digit === NO_DIGIT) return undefined;
    value = value * 16 + digit;
  }
  return value;
}

/** Marks a byte that is not a digit in the tables of digit values. */
const NO_DIGIT = 255;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const [value, digit] of [...'0123456789abcdef'].entries()) DIGITS[digit.charCodeAt(0)] = value;
const ANY_CASE = Uint8Array.from(DIGITS);
for (const [value, digit] of [...'ABCDEF'].entries()) ANY_CASE[digit.charCodeAt(0)] = 10 + value;

export function isHexDigit(byte: number): boolean {
  return ANY_CASE[byte] !== NO_DIGIT;
}

/** Characters of a key. */
export const KEY_CHARACTERS = DIGITS_OF_KEY;
