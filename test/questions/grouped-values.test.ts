import { expect, test } from 'vitest';
import { parseFieldPaths } from '../../src/items/field-path.ts';
import { FieldReader } from '../../src/items/field-reader.ts';
import { Items } from '../../src/items/items.ts';
import { GroupedValues, textsOfKey } from '../../src/questions/grouped-values.ts';
import { UTC } from '../../src/time/time-zone.ts';

/** The groups of an event by fields, of which there may be so many. */
function groupsOf(event: object, fields: string, most = 100) {
  return groupsOfJson(JSON.stringify(event), fields, most);
}

function groupsOfJson(json: string, fields: string, most = 100) {
  const paths = parseFieldPaths(fields, '--by');
  const reader = new FieldReader(paths, UTC);
  const items = Items.of([Buffer.from(json)]);
  reader.read(items.bytes, items.start(0));
  return new GroupedValues(reader, paths.length).keysOfEvent(most)?.map(textsOfKey);
}

const EVENT = { a: ['x', 'y', 'x'], b: [1, 2], c: 'z' };

test('an event is once in the group of each of its values, and of each combination', () => {
  expect(groupsOf(EVENT, 'c')).toEqual([['"z"']]);
  expect(groupsOf(EVENT, 'a[]')).toEqual([['"x"'], ['"y"']]);
  expect(groupsOf(EVENT, 'a[],c,b[]')).toEqual([
    ['"x"', '"z"', '1'],
    ['"x"', '"z"', '2'],
    ['"y"', '"z"', '1'],
    ['"y"', '"z"', '2'],
  ]);
});

test('a field that is missing is null, and without fields there is one group', () => {
  expect(groupsOf(EVENT, 'd,c')).toEqual([['null', '"z"']]);
  const nothing = new FieldReader([], UTC);
  expect(new GroupedValues(nothing, 0).keysOfEvent(1)?.map(textsOfKey)).toEqual([[]]);
});

test.each([
  ['a text', String.raw`{"f":"a\/b \u00e9"}`, '{"f":"a/b é"}'],
  [
    'a text in an object',
    String.raw`{"f":{"n\u0061me":"\u00e9","id":9007199254740993}}`,
    '{"f":{"name":"é","id":9007199254740993}}',
  ],
  ['a quote and a line end', String.raw`{"f":"\u0022\u000a"}`, String.raw`{"f":"\"\n"}`],
])('%s is in one group, however it is escaped', (_, escaped, plain) => {
  expect(groupsOfJson(escaped, 'f')).toEqual(groupsOfJson(plain, 'f'));
});

test('more groups than wanted are none', () => {
  expect(groupsOf(EVENT, 'a[],b[]', 4)).toHaveLength(4);
  expect(groupsOf(EVENT, 'a[],b[]', 3)).toBeUndefined();
});
