import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FieldPath, parseFieldPaths } from '../../src/json/item-fields.ts';
import type { Items } from '../../src/json/items.ts';
import { createPicker } from '../../src/output/json.ts';
import { jsonNames, jsonText } from '../support/json-text.ts';
import { pageOf } from '../support/outputs.ts';

const texts = (items: Items) => items.texts().map(String);
const pick = (fields: string, ...items: string[]) =>
  texts(createPicker(parseFieldPaths(fields))(pageOf(items)));

describe('picking fields', () => {
  test('keeps the exact text of a value, in the order of the fields', () => {
    const item = '{"n":9007199254740993,"d":1.10,"e":1e400,"s":"\\u0041\\/","o":{"x":[1,{"y":-0}]}}';
    expect(pick('s,e,d,n,o', item)).toEqual([
      '{"s":"\\u0041\\/","e":1e400,"d":1.10,"n":9007199254740993,"o":{"x":[1,{"y":-0}]}}',
    ]);
    expect(pick('o.x.1.y,o.x', item)).toEqual(['{"o.x.1.y":-0,"o.x":[1,{"y":-0}]}']);
  });

  test('gives null for a missing member', () => {
    expect(pick('a,b.c,d.0', '{"a":{}}', '"text"', '7', '{"b":[1],"d":{"0":true}}', '{}', '[]')).toEqual([
      '{"a":{},"b.c":null,"d.0":null}',
      '{"a":null,"b.c":null,"d.0":null}',
      '{"a":null,"b.c":null,"d.0":null}',
      '{"a":null,"b.c":null,"d.0":true}',
      '{"a":null,"b.c":null,"d.0":null}',
      '{"a":null,"b.c":null,"d.0":null}',
    ]);
  });

  test('uses the last of several members with the same name, with all its content', () => {
    expect(pick('a,a.b', '{"a":{"b":1},"\\u0061":{"c":2}}')).toEqual(['{"a":{"c":2},"a.b":null}']);
  });

  test('names members as typed', () => {
    expect(pick('a\\.b', '{"a.b":1}')).toEqual(['{"a\\\\.b":1}']);
  });

  test('handles results that are larger than their page', () => {
    const item = `{"a":{"b":{"c":"${'x'.repeat(1000)}"}}}`;
    const [picked] = pick('a,a.b,a.b.c', item);
    expect(picked?.length).toBeGreaterThan(3000);
    expect(JSON.parse(picked as string)['a.b.c']).toHaveLength(1000);
  });

  test('finds the same as JSON.parse in any JSON', () => {
    const path: fc.Arbitrary<FieldPath> = fc
      .array(fc.constantFrom(...jsonNames, '2'), { minLength: 1, maxLength: 4 })
      .map((steps) => ({ text: JSON.stringify(steps), steps }));
    const paths = fc.uniqueArray(path, { minLength: 1, maxLength: 6, selector: ({ text }) => text });
    fc.assert(
      fc.property(fc.array(jsonText, { minLength: 1, maxLength: 4 }), paths, (items, fields) => {
        const picked = texts(createPicker(fields)(pageOf(items)));
        const expected = items.map((item) => fields.map(({ steps }) => reference(JSON.parse(item), steps)));
        const names = fields.map(({ text }) => text);
        expect(picked.map((text) => Object.keys(JSON.parse(text)))).toEqual(items.map(() => names));
        expect(picked.map((text) => Object.values(JSON.parse(text)))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});

function reference(value: unknown, steps: readonly string[]): unknown {
  return steps.reduce((current, step) => {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return null;
    if (Array.isArray(current) && !/^\d+$/.test(step)) return null;
    return (current as Record<string, unknown>)[step] ?? null;
  }, value);
}
