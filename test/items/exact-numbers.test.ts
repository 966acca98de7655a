import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  compareNumbers,
  exactValue,
  isNumber,
  normalNumber,
  numberComparison,
} from '../../src/items/exact-numbers.ts';

test('numbers of any length compare in a time that grows with it', () => {
  const zeros = '0'.repeat(300_000);
  expect(compareNumbers(`1${zeros}1`, `1${zeros}0`)).toBeGreaterThan(0);
  expect(compareNumbers(`0.${zeros}1`, `0.${zeros}10`)).toBe(0);
});

test('numbers of any size compare as numbers do', () => {
  fc.assert(
    fc.property(fc.bigInt(), fc.bigInt(), fc.integer({ min: 0, max: 30 }), (a, b, places) => {
      const sign = a < b ? -1 : a > b ? 1 : 0;
      expect(Math.sign(compareNumbers(`${a}`, `${b}`))).toBe(sign);
      expect(Math.sign(compareNumbers(`${a}e${places}`, `${b}E+${places}`))).toBe(sign);
      expect(Math.sign(compareNumbers(`${a}.0e-${places}`, `${b}e-${places}`))).toBe(sign);
    }),
  );
  for (const [smaller, larger] of [
    ['1', '2'],
    ['9', '10'],
    ['-10', '-9'],
    ['-1', '0'],
    ['0', '0.001'],
    ['-0.1', '0.1'],
    ['1.5', '1.51'],
    ['0.09', '0.1'],
    ['1e-7', '1e-6'],
    ['99e1', '1e3'],
    ['-1e400', '1e-400'],
    ['12345678901234567890', '12345678901234567891'],
  ] as const) {
    expect([smaller, larger, compareNumbers(smaller, larger) < 0]).toEqual([smaller, larger, true]);
    expect([larger, smaller, compareNumbers(larger, smaller) > 0]).toEqual([larger, smaller, true]);
  }
  for (const same of ['100', '1e2', '1E+2', '100.00', '0.01e4', '1000e-1'])
    expect([same, compareNumbers(same, '100')]).toEqual([same, 0]);
  expect(compareNumbers('1.5', '1.50')).toBe(0);
  expect(compareNumbers('-0', '0.0e5')).toBe(0);
  expect(compareNumbers('0.1', '1e-1')).toBe(0);
  expect(compareNumbers('-2', '-10')).toBeGreaterThan(0);
  expect(compareNumbers('1e999999999999', '9e999999999998')).toBeGreaterThan(0);
});

test('many numbers compare with one as two do', () => {
  const number = fc
    .tuple(fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }), fc.integer({ min: -18, max: 3 }))
    .chain(([digits, exponent]) =>
      fc.constantFrom(`${digits}e${exponent}`, normalNumber(`${digits}e${exponent}`)),
    );
  const last = fc.constantFrom('', '0', '1');
  fc.assert(
    fc.property(number, number, last, (a, b, digit) => {
      expect(Math.sign(numberComparison(b)(a) ?? Number.NaN)).toBe(Math.sign(compareNumbers(a, b)));
      const near = /e/i.test(a) ? a : `${a}${a.includes('.') ? '' : '.'}0${digit}`;
      expect(Math.sign(numberComparison(near)(a) ?? Number.NaN)).toBe(Math.sign(compareNumbers(a, near)));
    }),
  );
  expect(numberComparison('1')('one')).toBeUndefined();
});

test.each(['0', '-0', '10', '-1.50', '1e5', '1E-05', '0.0e+3'])('%s is a number', (text) =>
  expect(isNumber(text)).toBe(true),
);

test.each([
  '',
  '-',
  '01',
  '.5',
  '1.',
  '+1',
  '1e',
  '1e+',
  '1e--5',
  '0x1',
  ' 1',
  '1 ',
  '1,5',
  'x1',
  '1x',
  'NaN',
])("'%s' is no number", (text) => expect(isNumber(text)).toBe(false));

test.each([
  ['-0.0e9', '0'],
  ['1.50', '1.5'],
  ['150e-2', '1.5'],
  ['-12', '-12'],
  ['12e2', '1200'],
  ['1e29', `1${'0'.repeat(29)}`],
  ['1e30', '1e30'],
  ['-12345678901234567890123456789012', '-1.2345678901234567890123456789012e31'],
  ['0.5', '5e-1'],
])('%s in one form is %s', (text, form) => expect(normalNumber(text)).toBe(form));

test('a value that JavaScript can hold is that value, and a number that it cannot stays a text', () => {
  for (const json of ['1', '1.10', '-0', '1e3', '9007199254740992', '"a"', 'null', '{"a":1}', '0.1'])
    expect(exactValue(json)).toEqual(JSON.parse(json));
  for (const json of ['9007199254740993', '1e400', '-1e400', '0.10000000000000000001', '1e-400'])
    expect(exactValue(json)).toBe(json);
});
