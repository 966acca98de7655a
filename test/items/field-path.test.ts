import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFieldPaths } from '../../src/items/item-fields.ts';

const steps = (text: string) => parseFieldPaths(text).map((path) => path.steps);

describe('--fields', () => {
  test('splits paths at commas and steps at dots', () => {
    expect(parseFieldPaths('eventId, payload.customer.id ,items.0.sku')).toEqual([
      { text: 'eventId', steps: ['eventId'] },
      { text: 'payload.customer.id', steps: ['payload', 'customer', 'id'] },
      { text: 'items.0.sku', steps: ['items', '0', 'sku'] },
    ]);
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
    const quoted = (text: string) => text.replace(/[\\.,\s]/gu, '\\$&');
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
