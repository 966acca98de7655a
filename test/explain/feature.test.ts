import { expect, test } from 'vitest';
import { fieldCondition } from '../../src/explain/cause-conditions.ts';
import { CauseSearch } from '../../src/explain/cause-search.ts';
import type { Feature } from '../../src/explain/feature.ts';
import { FieldTest } from '../../src/explain/row-tests.ts';
import { itemFilter } from '../../src/items/item-filter.ts';
import { Items } from '../../src/items/items.ts';
import { ComparisonTable } from '../../src/outcomes/comparison-table.ts';

/** The features of a table of events. */
const featuresOf = (events: readonly object[]) => {
  const items = Items.of(events.map((event) => Buffer.from(JSON.stringify(event))));
  const table = new ComparisonTable();
  table.add(items);
  table.finish();
  return new CauseSearch(table).features;
};
const eventsOf = (count: number, members: (index: number) => object) =>
  Array.from({ length: count }, (_, index) => ({
    createdOn: new Date(1.79e12 + index * 60_000).toISOString(),
    publishStatus: index % 3 === 0 ? 'FAILED' : 'SUCCESS',
    ...members(index),
  }));

test('a field is always there if each event has it, be it null, and a list never is', () => {
  const features = featuresOf(
    eventsOf(30, (index) => ({
      always: index % 2 ? null : 'x',
      mostly: index === 7 ? undefined : 'x',
      list: ['x', 'y'],
    })),
  );
  const isThere = features
    .filter(({ field }) => !field.derivation)
    .map(({ field, isAlwaysThere }) => [String(field.steps[0]), field.isInList, isAlwaysThere]);
  expect(isThere).toEqual(
    expect.arrayContaining([
      ['always', false, true],
      ['mostly', false, false],
      ['list', true, false],
    ]),
  );
});

test('the size of an event is compared without the byte that SUCCESS has more than FAILED, and its limits keep what --where keeps', () => {
  const DIFFERENT = 41;
  /** The smaller sizes are one after another, between the larger ones are gaps. */
  const events = eventsOf(80, (index) => {
    const rank = (index * 37) % DIFFERENT;
    return { padding: 'x'.repeat(20 + rank + 2 * Math.max(0, rank - 20)) };
  });
  const items = events.map((event) => Items.of([Buffer.from(JSON.stringify(event))]));
  const rows = Int32Array.from(events.keys());
  const size = featuresOf(events).find(({ field }) => field.derivation === 'size') as Feature;
  expect(size.order.length).toBe(DIFFERENT);
  const sizes = size.order.map((code) => Number(size.bareText(code)));
  const bounds = size.order.slice(0, -1).map((_, place) => Number(size.lowerBound(place)));
  // A limit is above the delivered events too, if there is room for it.
  expect(bounds.map((bound, place) => bound - (sizes[place] as number))).toEqual([
    ...Array<number>(20).fill(0),
    ...Array<number>(20).fill(1),
  ]);
  const limits = [
    ...size.order.slice(1).map((code) => new FieldTest(size, '>=', code)),
    ...size.order.slice(0, -1).map((code) => new FieldTest(size, '<=', code)),
  ];
  for (const limit of limits.filter((_, index) => index % 3 === 0)) {
    const { text, condition } = fieldCondition(limit);
    const keep = itemFilter([condition], []);
    const kept = rows.filter((row) => keep(items[row] as Items).count === 1);
    expect([text, ...limit.filter(rows)]).toEqual([text, ...kept]);
  }
});
