/** A 53-bit hash of one or two ranges, from two 32-bit MurmurHash3 hashes with different seeds. */
export function hashed(bytes: Uint8Array, start: number, end: number, otherStart = 0, otherEnd = 0): number {
  let low = murmur(bytes, start, end, 0x811c9dc5);
  let high = murmur(bytes, start, end, 0x2f0b4c47);
  if (otherEnd > otherStart) {
    low = murmur(bytes, otherStart, otherEnd, low);
    high = murmur(bytes, otherStart, otherEnd, high);
  }
  return (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0);
}

/** MurmurHash3 (x86, 32 bits), as a signed number. */
export function murmur(bytes: Uint8Array, start: number, end: number, seed: number): number {
  const lastWord = end - 4;
  const words = wordsOf(bytes);
  let hash = seed;
  let index = start;
  for (; index <= lastWord; index += 4) {
    hash ^= scrambled(words.getInt32(index, true));
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

let latest = viewOf(new Uint8Array(0));

/** Reads four bytes at once at any offset, in half the time of single bytes. */
function wordsOf(bytes: Uint8Array): DataView {
  if (latest.bytes !== bytes) latest = viewOf(bytes);
  return latest.words;
}

function viewOf(bytes: Uint8Array): { readonly bytes: Uint8Array; readonly words: DataView } {
  return { bytes, words: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) };
}
