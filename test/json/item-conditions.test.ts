import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compareNumbers,
  conditionText,
  itemFilter,
  type Operator,
  parseCondition,
} from '../../src/json/item-conditions.ts';
import { Items } from '../../src/json/items.ts';

const keeps = (item: string, conditions: readonly string[], texts: readonly string[] = []) => {
  const keep = itemFilter(
    conditions.map((text) => parseCondition(text, '--where', Date.parse('2026-11-20T12:00:00Z'))),
    texts,
  );
  return keep(Items.of([Buffer.from(item)])).count === 1;
};

const EVENT =
  '{"eventId":"a-1","publishStatus":"FAILED","createdOn":"2026-11-20T10:00:00.1234567Z","attempts":3,"big":9007199254740993,' +
  '"amount":{"value":1.10,"currency":"EUR"},"tags":["x","y\\u00e9"],"error":null,"note":"5","a.b":true,"huge":1e400}';

describe('--where', () => {
  test.each([
    'publishStatus = FAILED',
    'publishStatus=FAILED',
    'publishStatus != SUCCESS',
    'publishStatus = "FAILED"',
    'attempts >= 3',
    'attempts = 3.0',
    'attempts < 10',
    'big = 9007199254740993',
    'big > 9007199254740992',
    'big != 9007199254740992',
    'amount.value = 1.1',
    'amount.currency ~ eu',
    'tags.1 = yé',
    'tags ~ "x"',
    'error = null',
    'missing = null',
    'missing != x',
    'note = 5',
    'note = "5"',
    'note < 10',
    'a\\.b = true',
    'huge > 1e399',
    'huge < 1e401',
    'createdOn > 2026-11-20T10:00:00.1234566Z',
    'createdOn = 2026-11-20T11:00:00.1234567+01:00',
    'createdOn >= 2026-11-20',
    'createdOn < 2026-11-20 10:01',
    'createdOn < 11-20 10:00:01Z',
    'createdOn > 3h',
    'createdOn > today',
    'createdOn < 10:30',
    'eventId > "a-0"',
    'attempts',
    '!missing',
    '! error',
    "publishStatus = 'FAILED'",
    'note = "5"',
    'eventId ~ A-1',
  ])('%s holds', (condition) => expect(keeps(EVENT, [condition])).toBe(true));

  test.each([
    'publishStatus = failed',
    'publishStatus = SUCCESS',
    'attempts > 3',
    'attempts = "3"',
    '!attempts',
    'missing',
    'error',
    'note > "6"',
    'publishStatus > 3',
    'big = 9007199254740992',
    'error > 0',
    'error ~ null',
    'missing < 1',
    'missing = x',
    'error = "null"',
    'amount.currency ~ usd',
    'createdOn < 2026-11-20T10:00:00.1234567Z',
    'createdOn >= 2026-11-20 10:01',
    'createdOn > 1h',
    'createdOn < yesterday',
    'tags.7 = x',
  ])('%s does not hold', (condition) => expect(keeps(EVENT, [condition])).toBe(false));

  test('all have to hold', () => {
    expect(keeps(EVENT, ['attempts = 3', 'note = 5'])).toBe(true);
    expect(keeps(EVENT, ['attempts = 3', 'note = 6'])).toBe(false);
  });

  test.each([
    ['', 'it is empty'],
    ['= 3', 'it names no field'],
    ['!', 'it names no field'],
    ['!a = 3', "'!' stands before a field alone, or before '=' in a comparison"],
    ['a > 3 && b = c', '&& cannot join conditions in one --where'],
    ['a>3&&b=c', '&& cannot join conditions in one --where'],
    ['a || b', '|| cannot join conditions in one --where'],
    ['a > 3 and b = c', 'and cannot join conditions in one --where'],
    ['a = x AND !b', 'AND cannot join conditions in one --where'],
    ['a or b = c', 'or cannot join conditions in one --where'],
    ['attempts > three', "'three' is neither a number nor a time, so that nothing is greater"],
    ['attempts <=', 'nothing is neither a number nor a time, so that nothing is less'],
    ['createdOn < banana', "'banana' is neither a number nor a time, so that nothing is less"],
    ['createdOn = banana', "'banana' is not a time"],
    ['a == 3', "'==' is no operator; put a value that begins with = in quotes"],
    ['a =~ b', "'=~' is no operator; put a value that begins with ~ in quotes"],
    ['a..b = 3', "a part of 'a..b' is empty"],
    ['a = "\\x"', 'the text in quotes is not a JSON string'],
  ])("'%s' is a usage error", (text, why) => {
    expect(() => parseCondition(text, '--where', Date.parse('2026-11-20T12:00:00Z'))).toThrow(why);
    expect(() => parseCondition(text, '--where', Date.parse('2026-11-20T12:00:00Z'))).toThrow(
      /^--where: invalid value '/,
    );
  });

  test('texts with `and` or `or` that join no conditions are texts', () => {
    const item = '{"name":"Smith and Sons","note":"this or that","rule":"a && b","rules":["a && b or c=d"]}';
    expect(keeps(item, ['rules = ["a && b or c=d"]'])).toBe(true);
    expect(keeps(item, ['name = Smith and Sons', 'note ~ this or that', 'rule = "a && b"'])).toBe(true);
  });

  test('a text that was made of a condition is read as the same condition', () => {
    const name = fc.string({ minLength: 1, unit: 'grapheme' });
    const value = fc.string({ unit: 'grapheme' });
    const operator = fc.constantFrom(
      '=',
      '!=',
      '~',
      'exists',
      'missing',
      '<',
      '>=',
    ) as fc.Arbitrary<Operator>;
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 3 }), operator, value, (steps, op, text) => {
        fc.pre(!(steps.length === 1 && steps[0] === 'createdOn'));
        const isOrder = /^[<>]/.test(op);
        const said = isOrder
          ? conditionText({ text: '', steps }, op, '-1.5e3', false)
          : conditionText({ text: '', steps }, op, text);
        const { field, operator: read, value: wanted } = parseCondition(said, '--where', 0);
        expect([field.steps, read]).toEqual([steps, op]);
        expect(wanted).toBe(op === 'exists' || op === 'missing' ? '' : isOrder ? '-1.5e3' : text);
      }),
      { numRuns: 2000 },
    );
  });

  test('numbers of any size compare as numbers do', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt(), fc.integer({ min: 0, max: 30 }), (a, b, places) => {
        const sign = a < b ? -1 : a > b ? 1 : 0;
        expect(Math.sign(compareNumbers(`${a}`, `${b}`))).toBe(sign);
        expect(Math.sign(compareNumbers(`${a}e${places}`, `${b}E+${places}`))).toBe(sign);
        expect(Math.sign(compareNumbers(`${a}.0e-${places}`, `${b}e-${places}`))).toBe(sign);
      }),
    );
    expect(compareNumbers('1.5', '1.50')).toBe(0);
    expect(compareNumbers('-0', '0.0e5')).toBe(0);
    expect(compareNumbers('0.1', '1e-1')).toBe(0);
    expect(compareNumbers('-2', '-10')).toBeGreaterThan(0);
    expect(compareNumbers('1e999999999999', '9e999999999998')).toBeGreaterThan(0);
  });
});

describe('--grep', () => {
  const found = (text: string, item = EVENT) => keeps(item, [], [text]);

  test('finds a text in values and names, ignoring case', () => {
    for (const text of ['failed', 'CURRENCY', 'Eur', 'YÉ', '9007199254740993', 'true', 'null', '1.10', 'a.b'])
      expect([text, found(text)]).toEqual([text, true]);
  });

  test('finds nothing across values, and matches decoded escapes', () => {
    for (const text of ['"', 'FAILED","', 'a-1","publish', '{', '\\u00e9', 'x","y', 'missing'])
      expect([text, found(text)]).toEqual([text, false]);
  });

  test('finds the same as a walk over the parsed event', () => {
    const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' });
    const has = (node: unknown, text: string): boolean => {
      if (typeof node === 'string') return node.toLowerCase().includes(text);
      if (node === null || typeof node !== 'object') return JSON.stringify(node).toLowerCase().includes(text);
      return Object.entries(node).some(
        ([name, member]) => (!Array.isArray(node) && has(name, text)) || has(member, text),
      );
    };
    fc.assert(
      fc.property(value, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }), (node, text) => {
        expect(found(text, JSON.stringify(node))).toBe(has(node, text.toLowerCase()));
      }),
    );
  });
});
