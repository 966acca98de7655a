/**
 * A 53-bit hash of some bytes, and of others behind them: two MurmurHash3 hashes of 32 bits with different
 * seeds, of the second one 21 bits.
 */
export function hashed(bytes: Uint8Array, start: number, end: number, otherStart = 0, otherEnd = 0): number {
  let low = murmur(bytes, start, end, 0x811c9dc5);
  let high = murmur(bytes, start, end, 0x2f0b4c47);
  if (otherEnd > otherStart) {
    low = murmur(bytes, otherStart, otherEnd, low);
    high = murmur(bytes, otherStart, otherEnd, high);
  }
  return (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0);
}

/** MurmurHash3 (x86, 32 bits) of the bytes between two offsets, as a signed number. */
export function murmur(bytes: Uint8Array, start: number, end: number, seed: number): number {
  const lastWord = end - 4;
  let hash = seed;
  let index = start;
  for (; index <= lastWord; index += 4) {
    const word =
      (bytes[index] as number) |
      ((bytes[index + 1] as number) << 8) |
      ((bytes[index + 2] as number) << 16) |
      ((bytes[index + 3] as number) << 24);
    hash ^= scrambled(word);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let shift = 0; index < end; shift += 8) tail |= (bytes[index++] as number) << shift;
  hash ^= scrambled(tail) ^ (end - start);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function scrambled(word: number): number {
  const mixed = Math.imul(word, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}
