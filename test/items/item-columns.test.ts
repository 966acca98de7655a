import { describe, expect, test } from 'vitest';
import { type FieldPath, memberPath, parseFieldPaths } from '../../src/items/field-path.ts';
import {
  createRowReader,
  errorField,
  likelyNames,
  listColumns,
  nothingFound,
} from '../../src/items/item-columns.ts';
import type { ListKind } from '../../src/items/items.ts';
import { TimeZone } from '../../src/time/time-zone.ts';
import { pageOf } from '../support/outputs.ts';

const pagesOf = (pages: readonly (readonly unknown[])[]) =>
  pages.map((items) => pageOf(items.map((item) => JSON.stringify(item))));

describe('the columns of a list without known fields', () => {
  const columnsOf = (kind: ListKind, ...pages: readonly (readonly unknown[])[]) =>
    listColumns(pagesOf(pages), kind).map(({ text, steps }) => (steps.length === 0 ? [text] : text));

  test('are a name and a description, where an entry has such', () => {
    expect(columnsOf('event-types', [{ a: 1, summary: 's', code: 'c', type: 't' }])).toEqual([
      'type',
      'summary',
    ]);
    expect(columnsOf('subscriptions', [{ a: 1, label: 'l' }])).toEqual(['label']);
  });

  test('are the first five scalars of events, in the order in which they appear', () => {
    const one = { deep: { x: 1 }, a: 1, none: null, b: 'two', list: [] };
    const two = { c: true, none: false, name: 'n', g: 1, h: 2 };
    expect(columnsOf('events', [one], [two])).toEqual(['a', 'none', 'b', 'c', 'name']);
    expect(columnsOf('event-types', [{ a: 1, b: {} }])).toEqual(['a']);
    // One scalar value of a field is enough.
    expect(columnsOf('events', [{ a: 1, b: 2 }, { a: null, b: {} }, { b: [] }])).toEqual(['a', 'b']);
  });

  test('are the first five fields, where none is a scalar', () => {
    const item = { a: {}, b: [], c: null, d: {}, e: {}, f: {} };
    expect(columnsOf('events', [item])).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('begin with the item itself, where one is not an object or none has a field', () => {
    expect(columnsOf('events', [7, 'b', [1], null])).toEqual([['value']]);
    expect(columnsOf('event-types', ['a'])).toEqual([['name']]);
    expect(columnsOf('subscriptions', [{}])).toEqual([['name']]);
    expect(columnsOf('events')).toEqual([['value']]);
    expect(columnsOf('events', [{ a: 1 }], [{ a: 2 }, ['name']])).toEqual([['value'], 'a']);
    const known = [memberPath('eventId')];
    expect(listColumns(pagesOf([[{ a: 1 }]]), 'events', known)).toEqual(known);
    expect(listColumns(pagesOf([[{ a: 1 }, 7]]), 'events', known)).toEqual([
      { text: 'value', steps: [] },
      ...known,
    ]);
  });
});

test.each([
  [['value', 'code', 'key', 'id', 'typeName', 'type', 'eventTypeName', 'eventType', 'name'], ['name']],
  [['value', 'code', 'key', 'id', 'typeName', 'type', 'eventTypeName', 'eventType'], ['eventType']],
  [['value', 'code', 'key', 'id', 'typeName', 'type', 'eventTypeName'], ['eventTypeName']],
  [['value', 'code', 'key', 'id', 'typeName', 'type'], ['type']],
  [['value', 'code', 'key', 'id', 'typeName'], ['typeName']],
  [['value', 'code', 'key', 'id'], ['id']],
  [['value', 'code', 'key'], ['key']],
  [['value', 'code'], ['code']],
  [['value'], ['value']],
  [['label', 'displayName', 'title', 'details', 'summary', 'description'], ['description']],
  [['label', 'displayName', 'title', 'details', 'summary'], ['summary']],
  [['label', 'displayName', 'title', 'details'], ['details']],
  [['label', 'displayName', 'title'], ['title']],
  [['label', 'displayName'], ['displayName']],
  [['label'], ['label']],
  [
    ['event_type', 'Display-Name'],
    ['event_type', 'Display-Name'],
  ],
  [['EVENT type', 'names'], ['EVENT type']],
  [
    ['Name', 'NAME', 'DESCRIPTION'],
    ['Name', 'DESCRIPTION'],
  ],
  [['other', 'my name'], []],
])('of the names %j the likely ones are %j', (present, likely) => {
  expect(likelyNames(present)).toEqual(likely);
});

test.each([
  ['events', 'no events match'],
  ['event-types', 'no event types match'],
  ['subscriptions', 'no subscriptions match'],
] as const)('of %s nothing is found in these words', (kind, text) => expect(nothingFound(kind)).toBe(text));

describe('the field with the error', () => {
  const errorOf = (...items: readonly unknown[]) => errorField(pagesOf([[], items]))?.steps;

  test.each([
    [{ lastError: 'x' }, ['lastError']],
    [{ failure: 500 }, ['failure']],
    [{ Reason: true }, ['Reason']],
    [{ ERRORS: ['x'] }, ['ERRORS']],
    [{ error_code: 0 }, ['error_code']],
    [{ a: { b: { reasons: { x: 1 } } } }, ['a', 'b', 'reasons']],
    [{ error: null, failure: false, reason: '', a: { error: 'x' } }, ['a', 'error']],
    [{ errors: [], failures: {}, reason: 'x' }, ['reason']],
    [{ error: { error: null, reason: 'x' } }, ['error']],
    [{ a: { error: 'x' }, error: 'y' }, ['a', 'error']],
    [{ a: 'error', b: 1 }, undefined],
    [{ errors: [{}], list: [{ error: 'x' }] }, ['errors']],
    [{ list: [{ error: 'x' }] }, undefined],
    [[{ error: 'x' }], undefined],
    ['"error":1', undefined],
    [{ note: '"error":1' }, undefined],
    [{ error: null }, undefined],
    [{ error: false }, undefined],
    [{ error: '' }, undefined],
    [{ errors: {} }, undefined],
    [{ 'the error of é': 'ü' }, ['the error of é']],
  ])('of %j is %j', (item, steps) => expect(errorOf(item)).toEqual(steps));

  test('is that of the first item with one, and is searched ten levels deep', () => {
    expect(errorOf(7, { error: null }, { reason: 'x' }, { error: 'y' })).toEqual(['reason']);
    const nested = (levels: number) =>
      Array.from({ length: levels - 1 }).reduce<unknown>((inner) => ({ a: inner }), { error: 'x' });
    expect(errorOf(nested(10))).toHaveLength(10);
    expect(errorOf(nested(11))).toBeUndefined();
    expect(errorField(pagesOf([[{ a: { error: 'x' } }]]))).toEqual({
      text: 'a.error',
      steps: ['a', 'error'],
    });
  });
});

describe('the rows of a table', () => {
  const rowsOf = (columns: readonly FieldPath[], items: readonly unknown[], zone?: TimeZone) =>
    createRowReader(
      columns,
      (bytes, start, end) => bytes.toString('utf8', start, end),
      '-',
      zone,
    )(pagesOf([items])[0] as ReturnType<typeof pageOf>);

  test('have a cell in each column, whatever an item lacks', () => {
    const columns = parseFieldPaths('b,a.c,lines[].n');
    expect(rowsOf(columns, [{ a: { c: null }, b: 'x' }, {}, { lines: [{ n: 1 }, {}] }, 7])).toEqual([
      ['"x"', 'null', '-'],
      ['-', '-', '-'],
      ['-', '-', '[1,null]'],
      ['-', '-', '-'],
    ]);
  });

  test('show the item itself next to its members only if it is not an object', () => {
    const itself = { text: 'value', steps: [] };
    const items = [{ a: 1 }, 7, [2], {}];
    expect(rowsOf([itself], items)).toEqual([['{"a":1}'], ['7'], ['[2]'], ['{}']]);
    expect(rowsOf([itself, memberPath('a')], items)).toEqual([
      ['-', '1'],
      ['7', '-'],
      ['[2]', '-'],
      ['-', '-'],
    ]);
    expect(rowsOf([memberPath('a'), itself], items.slice(0, 2))).toEqual([
      ['1', '-'],
      ['-', '7'],
    ]);
  });

  test('show hours of the zone, by default of UTC', () => {
    const columns = parseFieldPaths('at:hour');
    const items = [{ at: '2026-11-20T12:00:00Z' }];
    expect(rowsOf(columns, items)).toEqual([['12']]);
    expect(rowsOf(columns, items, new TimeZone('Europe/Berlin'))).toEqual([['13']]);
  });
});
