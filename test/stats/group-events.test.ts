import { describe, expect, test } from 'vitest';
import { parseFieldPaths } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { EventGroups } from '../../src/questions/event-groups.ts';
import { UTC } from '../../src/time/time-zone.ts';

const see = (groups: EventGroups, items: Items) => groups.see({ items, haveFailed: undefined });

test('more groups than memory should hold end with an error that names the fields', () => {
  const groups = new EventGroups(parseFieldPaths('id,kind', '--by'), UTC, undefined, 1000);
  const page = (from: number, count: number) =>
    Items.of(Array.from({ length: count }, (_, index) => Buffer.from(`{"id":${from + index},"kind":"a"}`)));
  for (let from = 0; from < 1000; from += 100) see(groups, page(from, 100));
  see(groups, page(0, 100));
  expect(groups.total).toBe(1100);
  expect(groups.result()).toHaveLength(1000);
  expect(() => see(groups, page(1000, 1))).toThrow('--by id,kind: more than 1000 groups');
});

test('values with the same text are one group; a missing field is null, as for --where', () => {
  const groups = new EventGroups(parseFieldPaths('a', '--by'), UTC);
  see(
    groups,
    Items.of(['{"a":"1"}', '{"a":1}', '{}', '{"a":null}', '{"a":1}'].map((text) => Buffer.from(text))),
  );
  expect(groups.result().map(({ values, count }) => [values[0], count])).toEqual([
    [null, 2],
    ['1', 2],
    ['"1"', 1],
  ]);
});

test('the outcome of an event is what it says, or what is known of all of them', () => {
  const groups = new EventGroups(parseFieldPaths('eventType', '--by'), UTC);
  const told = ['FAILED', 'SUCCESS', 'SUCCESS', 'Pending', null].map((publishStatus) => ({
    publishStatus,
    eventData: { eventId: 'e', eventType: 'a' },
  }));
  const silent = [{ eventId: 'e', eventType: 'b' }];
  const page = (items: readonly object[]) => Items.of(items.map((item) => Buffer.from(JSON.stringify(item))));
  see(groups, page(told));
  groups.see({ items: page(silent), haveFailed: true });
  groups.see({ items: page(silent), haveFailed: false });
  see(groups, page(silent));
  expect(
    groups.result().map(({ values, count, failed, delivered }) => [values[0], count, failed, delivered]),
  ).toEqual([
    ['"a"', 5, 1, 2],
    ['"b"', 3, 1, 1],
  ]);
});

const pageOf = (...events: readonly object[]) =>
  Items.of(events.map((event) => Buffer.from(JSON.stringify(event))));
const groupsBy = (fields: string, numbers?: string) => {
  const [numberField] = numbers === undefined ? [] : parseFieldPaths(numbers, '--percentiles');
  return new EventGroups(parseFieldPaths(fields, '--by'), UTC, numberField);
};

test('an event with more combinations of values than memory should hold ends with the same error', () => {
  const numbers = Array.from({ length: 400 }, (_, index) => index);
  const groups = groupsBy('a[],b[]');
  expect(() => see(groups, pageOf({ a: numbers, b: numbers }))).toThrow(
    expect.objectContaining({
      message: '--by a[],b[]: more than 100000 groups',
      next: 'group by fields with fewer different values, or narrow the search',
    }),
  );
});

test('groups of one size stand by their values, and the same digits in other fields are another group', () => {
  const events = [
    { a: 12, b: 3 },
    { a: 1, b: 23 },
    { a: 9, b: 9 },
    { a: 9, b: 9 },
  ];
  for (const page of [pageOf(...events), pageOf(...events.toReversed())]) {
    const groups = groupsBy('a,b');
    see(groups, page);
    expect(groups.result().map(({ values }) => values)).toEqual([
      ['9', '9'],
      ['1', '23'],
      ['12', '3'],
    ]);
  }
});

test('a group has the first and the last of its times, and the id of its first event that has one', () => {
  const times = ['03', undefined, '01', '05', 'soon', '04'];
  const events = times.map((day) => (day === undefined ? {} : { createdOn: `2026-11-${day}` }));
  const groups = groupsBy('kind');
  see(groups, pageOf({ ...events[0], eventId: 'a' }, ...events.slice(1)));
  see(groups, pageOf({ kind: 'other' }));
  expect(
    groups.result().map(({ count, first, last, example }) => [count, first?.text, last?.text, example]),
  ).toEqual([
    [6, '2026-11-01', '2026-11-05', 'a'],
    [1, undefined, undefined, undefined],
  ]);
});

describe('a field that no event has', () => {
  test('is doubted once there are events, with one of them for what was meant', () => {
    const groups = groupsBy('status,statis');
    expect(groups.doubts()).toEqual([]);
    expect(groupsBy('status', 'plan').doubts()).toEqual([]);
    see(groups, pageOf());
    see(groups, pageOf({ status: 'x' }, { other: 1 }));
    see(groups, pageOf({ else: 1 }));
    expect(groups.doubts()).toEqual(["--by: no event has the field 'statis'; did you mean status?"]);
  });

  test('is doubted beside one that has no number', () => {
    const groups = groupsBy('statis', 'plan');
    see(groups, pageOf({ status: 'x', plan: 'gold' }));
    expect(groups.doubts()).toEqual([
      "--by: no event has the field 'statis'; did you mean status?",
      '--percentiles: no event has a number in plan',
    ]);
    see(groups, pageOf({ statis: 'x', plan: 3 }));
    expect(groups.doubts()).toEqual([]);
  });
});
