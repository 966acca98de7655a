import fc from 'fast-check';
import { expect, test } from 'vitest';
import { murmur } from '../../src/items/byte-hash.ts';
import { ValueCodes } from '../../src/sample/value-codes.ts';

test('values have the codes that they were added with, wherever their bytes stand', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ maxLength: 40 }), { maxLength: 300 }),
      fc.uniqueArray(fc.string({ maxLength: 3 }), { maxLength: 30 }),
      (known, asked) => {
        const codes = new ValueCodes();
        const codeOf = new Map(known.map((text, index) => [text, 2 + index]));
        for (const [text, code] of codeOf) {
          const bytes = Buffer.from(text);
          codes.add(bytes, 0, bytes.length, code);
        }
        const found = (text: string) => {
          const bytes = Buffer.from(`"${text}"`);
          return codes.get(bytes, 1, bytes.length - 1);
        };
        for (const text of [...known, ...asked]) expect(found(text)).toBe(codeOf.get(text));
        expect([...codes.entries()].map(([bytes, code]) => [String(bytes), code])).toEqual([...codeOf]);
        expect(codes.size).toBe(known.length);
      },
    ),
  );
});

const hashOf = (text: string) => murmur(Buffer.from(text), 0, Buffer.byteLength(text), 0);

test.each([
  ['"value 67943"', '"value 71510"'],
  ['"value 79592"', '"id-83837"'],
])('%s and %s have codes of their own although their hashes are equal', (one, other) => {
  expect(hashOf(one)).toBe(hashOf(other));
  const codes = new ValueCodes();
  const text = Buffer.from(`{${one},${other}}`);
  const middle = 1 + one.length;
  codes.add(text, 1, middle, 7);
  expect(codes.get(text, middle + 1, text.length - 1)).toBeUndefined();
  codes.add(text, middle + 1, text.length - 1, 8);
  expect(codes.get(text, 1, middle)).toBe(7);
  expect(codes.get(text, middle + 1, text.length - 1)).toBe(8);
  expect([...codes.entries()].map(([bytes, code]) => [String(bytes), code])).toEqual([
    [one, 7],
    [other, 8],
  ]);
});

test('values of a long text keep their codes, however many they are', () => {
  const values = Array.from({ length: 1000 }, (_, index) => 'v'.repeat(index % 9) + index);
  const text = Buffer.from(values.join());
  const codes = new ValueCodes();
  let start = 0;
  for (const [index, value] of values.entries()) {
    codes.add(text, start, start + value.length, index);
    start += value.length + 1;
  }
  expect(values.map((value) => codes.get(Buffer.from(value), 0, value.length))).toEqual(
    values.map((_, index) => index),
  );
  expect([...codes.entries()].map(([bytes]) => String(bytes))).toEqual(values);
});
