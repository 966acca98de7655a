import type { Random } from '../random.ts';

/** The 128 bits of a GUID as four unsigned 32-bit words, first digits first. */
export type GuidWords = readonly [number, number, number, number];

const HEX4 = Array.from({ length: 0x10000 }, (_, value) => value.toString(16).padStart(4, '0'));

export function guidText(a: number, b: number, c: number, d: number): string {
  return `${HEX4[a >>> 16]}${HEX4[a & 0xffff]}-${HEX4[b >>> 16]}-${HEX4[b & 0xffff]}-${HEX4[c >>> 16]}-${HEX4[c & 0xffff]}${HEX4[d >>> 16]}${HEX4[d & 0xffff]}`;
}

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Undefined when the text is no GUID in its usual form of 8-4-4-4-12 hexadecimal digits. */
export function parseGuid(text: string): GuidWords | undefined {
  if (!GUID.test(text)) return undefined;
  const digits = text.replaceAll('-', '');
  const word = (index: number) => Number.parseInt(digits.slice(index * 8, index * 8 + 8), 16);
  return [word(0), word(1), word(2), word(3)];
}

/** A GUID of version 4 (RFC 9562 section 5.4): 128 random bits, but for those of version and variant. */
export function randomGuid(random: Random): GuidWords {
  const [a, b, c, d] = [random.uint32(), random.uint32(), random.uint32(), random.uint32()];
  return [a, ((b & 0xffff0fff) | 0x4000) >>> 0, ((c & 0x3fffffff) | 0x80000000) >>> 0, d];
}
