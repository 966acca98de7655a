import { describe, expect, test } from 'vitest';
import { EventSample } from '../../src/sample/event-sample.ts';
import { estimateOf, fieldAtTop, rateIn, sizeField, tableOfSample } from '../../src/sample/sample-table.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/time/lengths.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import {
  column,
  eventText,
  fieldAt,
  itemsOf,
  pathsOf,
  tableOf,
  tableOfTexts,
  upTo,
  valuesOf,
} from './made-samples.ts';

test('a table has a row for each event, with its outcome, its time and its size', () => {
  const events = [
    eventText({ createdOn: '2026-11-20T10:00:00.5Z', a: 1 }, true),
    eventText({ a: 22 }, false),
    eventText({ event: { eventId: 'e', createdOn: '2026-11-20T09:00:00Z' } }, false),
  ];
  const table = tableOfTexts(events);
  expect(table.rows).toBe(3);
  expect([...table.failures]).toEqual([1, 0, 0]);
  expect([...table.sizes]).toEqual(events.map((text) => text.length));
  expect([0, 2].map((row) => table.times.at(row).text)).toEqual([
    '2026-11-20T10:00:00.5Z',
    '2026-11-20T09:00:00Z',
  ]);
  expect(table.times.isKnown(1)).toBe(false);
  expect(column(table, 'a')).toEqual(['1', '22', undefined]);
  expect(table).toMatchObject({ isWhole: true, bytesAddedBySuccess: 1, shares: { failed: 1, delivered: 1 } });
});

describe('a table of a part of the events', () => {
  const sample = new EventSample(20);
  sample.add(itemsOf(upTo(100).map((index) => eventText({ n: index % 7 }, index % 20 === 0))), undefined);
  const table = tableOfSample(sample, UTC);

  test('tells the share that it has of each outcome', () => {
    expect(table.isWhole).toBe(false);
    expect(table.rows).toBe(15);
    expect(table.failures.filter((failed) => failed === 1)).toHaveLength(5);
    expect(table.shares).toEqual({ failed: 1, delivered: 10 / 95 });
    expect(column(table, 'n')).toHaveLength(15);
  });

  test('estimates counts and rates among all', () => {
    expect(estimateOf(table, { events: 6, failed: 2 })).toEqual({ events: 40, failed: 2 });
    expect(rateIn(table, { events: 6, failed: 2 })).toBeCloseTo(2 / 40, 12);
    const shares = { failed: 0.25, delivered: 0.5 };
    expect(estimateOf({ ...table, shares }, { events: 9, failed: 3 })).toEqual({ events: 24, failed: 12 });
    expect(rateIn({ ...table, shares }, { events: 9, failed: 3 })).toBeCloseTo(12 / 24, 12);
  });
});

test('a field at the top is found by its name', () => {
  const table = tableOf([
    { b: { a: 1 }, c: ['x@a.example', 'y@b.example'], createdOn: '2026-11-20T00:00:00Z' },
    { b: { a: 2 }, a: 'x@a.example', createdOn: '2026-11-22T00:00:00Z' },
    { a: 'y@a.example' },
    { a: 'x@b.example' },
    { a: 'y@b.example' },
  ]);
  expect(fieldAtTop(table, 'a')?.path).toBe('a');
  expect(fieldAtTop(table, 'c')?.path).toBe('c');
  expect(fieldAtTop(table, 'd')).toBeUndefined();
  expect(fieldAtTop({ ...table, fields: table.fields.toReversed() }, 'b')?.path).toBe('b');
  expect(pathsOf(table)).toEqual(expect.arrayContaining(['a:domain', 'createdOn:hour']));
  expect(fieldAtTop(table, 'createdOn')).toBeUndefined();
  expect(
    fieldAtTop({ ...table, fields: table.fields.filter(({ path }) => path !== 'a') }, 'a'),
  ).toBeUndefined();
});

test('what derives from a field is behind all fields, and compared like one', () => {
  const table = tableOf(upTo(60).map((index) => ({ a: `${index}@${'xyz'[index % 3]}.example`, b: 1 })));
  expect(pathsOf(table)).toEqual(['a', 'b', 'a:domain']);
  const field = fieldAt(table, 'a:domain');
  expect([field.rows.length, field.codes.length, field.cells]).toEqual([60, 60, 60]);
});

describe('the size of items', () => {
  const sizesOf = (sizes: readonly number[], failed: readonly number[] = [], bytesAddedBySuccess = 0) => {
    const failures = Uint8Array.from(sizes, (_, row) => Number(failed.includes(row)));
    return sizeField({ sizes: Int32Array.from(sizes), failures, bytesAddedBySuccess });
  };
  /** Ten sizes. */
  const ten = (smallest: number, small: number, middle: number, largest: number) => [
    ...[largest, middle, middle, middle, small],
    ...[middle, middle, middle, middle, smallest],
  ];

  test('is a field of limits, if the largest tenth is half as large again as the smallest', () => {
    const field = sizesOf(ten(100, 100, 100, 150));
    expect(field).toMatchObject({ path: 'item:size', hasOnlyLimits: true, cells: 10, steps: [] });
    expect(field && valuesOf(field, 10)).toEqual(['150', ...Array<string>(9).fill('100')]);
    expect(sizesOf(ten(100, 100, 100, 149))).toBeUndefined();
    expect(sizesOf([...ten(100, 100, 100, 100), ...ten(100, 100, 100, 900)])).toBeUndefined();
    expect(sizesOf(ten(10, 100, 120, 140))).toBeUndefined();
    expect(sizesOf(ten(100, 100, 900, 1000))).toBeDefined();
    expect(sizesOf([90, 1000])).toBeDefined();
  });

  test('is as if all outcomes had names of one length', () => {
    const field = sizesOf([101, 102, 153], [0], 1);
    expect(field && valuesOf(field, 3)).toEqual(['101', '101', '152']);
    expect(sizesOf([100, 151], [0], 1)).toBeDefined();
    expect(sizesOf([100, 150], [0], 1)).toBeUndefined();
    expect(sizesOf([101, 150], [1], 1)).toBeDefined();
  });

  test('of nearly as many sizes as events is not left out', () => {
    const field = sizesOf(upTo(100).map((index) => 1000 + 100 * index));
    expect(field).toMatchObject({ hasOnlyLimits: true, isUncompared: false });
    expect(field?.texts).toHaveLength(102);
  });

  test('is in the table, behind what is in the items', () => {
    const padded = (lengths: readonly number[]) =>
      tableOf(lengths.map((length) => ({ x: 'x'.repeat(length) })));
    expect(padded([100, 400]).fields.map(({ path }) => path)).toEqual(['x', 'item:size']);
    expect(padded([100, 101]).fields.map(({ path }) => path)).toEqual(['x']);
    expect(column(padded([100, 400]), 'item:size')).toEqual(['133', '433']);
  });
});

describe('hours and weekdays', () => {
  const START = Date.parse('2026-11-20T22:00:00Z');
  const at = (afterMs: number) => ({ createdOn: new Date(START + afterMs).toISOString() });
  const tableIn = (name: string, ...afterMs: number[]) =>
    tableOfTexts(
      afterMs.map((after) => eventText(at(after), true)),
      new TimeZone(name),
    );

  test('are compared if there are enough for them to come again', () => {
    const clocks = (spanMs: number) =>
      pathsOf(tableIn('UTC', HOUR_MS, spanMs, 0)).filter((path) => path.startsWith('createdOn'));
    expect(clocks(36 * HOUR_MS - 1000)).toEqual([]);
    expect(clocks(36 * HOUR_MS)).toEqual(['createdOn:hour']);
    expect(clocks(8 * 24 * HOUR_MS - 1000)).toEqual(['createdOn:hour']);
    expect(clocks(8 * 24 * HOUR_MS)).toEqual(['createdOn:hour', 'createdOn:weekday']);
  });

  test('are those of the zone, to the minute', () => {
    const eight = 8 * 24 * HOUR_MS;
    const times = [
      -1000,
      14 * MINUTE_MS + 59_000,
      15 * MINUTE_MS,
      2 * HOUR_MS,
      eight,
      -4 * HOUR_MS + 15 * MINUTE_MS,
    ];
    const utc = tableIn('UTC', ...times);
    expect(column(utc, 'createdOn:hour')).toEqual(['21', '22', '22', '0', '22', '18']);
    const friday = '"Friday"';
    expect(column(utc, 'createdOn:weekday')).toEqual([
      friday,
      friday,
      friday,
      '"Saturday"',
      '"Saturday"',
      friday,
    ]);
    const nepal = tableIn('Asia/Kathmandu', ...times);
    expect(column(nepal, 'createdOn:hour')).toEqual(['3', '3', '4', '5', '3', '0']);
    expect(column(nepal, 'createdOn:weekday')[5]).toBe('"Saturday"');
    const before = tableIn('Asia/Kathmandu', -4 * HOUR_MS + 14 * MINUTE_MS, eight);
    expect(column(before, 'createdOn:hour')).toEqual(['23', '3']);
    expect(column(before, 'createdOn:weekday')[0]).toBe(friday);
  });

  test('are missing where a time is, and all are if no time is known', () => {
    const table = tableOf([{}, at(0), { createdOn: 'soon' }, at(8 * 24 * HOUR_MS), {}]);
    const hours = [undefined, '22', undefined, '22', undefined];
    expect(column(table, 'createdOn:hour')).toEqual(hours);
    expect(column(table, 'createdOn:weekday').map((day) => day !== undefined)).toEqual(
      hours.map((hour) => hour !== undefined),
    );
    expect(fieldAt(table, 'createdOn:hour').cells).toBe(2);
    expect(fieldAt(table, 'createdOn:hour').codes).toHaveLength(2);
    expect(pathsOf(tableOf([{}, { createdOn: 'soon' }, { a: 1 }]))).toEqual(['a']);
    expect(pathsOf(tableOf([]))).toEqual([]);
  });
});
