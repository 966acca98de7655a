import fs from 'node:fs';
import { type EventKey, EventKeys, KEY_CHARACTERS } from '../ids/event-keys.ts';

/*
 * A record is a line with the key of an accepted event, and the seconds since the epoch when it was accepted:
 * `0f8fad5bd9cb469fa16570867728950e 1795176000`. Lines that begin with `#` are comments.
 */

/** Length of a record with ten digits of seconds, which suffice until the year 2286. */
export const RECORD_BYTES = 44;
/** Bytes read at once: a large journal exceeds the longest string of Node. */
const PIECE_BYTES = 4 * 1024 * 1024;
const MAX_SECONDS_DIGITS = 12;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const COMMENT = 0x23;

export function recordLine([key, seconds]: readonly [EventKey, number]): string {
  return `${key} ${seconds}\n`;
}

export interface Records {
  readonly ids: EventKeys;
  /** Lines that are neither a record nor a comment. */
  readonly damaged: number;
  /** The offset after the last complete line. */
  readonly end: number;
}

/** Reads the records of an open file from its beginning. Throws the system's error. */
export function readRecords(fd: number): Records {
  const ids = new EventKeys();
  ids.reserve(Math.ceil(fs.fstatSync(fd).size / RECORD_BYTES));
  let damaged = 0;
  const end = readLines(fd, (bytes, start, lineEnd) => {
    const isReadable =
      bytes[start] === COMMENT || start === lineEnd || readRecord(bytes, start, lineEnd, ids);
    if (!isReadable) damaged++;
  });
  return { ids, damaged, end };
}

/**
 * Calls `onLine` with the offsets of each complete line, without its line end. The bytes are reused
 * afterwards. Returns the offset in the file after the last complete line.
 */
function readLines(fd: number, onLine: (bytes: Buffer, start: number, end: number) => void): number {
  let bytes = Buffer.alloc(PIECE_BYTES);
  let filled = 0;
  let position = 0;
  for (;;) {
    if (filled === bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(bytes.length)]);
    const read = fs.readSync(fd, bytes, filled, bytes.length - filled, position);
    if (read === 0) return position - filled;
    position += read;
    filled += read;
    let start = 0;
    for (;;) {
      const feed = bytes.indexOf(NEWLINE, start);
      if (feed === -1 || feed >= filled) break;
      onLine(bytes, start, bytes[feed - 1] === RETURN ? feed - 1 : feed);
      start = feed + 1;
    }
    bytes.copyWithin(0, start, filled);
    filled -= start;
  }
}

/**
 * Reads the record from the end of the line: the line may begin with an earlier write that a full disk cut
 * short. Returns false if there is no record.
 */
function readRecord(bytes: Buffer, start: number, end: number, ids: EventKeys): boolean {
  let digits = end;
  let seconds = 0;
  let unit = 1;
  for (; digits > start && end - digits < MAX_SECONDS_DIGITS; digits--) {
    const digit = (bytes[digits - 1] as number) - 0x30;
    if (digit < 0 || digit > 9) break;
    seconds += digit * unit;
    unit *= 10;
  }
  const keyAt = digits - 1 - KEY_CHARACTERS;
  if (digits === end || keyAt < start || bytes[digits - 1] !== SPACE) return false;
  return ids.setFrom(bytes, keyAt, seconds);
}
