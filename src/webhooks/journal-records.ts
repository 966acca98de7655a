import { type EventKey, KEY_BYTES } from './event-key.ts';

/** The journal's first bytes: they identify the file and the version of its format. */
export const HEADER = Buffer.from('hooktrail-journal-1\n');

/**
 * The first byte of a record. A record is 25 bytes: kind, 16 bytes (an event's key), 4 bytes (seconds since the epoch),
 * CRC-32C of these. Numbers are little-endian.
 */
export const Kind = {
  /** The handler has the event. */
  done: 0xd1,
  /**
   * A process opened the journal. The record changes the file's size, from which an earlier holder learns that it lost
   * the journal.
   */
  opened: 0xb1,
} as const;

export const RECORD_BYTES = 25;

/** Kinds that earlier versions wrote when several processes shared a journal. They are skipped. */
const formerKinds: readonly number[] = [0xc1, 0xc2, 0xa2, 0xa3, 0xa4];
/** The only one of them with a variable length: kind, length (2 bytes), JSON, CRC-32C. */
const FORMER_JOINED = 0xa1;
const LONGEST_JSON = 1000;
export const LONGEST_RECORD = LONGEST_JSON + 7;

const kinds: ReadonlySet<number> = new Set([...Object.values(Kind), ...formerKinds, FORMER_JOINED]);

export function journalRecord(kind: number, key: EventKey, seconds: number): Buffer {
  const record = Buffer.allocUnsafe(RECORD_BYTES);
  record[0] = kind;
  record.set(key, 1);
  record.writeUInt32LE(seconds, 1 + KEY_BYTES);
  record.writeUInt32LE(crc32c(record, 0, RECORD_BYTES - 4), RECORD_BYTES - 4);
  return record;
}

export function secondsAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 1 + KEY_BYTES);
}

/**
 * Visits the `done` records in the bytes, in order. Returns the offset after the last whole record of any kind, and the
 * number of bytes before it that belong to no record. Such bytes are skipped one by one until a valid record begins:
 * since each has a checksum, a torn record loses nothing after it.
 */
export function scanRecords(
  bytes: Buffer,
  visit: (at: number) => void,
): { readonly end: number; readonly skipped: number } {
  let end = 0;
  let skipped = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = recordLength(bytes, at);
    if (length === 0) {
      at++;
      continue;
    }
    if (bytes[at] === Kind.done) visit(at);
    skipped += at - end;
    at += length;
    end = at;
  }
  return { end, skipped };
}

/** Returns the length of the record that starts at `at`; 0 if there is no whole record. */
function recordLength(bytes: Buffer, at: number): number {
  const kind = bytes[at] as number;
  if (!kinds.has(kind)) return 0;
  let length = RECORD_BYTES;
  if (kind === FORMER_JOINED) {
    if (at + 3 > bytes.length) return 0;
    const json = bytes.readUInt16LE(at + 1);
    if (json > LONGEST_JSON) return 0;
    length = json + 7;
  }
  if (at + length > bytes.length) return 0;
  return bytes.readUInt32LE(at + length - 4) === crc32c(bytes, at, at + length - 4) ? length : 0;
}

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value;
});

/** Computes CRC-32C (RFC 3720 section B.4). For so few bytes a call into zlib would take several times as long. */
function crc32c(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0xffffffff;
  for (let at = start; at < end; at++) {
    crc = (table[(crc ^ (bytes[at] as number)) & 0xff] as number) ^ (crc >>> 8);
  }
  return ~crc >>> 0;
}
