import { SECOND_MS } from './lengths.ts';

const QUOTE = 0x22;
const DASH = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/** The length of `"2026-11-26T09:30:00Z"`, quotes included, and of the same without the `Z"`. */
const SHORTEST_BYTES = 22;
const BEFORE_FRACTION = 20;
const MOST_DIGITS = 9;
const DAY_HOURS = 24;
/** Minutes of an hour, and seconds of a minute. */
const SIXTY = 60;

/**
 * Reads times as services mostly write them, `2026-11-26T09:30:00.123Z`, from the bytes of JSON texts without
 * making anything of them.
 */
export class UtcTimeReader {
  /** Of the time that was read last: whole seconds since the epoch. */
  seconds = 0;
  /** Its fraction, and the number of digits in which that was written. */
  nanoseconds = 0;
  digits = 0;
  /** The date that was read last, as year, month and day behind each other, and when it begins. */
  #date = 0;
  #midnightSeconds = 0;

  /**
   * Reads the JSON value between two offsets. False if it is anything else than such a time, with at most
   * nine digits of a second: it may be a time in another form.
   */
  read(bytes: Uint8Array, start: number, end: number): boolean {
    const hasForm =
      end - start >= SHORTEST_BYTES &&
      bytes[start] === QUOTE &&
      bytes[start + 5] === DASH &&
      bytes[start + 8] === DASH &&
      bytes[start + 11] === LETTER_T &&
      bytes[start + 14] === COLON &&
      bytes[start + 17] === COLON &&
      bytes[end - 2] === LETTER_Z;
    if (!hasForm || !this.#readFraction(bytes, start + BEFORE_FRACTION, end - 2)) return false;
    const hour = digitsIn(bytes, start + 12, 2);
    const minute = digitsIn(bytes, start + 15, 2);
    const second = digitsIn(bytes, start + 18, 2);
    const isTime =
      hour >= 0 && hour < DAY_HOURS && minute >= 0 && minute < SIXTY && second >= 0 && second < SIXTY;
    if (!isTime || !this.#readDate(bytes, start + 1)) return false;
    this.seconds = this.#midnightSeconds + 3600 * hour + 60 * minute + second;
    return true;
  }

  /** Reads the digits behind a point, if there is one, up to an offset. */
  #readFraction(bytes: Uint8Array, at: number, end: number): boolean {
    this.digits = 0;
    this.nanoseconds = 0;
    if (at === end) return true;
    const count = end - at - 1;
    if (bytes[at] !== POINT || count < 1 || count > MOST_DIGITS) return false;
    const fraction = digitsIn(bytes, at + 1, count);
    if (fraction < 0) return false;
    this.digits = count;
    this.nanoseconds = fraction * 10 ** (MOST_DIGITS - count);
    return true;
  }

  /** Among the times of events the date is mostly that of the one before. */
  #readDate(bytes: Uint8Array, at: number): boolean {
    const year = digitsIn(bytes, at, 4);
    const month = digitsIn(bytes, at + 5, 2);
    const day = digitsIn(bytes, at + 8, 2);
    if (year < 0 || month < 1 || day < 1) return false;
    const date = 10_000 * year + 100 * month + day;
    if (date === this.#date) return true;
    const midnight = new Date(0);
    midnight.setUTCFullYear(year, month - 1, day);
    // 30 February is 2 March there.
    if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return false;
    this.#date = date;
    this.#midnightSeconds = midnight.getTime() / SECOND_MS;
    return true;
  }
}

/** The number that so many digits are; -1 if one of them is none. */
function digitsIn(bytes: Uint8Array, at: number, count: number): number {
  let number = 0;
  for (let index = at; index < at + count; index++) {
    const digit = (bytes[index] as number) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    number = 10 * number + digit;
  }
  return number;
}
