import { expect, test } from 'vitest';
import { parseFieldPaths } from '../../src/items/field-path.ts';
import { FieldReader } from '../../src/items/field-reader.ts';
import { Items } from '../../src/items/items.ts';
import { GroupedValues, textsOfKey, valuesOfKey } from '../../src/questions/grouped-values.ts';
import { UTC } from '../../src/time/time-zone.ts';

/** The groups of an event by fields, of which there may be so many. */
function groupsOf(event: object, fields: string, most = 100) {
  return groupsOfJson(JSON.stringify(event), fields, most);
}

function groupsOfJson(json: string, fields: string, most = 100) {
  return keysOfJson(json, fields, most)?.map(textsOfKey);
}

function keysOfJson(json: string, fields: string, most: number) {
  const paths = parseFieldPaths(fields, '--by');
  const reader = new FieldReader(paths, UTC);
  const items = Items.of([Buffer.from(json)]);
  reader.read(items.bytes, items.start(0));
  return new GroupedValues(reader, paths.length).keysOfEvent(most);
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

test('a GUID is in one group in any case; of other texts the case counts', () => {
  const guid = '0f8fad5b-d9cb-469f-a165-70867728950e';
  expect(groupsOf({ f: guid.toUpperCase() }, 'f')).toEqual([[`"${guid}"`]]);
  const ofTheSameLength = guid.replace('0', 'G');
  expect(groupsOf({ f: ofTheSameLength }, 'f')).toEqual([[`"${ofTheSameLength}"`]]);
});

test('the values of a group have all digits, and null for a field that is missing', () => {
  const keys = keysOfJson('{"a":"x","b":9007199254740993,"c":1.50}', 'a,b,c,d', 1);
  expect(keys?.map(valuesOfKey)).toEqual([['x', '9007199254740993', 1.5, null]]);
});

test('more groups than wanted are none', () => {
  expect(groupsOf(EVENT, 'a[],b[]', 4)).toHaveLength(4);
  expect(groupsOf(EVENT, 'a[],b[]', 3)).toBeUndefined();
});
