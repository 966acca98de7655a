import { expect, test } from 'vitest';
import { EventGroups } from '../../src/events/stats.ts';
import { parseFieldPaths } from '../../src/json/item-fields.ts';
import { Items } from '../../src/json/items.ts';

test('more groups than memory should hold end with an error that names the fields', () => {
  const groups = new EventGroups(parseFieldPaths('id,kind', '--by'));
  const page = (from: number, count: number) =>
    Items.of(Array.from({ length: count }, (_, index) => Buffer.from(`{"id":${from + index},"kind":"a"}`)));
  for (let from = 0; from < 100_000; from += 10_000) groups.add(page(from, 10_000));
  groups.add(page(0, 10_000));
  expect(groups.total).toBe(110_000);
  expect(groups.largest()).toHaveLength(100_000);
  expect(() => groups.add(page(100_000, 1))).toThrow('--by id,kind: more than 100000 groups');
});

test('values with the same text are one group; a missing field is null, as for --where', () => {
  const groups = new EventGroups(parseFieldPaths('a', '--by'));
  groups.add(
    Items.of(['{"a":"1"}', '{"a":1}', '{}', '{"a":null}', '{"a":1}'].map((text) => Buffer.from(text))),
  );
  expect(groups.largest().map(({ values, count }) => [values[0], count])).toEqual([
    [null, 2],
    ['1', 2],
    ['"1"', 1],
  ]);
});
