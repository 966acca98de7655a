import { expect, test } from 'vitest';
import { drawnRows, drawnTests } from '../support/seed.ts';

const tests = Array.from({ length: 1200 }, (_, index) => ({ fullName: `file > test ${index}` }));

test('a sample is the same for the same seed, and near its share of many tests', () => {
  const drawn = drawnTests(tests, 6);
  expect(drawn).toEqual(drawnTests(tests, 6));
  expect(tests).toEqual(expect.arrayContaining(drawn));
  expect(drawn.length).toBeGreaterThan(100);
  expect(drawn.length).toBeLessThan(300);
});

test('rows of a table are drawn, at least one of each, and every other test runs', () => {
  const suite = {};
  const rows = (count: number, of: object) =>
    Array.from({ length: count }, (_, row) => ({ fullName: `row ${row}`, suite: of, each: true }));
  const [long, short] = [rows(9, suite), rows(2, {})];
  const others = tests.slice(0, 3);
  const drawn = drawnRows([...long, ...others, ...short], 4);
  expect(drawn.filter((test) => long.includes(test as never))).toHaveLength(3);
  expect(drawn.filter((test) => short.includes(test as never))).toHaveLength(1);
  expect(drawn).toEqual(expect.arrayContaining(others));
});
