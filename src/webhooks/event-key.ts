import { createHash } from 'node:crypto';
import { isGuid } from '../json/guid.ts';

/** The 16 bytes that the journal stores for an `eventId`, whatever form the id is written in. */
export type EventKey = Buffer;

export const KEY_BYTES = 16;

/** Half of a surrogate pair: UTF-8 would encode every one of them as the same replacement character. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Returns the key of an `eventId`. For a GUID it is the GUID's 128 bits, so that upper and lower case give the same
 * key. For any other text (the service description names no format for payloads) it is the first 128 bits of its
 * SHA-256.
 */
export function eventKey(id: string): EventKey {
  if (isGuid(id)) return Buffer.from(id.replaceAll('-', ''), 'hex');
  const encoding = LONE_SURROGATE.test(id) ? 'utf16le' : 'utf8';
  return createHash('sha256').update(id, encoding).digest().subarray(0, KEY_BYTES);
}
