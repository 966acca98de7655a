import { expect, test } from 'vitest';
import { type Derivation, derivationFacts } from '../../src/items/derived-values.ts';
import { parseFieldPath } from '../../src/items/field-path.ts';

const meant = (derivation: Derivation, typed: string) => derivationFacts(derivation).meant?.(typed);

test.each([
  ['mon', 'Monday'],
  ['MONDAY', 'Monday'],
  ['th', 'Thursday'],
  ['su', 'Sunday'],
  ['0', 'Sunday'],
  ['1', 'Monday'],
  ['6', 'Saturday'],
  ['7', 'Sunday'],
  ['8', undefined],
  ['01', undefined],
  ['10', undefined],
  ['s', undefined],
  ['m', undefined],
  ['day', undefined],
  ['mondays', undefined],
  ['', undefined],
])('the weekday %j means %s', (typed, day) => expect(meant('weekday', typed)).toBe(day));

test('an hour of two digits and a domain in capitals mean what is derived', () => {
  expect(['07', '00', '7', '17', '007', '07:00'].map((typed) => meant('hour', typed))).toEqual([
    '7',
    '0',
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(meant('domain', 'Harbour.EXAMPLE')).toBe('harbour.example');
  expect([meant('length', '07'), meant('delay', '07'), meant('size', '07')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('a size is of the item, not of a field', () => {
  expect(parseFieldPath('item:size', '--by').walk?.derivation).toBe('size');
  expect(parseFieldPath('a:size', '--by').walk).toBeUndefined();
});
