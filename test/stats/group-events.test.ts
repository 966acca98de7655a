import { expect, test } from 'vitest';
import { parseFieldPaths } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { EventGroups } from '../../src/stats/event-groups.ts';
import { UTC } from '../../src/time/time-zone.ts';

test('more groups than memory should hold end with an error that names the fields', () => {
  const groups = new EventGroups(parseFieldPaths('id,kind', '--by'), UTC);
  const page = (from: number, count: number) =>
    Items.of(Array.from({ length: count }, (_, index) => Buffer.from(`{"id":${from + index},"kind":"a"}`)));
  for (let from = 0; from < 100_000; from += 10_000) groups.add(page(from, 10_000));
  groups.add(page(0, 10_000));
  expect(groups.total).toBe(110_000);
  expect(groups.largest()).toHaveLength(100_000);
  expect(() => groups.add(page(100_000, 1))).toThrow('--by id,kind: more than 100000 groups');
});

test('values with the same text are one group; a missing field is null, as for --where', () => {
  const groups = new EventGroups(parseFieldPaths('a', '--by'), UTC);
  groups.add(
    Items.of(['{"a":"1"}', '{"a":1}', '{}', '{"a":null}', '{"a":1}'].map((text) => Buffer.from(text))),
  );
  expect(groups.largest().map(({ values, count }) => [values[0], count])).toEqual([
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
  groups.add(page(told));
  groups.add(page(silent), true);
  groups.add(page(silent), false);
  groups.add(page(silent));
  expect(
    groups.largest().map(({ values, count, failed, delivered }) => [values[0], count, failed, delivered]),
  ).toEqual([
    ['"a"', 5, 1, 2],
    ['"b"', 3, 1, 1],
  ]);
});
