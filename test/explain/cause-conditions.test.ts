import { describe, expect, test } from 'vitest';
import {
  type CauseCondition,
  fieldCondition,
  fieldConditionsOf,
  isServiceFilter,
  spanConditions,
} from '../../src/explain/cause-conditions.ts';
import { CauseSearch } from '../../src/explain/cause-search.ts';
import type { FieldOp, FieldTest } from '../../src/explain/conditions.ts';
import { parseFieldPath } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { parseInstant } from '../../src/time/instant.ts';
import { tableOfItems } from '../sample/made-samples.ts';
import { testOn as testIn } from './made-tables.ts';

const ID = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';
const OTHER_ID = '9f9073e8-1531-474d-bed1-b2f34ed6f2ce';

const events = Array.from({ length: 8 }, (_, index) => {
  const [isEven, isEarly] = [index % 2 === 0, index < 4];
  return `{${[
    `"eventId":"e${index}"`,
    `"publishStatus":"${isEven ? 'FAILED' : 'SUCCESS'}"`,
    `"createdOn":"2026-11-20T00:00:0${index}Z"`,
    `"eventType":"${isEven ? 'a.b' : 'c,d'}"`,
    `"subscriptionId":"${isEven ? ID : OTHER_ID}"`,
    `"region":"${isEven ? 'eu' : '503'}"`,
    `"plan":${isEven ? '"pro"' : 'null'}`,
    `"number":${isEven ? '9007199254740993' : '1.5'}`,
    `"amount":${isEarly ? 90 : 210}`,
    `"large":${isEarly ? 1 : '9007199254740993'}`,
    `"day":"${isEarly ? '2026-10-03' : '2026-11-09'}"`,
    `"sent":"${isEarly ? '2026-05-31T22:10:00Z' : '2026-06-02T01:00:00Z'}"`,
    `"mail":"${isEarly ? 'a' : 'b'}@${isEven ? 'example.com' : 'example.org'}"`,
    `"mails":["${index}@${isEven ? 'example.com' : 'example.org'}"]`,
    ...(isEven ? ['"note":{"a b":1}'] : []),
  ].join(',')}}`;
});
const search = new CauseSearch(tableOfItems(Items.of(events.map((text) => Buffer.from(text)))));
const testOn = (path: string, op: FieldOp, json?: string) => testIn(search, path, op, json);

describe('the condition on a field', () => {
  const none = { value: '', quoted: false, instant: undefined };
  test.each<
    [
      string,
      FieldTest,
      Omit<CauseCondition, 'condition'>,
      Omit<CauseCondition['condition'], 'field' | 'text'>,
    ]
  >([
    [
      'that is there at times',
      testOn('note', '!='),
      { field: 'note', op: 'exists', value: null, text: 'note' },
      { operator: 'exists', ...none },
    ],
    [
      'that is missing at times',
      testOn('note', '='),
      { field: 'note', op: 'missing', value: null, text: '!note' },
      { operator: 'missing', ...none },
    ],
    [
      'that is null at times',
      testOn('plan', '='),
      { field: 'plan', op: '=', value: null, text: '!plan' },
      { operator: 'missing', ...none },
    ],
    [
      'that is not null',
      testOn('plan', '!='),
      { field: 'plan', op: 'exists', value: null, text: 'plan' },
      { operator: 'exists', ...none },
    ],
    [
      'with a value',
      testOn('region', '=', '"eu"'),
      { field: 'region', op: '=', value: 'eu', text: 'region = eu' },
      { operator: '=', value: 'eu', quoted: true, instant: undefined },
    ],
    [
      'with a text that looks like a number',
      testOn('region', '!=', '"503"'),
      { field: 'region', op: '!=', value: '503', text: 'region != "503"' },
      { operator: '!=', value: '503', quoted: true, instant: undefined },
    ],
    [
      'with a number that JavaScript cannot represent',
      testOn('number', '=', '9007199254740993'),
      {
        field: 'number',
        op: '=',
        value: '9007199254740993',
        text: 'number = 9007199254740993',
      },
      { operator: '=', value: '9007199254740993', quoted: false, instant: undefined },
    ],
    [
      'by which the service filters in any case',
      testOn('eventType', '=', '"a.b"'),
      { field: 'eventType', op: '=', value: 'a.b', text: 'eventType = a.b' },
      { operator: '=', value: 'a.b', quoted: true, instant: undefined, ignoresCase: true },
    ],
    [
      'by whose id the service filters',
      testOn('subscriptionId', '=', `"${ID}"`),
      { field: 'subscriptionId', op: '=', value: ID, text: `subscriptionId = ${ID}` },
      { operator: '=', value: ID, quoted: true, instant: undefined, ignoresCase: true },
    ],
    [
      'that is no filter, being negated',
      testOn('eventType', '!=', '"a.b"'),
      { field: 'eventType', op: '!=', value: 'a.b', text: 'eventType != a.b' },
      { operator: '!=', value: 'a.b', quoted: true, instant: undefined },
    ],
    [
      'that is no filter, being a list',
      testOn('eventType', '=', '"c,d"'),
      { field: 'eventType', op: '=', value: 'c,d', text: 'eventType = "c,d"' },
      { operator: '=', value: 'c,d', quoted: true, instant: undefined },
    ],
    [
      'with a member of a name with a space',
      testOn('note.a b', '=', '1'),
      { field: 'note.a b', op: '=', value: 1, text: 'note.a\\ b = 1' },
      { operator: '=', value: '1', quoted: false, instant: undefined },
    ],
    [
      'that is derived',
      testOn('mail:domain', '=', '"example.com"'),
      { field: 'mail:domain', op: '=', value: 'example.com', text: 'mail:domain = example.com' },
      { operator: '=', value: 'example.com', quoted: true, instant: undefined },
    ],
    [
      'from a number on',
      testOn('amount', '>=', '210'),
      { field: 'amount', op: '>=', value: 200, text: 'amount >= 200' },
      { operator: '>=', value: '200', quoted: false, instant: undefined },
    ],
    [
      'up to a number',
      testOn('amount', '<=', '90'),
      { field: 'amount', op: '<=', value: 90, text: 'amount <= 90' },
      { operator: '<=', value: '90', quoted: false, instant: undefined },
    ],
    [
      'from a number on that JavaScript cannot represent',
      testOn('large', '>=', '9007199254740993'),
      { field: 'large', op: '>=', value: 9_000_000_000_000_000, text: 'large >= 9000000000000000' },
      { operator: '>=', value: '9000000000000000', quoted: false, instant: undefined },
    ],
    [
      'from a date on, which is compared as a text',
      testOn('day', '>=', '"2026-11-09"'),
      { field: 'day', op: '>=', value: '2026-11-01', text: 'day >= "2026-11-01"' },
      { operator: '>=', value: '2026-11-01', quoted: true, instant: undefined },
    ],
    [
      'from a time on, which is compared as a time',
      testOn('sent', '>=', '"2026-06-02T01:00:00Z"'),
      {
        field: 'sent',
        op: '>=',
        value: '2026-06-01T00:00:00Z',
        text: 'sent >= 2026-06-01T00:00:00Z',
      },
      {
        operator: '>=',
        value: '2026-06-01T00:00:00Z',
        quoted: false,
        instant: parseInstant('2026-06-01T00:00:00Z'),
      },
    ],
    [
      'before a time',
      testOn('sent', '<=', '"2026-05-31T22:10:00Z"'),
      {
        field: 'sent',
        op: '<',
        value: '2026-06-01T00:00:00Z',
        text: 'sent < 2026-06-01T00:00:00Z',
      },
      {
        operator: '<',
        value: '2026-06-01T00:00:00Z',
        quoted: false,
        instant: parseInstant('2026-06-01T00:00:00Z'),
      },
    ],
  ])('%s', (_, one, expected, condition) => {
    const found = fieldCondition(one);
    const field = parseFieldPath(expected.field, '--field');
    expect(found).toEqual({ ...expected, condition: { ...condition, field, text: expected.text } });
  });
});

test('the conditions of a span are its inclusive bounds, where it has them', () => {
  const [from, to] = ['2026-11-20T00:00:10.5Z', '2026-11-20T00:01:00Z'].map((text) => parseInstant(text));
  const boundOf = (operator: '>=' | '<=', instant: typeof from) => {
    const value = instant?.text;
    const text = `createdOn ${operator} ${value}`;
    const field = parseFieldPath('createdOn', '--field');
    const condition = { text, field, operator, value, quoted: false, instant };
    return { field: 'createdOn', op: operator, value, condition, text };
  };
  expect(spanConditions(from, to)).toEqual([boundOf('>=', from), boundOf('<=', to)]);
  expect(spanConditions(from, undefined)).toEqual([boundOf('>=', from)]);
  expect(spanConditions(undefined, to)).toEqual([boundOf('<=', to)]);
  expect(spanConditions(undefined, undefined)).toEqual([]);
});

test('the conditions on fields are those of a cause without its span', () => {
  const ofField = fieldCondition(testOn('region', '=', '"eu"'));
  const span = spanConditions(parseInstant('2026-11-20T00:00:10Z'), parseInstant('2026-11-20T00:01:00Z'));
  expect(fieldConditionsOf({ conditions: [ofField, ...span] })).toEqual([ofField]);
});

test.each<[Pick<CauseCondition, 'field' | 'op' | 'value'>, boolean]>([
  [{ field: 'eventType', op: '=', value: 'a.b' }, true],
  [{ field: 'eventType', op: '!=', value: 'a.b' }, false],
  [{ field: 'eventType', op: '=', value: '' }, false],
  [{ field: 'eventType', op: '=', value: 5 }, false],
  [{ field: 'eventType', op: '=', value: 'a.*' }, false],
  [{ field: 'eventType', op: '=', value: 'a,b' }, false],
  [{ field: 'eventType', op: '=', value: 'a\\b' }, false],
  [{ field: 'publishStatus', op: '=', value: 'FAILED' }, true],
  [{ field: 'subscriptionId', op: '=', value: ID }, true],
  [{ field: 'subscriptionId', op: '=', value: 's1' }, false],
  [{ field: 'eventId', op: '=', value: ID }, true],
  [{ field: 'region', op: '=', value: 'eu' }, false],
  [{ field: 'region', op: '=', value: ID }, false],
])('the service filters by %j: %s', (condition, expected) =>
  expect(isServiceFilter(condition)).toBe(expected),
);
