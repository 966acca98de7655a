import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conditionOn, conditionText } from '../../src/items/condition-text.ts';
import { EACH, fieldPath, parseFieldPath } from '../../src/items/field-path.ts';
import { parseCondition } from '../../src/items/item-conditions.ts';
import { itemFilter } from '../../src/items/item-filter.ts';
import { Items } from '../../src/items/items.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { sampleSize } from '../support/seed.ts';

const NOON = Date.parse('2026-11-20T12:00:00Z');
const itemsOf = (...items: readonly unknown[]) =>
  Items.of(items.map((item) => Buffer.from(typeof item === 'string' ? item : JSON.stringify(item))));

const filterOf = (conditions: readonly string[], zone = UTC) =>
  itemFilter(
    conditions.map((text) => parseCondition(text, '--where', NOON, zone)),
    [],
    zone,
  );
const keeps = (item: unknown, ...conditions: readonly string[]) =>
  filterOf(conditions)(itemsOf(item)).count === 1;
const doubtsOf = (condition: string, ...items: readonly unknown[]) => {
  const keep = filterOf([condition]);
  keep(itemsOf(...items));
  return keep.doubts();
};

const ORDER = {
  createdOn: '2026-11-20T08:30:00Z',
  lines: [
    { sku: 'A-7', qty: 3 },
    { sku: 'B-1', qty: 12, note: null },
  ],
  ids: ['x', 'y', 'x', null, 7],
  none: [],
  body: '{"order":{"currency":"EUR","tags":["new","paid"]}}',
  email: 'Ann <ann@mail.harbour.example>',
};

describe('--where on any element of a list', () => {
  test.each([
    'lines[].sku = A-7',
    'lines[].sku = B-1',
    'lines[].sku != C-1',
    'lines[].sku ~ b-',
    'lines[].qty > 10',
    'lines[].qty <= 3',
    'lines[].sku in (C-1, B-1)',
    'lines[].sku',
    'lines[]',
    '!lines[].none',
    '!lines[].note',
    'lines[].note = null',
    'ids[] = x',
    'ids[] = 7',
    'ids[] = null',
    '!none[]',
    'none[] != x',
    'none[].sku != x',
    'none[] = null',
    'missing[] = null',
    'missing[] != x',
    'lines:length = 2',
    'ids:length > 4',
    'none:length = 0',
    'lines[].sku:length = 3',
    'body.order.currency = EUR',
    'body.order.tags[] = paid',
    'body.order.tags:length = 2',
    'email:domain = mail.harbour.example',
    'email:domain = Mail.Harbour.EXAMPLE',
    'email:domain in (a.example, Mail.Harbour.EXAMPLE)',
    'item:size > 100',
    'createdOn:hour = 8',
    'createdOn:hour = 08',
    'createdOn:hour >= 8',
    'createdOn:hour in (08, 09)',
    'createdOn:weekday = Friday',
    'createdOn:weekday = fri',
    'createdOn:weekday = 5',
    'createdOn:weekday != mon',
    'createdOn:weekday in (sat, FRI)',
  ])('%s holds', (condition) => {
    expect(keeps(ORDER, condition)).toBe(true);
  });

  test.each([
    'lines[].sku = C-1',
    'lines[].sku != A-7',
    'lines[].sku != B-1',
    'lines[].qty > 12',
    'lines[].sku in (C-1, D-1)',
    '!lines[].sku',
    'lines[].note',
    'lines[].note != null',
    'none[]',
    'none[] = x',
    'none[] ~ x',
    'lines = A-7',
    'lines[] = A-7',
    'lines:length > 2',
    'createdOn:length = 2',
    'lines:domain',
    'body.order.currency = USD',
    'body.order.tags[] != paid',
    'email:domain = harbour.example',
    'email:domain != Mail.Harbour.EXAMPLE',
    'createdOn:hour = 9',
    'createdOn:hour != 08',
    'createdOn:hour = 108',
    'createdOn:hour = 081',
    'createdOn:hour = "8"',
    'lines:length = 02',
    'createdOn:weekday = saturday',
    'createdOn:weekday in (sat, sun)',
  ])('%s does not hold', (condition) => {
    expect(keeps(ORDER, condition)).toBe(false);
  });

  test('two conditions may hold for different elements', () => {
    expect(keeps(ORDER, 'lines[].sku = A-7', 'lines[].qty = 12')).toBe(true);
  });

  test('a member of the literal name wins', () => {
    const item = { 'lines[]': { sku: 'literal' }, lines: [{ sku: 'A' }], 'a:length': 99, a: 'bc' };
    expect(keeps(item, 'lines[].sku = literal', 'a:length = 99')).toBe(true);
    expect(keeps(item, 'lines[].sku = A')).toBe(false);
    expect(keeps(item, 'a:length = 2')).toBe(false);
  });

  test('an hour and a weekday are those of the zone', () => {
    const keep = filterOf(
      ['createdOn:hour = 0', 'createdOn:weekday = Saturday'],
      new TimeZone('Europe/Berlin'),
    );
    expect(keep(itemsOf({ createdOn: '2026-11-20T23:10:00Z' })).count).toBe(1);
    expect(keep(itemsOf({ createdOn: '2026-11-20T22:10:00Z' })).count).toBe(0);
  });

  test('holds for a list exactly if it holds for one of its elements alone, and != if it holds for each', () => {
    const element = fc.oneof(
      fc.constantFrom(null, true, 1, 2, '1', 'a', 'A', 'ab', '2026-11-20T10:00:00Z'),
      fc.record({ x: fc.constantFrom(null, 1, 'a') }, { requiredKeys: [] }),
    );
    const operators = fc.constantFrom('=', '!=', '<', '<=', '>', '>=', '~', 'in');
    const values = fc.constantFrom('1', 'a', '"a"', 'null', 'true', '2026-11-20T10:00:00Z');
    const steps = fc.constantFrom('', '.x');
    fc.assert(
      fc.property(
        fc.array(element, { maxLength: 5 }),
        operators,
        values,
        steps,
        (list, operator, value, behind) => {
          fc.pre(!/[<>]/.test(operator) || !/^(a|true|null)$/.test(value));
          const condition = (field: string) =>
            operator === 'in' ? `${field} in (${value}, zz)` : `${field} ${operator} ${value}`;
          const alone = list.map((one) => keeps({ one }, condition(`one${behind}`)));
          // A list without elements is a field that is missing.
          if (alone.length === 0) alone.push(keeps({}, condition('one')));
          const expected = operator === '!=' ? alone.every(Boolean) : alone.some(Boolean);
          expect(keeps({ list }, condition(`list[]${behind}`))).toBe(expected);
        },
      ),
      { numRuns: sampleSize(50, 500) },
    );
  });

  test('the text of a condition on a list is read as the same condition', () => {
    for (const [field, text] of [
      [fieldPath(['lines', EACH, 'sku']), 'lines[].sku = "a,b"'],
      [fieldPath(['lines[]', 'sku']), 'lines\\[\\].sku = "a,b"'],
      [fieldPath(['a:length']), 'a\\:length = "a,b"'],
      [fieldPath(['emails', EACH], 'domain'), 'emails[]:domain = "a,b"'],
    ] as const) {
      expect(conditionText(field, '=', 'a,b')).toBe(text);
      expect(parseCondition(text, '--where', 0).field).toEqual(field);
    }
    const weekday = parseFieldPath('createdOn:weekday', '--where');
    expect(conditionText(weekday, '=', 'Monday')).toBe('createdOn:weekday = Monday');
    expect(conditionOn(parseFieldPath('createdOn:hour', '--where'), '>=', '22').text).toBe(
      'createdOn:hour >= 22',
    );
  });
});

describe('a doubt about a list or what is derived', () => {
  test.each([
    ['lines.sku = A', "no event has the field 'lines.sku'; did you mean lines[].sku?"],
    ['lines.*.sku = A', "no event has the field 'lines.*.sku'; did you mean lines[].sku?"],
    ['line[].sku = A', "no event has the field 'line[].sku'; did you mean lines[].sku?"],
    ['skus = A', "no event has the field 'skus'; did you mean lines[].sku?"],
    ['lines[].skuu = A', "no event has the field 'lines[].skuu'; did you mean lines[].sku?"],
    ['tags = new', "no event has the field 'tags'; did you mean body.order.tags?"],
    ['lines[].sku = a-7', "no event has 'a-7' in lines[].sku; did you mean A-7?"],
    ['lines[].sku = A-77', "no event has 'A-77' in lines[].sku; did you mean A-7?"],
    ['createdOn:weekday = Fryday', "no event has 'Fryday' in createdOn:weekday; did you mean Friday?"],
    ['createdOm:hour = 8', "no event has the field 'createdOm:hour'; did you mean createdOn:hour?"],
    ['ids:domain = x', 'no event has an e-mail address or a URL in ids'],
    ['email:hour = 1', 'no event has a time in email'],
    [
      'createdOn:hours = 8',
      "no event has the field 'createdOn:hours'; of a field there are :length, :domain, :hour, :weekday and :delay; did you mean createdOn:hour?",
    ],
    [
      'createdOn:minute = 8',
      "no event has the field 'createdOn:minute'; of a field there are :length, :domain, :hour, :weekday and :delay",
    ],
    ['item:bytes > 8', "no event has the field 'item:bytes'; of an item there is item:size"],
  ])('%s', (condition, doubt) => {
    const [said = ''] = doubtsOf(condition, ORDER);
    expect(said.replace(/ \(1 event looked at\)$/, '')).toBe(`--where: ${doubt}`);
  });

  test.each(['lines[].sku = B-1', 'lines[].sku != A-7', 'ids[] = 7', 'lines:length = 2', '!lines[].note'])(
    '%s leaves none',
    (condition) => {
      expect(doubtsOf(condition, ORDER)).toEqual([]);
    },
  );
});
