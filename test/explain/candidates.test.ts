import { describe, expect, test } from 'vitest';
import { CauseSearch } from '../../src/explain/cause-search.ts';
import type { ComparisonTable } from '../../src/outcomes/comparison-table.ts';
import { tableOf } from './made-tables.ts';

describe('the number of candidates', () => {
  const of = (table: ComparisonTable, ...features: (object | undefined)[]) => {
    const search = new CauseSearch(table);
    const ln = search.candidates.lnOf(
      features.map((feature) => ({ feature: feature && search.features[0] })),
    );
    return Math.round(Math.exp(ln) / 6);
  };
  const values =
    (...of: unknown[]) =>
    (index: number) => ({ v: of[index % of.length] });

  test.each<[string, number, ReturnType<typeof values>, number]>([
    ['two values', 40, values('a', 'b'), 2],
    ['three values, each or all but it', 60, values('a', 'b', 'c'), 6],
    ['a value or none', 40, values('a', undefined), 3],
    ['two values or none', 60, values('a', 'b', undefined), 6],
    ['values of two events, and of three', 40, (i) => ({ v: i < 2 ? 'a' : i < 5 ? 'b' : 'c' }), 4],
    ['three numbers and the limits between them', 60, values(1, 2, 3), 10],
    ['many numbers, as 64 limits', 400, (i) => ({ v: (i * 37) % 100 }), 328],
    ['one value, which is none', 40, values('a'), 1],
    ['one value beside a field of two', 40, (i) => ({ v: 'a', w: i % 2 ? 'a' : 'b' }), 2],
    ['what is always null beside a field of two', 40, (i) => ({ v: null, w: i % 2 ? 'a' : 'b' }), 2],
    ['numbers that texts repeat', 60, values(1, '1', 2, '2', 3, '3'), 10],
    ['more numbers than codes, one of them three times', 60, (i) => ({ v: i < 3 ? 7 : (i * 37) % 97 }), 112],
    ['two fields', 40, (i) => ({ v: i % 2 ? 'a' : 'b', w: i % 4 < 2 ? 'a' : 'b' }), 4],
    ['numbers that all but time tells', 1100, (i) => ({ v: (i * 37) % 1100 }), 128],
    ['a number that goes up with time', 60, (i) => ({ v: 100 + i }), 1],
  ])('of one condition: %s', (_, count, members, expected) =>
    expect(
      of(
        tableOf(count, (index) => index % 5 === 0, members),
        {},
      ),
    ).toBe(expected),
  );

  test("of a filter of the service alone is that of the filters' values", () => {
    const table = tableOf(
      60,
      (index) => index % 5 === 0,
      (index) => ({
        v: index % 2 ? 'a' : 'b',
        eventType: 'abc'[index % 3],
        subscriptionId: { eventType: index % 4 },
      }),
    );
    const { features } = new CauseSearch(table);
    const search = new CauseSearch(table);
    const candidates = (name: string) => {
      const feature = features.find(({ field }) => field.steps.join('.') === name);
      return Math.round(Math.exp(search.candidates.lnOf([{ feature }])) / 6);
    };
    expect(['eventType', 'v', 'subscriptionId.eventType'].map(candidates)).toEqual([6, 22, 22]);
    const two = features.filter(({ field }) => /^(v|eventType)$/.test(field.steps.join('.'))).reverse();
    expect(Math.round(Math.exp(search.candidates.lnOf(two.map((feature) => ({ feature })))) / 6)).toBe(231);
  });

  test('of several conditions and of spans is that of their choices', () => {
    const members = values('a', 'b', 'c');
    const at = (moments: number) =>
      tableOf(
        600,
        (index) => index % 5 === 0,
        members,
        (index) => index % moments,
      );
    const table = at(10);
    expect([of(table, {}, {}), of(table, {}, {}, {})]).toEqual([15, 20]);
    expect([of(table, undefined), of(table, {}, undefined)]).toEqual([55, 6 * 55]);
    expect([of(at(300), undefined), of(at(600), undefined)]).toEqual([45_150, 45_150]);
    const timeless = tableOf(
      60,
      (index) => index % 5 === 0,
      members,
      () => undefined,
    );
    expect(of(timeless, undefined)).toBe(1);
    const half = tableOf(
      60,
      (index) => index % 5 === 0,
      members,
      (index) => (index < 10 ? index : undefined),
    );
    expect(of(half, undefined)).toBe(55);
  });
});
