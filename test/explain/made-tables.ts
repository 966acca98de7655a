import type { RowTest } from '../../src/explain/cause-search.ts';
import { FieldTest, limitOf } from '../../src/explain/conditions.ts';
import { Items } from '../../src/items/items.ts';
import type { SampleTable } from '../../src/sample/sample-table.ts';
import { tableOf as tableOfItems } from './explained.ts';

/**
 * Events one a minute, of which `members` tells the fields; without `times`, they are in the order of their
 * places.
 */
export const tableOf = (
  count: number,
  failed: (index: number) => boolean,
  members: (index: number) => object,
  minute: (index: number) => number | undefined = (index) => index,
): SampleTable => {
  const events = Array.from({ length: count }, (_, index) => {
    const at = minute(index);
    return JSON.stringify({
      ...(at === undefined ? {} : { createdOn: new Date(1.79e12 + at * 60_000).toISOString() }),
      publishStatus: failed(index) ? 'FAILED' : 'SUCCESS',
      ...members(index),
      // Without it the size of such small events would tell which members they have.
      padding: 'x'.repeat(200),
    });
  });
  return tableOfItems(Items.of(events.map((text) => Buffer.from(text))));
};

/** A test as text. */
export const textOf = (test: RowTest): string => {
  if (!(test instanceof FieldTest)) return `rows ${test.from ?? ''}..${test.to ?? ''}`;
  const { path } = test.feature.field;
  if (test.code === 0) return `${path} ${test.op === '=' ? 'missing' : 'exists'}`;
  const { op, json } =
    test.op === '=' || test.op === '!='
      ? { op: test.op, json: test.feature.field.texts[test.code] }
      : limitOf(test);
  return `${path} ${op} ${json}`;
};
