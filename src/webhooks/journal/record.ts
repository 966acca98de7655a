import type { Holder } from '../../lock/lock-holder.ts';
import { type EventKey, KEY_BYTES } from '../event-key.ts';
import { crc32c } from './checksum.ts';

/** The journal's first bytes: what the file is, and the format's version. */
export const HEADER = Buffer.from('hooktrail-journal-1\n');

/**
 * The first byte of a record. All but `joined` are 25 bytes: kind, 16 bytes (a key, or a member), 4 bytes (seconds since the
 * epoch, or a member), CRC-32C. `joined` is kind, length (2 bytes), JSON, CRC-32C. Numbers are little-endian.
 */
export const Kind = {
  /** The handler has the event; with the time. */
  done: 0xd1,
  /** A member is about to hand the event over. */
  claimed: 0xc1,
  /** A member's claim came to nothing. */
  released: 0xc2,
  /** A process opened the journal: its number and how to tell whether it lives. */
  joined: 0xa1,
  /** A member knows of another one, and has published the claims it had. */
  welcomed: 0xa2,
  /** A member closed the journal. */
  left: 0xa3,
  /** A member found another one dead. */
  gone: 0xa4,
} as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

export const RECORD_BYTES = 25;
const LONGEST_JSON = 1000;
export const LONGEST_RECORD = LONGEST_JSON + 7;
const kinds: ReadonlySet<number> = new Set(Object.values(Kind));

/** A process that has the journal open. */
export interface Member {
  readonly number: number;
  readonly holder: Holder;
}

export function keyRecord(kind: Kind, key: EventKey, value: number): Buffer {
  const record = Buffer.allocUnsafe(RECORD_BYTES);
  record[0] = kind;
  record.set(key, 1);
  record.writeUInt32LE(value, 1 + KEY_BYTES);
  record.writeUInt32LE(crc32c(record, 0, RECORD_BYTES - 4), RECORD_BYTES - 4);
  return record;
}

/** `about` is the other member where the kind has one. */
export function memberRecord(kind: Kind, member: number, about = 0): Buffer {
  const key = Buffer.alloc(KEY_BYTES);
  key.writeUInt32LE(about);
  return keyRecord(kind, key, member);
}

export function joinedRecord(member: Member): Buffer {
  const json = Buffer.from(JSON.stringify(member));
  if (json.length > LONGEST_JSON) throw new RangeError('the description of this process is too long');
  const record = Buffer.allocUnsafe(json.length + 7);
  record[0] = Kind.joined;
  record.writeUInt16LE(json.length, 1);
  record.set(json, 3);
  record.writeUInt32LE(crc32c(record, 0, record.length - 4), record.length - 4);
  return record;
}

/** The 4 bytes behind the key: seconds, or a member's number. */
export function valueAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 1 + KEY_BYTES);
}

/** The member that a `welcomed` or `gone` is about. */
export function aboutAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 1);
}

export function keyAt(bytes: Buffer, at: number): EventKey {
  return bytes.subarray(at + 1, at + 1 + KEY_BYTES);
}

export function joinedAt(bytes: Buffer, at: number): Member {
  return JSON.parse(bytes.toString('utf8', at + 3, at + 3 + bytes.readUInt16LE(at + 1)));
}

export interface Scanned {
  /** Behind the last whole record. */
  readonly end: number;
  /** Bytes before `end` that belong to no record: what a process that was killed in mid-write left, or foreign bytes. */
  readonly skipped: number;
}

/**
 * Visits the whole records between two offsets, in order. Bytes that are none are passed one by one until a record fits
 * again: with a checksum on each, a torn record costs itself and nothing behind it.
 */
export function scan(
  bytes: Buffer,
  from: number,
  to: number,
  visit: (kind: Kind, at: number) => void,
): Scanned {
  let end = from;
  let skipped = 0;
  for (let at = from; at < to; ) {
    const length = lengthAt(bytes, at, to);
    if (length === 0) {
      at++;
      continue;
    }
    visit(bytes[at] as Kind, at);
    skipped += at - end;
    at += length;
    end = at;
  }
  return { end, skipped };
}

/** Bytes of the record that starts at `at`; 0 where no whole record does. */
function lengthAt(bytes: Buffer, at: number, to: number): number {
  const kind = bytes[at] as number;
  if (!kinds.has(kind)) return 0;
  let length = RECORD_BYTES;
  if (kind === Kind.joined) {
    if (at + 3 > to) return 0;
    const json = bytes.readUInt16LE(at + 1);
    if (json > LONGEST_JSON) return 0;
    length = json + 7;
  }
  if (at + length > to) return 0;
  const end = at + length - 4;
  const sum = crc32c(bytes, at, end);
  const kept =
    ((bytes[end] as number) |
      ((bytes[end + 1] as number) << 8) |
      ((bytes[end + 2] as number) << 16) |
      ((bytes[end + 3] as number) << 24)) >>>
    0;
  return sum === kept ? length : 0;
}
