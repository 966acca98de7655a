import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareNumbers } from '../../src/items/exact-numbers.ts';
import { parseFieldPath } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { EventGroups } from '../../src/questions/event-groups.ts';
import { NumberSample, percentilesJson } from '../../src/statistics/percentiles.ts';
import { UTC } from '../../src/time/time-zone.ts';

const sampleOf = (texts: readonly string[]) => {
  const sample = new NumberSample();
  for (const text of texts) sample.add(text);
  return sample;
};

describe('percentiles', () => {
  test.each([
    [['7'], { count: 1, p50: '7', p95: '7', p99: '7', most: '7' }],
    [['2', '1'], { count: 2, p50: '1', p95: '2', p99: '2', most: '2' }],
    [
      Array.from({ length: 200 }, (_, index) => String(200 - index)),
      { count: 200, p50: '100', p95: '190', p99: '198', most: '200' },
    ],
    [['1.10', '1.1', '0.3'], { count: 3, p50: '1.1', p95: '1.1', p99: '1.1', most: '1.1' }],
    [['-0', '0', '-5'], { count: 3, p50: '0', p95: '0', p99: '0', most: '0' }],
    // Three numbers that are one double.
    [
      ['123456789012345679', '123456789012345677', '123456789012345680'],
      {
        count: 3,
        p50: '123456789012345679',
        p95: '123456789012345680',
        p99: '123456789012345680',
        most: '123456789012345680',
      },
    ],
    // One of two that are a double is equal to it.
    [
      ['9007199254740993', '9007199254740992'],
      {
        count: 2,
        p50: '9007199254740992',
        p95: '9007199254740993',
        p99: '9007199254740993',
        most: '9007199254740993',
      },
    ],
    [['1e400', '1'], { count: 2, p50: '1', p95: '1e400', p99: '1e400', most: '1e400' }],
  ])('are numbers of %j', (texts, expected) => {
    expect(sampleOf(texts).percentiles()).toEqual(expected);
  });

  test('of nothing are none, and a text that is no number is not counted', () => {
    const sample = sampleOf(['', '12ms', 'true', '0x10', '1.', '007', 'NaN']);
    expect([sample.count, sample.percentiles()]).toEqual([0, undefined]);
  });

  test('are those of the numbers so far', () => {
    const sample = sampleOf(['1']);
    expect(sample.percentiles()?.most).toBe('1');
    sample.add('2');
    expect(sample.percentiles()?.most).toBe('2');
  });

  test('of a field are those of each of its numbers, and of texts that are some', () => {
    const column = new EventGroups([], UTC, parseFieldPath('lines[].amount', '--percentiles'));
    const lines = [
      [{ amount: 3 }, { amount: '0.10' }],
      [{ amount: null }, { name: 'x' }],
      undefined,
      [{ amount: 7 }],
    ];
    const see = (...texts: string[]) =>
      column.see({ items: Items.of(texts.map((text) => Buffer.from(text))), haveFailed: undefined });
    see(...lines.map((of) => JSON.stringify({ lines: of })));
    see('{"lines":[{"amount":1e3}]}');
    expect(column.numbers?.percentiles()).toEqual({
      count: 4,
      p50: '3',
      p95: '1000',
      p99: '1000',
      most: '1000',
    });
  });

  test('in JSON are numbers, unless JavaScript cannot hold them', () => {
    const percentiles = { count: 9, p50: '0.5', p95: '12', p99: '123456789012345679', most: '1e400' };
    expect(percentilesJson(percentiles)).toEqual({
      p50: 0.5,
      p95: 12,
      p99: '123456789012345679',
      most: '1e400',
    });
  });

  const number = fc.oneof(
    fc.integer({ min: -20, max: 20 }).map(String),
    fc.tuple(fc.integer({ min: -9, max: 9 }), fc.nat(99)).map(([whole, part]) => `${whole}.${part}`),
    fc.bigInt({ min: 2n ** 60n, max: 2n ** 60n + 300n }).map(String),
  );

  test('have the rank that all digits give them, among any numbers', () => {
    fc.assert(
      fc.property(fc.array(number, { minLength: 1, maxLength: 60 }), (texts) => {
        const sorted = texts.toSorted(compareNumbers);
        const found = sampleOf(texts).percentiles() as NonNullable<ReturnType<NumberSample['percentiles']>>;
        for (const [name, percent] of [
          ['p50', 50],
          ['p95', 95],
          ['p99', 99],
          ['most', 100],
        ] as const) {
          const expected = sorted[Math.ceil((percent * texts.length) / 100) - 1] as string;
          expect(compareNumbers(found[name], expected)).toBe(0);
        }
      }),
    );
  });
});
