import { expect, test } from 'vitest';
import { drawnTests } from '../support/seed.ts';

const names = Array.from({ length: 1200 }, (_, index) => `file > test ${index}`);

test('a sample is the same for the same seed, and near its share of many tests', () => {
  const drawn = drawnTests(names, 6);
  expect(drawn).toEqual(drawnTests(names, 6));
  expect(names).toEqual(expect.arrayContaining(drawn));
  expect(drawn.length).toBeGreaterThan(100);
  expect(drawn.length).toBeLessThan(300);
});
