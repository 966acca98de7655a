import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bar, rateScale } from '../../src/stats/stats-text.ts';

describe('a bar', () => {
  test.each([
    [0, 10, ''],
    [10, 10, '████████'],
    [5, 10, '████'],
    [1, 64, '▏'],
    [3, 16, '█▌'],
    [1, 1_000_000, '▏'],
    [20, 10, '████████'],
  ])('of %i where %i is full', (value, full, text) => {
    expect(bar(value, full, 8, true)).toBe(text);
  });

  test('in ASCII has whole columns', () => {
    expect(bar(5, 10, 8, false)).toBe('####');
    expect(bar(1, 1000, 8, false)).toBe('#');
  });

  test('never exceeds its width, shows every value above 0, and grows with its value', () => {
    const value = fc.integer({ min: 0, max: 1e9 });
    fc.assert(
      fc.property(value, value, fc.integer({ min: 1, max: 200 }), fc.boolean(), (a, b, width, unicode) => {
        const full = Math.max(a, b);
        const [one, other] = [bar(a, full, width, unicode), bar(b, full, width, unicode)];
        expect(Math.max(one.length, other.length)).toBeLessThanOrEqual(width);
        expect(one === '').toBe(a === 0);
        if (a <= b) expect(one.length).toBeLessThanOrEqual(other.length);
      }),
    );
  });

  test.each([
    [0, 0.01],
    [0.034, 0.05],
    [0.2, 0.2],
    [0.51, 1],
  ])('for rates up to %d ends at %d', (highest, end) => {
    expect(rateScale(highest)).toBe(end);
  });
});
