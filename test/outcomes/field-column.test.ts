import { describe, expect, test } from 'vitest';
import { EACH } from '../../src/items/field-path.ts';
import { FIRST_CODE, UNCODED } from '../../src/outcomes/code-column.ts';
import { Field } from '../../src/outcomes/field-column.ts';

/** So many values that hardly repeat are given up. */
const MANY_VALUES = 8192;

function fieldOf(texts: readonly string[]): Field {
  const field = new Field(['amount'], Buffer.from('"amount":'), texts.length);
  for (const [row, json] of texts.entries()) field.setText(row, json);
  return field;
}

describe('a column whose values are given up', () => {
  test('has the number that was one too many, also where it is written in another way', () => {
    const first = Array.from({ length: MANY_VALUES }, (_, index) => String(index));
    const { numbers } = fieldOf([...first, '10000.0', '10001']);
    expect(numbers?.[MANY_VALUES]).toBe(10_000);
    expect(numbers?.[MANY_VALUES + 1]).toBe(10_001);
  });

  test('keeps no numbers of lists in which an element without a value was one too many', () => {
    const field = new Field(['amounts', EACH], Buffer.from('"amounts":'), MANY_VALUES);
    for (let row = 0; row < MANY_VALUES; row++) field.setText(row, String(row));
    field.setLack(MANY_VALUES);
    expect([field.numbers, field.isUncompared]).toEqual([undefined, true]);
  });

  test('knows a value of many events by its other spellings', () => {
    const many = Array.from({ length: 2 * MANY_VALUES }, (_, index) => (index % 50 ? `"u${index}"` : '"é/"'));
    const field = fieldOf([...many, '"\\u00e9\\/"', '"é\\/"', '"\\u0075"']);
    expect(field.texts.slice(FIRST_CODE)).toEqual(['"é/"']);
    expect([...field.codes.slice(-3)]).toEqual([FIRST_CODE, FIRST_CODE, UNCODED]);
  });
});
