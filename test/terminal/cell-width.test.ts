import stringWidth from 'string-width';
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
      expect(cellWidth(before + character.repeat(400))).toBe(before.length + width * 400);
    }
  },
);

test('each letter that is counted without the library is as wide as the library says, alone and beside others', () => {
  const all = Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit));
  const letters = all.filter((text) => !/[\uD800-\uDFFF]/.test(text));
  const differing = letters.filter((text) => cellWidth(text) !== stringWidth(text));
  expect(differing).toEqual([]);
  const text = letters
    .slice(0, 0x3100)
    .filter((letter) => stringWidth(letter) > 0 && /[\p{L}\p{P}\p{N}]/u.test(letter));
  for (let at = 0; at + 1 < text.length; at++) {
    const pair = `${text[at]}${text[at + 1]}`;
    if (cellWidth(pair) !== stringWidth(pair)) differing.push(pair);
  }
  expect(differing).toEqual([]);
});

test('the time to measure a text does not grow with the square of its length', () => {
  expect(cellWidth('é'.repeat(500_000))).toBe(500_000);
});

test.each([
  ['Arabic letters', '\u0645'],
  ['Hebrew points', '\u05d0\u05b8'],
  ['emoji', '👩‍👩‍👧‍👦'],
])('of 300,000 %s only what a terminal could show is measured', (_, character) => {
  expect(cellWidth(character.repeat(300_000))).toBeGreaterThan(10_000);
});

test('half of a surrogate pair is one column, as its replacement', () => {
  expect([cellWidth('a\ud800b'), cellWidth('\udc00'.repeat(300_000))]).toEqual([3, 300_000]);
});
