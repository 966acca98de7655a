import type { CauseCondition } from '../../src/explain/cause-conditions.ts';
import type { CauseSearch, RowTest } from '../../src/explain/cause-search.ts';
import { type Feature, type FieldOp, FieldTest, limitOf } from '../../src/explain/conditions.ts';
import { parseCondition } from '../../src/items/item-conditions.ts';
import { Items } from '../../src/items/items.ts';
import { NO_VALUE } from '../../src/sample/sample-field.ts';
import type { SampleTable } from '../../src/sample/sample-table.ts';
import { tableOfItems } from '../sample/made-samples.ts';

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

export const featureAt = ({ features }: Pick<CauseSearch, 'features'>, path: string): Feature => {
  const feature = features.find(({ field }) => field.path === path);
  if (!feature) throw new Error(`${path} is none of ${features.map(({ field }) => field.path)}`);
  return feature;
};

/** A test of the field at a path; without `json`, of whether it is there. */
export const testOn = (
  search: Pick<CauseSearch, 'features'>,
  path: string,
  op: FieldOp,
  json?: string,
): FieldTest => {
  const feature = featureAt(search, path);
  const code = json === undefined ? NO_VALUE : feature.field.texts.lastIndexOf(json);
  if (code === -1) throw new Error(`no ${json} in ${path}`);
  return new FieldTest(feature, op, code);
};

/** The condition of a text such as `eventType = late`. */
export const conditionOf = (text: string): CauseCondition => {
  const condition = parseCondition(text, '--where', 0);
  return { field: condition.field.text, op: '=', value: condition.value, condition, text };
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
