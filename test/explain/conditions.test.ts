import { describe, expect, test } from 'vitest';
import { CauseSearch } from '../../src/explain/cause-search.ts';
import {
  COST,
  type Feature,
  type FieldOp,
  FieldTest,
  isFilterField,
  limitOf,
  visitConditions,
} from '../../src/explain/conditions.ts';
import { allRows, RowMarks } from '../../src/explain/rows.ts';
import { NO_VALUE } from '../../src/sample/sample-field.ts';
import { featureAt, tableOf, textOf } from './made-tables.ts';

/** So many events, of which so many failed, with these members. */
type Group = readonly [events: number, failed: number, members: object];

/** Events at no known time, and the field at a path. */
function fieldIn(path: string, ...groups: readonly Group[]) {
  const events = groups.flatMap(([count, failed, members]) =>
    Array.from({ length: count }, (_, index) => ({ hasFailed: index < failed, members })),
  );
  const search = new CauseSearch(
    tableOf(
      events.length,
      (index) => events[index]?.hasFailed === true,
      (index) => events[index]?.members ?? {},
      () => undefined,
    ),
  );
  return { search, feature: featureAt(search, path) };
}

function visited({ search, feature }: ReturnType<typeof fieldIn>) {
  const found: { text: string; cost: number }[] = [];
  const all = search.countAll(feature);
  visitConditions(feature, all, (op, code, events, failed, cost) => {
    const test = new FieldTest(feature, op, code);
    // The count of a condition is that of the rows for which it holds.
    const rows = test.filter(allRows(feature.table.rows));
    const ofRows = rows.reduce((sum, row) => sum + (feature.table.failures[row] as number), 0);
    expect([rows.length, ofRows]).toEqual([events, failed]);
    found.push({
      text: `${textOf(test).replace(`${feature.field.path} `, '')}: ${failed} of ${events}`,
      cost,
    });
  });
  return found;
}
const conditionsOn = (path: string, ...groups: readonly Group[]) =>
  visited(fieldIn(path, ...groups)).map(({ text }) => text);

/** Events without the field, so that those with it are a small part. */
const many = (count: number): Group => [count, 0, { other: 1 }];

describe('the conditions on a field', () => {
  test('are its values, all but one of them, and whether it is there', () => {
    const groups: Group[] = [
      [3, 2, {}],
      [4, 3, { v: 'a' }],
      [5, 2, { v: 'b' }],
      [4, 0, { v: 'c' }],
    ];
    expect(conditionsOn('v', ...groups)).toEqual([
      'missing: 2 of 3',
      'exists: 5 of 13',
      '= "a": 3 of 4',
      '!= "a": 4 of 12',
      '= "b": 2 of 5',
      '!= "b": 5 of 11',
      '!= "c": 7 of 12',
    ]);
  });

  test('are of at least three events and two failures', () => {
    const groups: Group[] = [
      [2, 2, { v: 'a' }],
      [3, 1, { v: 'b' }],
      [3, 2, { v: 'c' }],
    ];
    expect(conditionsOn('v', ...groups)).toEqual([
      '!= "a": 3 of 6',
      '!= "b": 4 of 5',
      '= "c": 2 of 3',
      '!= "c": 3 of 5',
    ]);
  });

  test('of two states are the values alone', () => {
    expect(conditionsOn('v', [4, 2, { v: 'a' }], [4, 2, { v: 'b' }])).toEqual([
      '= "a": 2 of 4',
      '= "b": 2 of 4',
    ]);
    expect(conditionsOn('v', [4, 2, { v: 'a' }], [4, 2, {}])).toEqual([
      'missing: 2 of 4',
      'exists: 2 of 4',
      '= "a": 2 of 4',
    ]);
  });

  test('of null are those of a missing field', () => {
    const groups: Group[] = [
      [4, 2, { v: null }],
      [4, 3, { v: 'a' }],
    ];
    expect(conditionsOn('v', ...groups).slice(0, 2)).toEqual(['missing: 2 of 4', 'exists: 3 of 4']);
  });

  test('of times are no other values but one', () => {
    const times = ['2026-10-01T10:00:00Z', '2026-10-02T10:00:00Z', 'soon'];
    const on = (...values: string[]) => conditionsOn('v', ...values.map((v): Group => [3, 2, { v }]));
    expect(on(...times)).toEqual(times.map((time) => `= "${time}": 2 of 3`));
    expect(on('later', ...times.slice(0, 2)).filter((text) => text.startsWith('!='))).toHaveLength(3);
  });

  test('of numbers are limits too, from both sides', () => {
    const on = conditionsOn('v', ...[4, 10, 7].map((v): Group => [3, 2, { v }]));
    expect(on.filter((text) => /[<>]/.test(text))).toEqual([
      '<= 4: 2 of 3',
      '>= 7: 4 of 6',
      '<= 7: 4 of 6',
      '>= 10: 2 of 3',
    ]);
  });

  test('of a number in several spellings are no limits between them', () => {
    const on = conditionsOn('v', ...['4', '10', '10.0'].map((v): Group => [3, 2, { v }]));
    expect(on.filter((text) => /[<>]/.test(text))).toEqual(['<= 4: 2 of 3', '>= 10: 4 of 6']);
  });

  test('of numbers beside texts are limits between the numbers', () => {
    const on = conditionsOn('v', ...[4, 'x', 10].map((v): Group => [3, 2, { v }]));
    expect(on.filter((text) => /[<>]/.test(text))).toEqual(['<= 4: 2 of 3', '>= 10: 2 of 3']);
  });

  test('of numbers of which each event has another are limits alone', () => {
    const groups = Array.from({ length: 30 }, (_, index): Group => [1, index % 2, { v: (index * 7) % 30 }]);
    const on = conditionsOn('v', ...groups);
    expect(on.every((text) => /^[<>]=? /.test(text))).toBe(true);
    expect(on).toHaveLength(53);
  });

  test.each([
    ['dates', '2026-10-03', '2026-11-09'],
    ['numbers', '3', '12'],
  ])(
    'of %s beside very many texts, of which only frequent ones are compared, are no limits',
    (_, ...frequent) => {
      const groups = frequent.map((v): Group => [30, 15, { v }]);
      const others = Array.from({ length: 600 }, (_, at): Group => [1, at % 2, { v: `order ${at}` }]);
      const on = conditionsOn('v', ...groups, ...others);
      expect(on.filter((text) => text.startsWith('='))).toEqual(frequent.map((v) => `= "${v}": 15 of 30`));
      expect(on.filter((text) => /^[<>]/.test(text))).toEqual([]);
    },
  );

  test('of dates are limits too', () => {
    const on = (...dates: string[]) =>
      conditionsOn('v', ...dates.map((v): Group => [3, 2, { v }])).filter((text) => /[<>]/.test(text));
    expect(on('2026-11-09', '2026-10-03')).toEqual(['< "2026-11-01": 2 of 3', '>= "2026-11-01": 2 of 3']);
    // The same instant twice.
    expect(on('2026-10-03T12:00:00Z', '2026-10-03T14:00:00+02:00')).toEqual([]);
    expect(on('2026-10-03')).toEqual([]);
    expect(on('2026-10-03', 'soon')).toEqual([]);
  });

  test('of a derived value do not ask whether it is there', () => {
    const links = Array.from(
      { length: 8 },
      (_, index) => `https://${index % 2 === 0 ? 'a' : 'b'}.example/${index}`,
    );
    const groups = links.map((v): Group => [3, 2, { v }]);
    expect(conditionsOn('v:domain', ...groups, [6, 3, {}])).toEqual(
      ['a', 'b'].flatMap((name) => [`= "${name}.example": 8 of 12`, `!= "${name}.example": 11 of 18`]),
    );
  });

  test.each([0, 200])('of a list are those of any element, beside %i other events', (others) => {
    const groups: Group[] = [
      [4, 3, { v: [1, 5] }],
      [3, 2, { v: [5, 9, 5] }],
      [3, 2, { v: [9] }],
      [3, 3, { v: [] }],
    ];
    const [all, failed] = [13 + others, 10];
    expect(conditionsOn('v[]', ...groups, many(others))).toEqual([
      `missing: 3 of ${3 + others}`,
      'exists: 7 of 10',
      '= 1: 3 of 4',
      `!= 1: ${failed - 3} of ${all - 4}`,
      '= 5: 5 of 7',
      `!= 5: ${failed - 5} of ${all - 7}`,
      '= 9: 4 of 6',
      `!= 9: ${failed - 4} of ${all - 6}`,
      '<= 1: 3 of 4',
      '>= 5: 7 of 10',
      '<= 5: 5 of 7',
      '>= 9: 4 of 6',
    ]);
  });

  test.each([0, 200])('of null in a list hold also where no element is there, beside %i others', (others) => {
    const groups: Group[] = [
      [4, 3, { v: [{ x: 'a' }, {}] }],
      [3, 2, { v: [{ x: 'a' }] }],
      [3, 3, { v: [{ y: 1 }] }],
    ];
    expect(conditionsOn('v[].x', ...groups, many(others)).filter((text) => text.includes('null'))).toEqual([
      `= null: 6 of ${7 + others}`,
      '!= null: 2 of 3',
    ]);
  });

  test('of a field that few events have are the same', () => {
    const groups: Group[] = [
      [4, 3, { v: 'a' }],
      [5, 2, { v: 'b' }],
      [4, 0, { v: 'c' }],
    ];
    expect(conditionsOn('v', ...groups, many(200))).toEqual([
      'exists: 5 of 13',
      '= "a": 3 of 4',
      '!= "a": 2 of 209',
      '= "b": 2 of 5',
      '!= "b": 3 of 208',
      '!= "c": 5 of 209',
    ]);
    const limits = [4, 10, 7].map((v): Group => [3, 2, { v }]);
    expect(conditionsOn('v', ...limits, many(200)).filter((text) => /[<>]/.test(text))).toEqual([
      '<= 4: 2 of 3',
      '>= 7: 4 of 6',
      '<= 7: 4 of 6',
      '>= 10: 2 of 3',
    ]);
  });

  test.each([0, 200])('are counted again among some of the events, beside %i others', (others) => {
    const GROUPS: Group[] = [
      [4, 3, { v: 'a', n: [1, 4] }],
      [4, 2, { v: 'b', n: [4, 9] }],
      [4, 4, { v: 'c', n: [9] }],
    ];
    const on = (path: string, rows?: Int32Array) => {
      const { feature, search } = fieldIn(path, ...GROUPS, many(others));
      const texts: string[] = [];
      const marks = new RowMarks(feature.table.rows);
      const all = search.countAll(feature);
      visitConditions(feature, rows ? feature.count(rows, marks) : all, (op, code, events, failed) =>
        texts.push(
          `${textOf(new FieldTest(feature, op, code)).replace(`${path} `, '')}: ${failed} of ${events}`,
        ),
      );
      return texts;
    };
    const some = Int32Array.of(0, 1, 2, 4, 5, 6);
    expect(on('v', some)).toEqual(['= "a": 3 of 3', '= "b": 2 of 3']);
    expect(on('n[]', some)).toEqual([
      '= 1: 3 of 3',
      '!= 1: 2 of 3',
      '= 4: 5 of 6',
      '= 9: 2 of 3',
      '!= 9: 3 of 3',
      '<= 1: 3 of 3',
      '>= 4: 5 of 6',
      '<= 4: 5 of 6',
      '>= 9: 2 of 3',
    ]);
    expect(on('n[]').filter((text) => text.startsWith('<='))).toEqual(['<= 1: 3 of 4', '<= 4: 5 of 8']);
    const { feature, search } = fieldIn('v', ...GROUPS, many(others));
    expect(search.countAll(feature)).toEqual({ events: 12 + others, failed: 9 });
    const found = new FieldTest(feature, '=', feature.field.texts.indexOf('"b"')).filter(
      Int32Array.of(1, 5, 6),
    );
    expect([...found]).toEqual([5, 6]);
  });

  test.each([0, 200])('of numbers in a list hold in any order, beside texts and %i others', (others) => {
    const groups: Group[] = [
      [3, 2, { v: [5, 'x', 1] }],
      [3, 2, { v: ['y', 9] }],
      [3, 2, { v: ['z'] }],
      [3, 2, { v: ['9.0', 5] }],
    ];
    expect(conditionsOn('v[]', ...groups, many(others)).filter((text) => /[<>]/.test(text))).toEqual([
      '<= 1: 2 of 3',
      '>= 5: 6 of 9',
      '<= 5: 4 of 6',
      '>= 9: 4 of 6',
    ]);
  });

  test('cost more for another form than a value, and for a worse name', () => {
    const found = visited(fieldIn('v', [3, 2, {}], ...['4', '5', '6'].map((v): Group => [3, 2, { v }])));
    const costOf = (start: string) => found.find(({ text }) => text.startsWith(start))?.cost ?? Number.NaN;
    const base = costOf('= "4"') - COST.fewValues;
    expect(base).toBeCloseTo(COST.step, 4);
    expect(costOf('missing')).toBeCloseTo(base + COST.presence, 9);
    expect(costOf('exists')).toBeCloseTo(base + COST.presence, 9);
    expect(costOf('!= "4"')).toBeCloseTo(base + COST.fewValues + COST.form, 9);
    expect(costOf('<=')).toBeCloseTo(base + COST.fewValues + COST.form, 9);
    expect(costOf('>=')).toBeCloseTo(base + COST.fewValues + COST.form, 9);
  });
});

describe('the cost of a name', () => {
  const featureOf = (path: string, valueAt: (index: number) => unknown, count = 60): Feature => {
    const [first = '', second] = path.split('.');
    const groups = Array.from({ length: count }, (_, index): Group => {
      const value = valueAt(index);
      return [1, index % 2, { [first]: second === undefined ? value : { [second]: value } }];
    });
    return fieldIn(path, ...groups).feature;
  };
  const pad = (index: number) => String(index % 25).padStart(2, '0');

  test.each<[string, string, (index: number) => unknown, keyof typeof COST]>([
    ['few values', 'v', (at) => 'abc'[at % 3], 'fewValues'],
    ['20 values', 'v', (at) => `w${at % 20}`, 'fewValues'],
    ['21 values', 'v', (at) => `w${at % 21}`, 'texts'],
    ['numbers', 'v', (at) => at % 25, 'numbers'],
    ['negative numbers', 'v', (at) => -1 - (at % 25), 'numbers'],
    ['texts of digits', 'v', (at) => `${at % 25} boxes`, 'numbers'],
    ['digits inside texts', 'v', (at) => `box ${at % 25}`, 'texts'],
    ['numbers that all differ', 'v', (at) => at * 7, 'numbers'],
    ['times', 'v', (at) => `2026-10-03T10:00:${pad(at)}Z`, 'times'],
    ['GUIDs', 'v', (at) => `0f8fad5b-d9cb-469f-a165-708677289${pad(at)}0`, 'ids'],
    ['an id by its name', 'customerId', (at) => at % 3, 'ids'],
    ['ids by their name', 'customer_ids', (at) => at % 3, 'ids'],
    ['a name that begins so', 'idle', (at) => at % 3, 'fewValues'],
    ['another name', 'paid', (at) => at % 3, 'fewValues'],
  ])('of %s', (_, path, valueAt, kind) => {
    const { cost, costOfPresence } = featureOf(path, valueAt);
    expect(cost).toBeCloseTo(COST[kind] + COST.step, 4);
    expect(costOfPresence).toBeCloseTo(COST.presence + COST.step, 4);
  });

  test('of a longer path is higher, and of a later one', () => {
    const cost = (path: string) => featureOf(path, (at) => 'abc'[at % 3]).cost;
    expect(cost('outer.v') - cost('v')).toBeGreaterThan(COST.step / 2);
    const { search } = fieldIn('a', [3, 2, { a: 'x', b: 'x' }], [3, 2, { a: 'y', b: 'y' }]);
    const [a, b] = search.features;
    expect((b?.cost ?? 0) - (a?.cost ?? 0)).toBeCloseTo(COST.place, 12);
  });

  test('of a filter of the service is none', () => {
    const filter = featureOf('eventType', (at) => 'abc'[at % 3]);
    expect([filter.isFilter, filter.cost, filter.costOfPresence]).toEqual([true, 0, 0]);
    expect(featureOf('data.eventType', (at) => 'abc'[at % 3]).isFilter).toBe(false);
    expect(featureOf('eventType.data', (at) => 'abc'[at % 3]).isFilter).toBe(false);
    expect(featureOf('eventId', (at) => 'abc'[at % 3]).isFilter).toBe(false);
    const { field } = featureOf('subscriptionId', (at) => 'abc'[at % 3]);
    expect(isFilterField(field)).toBe(true);
    expect(isFilterField({ steps: field.steps, derivation: 'length' } as typeof field)).toBe(false);
  });

  test('of a derived value is between those of texts and of times', () => {
    const links = (at: number) => `https://${'ab'[at % 2]}.example/${at % 25}`;
    const groups = Array.from({ length: 60 }, (_, at): Group => [1, at % 2, { v: links(at) }]);
    expect(fieldIn('v:domain', ...groups).feature.cost).toBeCloseTo(COST.derived + COST.step, 4);
  });
});

test.each<[string, string, (index: number) => object, number]>([
  ['none if they go with time', 'v', (at) => ({ v: at }), 0],
  ['those in no order', 'v', (at) => ({ v: (at * 37) % 100 }), 100],
  ['none if those in a list go with time', 'v[]', (at) => ({ v: [at, at] }), 0],
  ['those in a list in no order', 'v[]', (at) => ({ v: [(at * 37) % 100] }), 100],
  ['none if the few go with time', 'v', (at) => (at < 24 ? { v: at } : {}), 0],
])('numbers have an order: %s', (_, path, members, length) => {
  const search = new CauseSearch(tableOf(100, (index) => index % 3 === 0, members));
  expect(featureAt(search, path).order).toHaveLength(length);
});

test('a field is always there if each event has it, even as null, and it is in no list', () => {
  const isThere = (path: string, ...members: object[]) =>
    fieldIn(path, ...members.map((one): Group => [2, 1, one])).feature.isAlwaysThere;
  expect(isThere('v', { v: 1 }, { v: null })).toBe(true);
  expect(isThere('v', { v: 1 }, {})).toBe(false);
  expect(isThere('v[]', { v: [1] }, { v: [2] })).toBe(false);
});

describe('a limit', () => {
  const limit = (low: unknown, high: unknown, op: FieldOp) => {
    const { feature } = fieldIn('v', [3, 2, { v: low }], [3, 2, { v: high }]);
    const [first, second] = feature.order;
    const found = limitOf(new FieldTest(feature, op, (op === '>=' ? second : first) as number));
    return `${found.op} ${found.json}`;
  };

  test.each<[unknown, unknown, string, string]>([
    [3, 12, '>= 10', '<= 3'],
    [12, 19, '>= 19', '<= 12'],
    [12, 20, '>= 20', '<= 12'],
    [117, 1_234, '>= 1000', '<= 117'],
    [12.375, 105, '>= 100', '< 100'],
    [12.37, 1_050, '>= 1000', '< 1000'],
    [12.3, 1_050, '>= 1000', '<= 12.3'],
    [0.123, 0.456, '>= 0.4', '< 0.4'],
    [0.123, 0.1239, '>= 0.1239', '<= 0.123'],
    [-20, -3, '>= -10', '<= -20'],
    [-5, 5, '>= 0', '< 0'],
    [9.75, 10, '>= 10', '<= 9.75'],
    ['1.0', '2', '>= 2', '<= 1.0'],
    ['9', '10.0', '>= 10', '<= 9'],
    // As a double, the upper one is 0.3 and would be beyond itself.
    ['0.2999', '0.29999999999999999', '>= 0.29999999999999999', '<= 0.2999'],
    // No double is exactly 123456789012345700000.
    [
      '123456789012345600000',
      '123456789012345712345',
      '>= 123456789012345712345',
      '<= 123456789012345600000',
    ],
    ['3', '12', '>= 10', '<= 3'],
    [1_000_000_000_000_001, 1_000_000_000_000_234, '>= 1000000000000200', '<= 1000000000000001'],
    [99_999_999_999, 1_000_000_000_000_000_000, '>= 1000000000000000000', '<= 99999999999'],
    ['3', '1e999', '>= 1e999', '<= 3'],
    ['2026-10-03', '2026-11-09', '>= "2026-11-01"', '< "2026-11-01"'],
    ['2026-10-03T08:00:00Z', '2026-10-03T10:30:00Z', '>= "2026-10-03T10:00:00Z"', '< "2026-10-03T10:00:00Z"'],
  ])('between %j and %j is the roundest: %s, or %s', (low, high, from, to) => {
    expect([limit(low, high, '>='), limit(low, high, '<=')]).toEqual([from, to]);
  });

  test('of sizes counts a failed event as large as a delivered one', () => {
    const note = (length: number) => ({ note: 'x'.repeat(length) });
    const { feature } = fieldIn('item:size', [6, 6, note(400)], [6, 0, note(10)]);
    const [small, large] = feature.order.map((code) => Number(feature.field.texts[code]));
    expect(feature.table.bytesAddedBySuccess).toBe(1);
    const of = (op: FieldOp, place: number) =>
      limitOf(new FieldTest(feature, op, feature.order[place] as number));
    expect(of('>=', 1)).toEqual({ op: '>=', json: '600' });
    // Of delivered events, which are a byte larger.
    expect(of('<=', 0)).toEqual({ op: '<=', json: String((small as number) + 1) });
    expect(large).toBeGreaterThan(600);
  });

  test('of sizes a byte apart is the smaller one', () => {
    const groups = [10, 11, 400].map((length): Group => [6, 3, { note: 'x'.repeat(length) }]);
    const { feature } = fieldIn('item:size', ...groups);
    const [small, large] = feature.order;
    const sizeOf = (code: number | undefined) => Number(feature.field.texts[code as number]);
    expect(sizeOf(large)).toBe(sizeOf(small) + 1);
    const limit = limitOf(new FieldTest(feature, '<=', small as number));
    expect(limit).toEqual({ op: '<=', json: feature.field.texts[small as number] });
  });
});

describe('the events of a condition', () => {
  const GROUPS: Group[] = [
    [1, 1, { v: [1, null] }],
    [1, 0, { v: [5] }],
    [1, 1, { v: [1, 5] }],
    [1, 0, { v: [] }],
    [1, 1, {}],
    [1, 0, { v: ['x'] }],
  ];

  test.each<[FieldOp, string | undefined, number[]]>([
    ['=', '1', [0, 2]],
    ['!=', '1', [1, 3, 4, 5]],
    ['>=', '5', [1, 2]],
    ['<=', '1', [0, 2]],
    ['=', undefined, [3, 4]],
    ['!=', undefined, [0, 1, 2, 5]],
    ['=', 'null', [0, 3, 4]],
    ['!=', 'null', [1, 2, 5]],
  ])('v[] %s %s, in a list, are those of which any element fulfils it', (op, json, expected) => {
    for (const others of [0, 60]) {
      const { feature } = fieldIn('v[]', ...GROUPS, many(others));
      const code = json === undefined ? NO_VALUE : feature.field.texts.lastIndexOf(json);
      const found = new FieldTest(feature, op, code).filter(allRows(6));
      expect([...found]).toEqual(expected);
    }
  });

  test('accept a value or not', () => {
    const { feature } = fieldIn('v', ...[4, 10, 'x'].map((v): Group => [3, 2, { v }]));
    const [four, ten, text] = ['4', '10', '"x"'].map((json) => feature.field.texts.indexOf(json));
    const accepted = (op: FieldOp, code = ten) =>
      [four, ten, text, NO_VALUE].map((other) =>
        new FieldTest(feature, op, code as number).accepts(other as number),
      );
    expect(accepted('=')).toEqual([false, true, false, false]);
    expect(accepted('!=')).toEqual([true, false, true, true]);
    expect(accepted('>=')).toEqual([false, true, false, false]);
    expect(accepted('<=')).toEqual([true, true, false, false]);
    expect(accepted('<=', four)).toEqual([true, false, false, false]);
  });
});
