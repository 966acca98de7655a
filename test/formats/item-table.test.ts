import { describe, expect, test } from 'vitest';
import type { FormatOptions } from '../../src/formats/format-options.ts';
import { columnTitle, itemTable, subscriptionIdsOf } from '../../src/formats/item-table.ts';
import { memberPath, parseFieldPath, parseFieldPaths } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { TimeZone } from '../../src/time/time-zone.ts';

const pageOf = (...values: unknown[]) => Items.of(values.map((one) => Buffer.from(JSON.stringify(one))));
const customer = memberPath('customer');
const ID = '1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b';
const FLAT = {
  eventId: ID,
  eventType: 'order.sent',
  createdOn: '2026-11-01T06:58:12.345Z',
  subscriptionId: 's',
  publishStatus: 'FAILED',
};
const { eventId, eventType, ...outside } = FLAT;
const SHAPES = [FLAT, { ...outside, eventData: { eventId, eventType } }];
const namesOf = (labels: Readonly<Record<string, string>>) => ({
  learn: async () => {},
  labelOf: (id: string) => labels[id],
});

type Options = Partial<FormatOptions>;
const tableOf = (
  items: readonly unknown[],
  { isTerminal = true, ...options }: Options & { isTerminal?: boolean } = {},
) => itemTable([pageOf(...items)], { list: 'events', ...options }, isTerminal);
const headsOf = (...args: Parameters<typeof tableOf>) => tableOf(...args).heads;
const titlesOf = (...args: Parameters<typeof tableOf>) => headsOf(...args).map(({ title }) => title);
const rowsOf = (...args: Parameters<typeof tableOf>) => tableOf(...args).read(pageOf(...args[0]));

describe('the columns of events', () => {
  const created = { title: 'createdOn', isConstant: false };
  const status = { title: 'publishStatus', shortTitle: 'status', isConstant: false };
  const type = { title: 'eventType', isDistinctive: true, isConstant: false };
  const id = { title: 'eventId', spare: 5, isWhole: true, restoreOrder: 2, isConstant: false };
  const subscription = { title: 'subscriptionId', least: 16, isDistinctive: true, isConstant: false };
  const error = { title: 'error', spare: 1, least: 15, isConstant: false };
  const receiver = { title: 'for', least: 16, isDistinctive: true, isConstant: false };

  test.each(SHAPES)('are known, with what distinguishes rows and what gives way: of %j', (item) => {
    expect(headsOf([item])).toEqual([created, status, type, id, subscription]);
    expect(rowsOf([item])).toEqual([['2026-11-01T06:58:12.345Z', 'FAILED', 'order.sent', ID, 's']]);
  });

  test.each(SHAPES)('of one value are constant, but for the id: of %j', (item) => {
    const constant = new Set(['eventId', 'eventType']);
    expect(headsOf([item], { constant })).toEqual([
      created,
      status,
      { ...type, isConstant: true },
      id,
      subscription,
    ]);
  });

  test.each(SHAPES)('have the id of an event that was asked for: of %j', (item) => {
    expect(headsOf([item], { isById: true })[3]).toEqual({
      title: 'eventId',
      isWhole: true,
      isConstant: false,
    });
    expect(headsOf([item], { isById: true })[2]).toEqual(type);
  });

  test.each(SHAPES)(
    'have who the event is for, beside which nobody needs the subscription: of %j',
    (item) => {
      const named = { ...item, customer: 'Harbour' };
      expect(headsOf([item, named], { nameField: customer })).toEqual([
        created,
        status,
        type,
        id,
        receiver,
        {
          ...subscription,
          spare: 6,
          restoreOrder: 1,
          isDistinctive: false,
          isWhole: true,
        },
      ]);
      expect(rowsOf([named], { nameField: customer })[0]?.slice(-2)).toEqual(['Harbour', 's']);
      // Nothing is hidden behind a name that no event has.
      for (const unnamed of [item, { ...item, customer: '' }, { ...item, customer: null }])
        expect(headsOf([unnamed], { nameField: customer }).at(-1)).toEqual(subscription);
    },
  );

  test('are looked for in all pages', () => {
    const pages = [pageOf({ eventType: 'a' }), pageOf({ eventId: 'b' }, { lastError: 'gone' })];
    const titles = itemTable(pages, { list: 'events' }, true).heads.map(({ title }) => title);
    expect(titles).toEqual(['eventType', 'eventId', 'error']);
    const named = [pageOf({ eventType: 'a' }), pageOf({ eventType: 'a', customer: 'b' })];
    expect(itemTable(named, { list: 'events', nameField: customer }, true).heads[1]).toEqual(receiver);
    expect(itemTable([], { list: 'events' }, true).heads).toEqual([]);
  });

  test('have the error at the end, under that title', () => {
    const failed = { ...FLAT, delivery: { lastError: { code: 503, text: 'gone' } } };
    expect(headsOf([failed]).at(-1)).toEqual(error);
    expect(rowsOf([failed])[0]?.at(-1)).toBe('503 gone');
    expect(titlesOf([{ delivery: { lastError: 'gone' } }])).toEqual(['delivery', 'error']);
    expect(titlesOf([{ lastError: 'gone', n: 1 }])).toEqual(['lastError', 'n']);
    expect(titlesOf([{ name: 'a', delivery: { lastError: 'gone' } }], { list: 'event-types' })).toEqual([
      'name',
    ]);
  });

  test('that are not known give way after the first', () => {
    expect(headsOf([{ a: 1, b: 2, c: 3 }], { constant: new Set(['b']) })).toEqual([
      { title: 'a', spare: 0, isConstant: false },
      { title: 'b', spare: 4, isConstant: true },
      { title: 'c', spare: 4, isConstant: false },
    ]);
  });

  test('that are known are of events alone', () => {
    expect(titlesOf([{ name: 'a', createdOn: '2026-11-01' }], { list: 'event-types' })).toEqual(['name']);
  });
});

describe('addresses', () => {
  const names = namesOf({ s: 'hooks.example', t: 'a\nb' });
  const address = { title: 'address', least: 16, isDistinctive: true };
  const items = [
    { subscriptionId: 's' },
    { subscriptionId: 'r' },
    { subscriptionId: 't' },
    { eventType: 'a' },
  ];

  test('replace the ids on a terminal, and follow them elsewhere', () => {
    expect(headsOf(items, { names })).toEqual([
      { title: 'eventType', isDistinctive: true, isConstant: false },
      address,
    ]);
    expect(rowsOf(items, { names })).toEqual([
      ['-', 'hooks.example'],
      ['-', 'r'],
      ['-', 'a\\u000ab'],
      ['a', '-'],
    ]);
    expect(titlesOf(items, { names, isTerminal: false })).toEqual(['eventType', 'subscriptionId', 'address']);
    expect(rowsOf(items, { names, isTerminal: false })).toEqual([
      ['-', 's', 'hooks.example'],
      ['-', 'r', '-'],
      ['-', 't', 'a\\u000ab'],
      ['a', '-', '-'],
    ]);
  });

  test('are there only if one is known', () => {
    expect(titlesOf(items, { names: namesOf({}) })).toEqual(['eventType', 'subscriptionId']);
    expect(titlesOf(items)).toEqual(['eventType', 'subscriptionId']);
    const pages = ['r', 's'].map((subscriptionId) => pageOf({ subscriptionId }));
    expect(itemTable(pages, { list: 'events', names }, true).heads).toEqual([address]);
    expect(titlesOf([{ eventType: 'a' }], { names })).toEqual(['eventType']);
    expect(titlesOf([{ eventType: 'a', n: { subscriptionId: 's' } }], { names })).toEqual(['eventType']);
    expect(titlesOf([{ subscriptionId: 's' }], { names, list: 'subscriptions' })).toEqual(['subscriptionId']);
  });

  test('give way first beside a name, and return first where rows look alike', () => {
    const named = { ...FLAT, customer: 'Harbour' };
    const second = { ...address, spare: 6, restoreOrder: 1 };
    expect(headsOf([named], { names, nameField: customer }).at(-1)).toEqual(second);
    expect(headsOf([FLAT], { names, nameField: customer }).at(-1)).toEqual(address);
    const fields = parseFieldPaths('customer,subscriptionId');
    const saved = { names, nameField: customer, fields, areFieldsSaved: true };
    expect(headsOf([named], saved).at(-1)).toEqual(address);
  });

  test('replace the ids of saved columns, and none of --fields', () => {
    const fields = parseFieldPaths('subscriptionId,eventType');
    expect(titlesOf(items, { names, fields, areFieldsSaved: true })).toEqual(['address', 'eventType']);
    expect(rowsOf(items, { names, fields, areFieldsSaved: true })[0]).toEqual(['hooks.example', '-']);
    expect(titlesOf(items, { names, fields })).toEqual(['subscriptionId', 'eventType']);
    expect(rowsOf(items, { names, fields })[0]).toEqual(['s', '-']);
  });

  test('are asked for by the ids that a page has', () => {
    const page = pageOf(...items, { subscriptionId: '' }, { subscriptionId: null }, { subscriptionId: 7 });
    expect(subscriptionIdsOf(page)).toEqual(['s', 'r', 't', '7']);
  });
});

describe('columns that were chosen', () => {
  test('have no rank, and show the ids of what is listed whole', () => {
    const fields = parseFieldPaths('eventId,subscriptionId,a.eventId,n.subscriptionId');
    const plain = (title: string, isWhole = false) => ({ title, isWhole });
    expect(headsOf([FLAT], { fields })).toEqual([
      plain('eventId', true),
      plain('subscriptionId'),
      plain('a.eventId'),
      plain('n.subscriptionId'),
    ]);
    expect(headsOf([FLAT], { fields, list: 'subscriptions' })).toEqual([
      plain('eventId', true),
      plain('subscriptionId', true),
      plain('a.eventId'),
      plain('n.subscriptionId'),
    ]);
  });

  test('of subscriptions let their rules give way before their addresses', () => {
    const text = 'callbackUrl,isEnabled,subscriptionRules.eventTypes,subscriptionRules.marketplaces,note';
    const fields = parseFieldPaths(text);
    const titles = ['callbackUrl', 'isEnabled', 'eventTypes', 'marketplaces', 'note'];
    const plain = titles.map((title) => ({ title, isWhole: false }));
    expect(headsOf([{}], { list: 'subscriptions', fields, areFieldsSaved: true })).toEqual([
      { ...plain[0], least: 16, isDistinctive: true },
      { ...plain[1], shortTitle: 'on' },
      { ...plain[2], spare: 4 },
      { ...plain[3], spare: 4 },
      plain[4],
    ]);
    expect(headsOf([{}], { list: 'subscriptions', fields })).toEqual(plain);
    expect(headsOf([{}], { list: 'events', fields, areFieldsSaved: true })).toEqual(plain);
  });
});

test.each([
  ['a.b', 'a.b,c', 'b'],
  ['a.b', 'a.b,b', 'a.b'],
  ['a.b', 'a.b,c.b', 'a.b'],
  ['a.b', 'a.b,b.c', 'b'],
  ['a.0', 'a.0', 'a.0'],
  ['a.12', 'a.12', 'a.12'],
  ['a.1b', 'a.1b', '1b'],
  ['a.b1', 'a.b1', 'b1'],
  ['a.""', 'a.""', 'a.""'],
])('the title of %s among %s is %s', (text, all, title) => {
  expect(columnTitle(parseFieldPath(text, ''), parseFieldPaths(all))).toBe(title);
});

test('no field has the title of the error', () => {
  const error = { text: 'error', steps: ['delivery', 'lastError'] };
  const fields = [error, parseFieldPath('a.error', '')];
  expect(fields.map((field) => columnTitle(field, fields))).toEqual(['error', 'a.error']);
});

test('a title and a cell are one line, without what acts on a terminal', () => {
  const item = { 'a\nb': 'c\u001b\u2028d' };
  expect(titlesOf([item])).toEqual(['a\\u000ab']);
  expect(rowsOf([item])).toEqual([['c\\u001b\\u2028d']]);
});

test('times are shown in the zone', () => {
  const zone = new TimeZone('Europe/Berlin');
  expect(rowsOf([{ createdOn: '2026-11-01T06:58:12Z' }], { zone })).toEqual([['2026-11-01T07:58:12+01:00']]);
  const fields = parseFieldPaths('createdOn:hour');
  expect(rowsOf([{ createdOn: '2026-11-01T06:58:12Z' }], { zone, fields })).toEqual([['7']]);
});

test('a cell has 4000 characters on a terminal, and all of them elsewhere', () => {
  const [exact, long] = ['x'.repeat(4000), 'x'.repeat(4001)];
  expect(rowsOf([{ a: exact }, { a: long }])).toEqual([[exact], [`${exact}…`]]);
  expect(rowsOf([{ a: exact }, { a: long }], { isTerminal: false })).toEqual([[exact], [long]]);
});

describe('a later page', () => {
  const late = (first: unknown, later: unknown, options: Options = {}) => {
    const said: string[] = [];
    const table = tableOf([first], { ...options, onLate: (name) => void said.push(name) });
    table.read(pageOf(first));
    expect(said).toEqual([]);
    table.read(pageOf(later));
    return said;
  };

  test.each<[string, unknown, unknown, readonly string[]]>([
    ['a known field', { eventId: 'a' }, { eventId: 'b', eventType: 'c' }, ['"eventType"']],
    ['an error', FLAT, { ...FLAT, last: { error: 'e' } }, ['"last.error"']],
    [
      'an error and a field',
      { eventId: 'a' },
      { eventType: 'c', lastError: 'e' },
      ['"eventType"', '"lastError"'],
    ],
    ['no other error', { ...FLAT, error: 'e' }, { ...FLAT, reason: 'r' }, []],
    ['a field that is not shown of events', FLAT, { ...FLAT, a: 1 }, []],
    ['other fields', { a: 1 }, { a: 1, b: 2 }, ['"b"']],
    ['no object', { a: 1 }, 7, ['an item that is not an object']],
    ['no object where that has a column', 7, 8, []],
    ['nothing', { a: 1 }, {}, []],
  ])('tells of %s', (_, first, later, said) => {
    expect(late(first, later)).toEqual(said);
  });

  test('is read without a word if nobody listens', () => {
    expect(tableOf([{ a: 1 }]).read(pageOf({ b: 2 }))).toEqual([['-']]);
  });
});
