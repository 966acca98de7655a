import type { EventKey } from './delivery.ts';

const WORDS_OF_KEY = 4;
const DIGITS_OF_WORD = 8;
const DIGITS_OF_KEY = WORDS_OF_KEY * DIGITS_OF_WORD;
const LEAST_CAPACITY_KEYS = 1024;
const GROWTH = 1.5;
/** Places of the index for each key: fewer make it longer to look one up. */
const PLACES_PER_KEY = 1.6;
const FREE = 0;

/**
 * The keys of events and when each was journaled, in the order in which they came. A key takes some 31 bytes,
 * where a `Map` of texts takes 130 and ends at 2^24 keys.
 */
export class EventKeys {
  #words = new Uint32Array(LEAST_CAPACITY_KEYS * WORDS_OF_KEY);
  #seconds = new Float64Array(LEAST_CAPACITY_KEYS);
  /** For each place the number of a key, counted from 1. A key stands at its own place or behind it. */
  #index = new Uint32Array(placesFor(LEAST_CAPACITY_KEYS));
  readonly #wanted = new Uint32Array(WORDS_OF_KEY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(key: EventKey): boolean {
    this.#read(key);
    return this.#index[this.#placeOf(this.#wanted, 0)] !== FREE;
  }

  /** Seconds since the epoch. Of a key that is there already only these change. */
  set(key: EventKey, seconds: number): void {
    this.#read(key);
    this.#put(seconds);
  }

  /** The same for a key as the 32 hexadecimal digits at an offset; false if there are none. */
  setFrom(bytes: Buffer, at: number, seconds: number): boolean {
    for (let word = 0; word < WORDS_OF_KEY; word++) {
      const value = wordAt(bytes, at + DIGITS_OF_WORD * word);
      if (value === undefined) return false;
      this.#wanted[word] = value;
    }
    this.#put(seconds);
    return true;
  }

  /**
   * Makes room for more keys, so that no memory is needed when they come. Throws `RangeError` if there is
   * none.
   */
  reserve(more: number): void {
    const needed = this.#size + more;
    if (needed <= this.#seconds.length) return;
    const capacity = Math.max(needed, Math.ceil(this.#seconds.length * GROWTH));
    const words = new Uint32Array(capacity * WORDS_OF_KEY);
    const seconds = new Float64Array(capacity);
    const index = new Uint32Array(placesFor(capacity));
    // All memory is there before anything changes.
    words.set(this.#words);
    seconds.set(this.#seconds);
    this.#words = words;
    this.#seconds = seconds;
    this.#index = index;
    for (let number = 0; number < this.#size; number++) this.#enter(number);
  }

  /** Forgets the keys that were journaled before that time. */
  forgetBefore(oldest: number): void {
    let kept = 0;
    for (let number = 0; number < this.#size; number++) {
      if ((this.#seconds[number] as number) < oldest) continue;
      this.#words.copyWithin(kept * WORDS_OF_KEY, number * WORDS_OF_KEY, (number + 1) * WORDS_OF_KEY);
      this.#seconds[kept] = this.#seconds[number] as number;
      kept++;
    }
    if (kept === this.#size) return;
    this.#size = kept;
    this.#index.fill(FREE);
    for (let number = 0; number < kept; number++) this.#enter(number);
  }

  *[Symbol.iterator](): Generator<[key: EventKey, seconds: number]> {
    for (let number = 0; number < this.#size; number++) {
      const words = this.#words.subarray(number * WORDS_OF_KEY, (number + 1) * WORDS_OF_KEY);
      const digits = Array.from(words, (word) => word.toString(16).padStart(DIGITS_OF_WORD, '0'));
      yield [digits.join(''), this.#seconds[number] as number];
    }
  }

  #read(key: EventKey): void {
    for (let word = 0; word < WORDS_OF_KEY; word++)
      this.#wanted[word] = Number.parseInt(key.slice(DIGITS_OF_WORD * word, DIGITS_OF_WORD * (word + 1)), 16);
  }

  #put(seconds: number): void {
    const known = this.#index[this.#placeOf(this.#wanted, 0)] as number;
    if (known !== FREE) {
      this.#seconds[known - 1] = seconds;
      return;
    }
    this.reserve(1);
    const number = this.#size++;
    this.#words.set(this.#wanted, number * WORDS_OF_KEY);
    this.#seconds[number] = seconds;
    this.#enter(number);
  }

  #enter(number: number): void {
    this.#index[this.#placeOf(this.#words, number * WORDS_OF_KEY)] = number + 1;
  }

  /** The place in the index of the key at an offset of some words, or the free one where it belongs. */
  #placeOf(words: Uint32Array, at: number): number {
    const { length } = this.#index;
    let place = mixed(words, at) % length;
    for (;;) {
      const number = this.#index[place] as number;
      if (number === FREE || this.#isKey(number - 1, words, at)) return place;
      place++;
      if (place === length) place = 0;
    }
  }

  #isKey(number: number, words: Uint32Array, at: number): boolean {
    const own = number * WORDS_OF_KEY;
    for (let word = 0; word < WORDS_OF_KEY; word++)
      if (this.#words[own + word] !== words[at + word]) return false;
    return true;
  }
}

function placesFor(capacity: number): number {
  return Math.ceil(capacity * PLACES_PER_KEY);
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

/** The number of characters of a key. */
export const KEY_CHARACTERS = DIGITS_OF_KEY;
