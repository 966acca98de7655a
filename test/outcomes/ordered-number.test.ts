import fc from 'fast-check';
import { expect, test } from 'vitest';
import { orderedNumber } from '../../src/outcomes/ordered-number.ts';

/** The number of a JSON text that stands among others. */
const numberOf = (json: string) => {
  const bytes = Buffer.from(`{"a":${json},"b":12}`);
  return orderedNumber(bytes, 5, 5 + Buffer.byteLength(json));
};

test.each([
  ['0', 0],
  ['-7', -7],
  ['460.41', 460.41],
  ['0.1', 0.1],
  ['-0.25', -0.25],
  ['"17"', 17],
  ['"-1.5"', -1.5],
  ['123456789012345', 123456789012345],
  // Whole numbers that a double rounds keep their order.
  ['9007199254740993', 9007199254740992],
  ['123456789012345678', 123456789012345680],
  ['12345678901234.5', 12345678901234.5],
])('%s is compared as a number', (json, number) => expect(numberOf(json)).toBe(number));

test.each([
  '1234567890123456789',
  '123456789012345.6',
  '1e3',
  '1.5E-2',
  '"007"',
  '"-01"',
  '"00.5"',
  '""',
  '"-"',
  '"."',
  '".5"',
  '"5."',
  '"1.2.3"',
  '"1-2"',
  '"--1"',
  '"+1"',
  '" 1"',
  '"１"',
  'true',
  '[1]',
])('%s is compared as a text alone', (json) => expect(numberOf(json)).toBeNaN());

test('numbers of at most 15 digits are the doubles that JSON.parse makes of them', () => {
  const digits = (most: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${most}}$`));
  const number = fc
    .tuple(fc.boolean(), fc.integer({ min: 0, max: 99_999_999 }), digits(7), fc.boolean())
    .map(([isNegative, whole, decimals, hasPoint]) => {
      const text = hasPoint ? `${whole}.${decimals}` : String(whole);
      return isNegative ? `-${text}` : text;
    });
  fc.assert(fc.property(number, (json) => Object.is(numberOf(json), JSON.parse(json))));
});
