import { expect, test } from 'vitest';
import { drawnTests } from '../support/seed.ts';

const names = (count: number) => Array.from({ length: count }, (_, index) => `file > test ${index}`);

test('a sample of the tests of a file holds one of them at least where they run nowhere else', () => {
  for (let count = 1; count <= 40; count++) {
    const drawn = drawnTests(names(count), 1000, 1);
    expect(drawn.length, String(count)).toBeGreaterThan(0);
    expect(names(count)).toEqual(expect.arrayContaining(drawn));
  }
  expect(drawnTests([], 6, 1)).toEqual([]);
});

test('a sample is the same for the same seed, and near its share of many tests', () => {
  const drawn = drawnTests(names(1200), 6, 0);
  expect(drawn).toEqual(drawnTests(names(1200), 6, 0));
  expect(drawn.length).toBeGreaterThan(100);
  expect(drawn.length).toBeLessThan(300);
  expect(drawnTests(names(5), 1_000_000, 0)).toEqual([]);
});
