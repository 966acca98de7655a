const PRIME = 0x01000193;

/** A 53-bit hash of some bytes: two FNV-1a hashes of 32 bits with different beginnings, 21 bits of the second. */
export function hashed(bytes: Uint8Array, start: number, end: number): number {
  let low = 0x811c9dc5;
  let high = 0x2f0b4c47;
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    low = Math.imul(low ^ byte, PRIME);
    high = Math.imul(high ^ byte, PRIME) ^ (high >>> 15);
  }
  return (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0);
}
