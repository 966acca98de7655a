import { describe, expect, test } from 'vitest';
import { fieldCondition } from '../../src/explain/cause-conditions.ts';
import { CauseSearch } from '../../src/explain/cause-search.ts';
import { Feature } from '../../src/explain/feature.ts';
import { FieldTest, limitOf, type RowTest, SpanTest } from '../../src/explain/row-tests.ts';
import { parseCondition } from '../../src/items/item-conditions.ts';
import { itemFilter } from '../../src/items/item-filter.ts';
import { Items } from '../../src/items/items.ts';
import { ComparisonTable } from '../../src/outcomes/comparison-table.ts';
import type { Field } from '../../src/outcomes/field-column.ts';
import { tableOf, textOf } from './made-tables.ts';

describe('a limit', () => {
  const limitsBetween = (low: string, high: string) => {
    const table = new ComparisonTable();
    table.add(Items.of([low, high].map((value) => Buffer.from(`{"v":${value}}`))));
    table.finish();
    const [field] = table.fields;
    const feature = new Feature(table, field as NonNullable<typeof field>, Int32Array.of(0, 1), 0);
    const [below, above] = feature.order as [number, number];
    const of = (op: '<=' | '>=', code: number) =>
      Object.values(limitOf(new FieldTest(feature, op, code))).join(' ');
    return [of('<=', below), of('>=', above)];
  };

  test.each([
    ['1', '2', '<= 1', '>= 2'],
    ['1.234', '5.678', '< 5', '>= 5'],
    ['149.99', '150.37', '< 150', '>= 150'],
    ['0.12', '0.13', '<= 0.12', '>= 0.13'],
    ['0.1234', '0.1291', '< 0.129', '>= 0.129'],
    ['-3.75', '-1.5', '< -2', '>= -2'],
    ['-0.5', '0.25', '< 0', '>= 0'],
    ['8765', '12345', '<= 8765', '>= 10000'],
    ['15', '99', '<= 15', '>= 90'],
    ['1', '1234567890123456', '<= 1', '>= 1000000000000000'],
    ['478899999999999999', '480123456789012345', '<= 478899999999999999', '>= 480000000000000000'],
    ['1', '9.9999999999999999999', '<= 1', '>= 9.9999999999999999999'],
    ['999', '2345', '<= 999', '>= 2000'],
    ['1e3', '1500', '<= 1000', '>= 1500'],
    ['1', '1e15', '<= 1', '>= 1000000000000000'],
    ['-1e15', '7', '< 0', '>= 0'],
    ['9007199254740992', '9007199254740993', '<= 9007199254740992', '>= 9007199254740993'],
    ['9007199254740993', '9007199254740992', '<= 9007199254740992', '>= 9007199254740993'],
    ['9007199254740990000', '9007199254740995050', '<= 9007199254740990000', '>= 9007199254740995050'],
    ['2', '1e400', '<= 2', '>= 1e400'],
    ['1e-15', '2.3e-15', '<= 1e-15', '>= 2e-15'],
    ['"1.2"', '"1.50"', '<= 1.2', '>= 1.5'],
  ])('between %s and %s is the roundest number there is: %s, %s', (low, high, under, over) =>
    expect(limitsBetween(low, high)).toEqual([under, over]),
  );
});

describe('a condition', () => {
  const conditionsOn = (feature: Feature) => {
    const last = feature.order.length - 1;
    return [
      ...[...feature.events.keys()]
        .filter((code) => (feature.field.numbers ? code === 0 : code !== 1))
        .flatMap((code) => [new FieldTest(feature, '=', code), new FieldTest(feature, '!=', code)]),
      ...feature.order.slice(0, last).map((code) => new FieldTest(feature, '<=', code)),
      ...feature.order.slice(1).map((code) => new FieldTest(feature, '>=', code)),
    ];
  };
  const rows = Int32Array.from({ length: 60 }, (_, row) => row);
  const whereOf = (test: RowTest) =>
    textOf(test).replace(/^v (missing|exists)$/, (_, is) => (is === 'exists' ? 'v' : '!v'));

  test.each([
    [[3, 1, 2.25, 7, 5.5, 10, -4, 0.125]],
    [['3', '20', '1.5', '8']],
    [[3, 'x', null, undefined, true, 17]],
  ])('of %j keeps the events that --where keeps by its text', (values: unknown[]) => {
    const events = Array.from({ length: 60 }, (_, i) => ({ v: values[i % values.length] }));
    const table = tableOf(
      60,
      (i) => i % 5 === 0,
      (i) => events[i] as object,
    );
    const [feature] = new CauseSearch(table).features as [Feature];
    for (const test of conditionsOn(feature)) {
      const text = whereOf(test);
      const keep = itemFilter([parseCondition(text, '--where', 0)], []);
      const kept = events.map((event) => keep(Items.of([Buffer.from(JSON.stringify(event))])).count);
      expect([text, ...test.filter(rows)]).toEqual([text, ...rows.filter((row) => kept[row] === 1)]);
    }
  });

  const number = (index: number) => (index * 7919) % 997;
  /** All of a few conditions, or so many of them. */
  const spread = (tests: FieldTest[]) => tests.filter((_, at) => at % Math.ceil(tests.length / 24) === 0);
  test.each<[string, number, (index: number) => unknown]>([
    ['a list of texts', 60, (i) => [['a', 'b'], ['b'], [], undefined, ['c', null], [null], ['a']][i % 7]],
    ['a list of numbers', 60, (i) => [[3, 9], [5], [], undefined, [7, null], ['x', 1]][i % 6]],
    [
      'a member of the elements of a list',
      60,
      (i) => [[{ x: 1 }, { x: 2 }], [{}], [{ x: null }, { y: 1 }], [], [{ x: 2 }], 'none'][i % 6],
    ],
    [
      'more numbers in a list than there are codes',
      300,
      (i) => [{ x: number(i) }, { x: 2 * number(i) + 0.5 }],
    ],
  ])('on %s keeps the events that --where keeps by its text', (_, count, member) => {
    const events = Array.from({ length: count }, (_, index) => ({ v: member(index) }));
    const table = tableOf(
      count,
      () => false,
      (index) => events[index] as object,
    );
    const all = Int32Array.from(events.keys());
    const items = events.map((event) => Items.of([Buffer.from(JSON.stringify(event))]));
    const features = new CauseSearch(table).features.filter(({ field }) => field.cellRows);
    expect(features.length).toBeGreaterThan(0);
    for (const feature of features) {
      for (const test of spread(conditionsOn(feature))) {
        const { text } = fieldCondition(test);
        const keep = itemFilter([parseCondition(text, '--where', 0)], []);
        expect([text, ...test.filter(all)]).toEqual([
          text,
          ...all.filter((row) => keep(items[row] as Items).count === 1),
        ]);
      }
    }
  });

  test('of more numbers than there are codes does so too, also for events outside the sample', () => {
    const events = Array.from({ length: 3000 }, (_, i) => ({
      v: i % 50 === 7 ? null : ((i * 7919) % 3000) / 8,
    }));
    const all = Int32Array.from(events.keys());
    const none = () => false;
    const table = tableOf(3000, none, (i) => events[i] as object);
    const sample = all.filter((row) => row % 3 === 0);
    const feature = new Feature(table, table.fields[0] as Field, sample, 0);
    const items = Items.of(events.map((event) => Buffer.from(JSON.stringify(event))));
    const counts = conditionsOn(feature)
      .filter(({ code }) => code < 20)
      .map((test) => [whereOf(test), test.filter(all).length] as const);
    const kept = (text: string) => itemFilter([parseCondition(text, '--where', 0)], [])(items).count;
    expect(counts).toEqual(counts.map(([text]) => [text, kept(text)]));
    expect([...new Set(counts.map(([text]) => text.split(' ')[1]))]).toEqual([undefined, '<=', '<', '>=']);
  });

  test('of time keeps the events between two, and those of the same moment', () => {
    const minute = (i: number) => (i % 10 === 9 ? undefined : i >> 1);
    const { times } = tableOf(
      60,
      (i) => i % 5 === 0,
      () => ({}),
      minute,
    );
    const kept = (from?: number, to?: number) => [...new SpanTest(times, from, to).filter(rows)];
    const timed = [...rows].filter((row) => row % 10 !== 9);
    expect(kept()).toEqual(timed);
    expect(kept(21)).toEqual(timed.filter((row) => row >= 20));
    expect(kept(undefined, 40)).toEqual(timed.filter((row) => row <= 41));
    expect(kept(21, 40)).toEqual(timed.filter((row) => row >= 20 && row <= 41));
  });
});
