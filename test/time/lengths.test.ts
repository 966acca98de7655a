import fc from 'fast-check';
import { expect, test } from 'vitest';
import { durationMs, durationText } from '../../src/time/lengths.ts';

test.each([
  ['15s', 15_000],
  ['250ms', 250],
  ['2w', 1_209_600_000],
  ['0', 0],
  ['15', undefined],
  ['1.5h', undefined],
  ['h', undefined],
  ['12345678901s', undefined],
])('as a length of time %j is %j milliseconds', (text, lengthMs) => {
  expect(durationMs(text)).toBe(lengthMs);
});

test('a bare number is of the unit that a flag gives it', () => {
  expect([durationMs('15', 's'), durationMs('15', 'ms')]).toEqual([15_000, 15]);
});

test('a length that is printed is read as the same length', () => {
  const lengths = fc.integer({ min: 0, max: 999_999_999 });
  fc.assert(fc.property(lengths, (lengthMs) => durationMs(durationText(lengthMs)) === lengthMs));
});
