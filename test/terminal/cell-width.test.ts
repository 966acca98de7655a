import { beforeAll, expect, test } from 'vitest';
import { cellWidth, loadWidths } from '../../src/terminal/cell-width.ts';

beforeAll(loadWidths);

test.each([
  ['é', 1],
  ['e\u0301', 1],
  ['語', 2],
  ['👩‍👩‍👧‍👦', 2],
  ['🇩🇪', 2],
])(
  'a long text of %s is as wide as its characters together, wherever it is split to be measured',
  (character, width) => {
    for (const before of ['', 'x', 'xyz']) {
      expect(cellWidth(before + character.repeat(1500))).toBe(before.length + width * 1500);
    }
  },
);

test('the time to measure a text does not grow with the square of its length', () => {
  expect(cellWidth('é'.repeat(500_000))).toBe(500_000);
});
