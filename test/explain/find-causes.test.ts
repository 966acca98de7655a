import { describe, expect, test } from 'vitest';
import {
  CauseSearch,
  countRows,
  differenceOf,
  Feature,
  FieldTest,
  isCause,
  limitOf,
  lnChance,
  SpanTest,
  type Test,
  without,
} from '../../src/explain/find-causes.ts';
import { itemFilter, parseCondition } from '../../src/items/item-conditions.ts';
import { Items } from '../../src/items/items.ts';
import { ComparisonTable, type Field } from '../../src/outcomes/comparison-table.ts';

/**
 * The probability by whole numbers: ways to draw at least as many failed events, of all ways to draw so many.
 */
function lnExactChance(failed: number, events: number, allFailed: number, all: number): number {
  const choose = (of: number, some: number): bigint => {
    let ways = 1n;
    for (let index = 0; index < some; index++) ways = (ways * BigInt(of - index)) / BigInt(index + 1);
    return some < 0 || some > of ? 0n : ways;
  };
  let ways = 0n;
  for (let count = failed; count <= Math.min(events, allFailed); count++)
    ways += choose(allFailed, count) * choose(all - allFailed, events - count);
  return Math.log(Number((ways * 10n ** 60n) / choose(all, events))) - 60 * Math.LN10;
}

describe('the probability of a cause by chance', () => {
  const chance = (failed: number, events: number, allFailed: number, all: number) =>
    lnChance({ events, failed }, { events: all, failed: allFailed });

  test("is that of Fisher's exact test, for every table of up to 9 events", () => {
    for (let all = 0; all <= 9; all++)
      for (let allFailed = 0; allFailed <= all; allFailed++)
        for (let events = 0; events <= all; events++)
          for (
            let failed = Math.max(0, events + allFailed - all);
            failed <= Math.min(events, allFailed);
            failed++
          )
            expect([failed, events, allFailed, all, chance(failed, events, allFailed, all)]).toEqual([
              failed,
              events,
              allFailed,
              all,
              expect.closeTo(lnExactChance(failed, events, allFailed, all), 9),
            ]);
  });

  test.each([
    [3, 5, 20, 60],
    [12, 20, 24, 100],
    [30, 30, 40, 100],
    [25, 80, 40, 200],
    [1, 150, 1, 200],
  ])('is also that of many: %i of %i failed, %i of %i in all', (failed, events, allFailed, all) =>
    expect(chance(failed, events, allFailed, all)).toBeCloseTo(
      lnExactChance(failed, events, allFailed, all),
      9,
    ),
  );

  test('and a difference of ten points make a cause', () => {
    const cause = (failed: number, events: number, allFailed: number, all: number) =>
      isCause({ events, failed }, { events: all, failed: allFailed });
    expect([cause(5, 5, 6, 20), cause(2, 2, 6, 20), cause(100, 1000, 100, 2000)]).toEqual([
      true,
      false,
      true,
    ]);
    // A little less than ten points, and more than a chance of one in a hundred.
    expect([cause(99, 1000, 99, 2000), cause(3, 6, 3, 9)]).toEqual([false, false]);
    expect(differenceOf({ events: 4, failed: 3 }, { events: 12, failed: 5 })).toBe(0.5);
    expect(differenceOf({ events: 4, failed: 2 }, { events: 8, failed: 3 }, 3)).toBe(1 / 4 - 1 / 10);
    expect(differenceOf({ events: 8, failed: 2 }, { events: 8, failed: 2 })).toBe(0.25);
    expect(without({ events: 12, failed: 5 }, { events: 4, failed: 3 })).toEqual({ events: 8, failed: 2 });
    expect(countRows(Int32Array.of(0, 2, 3), Uint8Array.of(1, 1, 0, 1))).toEqual({ events: 3, failed: 2 });
  });
});

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
    ['1', '1234567890123456', '<= 1', '>= 1234567890123456'],
    ['1', '9.9999999999999999999', '<= 1', '>= 9.9999999999999999999'],
    ['999', '2345', '<= 999', '>= 2000'],
    ['1e3', '1500', '<= 1000', '>= 1500'],
    ['1', '1e15', '<= 1', '>= 1000000000000000'],
    ['-1e15', '7', '<= -1000000000000000', '>= 7'],
    ['9007199254740992', '9007199254740993', '<= 9007199254740992', '>= 9007199254740993'],
    ['9007199254740993', '9007199254740992', '<= 9007199254740992', '>= 9007199254740993'],
    ['1e-15', '2.3e-15', '<= 1e-15', '>= 2e-15'],
    ['"1.2"', '"1.50"', '<= 1.2', '>= 1.5'],
  ])('between %s and %s is the roundest number there is: %s, %s', (low, high, under, over) =>
    expect(limitsBetween(low, high)).toEqual([under, over]),
  );
});

/**
 * Events one a minute, of which `members` tells the fields; without `times`, they are in the order of their
 * places.
 */
const tableOf = (
  count: number,
  failed: (index: number) => boolean,
  members: (index: number) => object,
  minute: (index: number) => number | undefined = (index) => index,
) => {
  const table = new ComparisonTable();
  const events = Array.from({ length: count }, (_, index) => {
    const at = minute(index);
    return JSON.stringify({
      ...(at === undefined ? {} : { createdOn: new Date(1.79e12 + at * 60_000).toISOString() }),
      publishStatus: failed(index) ? 'FAILED' : 'SUCCESS',
      ...members(index),
    });
  });
  table.add(Items.of(events.map((text) => Buffer.from(text))));
  table.finish();
  return table;
};

const textOf = (test: Test): string => {
  if (test instanceof SpanTest) return `rows ${test.from ?? ''}..${test.to ?? ''}`;
  const path = test.feature.field.steps.join('.');
  if (test.code === 0) return `${path} ${test.op === '=' ? 'missing' : 'exists'}`;
  const { op, json } =
    test.op === '=' || test.op === '!='
      ? { op: test.op, json: test.feature.textOf(test.code) }
      : limitOf(test);
  return `${path} ${op} ${json}`;
};

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
  const whereOf = (test: Test) =>
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

describe('the number of candidates', () => {
  const of = (table: ComparisonTable, ...features: (object | undefined)[]) => {
    const search = new CauseSearch(table);
    const ln = search.lnCandidates(features.map((feature) => ({ feature: feature && search.features[0] })));
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
      return Math.round(Math.exp(search.lnCandidates([{ feature }])) / 6);
    };
    expect(['eventType', 'v', 'subscriptionId.eventType'].map(candidates)).toEqual([6, 22, 22]);
    const two = features.filter(({ field }) => /^(v|eventType)$/.test(field.steps.join('.'))).reverse();
    expect(Math.round(Math.exp(search.lnCandidates(two.map((feature) => ({ feature })))) / 6)).toBe(231);
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

describe('the best explanation', () => {
  const bestOf = (table: ComparisonTable) => {
    const search = new CauseSearch(table);
    return search.best(search.features)?.map(textOf).sort().join(' and ');
  };
  /** Numbers without order, the same in each run. */
  const mixed = (index: number, of: number) => Math.floor(((index * 0.618_033_988_75) % 1) * of);
  const other = (index: number, of: number) => Math.floor(((index * 0.414_213_562_37) % 1) * of);
  const third = (index: number, of: number) => Math.floor(((index * 0.732_050_807_57) % 1) * of);
  const noise = (index: number) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`n${n}`, 'abcd'[mixed(index * (n + 2), 4)]]));
  const timeless = () => undefined;
  type Member = (index: number) => unknown;

  test.each<[string, Member, (index: number) => boolean]>([
    ['v = "b"', (i) => 'abcd'[mixed(i, 4)], (i) => mixed(i, 4) === 1],
    ['v != "b"', (i) => 'abcd'[mixed(i, 4)], (i) => mixed(i, 4) !== 1],
    ['v = "b"', (i) => 'ab'[mixed(i, 2)], (i) => mixed(i, 2) === 1],
    ['v missing', (i) => (mixed(i, 3) === 1 ? undefined : 'abc'[other(i, 3)]), (i) => mixed(i, 3) === 1],
    ['v exists', (i) => (mixed(i, 3) === 1 ? 'abc'[other(i, 3)] : undefined), (i) => mixed(i, 3) === 1],
    ['v >= 30', (i) => mixed(i, 40), (i) => mixed(i, 40) >= 30],
    ['v <= 9', (i) => mixed(i, 40), (i) => mixed(i, 40) < 10],
    // Other values are delivered too: what fails is these, and not all but one, nor those from one on.
    ['v = "e"', (i) => 'abcdefgh'[mixed(i, 8)], (i) => [0, 1, 3, 4, 6].includes(mixed(i, 8))],
    ['v = 4', (i) => mixed(i, 8), (i) => [3, 4, 6].includes(mixed(i, 8))],
    ['v >= 1200', (i) => mixed(i, 40) * 1.5 + 1155.5, (i) => mixed(i, 40) >= 30],
    ['v >= 30', (i) => `${mixed(i, 40)}`, (i) => mixed(i, 40) >= 30],
    ['v <= 9', (i) => (i % 7 ? mixed(i, 40) : 'none'), (i) => i % 7 !== 0 && mixed(i, 40) < 10],
    [
      'v.x exists',
      (i) => (mixed(i, 3) === 1 ? { x: 'abc'[other(i, 3)] } : 'abc'[other(i, 3)]),
      (i) => mixed(i, 3) === 1,
    ],
    // No limit is between two texts of one number.
    ['v = "0.5"', (i) => ['0.5', '1', '1.0', '2'][i % 4], (i) => i % 4 < 2],
    // That a value is a number is no condition: a limit has numbers on both sides.
    ['v >= 1', (i) => (i % 2 ? mixed(i, 40) : 'abc'[other(i, 3)]), (i) => i % 2 === 1],
    ['v >= 30', (i) => (i % 7 ? mixed(i, 40) : undefined), (i) => i % 7 !== 0 && mixed(i, 40) >= 30],
    // Half of those with a number fail. That none of the greatest does is chance, up to a point.
    [
      'v exists',
      (i) => (i % 3 ? undefined : mixed(i, 40)),
      (i) => i % 3 === 0 && other(i, 2) === 1 && mixed(i, 40) < 37,
    ],
    [
      'v <= 24',
      (i) => (i % 3 ? undefined : mixed(i, 40)),
      (i) => i % 3 === 0 && other(i, 2) === 1 && mixed(i, 40) < 25,
    ],
    ['rows 100..199', () => 1, (i) => i >= 100 && i < 200],
    ['rows 200..', () => 1, (i) => i >= 200],
    ['rows ..99', () => 1, (i) => i < 100],
    ['rows 100..', (i) => i, (i) => i >= 100],
  ])('is %s', (expected, member, failed) =>
    expect(bestOf(tableOf(400, failed, (index) => ({ v: member(index) })))).toBe(expected),
  );

  const three = (i: number) => ({ a: mixed(i, 4), b: 'xyz'[other(i, 3)], c: third(i, 2) === 1 });
  test.each<[string, (index: number) => boolean]>([
    ['a <= 1 and b = "y"', (i) => mixed(i, 4) < 2 && other(i, 3) === 1],
    ['a = 2 and b != "y"', (i) => mixed(i, 4) === 2 && other(i, 3) !== 1],
    ['a = 2 and b = "z" and c = true', (i) => mixed(i, 4) === 2 && other(i, 3) === 2 && third(i, 2) === 1],
    ['b = "z" and rows 301..499', (i) => other(i, 3) === 2 && i >= 300 && i < 500],
    // Of all events, the failures of the others are the heavier span.
    [
      'b = "z" and rows 301..499',
      (i) => (other(i, 3) === 2 ? i >= 300 && i < 500 : i >= 600 && i < 800 && mixed(i, 5) < 3),
    ],
    // Those of other values fail at nearly half of the rate: they belong to it.
    ['b = "z"', (i) => other(i, 3) === 2 && (third(i, 2) === 1 || mixed(i, 2) === 1)],
  ])('of several fields is %s', (expected, failed) =>
    expect(bestOf(tableOf(900, failed, three))).toBe(expected),
  );

  /**
   * Events without a time: so many, of which so many failed, with these members; `*` is each of three values.
   */
  type Group = [events: number, failed: number, members: string];
  const tableOfGroups = (groups: readonly Group[]) => {
    const events = groups.flatMap(([count, failed, members]) =>
      Array.from({ length: count }, (_, index) => {
        const values = [...members].map((value) => (value === '*' ? 'pqr'[index % 3] : value));
        const [a, b, c] = values.map((value) => (value === '-' ? undefined : value));
        return { hasFailed: index < failed, members: { a, b, c } };
      }),
    );
    const hasFailed = (index: number) => events[index]?.hasFailed === true;
    return tableOf(events.length, hasFailed, (index) => events[index]?.members ?? {}, timeless);
  };

  test.each<[string, string, ...Group[]]>([
    // Failures elsewhere.
    ['rarely', 'a = "x" and b = "x"', [100, 50, 'xx'], [100, 7, 'xy'], [300, 3, 'yx'], [300, 3, 'yy']],
    ['at 0.15 of the rate', 'a = "x"', [100, 50, 'xx'], [100, 8, 'xy'], [300, 3, 'yx'], [300, 3, 'yy']],
    ['by chance', 'a = "x" and b = "x"', [100, 100, 'xx'], [20, 8, 'xy'], [300, 75, 'yx'], [300, 75, 'yy']],
    ['by no chance', 'a = "x"', [100, 100, 'xx'], [20, 10, 'xy'], [300, 45, 'yx'], [300, 45, 'yy']],
    ['hardly', 'a = "x" and b = "x"', [3, 3, 'xx*'], [27, 0, 'xy*'], [27, 0, 'yx*'], [60, 0, 'yy*']],
    // One delivered event in a hundred, which any of a dozen candidates could leave out.
    ['not needed', 'a = "x"', [100, 100, 'xx*'], [1, 0, 'xy*'], [350, 7, 'yx*'], [350, 7, 'yy*']],
    // No chance, but a rate of 0.95 without it: the simpler cause explains the failures as well.
    ['needless', 'a = "x"', [100, 100, 'xx*'], [5, 0, 'xy*'], [350, 7, 'yx*'], [350, 7, 'yy*']],
    ['needed', 'a = "x" and b = "x"', [100, 100, 'xx*'], [6, 0, 'xy*'], [350, 7, 'yx*'], [350, 7, 'yy*']],
    ['one not needed', 'a = "x"', [100, 100, 'xx*'], [1, 0, 'xy*'], [2, 0, 'yx*'], [600, 7, 'yy*']],
    ['other not needed', 'b = "x"', [100, 100, 'xx*'], [2, 0, 'xy*'], [1, 0, 'yx*'], [600, 7, 'yy*']],
    // A value that is delivered takes away too little where most of the others are delivered too.
    ['unequal', 'a = "x"', [201, 60, 'x*'], [60, 0, 'xy'], [600, 6, 'y*'], [200, 2, 'yy']],
    // The price of a form.
    ['exists', 'b = "x"', [180, 90, '*x'], [810, 9, '-y']],
    ['exists, without one', 'a exists', [180, 90, '*x'], [1, 0, '-x'], [810, 9, '-y']],
    ['missing, without one', 'a missing', [180, 90, '-x'], [1, 0, '*x'], [810, 9, '*y']],
    ['no value', 'b = "x"', [180, 90, '*x'], [1, 0, 'zx'], [810, 9, 'zy']],
    ['no value, without four', 'a != "z"', [180, 90, '*x'], [4, 0, 'zx'], [810, 9, 'zy']],
    // All values but one fail, and one more is delivered: by chance, or less than at 0.4 of the rate of all.
    ['six delivered', 'a != "z"', [300, 300, '*'], [300, 0, 'z'], [6, 0, 'w']],
    ['seven delivered', 'a = "p"', [300, 300, '*'], [300, 0, 'z'], [7, 0, 'w']],
    ['ten of twelve delivered', 'a != "z"', [300, 300, '*'], [300, 0, 'z'], [12, 2, 'w']],
    ['80 of 100 delivered', 'a != "w" and a != "z"', [300, 300, '*'], [300, 0, 'z'], [100, 20, 'w']],
    ['82 of 100 delivered', 'a = "p"', [300, 300, '*'], [300, 0, 'z'], [100, 18, 'w']],
    // How many events it takes.
    ['two of three', 'a = "x"', [3, 2, 'x'], [57, 0, 'y']],
    ['one of three', '', [3, 1, 'x'], [57, 1, 'y']],
    ['two of three, by chance', 'a = "x"', [3, 2, 'x'], [57, 10, 'y']],
    ['ten points', 'a = "x"', [20, 2, 'x'], [57, 0, 'y']],
    ['less than ten points', '', [21, 2, 'x'], [57, 0, 'y']],
    [
      'less than ten points but by chance',
      '',
      [260, 28, 'xx'],
      [40, 0, 'xy'],
      [350, 1, 'yx'],
      [350, 1, 'yy'],
    ],
    ['ten points by no chance', 'a = "x" and b = "x"', [220, 28, 'xx'], [80, 0, 'xy'], [700, 2, 'yx']],
  ])('of events that differ in little: %s: %s', (_, expected, ...groups) =>
    expect(bestOf(tableOfGroups(groups)) ?? '').toBe(expected),
  );

  test('leaves out a value of each of two fields where all others fail', () => {
    const failed = (i: number) => mixed(i, 3) !== 1 && other(i, 3) !== 1;
    const a = (i: number) => 'xyz'[mixed(i, 3)];
    expect(bestOf(tableOf(900, failed, (i) => ({ a: a(i), b: 'pqr'[other(i, 3)] })))).toBe(
      'a != "y" and b != "q"',
    );
    const there = (i: number) => (other(i, 3) === 1 ? undefined : 'pqr'[third(i, 3)]);
    expect(bestOf(tableOf(900, failed, (i) => ({ a: a(i), b: there(i) })))).toBe('a != "y" and b exists');
  });

  test('of three conditions is found beside twenty other fields, and two that come nearer than any two of them', () => {
    const isBad = (i: number) => i % 8 === 7;
    const x = (is: unknown) => (is ? 'x' : 'y');
    const near = (i: number, rest: number) => x((isBad(i) && i % 40 !== 7) || i % 5 === rest);
    const members = (i: number) => ({
      ...noise(i),
      ...{ a: x(i & 1), b: x(i & 2), c: x(i & 4), d: near(i, 1), e: near(i, 2), f: { a: x(i & 1) } },
    });
    expect(bestOf(tableOf(800, isBad, members, timeless))).toBe('a = "x" and b = "x" and c = "x"');
  });

  test.each<[string, string, string]>([
    ['endpoint', 'subscriptionId', 'subscriptionId'],
    ['endpoint', 'eventType', 'eventType'],
    ['first', 'second', 'first'],
    ['outer.inner', 'plain', 'plain'],
    ['data.eventType', 'plain', 'plain'],
  ])('of %s and %s that say the same is named %s', (one, two, expected) => {
    const member = (name: string, value: string): object => {
      const [first = '', second] = name.split('.');
      return { [first]: second === undefined ? value : { [second]: value } };
    };
    const value = (index: number) => 'abcd'[mixed(index, 4)] as string;
    const table = tableOf(
      400,
      (index) => mixed(index, 4) === 1,
      (index) => ({ ...member(one, value(index)), ...member(two, value(index)) }),
    );
    expect(bestOf(table)).toBe(`${expected} = "b"`);
    const search = new CauseSearch(table);
    const best = search.best(search.features) ?? [];
    expect(search.equivalents(best, search.features).map(textOf).sort()).toEqual(
      [`${one} = "b"`, `${two} = "b"`].sort(),
    );
    search.setAside(best);
    expect(search.best(search.features)).toBeUndefined();
  });

  test('is named by a filter of the service, which has few values, also where another field tells a little more', () => {
    const failed = (i: number) => i % 10 === 0;
    const members = (i: number) => ({
      subscriptionId: failed(i) && i < 300 ? 's' : 't',
      more: failed(i) && i < 310 ? 'x' : 'y',
      ...noise(i),
    });
    expect(bestOf(tableOf(400, failed, members, timeless))).toBe('subscriptionId = "s"');
  });

  test('of more numbers than there are codes has limits too, and a value that is none stands apart', () => {
    const amount = (i: number) => ((i * 7919) % 2500) / 10 + 3;
    const table = (failed: (i: number) => boolean) =>
      tableOf(2500, failed, (i) => ({ v: i > 2400 ? null : amount(i) }));
    expect(bestOf(table((i) => i <= 2400 && amount(i) >= 200))).toBe('v >= 200');
    expect(bestOf(table((i) => i <= 2400 && amount(i) < 50.05))).toBe('v <= 50');
    expect(bestOf(table((i) => i % 100 === 3 || (i > 2400 && i % 3 > 0)))).toBe('v missing');
  });

  test.each<[string, number, (index: number) => unknown, number]>([
    ['up', 60, (i) => i, 0],
    ['down', 60, (i) => 1000 - i, 0],
    ['up, but for one in a hundred', 200, (i) => (i === 70 ? 1 : 1000 + i), 0],
    ['up, but for one in fifty', 51, (i) => (i === 25 ? -1 : i), 51],
    ['up, and back again', 60, (i) => (i < 30 ? 2 * i : 119 - 2 * i), 60],
    ['up twenty times', 20, (i) => i, 20],
    ['up, with others between them', 60, (i) => (i % 3 ? i : 'x'), 0],
    ['up, each twice', 60, (i) => i >> 1, 0],
    ['down, each twice', 60, (i) => 1000 - (i >> 1), 0],
    ['in no order', 60, (i) => mixed(i, 1000), 60],
  ])('takes no limits of a number that goes with time: %s', (_, count, member, limits) => {
    const table = tableOf(
      count,
      (i) => i % 5 === 0,
      (i) => ({ v: member(i) }),
    );
    expect(new CauseSearch(table).features[0]?.order.length).toBe(limits);
  });

  test('is said in the simplest way by each other field that is true of exactly these events', () => {
    const bad = (i: number) => mixed(i, 4) === 1;
    const table = tableOf(400, bad, (i) => ({
      v: 'abcd'[mixed(i, 4)],
      there: bad(i) ? 'x' : undefined,
      gone: bad(i) ? undefined : 'abc'[i % 3],
      rank: bad(i) ? 9 : mixed(i, 4),
      not: bad(i) ? 'abc'[i % 3] : 'z',
      more: bad(i) || i % 50 === 2 ? 'x' : 'abc'[i % 3],
      less: bad(i) && i % 5 !== 2 ? 'x' : 'abc'[i % 3],
      others: bad(399 - i),
    }));
    const search = new CauseSearch(table);
    const best = search.best(search.features) ?? [];
    expect(best.map(textOf)).toEqual(['v = "b"']);
    expect(search.equivalents(best, search.features).map(textOf)).toEqual([
      ...['v = "b"', 'gone missing', 'rank = 9', 'not != "z"', 'there = "x"'],
    ]);
  });

  test('has the span of the events for which its other conditions hold, also if others failed before and after', () => {
    const value = (i: number) => 'abcdef'[mixed(i, 6)] as string;
    const failed = (i: number) => {
      if (value(i) === 'c') return i >= 600 && i < 720;
      if (value(i) === 'd') return i >= 570 && i < 600 && third(i, 2) === 0;
      return 'ab'.includes(value(i)) && other(i, 6) === 0;
    };
    expect(bestOf(tableOf(1200, failed, (i) => ({ v: value(i) })))).toBe('rows 601..719 and v = "c"');
  });

  test('is a span among the events whose time is known', () => {
    type Given = Parameters<typeof tableOf>;
    const spanOf = (failed: Given[1], minute?: Given[3]) => bestOf(tableOf(400, failed, () => ({}), minute));
    const failed = (i: number) => i >= 100 && i < 200;
    expect(spanOf(failed, (i) => (i % 7 === 3 ? undefined : i))).toBe('rows 100..198');
    expect(spanOf(failed, (i) => i >> 1)).toBe('rows 100..199');
    expect(spanOf(failed, () => 7)).toBeUndefined();
    expect(spanOf(failed, () => undefined)).toBeUndefined();
    // One success between failures does not end it, nor do a few after the last.
    expect(spanOf((i) => i >= 100 && i < 200 && i % 20 !== 7)).toBe('rows 100..199');
    expect(spanOf((i) => i >= 300 && i < 399 && i % 2 === 0)).toBe('rows 300..');
    expect(spanOf((i) => i % 50 === 3 || (i >= 300 && i % 3 === 0))).toBe('rows 300..');
    // Two of three fail: two successes after them, or before, are no reason to take it for over, and three
    // are.
    for (const [expected, first, last] of [
      ['rows ..4', 2, 4],
      ['rows 3..5', 3, 5],
      ['rows 395..', 395, 397],
      ['rows 394..396', 394, 396],
    ] as const)
      expect(spanOf((i) => i === first || i === last)).toBe(expected);
    const isTimeless = (i: number) => i % 3 === 0;
    const minute = (i: number) => (isTimeless(i) ? undefined : i);
    expect(spanOf((i) => isTimeless(i) || failed(i), minute)).toBe('rows 100..199');
    expect(spanOf((i) => i === 7 || i === 347)).toBeUndefined();
    // All of a few failed, which is less likely than a third of many.
    expect(spanOf((i) => (i >= 20 && i < 36) || (i >= 200 && i < 296 && i % 10 < 3))).toBe('rows 20..35');
    // A value is a simpler name than a span of the same events.
    const third = (i: number) => i % 3;
    const members = (i: number) => ({ v: 'abc'[third(i)] });
    const table = tableOf(60, (i) => third(i) === 1, members, third);
    expect(bestOf(table)).toBe('v = "b"');
    // Nor does a success before the last failure. Most of all events may fail, or half of them.
    expect(spanOf((i) => i >= 200 && i % 7 !== 3 && i !== 398)).toBe('rows 200..');
    for (const from of [30, 8]) expect(spanOf((i) => i >= from)).toBe(`rows ${from}..`);
    expect(spanOf((i) => i >= 40 && mixed(i, 2) === 1)).toBe('rows 40..');
  });

  test('is none where nothing failed, all did, or one event', () => {
    for (const failed of [() => false, () => true, (i: number) => i === 7])
      expect(bestOf(tableOf(60, failed, (i) => ({ v: i === 7 ? 'x' : 'abc'[i % 3] })))).toBeUndefined();
    expect(
      bestOf(
        tableOf(
          60,
          (i) => i === 7 || i === 9,
          (i) => ({ v: [7, 9].includes(i) ? 'x' : 'y' }),
        ),
      ),
    ).toBe('rows 7..9');
  });

  test('takes no limits of a number that goes with time where the time is known', () => {
    const minute = (i: number) => (i < 60 ? i : undefined);
    const table = tableOf(
      120,
      (i) => i % 5 === 0,
      (i) => ({ v: i < 60 ? i : mixed(i, 1000) }),
      minute,
    );
    expect(new CauseSearch(table).features[0]?.order.length).toBe(0);
  });

  test('is looked for in a part of very many events, of which the failed ones come first', () => {
    const isBad = (i: number) => mixed(i, 4) === 1;
    const sampleOf = (count: number, failed: (i: number) => boolean) => {
      const members = (i: number) => ({ v: 'abcd'[mixed(i, 4)] });
      const table = tableOf(count, failed, members, () => undefined);
      const search = new CauseSearch(table);
      const [feature] = search.features as [Feature];
      const sum = (numbers: Uint32Array) => numbers.reduce((all, number) => all + number, 0);
      const counts = [sum(feature.events), sum(feature.failed)];
      return [...counts, search.best(search.features)?.map(textOf).join()];
    };
    expect(sampleOf(24_000, (i) => i % 12 === 0 || (isBad(i) && i % 3 > 0))[0]).toBe(24_000);
    expect(sampleOf(30_000, (i) => isBad(i) && i % 3 > 0)).toEqual([17_000, 5000, 'v = "b"']);
    expect(sampleOf(40_000, (i) => i % 2 === 0).slice(0, 2)).toEqual([24_000, 12_000]);
    expect(sampleOf(48_000, (i) => isBad(i) && i % 8 === 0)[2]).toBe('v = "b"');
    // Of the events of this value 9 in 100 failed, which makes a third of those in the sample.
    expect(sampleOf(48_000, (i) => isBad(i) && i % 11 === 0)[2]).toBeUndefined();
  });
});
