import { describe, expect, test } from 'vitest';
import { countRows } from '../../src/explain/chance.ts';
import { Feature } from '../../src/explain/feature.ts';
import { fieldConditions } from '../../src/explain/field-conditions.ts';
import { FieldTest } from '../../src/explain/row-tests.ts';
import { Sample } from '../../src/explain/sample.ts';
import type { Field } from '../../src/outcomes/field-column.ts';
import { tableOf, textOf } from './made-tables.ts';

type Member = (index: number) => unknown;

/** Numbers without order, the same in each run. */
const mixed = (index: number, of: number) => Math.floor(((index * 0.618_033_988_75) % 1) * of);

describe('the conditions on a field', () => {
  const EVENTS = 400;
  /** Another number for each event, in no order. */
  const other = (index: number) => ((index * 149) % EVENTS) + 0.5;

  test.each<[string, number, Member]>([
    // At least so many: each value and all but it, two limits at a gap between numbers, and presence.
    ['texts, or none', 8, (i) => ['a', 'b', 'c', undefined, null][mixed(i, 5)]],
    ['numbers, or none', 48, (i) => (i % 7 ? mixed(i, 12) : undefined)],
    ['texts of numbers, two of which are one number', 16, (i) => ['1', '1.0', '2', '3.5', '10'][mixed(i, 5)]],
    ['numbers and texts', 30, (i) => (i % 3 ? mixed(i, 9) : 'none')],
    ['more numbers than there are codes', 600, (i) => (i % 7 ? other(i) : undefined)],
    ['lists of texts', 10, (i) => [['a', 'b'], ['b', 'b'], [], undefined, ['c', null]][mixed(i, 5)]],
    ['lists of numbers', 28, (i) => [[3, 9, 4], [5], [], undefined, [7, null, 1], ['x', 1]][mixed(i, 6)]],
    [
      'lists of more numbers than there are codes',
      700,
      (i) => [{ x: other(i) }, {}, { x: 700.25 - other(i) }],
    ],
  ])('have the counts of the events that they keep, of all and of some: %s', (_, least, member) => {
    const table = tableOf(
      EVENTS,
      (index) => mixed(index, 997) % 3 === 0,
      (index) => ({ v: member(index) }),
    );
    const sample = new Sample(table);
    const some = sample.rows.filter((row) => row % 3 < 2);
    const ofV = table.fields.filter(({ steps, derivation }) => steps[0] === 'v' && !derivation);
    const field = ofV.at(-1) as Field;
    for (const rows of [sample.rows, some]) {
      const feature = new Feature(table, field, rows, 0);
      for (const inside of [rows, rows.filter((row) => row % 2 > 0)]) {
        const found = fieldConditions(feature, feature.count(inside, sample));
        const counted = found.map(({ op, code, events, failed }) => ({ op, code, events, failed }));
        const kept = found.map(({ op, code }) => ({
          op,
          code,
          ...countRows(new FieldTest(feature, op, code).filter(inside), table.failures),
        }));
        expect(counted).toEqual(kept);
        if (inside === sample.rows) expect(counted.length).toBeGreaterThanOrEqual(least);
      }
    }
  });

  /** The conditions on `v` among the events from one on, with what they cost more than `v = value` does. */
  const conditionsOf = (members: readonly unknown[], failed: readonly number[], from = 0) => {
    const table = tableOf(
      members.length,
      (index) => failed.includes(index),
      (index) => ({ v: members[index] }),
    );
    const sample = new Sample(table);
    const feature = new Feature(table, table.fields[0] as Field, sample.rows, 0);
    const found = fieldConditions(feature, feature.count(sample.rows.subarray(from), sample));
    return found.map(({ op, code, events, failed, cost }) => {
      const price = Number((cost - feature.handicap).toFixed(2));
      return `${textOf(new FieldTest(feature, op, code))}: ${failed} of ${events}${price ? `, ${price}` : ''}`;
    });
  };
  const times = (count: number, value: unknown) => Array<unknown>(count).fill(value);
  const list = (...members: unknown[][]) => members.flat();

  test.each<[string, unknown[], number[], string[]]>([
    [
      'two values, each of which is that it is not the other',
      list(times(4, 'a'), times(4, 'b')),
      [0, 1, 4, 5, 6],
      ['v = "a": 2 of 4', 'v = "b": 3 of 4'],
    ],
    [
      'three values, and all but each',
      list(times(4, 'a'), times(3, 'b'), times(2, 'c')),
      [0, 1, 4, 5, 7, 8],
      [
        'v = "a": 2 of 4',
        'v != "a": 4 of 5, 2',
        'v = "b": 2 of 3',
        'v != "b": 4 of 6, 2',
        'v != "c": 4 of 7, 2',
      ],
    ],
    [
      'one of which one event failed',
      list(times(4, 'a'), times(4, 'b'), times(4, 'c')),
      [0, 4, 5],
      ['v != "a": 2 of 8, 2', 'v = "b": 2 of 4', 'v != "c": 3 of 8, 2'],
    ],
    [
      'a value or none',
      list(times(4, 'a'), times(4, undefined)),
      [0, 1, 4, 5, 6],
      ['v missing: 3 of 4, 0.2', 'v exists: 2 of 4, 0.2', 'v = "a": 2 of 4'],
    ],
    [
      'limits between texts of numbers that differ',
      list(times(3, '1'), times(3, '1.0'), times(3, '20')),
      [0, 1, 3, 4, 6, 7],
      [
        ...['v = "1": 2 of 3', 'v != "1": 4 of 6, 2', 'v = "1.0": 2 of 3', 'v != "1.0": 4 of 6, 2'],
        ...['v = "20": 2 of 3', 'v != "20": 4 of 6, 2', 'v <= 1.0: 4 of 6, 2', 'v >= 20: 2 of 3, 2'],
      ],
    ],
    [
      'a time, and not that it is another one',
      list(...['01', '02', '03'].map((day) => times(3, `2026-11-${day}T00:00:00Z`))),
      [0, 1, 3, 4, 6, 7],
      ['01', '02', '03'].map((day) => `v = "2026-11-${day}T00:00:00Z": 2 of 3`),
    ],
  ])('are those that may tell something: %s', (_, members, failed, expected) =>
    expect(conditionsOf(members, failed)).toEqual(expected),
  );

  test('are limits with three events of which two failed, on either side', () => {
    const found = conditionsOf(list([1, 2, 3], times(3, 4), [5, 6, 7]), [0, 1, 7, 8]);
    expect(found.filter((text) => !text.startsWith('v !='))).toEqual([
      ...['v >= 2: 3 of 8, 2', 'v >= 3: 2 of 7, 2', 'v <= 3: 2 of 3, 2', 'v >= 4: 2 of 6, 2'],
      ...['v <= 4: 2 of 6, 2', 'v >= 5: 2 of 3, 2', 'v <= 5: 2 of 7, 2', 'v <= 6: 3 of 8, 2'],
    ]);
  });

  test('are about no value that only other events have', () => {
    const members = list(['z', 'z', 'z'], times(3, 'a'), times(3, 'b'), times(3, 'c'));
    expect(conditionsOf(members, [0, 1, 3, 4, 6], 3)).toEqual([
      ...['v = "a": 2 of 3', 'v != "b": 2 of 6, 2', 'v != "c": 3 of 6, 2'],
    ]);
    expect(conditionsOf(list([5, 5, 5], times(3, 1), times(3, 9)), [0, 1, 3, 4, 6, 7], 3)).toEqual([
      ...['v = 1: 2 of 3', 'v = 9: 2 of 3', 'v <= 1: 2 of 3, 2', 'v >= 9: 2 of 3, 2'],
    ]);
  });
});
