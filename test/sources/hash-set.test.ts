import { expect, test } from 'vitest';
import { Random } from '../../src/sandbox/random.ts';
import { HashSet } from '../../src/sources/hash-set.ts';

const HIGH = 0x1_0000_0000;

test('holds what was added, and nothing else, however many there are', () => {
  const random = new Random(1);
  const hashes = Array.from({ length: 1200 }, () => random.below(0x1f_ffff) * HIGH + random.below(HIGH - 1));
  const set = new HashSet();
  const known = hashes.filter((hash) => {
    const isKnown = set.has(hash);
    set.add(hash);
    set.add(hash);
    return isKnown;
  });
  expect([known, set.size]).toEqual([[], hashes.length]);
  expect(hashes.filter((hash) => !set.has(hash) || set.has(hash + 1))).toEqual([]);
});

test('hashes that belong at one place are told apart, zero and the greatest among them', () => {
  const set = new HashSet();
  const hashes = [0, HIGH, 2 * HIGH, 0x1f_ffff * HIGH, Number.MAX_SAFE_INTEGER, 1, 1023, HIGH + 1023];
  for (const hash of hashes) set.add(hash);
  expect(hashes.map((hash) => set.has(hash))).toEqual(hashes.map(() => true));
  expect([set.size, set.has(3 * HIGH), set.has(2)]).toEqual([hashes.length, false, false]);
});
