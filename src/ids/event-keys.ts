import { hash } from 'node:crypto';
import { isGuid } from '../items/items.ts';

/** An `eventId` as the journal holds it: 32 hexadecimal digits, whatever form the id is written in. */
export type EventKey = string;

/**
 * Returns the key of an `eventId`: the digits of a GUID, so that upper and lower case give the same key, and
 * for any other text (the service description names no format for payloads) the first 128 bits of its
 * SHA-256.
 */
export function eventKey(id: string): EventKey {
  if (isGuid(id)) return id.replaceAll('-', '').toLowerCase();
  // UTF-8 would encode each half of a surrogate pair as the same replacement character.
  const encoding = id.isWellFormed() ? 'utf8' : 'utf16le';
  return hash('sha256', Buffer.from(id, encoding)).slice(0, 32);
}

const WORDS_OF_KEY = 4;
const DIGITS_OF_WORD = 8;
const DIGITS_OF_KEY = WORDS_OF_KEY * DIGITS_OF_WORD;
/** Keys are kept in blocks of this many, none of which is ever copied. */
const BLOCK_KEYS = 1 << 16;
const LEAST_PLACES = 2048;
const GROWTH = 1.5;
/** Places of the index for each key: fewer make it longer to look one up. */
const PLACES_PER_KEY = 1.6;
const FREE = 0;
const HIGHEST_NUMBER = 0xffff_ffff;

/** Some keys, and the number of each. */
interface Block {
  readonly words: Uint32Array;
  readonly numbers: Uint32Array;
}

/**
 * The keys of events, each with a number of 32 bits (of a journal the seconds since the epoch), in the order
 * in which they came. A key takes some 28 bytes, where a `Map` of texts takes 130 and ends at 2^24 keys.
 */
export class EventKeys {
  readonly #blocks: Block[] = [];
  /** For each place the rank of a key, counted from 1. A key is at its own place or at one after it. */
  #index = new Uint32Array(LEAST_PLACES);
  readonly #wanted = new Uint32Array(WORDS_OF_KEY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: EventKey): boolean {
    return this.get(key) !== undefined;
  }

  /** The number of a key; undefined if the key is not there. */
  get(key: EventKey): number | undefined {
    this.#read(key);
    const rank = this.#index[this.#placeOfWanted()] as number;
    return rank === FREE ? undefined : this.#numberAt(rank - 1);
  }

  /** Sets the number of a key, at most 2^32 - 1. A key that is there already keeps its rank. */
  set(key: EventKey, number: number): void {
    this.#read(key);
    this.#put(number);
  }

  /** The same for a key as the 32 lower-case digits at an offset; false if there are none. */
  setFrom(bytes: Buffer, at: number, number: number): boolean {
    for (let word = 0; word < WORDS_OF_KEY; word++) {
      const value = wordAt(bytes, at + DIGITS_OF_WORD * word);
      if (value === undefined) return false;
      this.#wanted[word] = value;
    }
    this.#put(number);
    return true;
  }

  /** Counts a key as text, or as the words that `readGuid` read: its number is how often it came. */
  count(key: EventKey | Uint32Array): void {
    if (typeof key === 'string') this.#read(key);
    else this.#wanted.set(key);
    const rank = this.#index[this.#placeOfWanted()] as number;
    this.#put(rank === FREE ? 1 : this.#numberAt(rank - 1) + 1);
  }

  /**
   * Makes room for more keys, so that no memory is needed when they come. Throws `RangeError` if there is
   * none.
   */
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

  /** Forgets the keys whose number is less. */
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

  /** The place in the index of the key at an offset of some words, or the free one where it belongs. */
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

/** Ids may be random or count up: either spreads over the index (the last steps of MurmurHash3). */
function mixed(words: Uint32Array, at: number): number {
  let hash = 0;
  for (let word = at; word < at + WORDS_OF_KEY; word++)
    hash = Math.imul(hash ^ (words[word] as number), 0x9e3779b1) ^ (hash >>> 15);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The offsets of the hyphens of a GUID in its usual form, and its length. */
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

/** The number of eight lower-case hexadecimal digits; undefined if there are others. */
function wordAt(bytes: Buffer, at: number): number | undefined {
  let value = 0;
  for (let index = at; index < at + DIGITS_OF_WORD; index++) {
    const digit = DIGITS[bytes[index] as number] as number;
    if (digit === NO_DIGIT) return undefined;
    value = value * 16 + digit;
  }
  return value;
}

/** The value of each byte as a digit, or NO_DIGIT. */
const NO_DIGIT = 255;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const [value, digit] of [...'0123456789abcdef'].entries()) DIGITS[digit.charCodeAt(0)] = value;
/** The same for capitals too. */
const ANY_CASE = Uint8Array.from(DIGITS);
for (const [value, digit] of [...'ABCDEF'].entries()) ANY_CASE[digit.charCodeAt(0)] = 10 + value;

/** True for a byte that is a hexadecimal digit. */
export function isHexDigit(byte: number): boolean {
  return ANY_CASE[byte] !== NO_DIGIT;
}

/** The number of characters of a key. */
export const KEY_CHARACTERS = DIGITS_OF_KEY;
