import { expect, test } from 'vitest';
import { hashed, murmur } from '../../src/items/byte-hash.ts';

// Of MurmurHash3_x86_32, as its author and others publish them.
test.each([
  ['', 0, 0],
  ['', 1, 0x514e28b7],
  ['test', 0, 0xba6bd213],
  ['test', 0x9747b28c, 0x704b81dc],
  ['a', 0x9747b28c, 0x7fa09ea6],
  ['aa', 0x9747b28c, 0x5d211726],
  ['aaa', 0x9747b28c, 0x283e0130],
  ['aaaa', 0x9747b28c, 0x5a97808a],
  ['abc', 0, 0xb3dd93fa],
  ['Hello, world!', 0x9747b28c, 0x24884cba],
  ['The quick brown fox jumps over the lazy dog', 0, 0x2e4ff723],
])("the hash of '%s' with the seed %i is %i", (text, seed, hash) => {
  const bytes = Buffer.from(`<${text}>`);
  expect(murmur(bytes, 1, bytes.length - 1, seed) >>> 0).toBe(hash);
});

test('a hash of 53 bits is one of 32, with 21 of another before it, of two pieces one after the other', () => {
  const bytes = Buffer.from('abcdefg');
  const [low, high] = [murmur(bytes, 0, 3, 0x811c9dc5), murmur(bytes, 0, 3, 0x2f0b4c47)];
  expect(hashed(bytes, 0, 3)).toBe((high & 0x1fffff) * 2 ** 32 + (low >>> 0));
  const [bothLow, bothHigh] = [murmur(bytes, 4, 7, low), murmur(bytes, 4, 7, high)];
  expect(hashed(bytes, 0, 3, 4, 7)).toBe((bothHigh & 0x1fffff) * 2 ** 32 + (bothLow >>> 0));
});
