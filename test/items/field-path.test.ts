import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { UsageError } from '../../src/errors.ts';
import { FIELD_DERIVATIONS } from '../../src/items/derived-values.ts';
import {
  EACH,
  fieldPath,
  isOfZone,
  type PathStep,
  parseFieldPath,
  parseFieldPaths,
  pathText,
} from '../../src/items/field-path.ts';

test.each(FIELD_DERIVATIONS)('a field ends in :%s, which hooktrail help filters describes', async (name) => {
  expect(parseFieldPath(`a.b:${name}`, '--by').walk).toEqual({ steps: ['a', 'b'], derivation: name });
  expect(await readFile('docs/help/filters.txt', 'utf8')).toMatch(new RegExp(`^  \\w+:${name} `, 'm'));
});

const steps = (text: string) => parseFieldPaths(text).map((path) => path.steps);

describe('--fields', () => {
  test('splits paths at commas and steps at dots', () => {
    expect(parseFieldPaths('eventId, payload.customer.id ,items.0.sku')).toEqual([
      { text: 'eventId', steps: ['eventId'] },
      { text: 'payload.customer.id', steps: ['payload', 'customer', 'id'] },
      { text: 'items.0.sku', steps: ['items', '0', 'sku'] },
    ]);
  });

  test('names a field in one way, and a member with an empty name by ""', () => {
    const texts = (typed: string) => parseFieldPaths(typed).map(({ text }) => text);
    expect(texts('payload.First\\ Name,payload.Last Name,a\\.b,\\ c')).toEqual([
      'payload.First Name',
      'payload.Last Name',
      'a\\.b',
      '\\ c',
    ]);
    expect(steps('"",a."".b,"a",""b')).toEqual([[''], ['a', '', 'b'], ['"a"'], ['""b']]);
    expect(parseFieldPath('""[]:length', '--by').walk).toEqual({ steps: ['', EACH], derivation: 'length' });
  });

  test('keeps only the backslashes that a name needs', () => {
    const texts = (typed: string) => parseFieldPaths(typed).map(({ text }) => text);
    expect(texts('\\a\\-b,\\"\\"c,a\\:b,x\\[\\]')).toEqual(['a-b', '\\"\\"c', 'a\\:b', 'x\\[\\]']);
    expect(texts('a\\ ,b.\\ c.\\ ,\\ []')).toEqual(['a\\ ', 'b.\\ c.\\ ', '\\ []']);
    expect(texts('a\\.\\ b,c\\ d')).toEqual(['a\\. b', 'c d']);
  });

  test.each([
    ['', 'a field name is empty'],
    ['a,,b', 'a field name is empty'],
    ['a, ', 'a field name is empty'],
    ['.', "a part of '.' is empty"],
    ['a..b', "a part of 'a..b' is empty"],
    ['ab\\', "'ab\\' ends in a lone backslash"],
    ['b,a', 'a is named twice', 'b,a,.a'],
    ['x', 'a path has at most 1000 steps', Array(1001).fill('a').join('.')],
  ])('refuses %j: %s', (short, why, typed = short) => {
    expect(() => parseFieldPaths(typed)).toThrow(
      expect.objectContaining({
        message: `--fields: invalid value '${typed}': ${why}`,
        next: 'name fields as in eventId, payload.customer.id or lines[].sku; write a dot inside a name as \\.',
      }),
    );
  });

  test('takes a path of 1000 steps', () => {
    const names = Array<string>(1000).fill('a');
    expect(steps(names.join('.'))).toEqual([names]);
  });

  test("takes jq's form of a path, with a dot in front", () => {
    expect(parseFieldPaths('.eventId,.items.0')).toEqual(parseFieldPaths('eventId,items.0'));
    expect(() => parseFieldPaths('..a')).toThrow("a part of '..a' is empty");
  });

  test('treats the character after a backslash as part of a name', () => {
    expect(steps('a\\.b.c')).toEqual([['a.b', 'c']]);
    expect(steps('a\\,b,c\\\\')).toEqual([['a,b'], ['c\\']]);
    expect(steps(' \\ a\\  ')).toEqual([[' a ']]);
  });

  test('any names, escaped, read back as the same names', () => {
    const name = fc.string({ minLength: 1, unit: 'binary' });
    const quoted = (text: string) => text.replace(/[\\.,\s"[\]]/gu, '\\$&');
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.array(name, { minLength: 1 }), { minLength: 1, selector: String }),
        (paths) => {
          expect(steps(paths.map((path) => path.map(quoted).join('.')).join(','))).toEqual(paths);
        },
      ),
    );
  });
});

/** Names that a path has to escape, among others. */
const ODD_NAMES = [
  ...[
    '',
    '""',
    '""x',
    'x""',
    'lines[]',
    '[',
    ']',
    '[]',
    'a:length',
    'a:delay',
    'item:size',
    ':hour',
    'dc:title',
  ],
  ...['a.b', '\\', '\\\\', ' ', ' a', 'a ', 'a b', 'a,b', 'a=b'],
];
const names = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...ODD_NAMES));

describe('a path through lists and to what is derived', () => {
  const walkOf = (text: string) => parseFieldPath(text, '--by').walk;

  test.each([
    ['lines[].sku', ['lines[]', 'sku'], ['lines', EACH, 'sku'], undefined],
    ['ids[]', ['ids[]'], ['ids', EACH], undefined],
    ['a[].b[].c', ['a[]', 'b[]', 'c'], ['a', EACH, 'b', EACH, 'c'], undefined],
    ['rows[][]', ['rows[][]'], ['rows', EACH, EACH], undefined],
    ['lines.[].sku', ['lines', '[]', 'sku'], ['lines', EACH, 'sku'], undefined],
    ['lines:length', ['lines:length'], ['lines'], 'length'],
    ['a.email:domain', ['a', 'email:domain'], ['a', 'email'], 'domain'],
    ['emails[]:domain', ['emails[]:domain'], ['emails', EACH], 'domain'],
    ['createdOn:hour', ['createdOn:hour'], ['createdOn'], 'hour'],
    ['createdOn:weekday', ['createdOn:weekday'], ['createdOn'], 'weekday'],
    ['item:size', ['item:size'], [], 'size'],
    ['item:length', ['item:length'], ['item'], 'length'],
    ['a:length[]', ['a:length[]'], ['a:length', EACH], undefined],
  ])(
    '%s has two readings: the names as they are written, and where it leads',
    (text, steps, to, derivation) => {
      expect(parseFieldPath(text, '--by')).toEqual({ text, steps, walk: { steps: to, derivation } });
    },
  );

  test.each([
    'lines\\[\\].sku',
    'a\\:length',
    'item\\:size',
    'dc:title',
    ':length',
    'a:lengths',
    'lines:size',
  ])('%s is the names of members and nothing else', (text) => {
    expect(walkOf(text)).toBeUndefined();
  });

  test("takes jq's dot in front", () => {
    expect(parseFieldPath('.lines[].sku', '--by')).toEqual(parseFieldPath('lines[].sku', '--by'));
  });

  test('tells a list from a member of the same name in one --fields, and two of the same kind', () => {
    expect(parseFieldPaths('a[],a\\[\\]')).toHaveLength(2);
    expect(() => parseFieldPaths('a[],b,a[]')).toThrow('a[] is named twice');
  });

  test.each(ODD_NAMES)('the text of a path with the name %j is read as the same path', (name) => {
    const paths: PathStep[][] = [[name], ['a', name], [name, 'a'], [name, EACH], ['a', EACH, name]];
    for (const steps of paths)
      for (const derivation of [undefined, 'length'] as const) {
        const path = fieldPath(steps, derivation);
        expect(parseFieldPath(path.text, '--by')).toEqual(path);
        const { steps: names, walk } = parseFieldPath(pathText(path), '--by');
        expect({ steps: names, walk }).toEqual({ steps: path.steps, walk: path.walk });
      }
  });

  test('depends on the zone if it is derived from its clock', () => {
    const isZoned = (text: string) => isOfZone(parseFieldPath(text, '--by'));
    expect(['a:hour', 'a[].b:weekday'].map(isZoned)).toEqual([true, true]);
    const others = ['a', 'a[]', 'a:length', 'a:delay', 'a:domain', 'item:size'];
    expect(others.map(isZoned)).toEqual(others.map(() => false));
  });

  test('is one path, whose comma is part of a name', () => {
    expect(() => parseFieldPath('a,b', '--by')).toThrow(
      "--by: invalid value 'a,b': one field is expected; a comma inside a name is written \\,",
    );
    expect(parseFieldPath('a\\,b', '--by').steps).toEqual(['a,b']);
  });

  test('the text of any path is read as the same path', () => {
    const steps = fc.array(fc.oneof(names, fc.constant(EACH)), { minLength: 1 });
    fc.assert(
      fc.property(
        names,
        steps,
        fc.option(fc.constantFrom(...FIELD_DERIVATIONS), { nil: undefined }),
        (first, others, derivation) => {
          const path = fieldPath([first, ...others], derivation);
          expect(parseFieldPath(path.text, '--by')).toEqual(path);
          const { text: _, ...read } = parseFieldPath(pathText(path), '--by');
          expect({ text: path.text, ...read }).toEqual(path);
        },
      ),
    );
    expect(parseFieldPath(fieldPath([], 'size').text, '--by')).toEqual(fieldPath([], 'size'));
  });
});

describe('a bracket that is not part of []', () => {
  const failureOf = (text: string) => {
    try {
      parseFieldPath(text, '--by');
    } catch (error) {
      return error as UsageError;
    }
    throw new Error(`${text} is read`);
  };

  test.each([
    ['lines[*].sku', 'lines[].sku'],
    ['$.lines[*].sku', 'lines[].sku'],
    ['$.lines[0].sku', 'lines.0.sku'],
    ['lines[0][1]', 'lines.0.1'],
    ['lines[]?.sku', 'lines[].sku'],
    ['lines[]sku', 'lines[].sku'],
    ['lines[ ].sku', 'lines[].sku'],
    ['lines[ 12 ]', 'lines.12'],
    ['$[0].a', '.0.a'],
    ["a['bc'].d", 'a.bc.d'],
    ['[].a', 'a'],
    ['.[].a', '.a'],
  ])('%s is corrected to %s', (typed, meant) => {
    const { message, next, correction } = failureOf(typed);
    expect(message).toContain(`--by: invalid value '${typed}': `);
    expect(next).toBe(`write --by '${meant}'`);
    expect(correction).toEqual({ typed, meant });
  });

  test.each([
    '[',
    ']',
    '[]',
    '.[]',
    'a[',
    'a]',
    'a[b]',
    'a][',
    'a[[]]',
    'ab]',
    'a[0',
    `a["${'b.c'}"]`,
    'a[$(x)]',
  ])('%s is an error that says how to write a path', (typed) => {
    const { message, next, correction } = failureOf(typed);
    const path = typed.replace(/^\./, '');
    expect(message).toBe(
      `--by: invalid value '${typed}': '${path}' has a bracket other than [] after a name`,
    );
    expect(next).toBe(
      'use lines[].sku for every element, lines.0.sku for the first; write a bracket inside a name as \\[',
    );
    expect(correction).toBeUndefined();
  });

  test('is corrected in a text of at most 500 characters', () => {
    const typed = (characters: number) => `${'a'.repeat(characters - 3)}[0]`;
    expect(failureOf(typed(500)).correction?.meant).toBe(`${'a'.repeat(497)}.0`);
    expect(failureOf(typed(501)).correction).toBeUndefined();
  });

  test.each([
    '['.repeat(200_000),
    `a${'[]'.repeat(200_000)}b`,
    'a.'.repeat(200_000),
    `a${'[ '.repeat(200_000)}`,
  ])('a long text is refused in linear time', (typed) => {
    expect(() => parseFieldPath(typed, '--by')).toThrow('--by: invalid value');
  });
});
