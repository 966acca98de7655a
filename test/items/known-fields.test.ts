import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memberPath, parseFieldPaths } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { JsonScanner, valueEnd } from '../../src/items/json-scanner.ts';
import {
  createCursor,
  createKnownCursor,
  eventMember,
  KNOWN_FIELDS,
  knownValues,
  recordOffsets,
  withKnownFieldsAtTop,
} from '../../src/items/known-fields.ts';
import { identified } from '../../src/paging/page.ts';

const FLAT = { eventId: 'e', eventType: 'T', subscriptionId: 's', createdOn: 'c', publishStatus: 'FAILED' };
const { eventId, eventType, ...record } = FLAT;
const PUBLISHED = { ...record, eventData: { eventId, eventType, body: { id: 'b' } } };

/** The known fields that a cursor finds in an item, as JSON; those that it does not have are left out. */
function found(item: unknown, cursor = createCursor(KNOWN_FIELDS.map(memberPath))): Record<string, unknown> {
  const bytes = Buffer.from(` ${JSON.stringify(item)}`);
  cursor.read(bytes, 1);
  const values = KNOWN_FIELDS.map((name, index) => {
    const start = cursor.starts[index] as number;
    return [name, start < 0 ? undefined : JSON.parse(bytes.toString('utf8', start, cursor.ends[index]))];
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

const CASES: readonly (readonly [what: string, item: object, known: object])[] = [
  ['at the top', FLAT, FLAT],
  ['in one member', PUBLISHED, FLAT],
  ['in one member that stands first', { eventData: PUBLISHED.eventData, ...record }, FLAT],
  [
    'all in one member, whatever it is called',
    { wrapped: { ...FLAT, createdOn: 'inner' }, createdOn: 'c' },
    FLAT,
  ],
  [
    'at the top, where both have an id',
    { eventData: { eventId: 'i', eventType: 'I' }, eventId: 'e' },
    { eventId: 'e' },
  ],
  [
    'at the top, where an object of the item names another event',
    { eventId: 'e', cause: { eventId: 'i', eventType: 'I' } },
    { eventId: 'e' },
  ],
  ['nowhere, where two members could be the event', { a: { eventId: 'e' }, b: { eventId: 'e' } }, {}],
  [
    'at the top alone, where two members could be the event',
    { a: { eventId: 'e', eventType: 'T' }, b: { eventId: 'f' }, createdOn: 'c' },
    { createdOn: 'c' },
  ],
  [
    'at the top, where no id is a text',
    { eventId: 5, eventData: { eventId: 6, eventType: 'I' } },
    { eventId: 5 },
  ],
  [
    'at the top first, where the id there is no text',
    { eventId: 5, eventData: { eventId: 'e', eventType: 'T' } },
    { eventId: 5, eventType: 'T' },
  ],
  ['in the member, where the top has null', { eventId: null, eventData: { eventId: 'e' } }, { eventId: 'e' }],
  [
    'null at the top, where the member has none',
    { createdOn: null, eventData: { eventId: 'e' } },
    { createdOn: null, eventId: 'e' },
  ],
  ['at the top, where the member is a text', { eventData: 'eventId', createdOn: 'c' }, { createdOn: 'c' }],
  ['at the top, where the member is null', { eventData: null, createdOn: 'c' }, { createdOn: 'c' }],
  [
    'at the top, where it has an id and so have two members',
    { eventId: 'e', a: { eventId: 'i', createdOn: 'i' }, b: { eventId: 'j' } },
    { eventId: 'e' },
  ],
  ['nowhere, where they lie two levels down', { a: { b: { eventId: 'e' } } }, {}],
  ['nowhere, where they lie in a list', { a: [{ eventId: 'e' }] }, {}],
];

test.each(CASES)('known fields are %s', (_, item, known) => {
  expect(found(item)).toEqual(known);
  expect(knownValues(item as Record<string, unknown>)).toStrictEqual(known);
});

test('known fields are these, in the order of tables', () => {
  expect(KNOWN_FIELDS).toEqual(['createdOn', 'publishStatus', 'eventType', 'eventId', 'subscriptionId']);
});

test.each(CASES)('a cursor for one known field finds it %s', (_, item, known) => {
  const bytes = Buffer.from(JSON.stringify(item));
  for (const name of KNOWN_FIELDS) {
    const cursor = createCursor([memberPath('other'), memberPath(name)]);
    // Once more, after an item with its fields in a member.
    for (const before of [FLAT, PUBLISHED]) {
      cursor.read(Buffer.from(JSON.stringify(before)), 0);
      expect(cursor.read(bytes, 0)).toBe(bytes.length);
      const [, start = -1] = cursor.starts;
      const value = start < 0 ? undefined : JSON.parse(bytes.toString('utf8', start, cursor.ends[1]));
      expect(value).toEqual((known as Record<string, unknown>)[name]);
    }
  }
});

test('the first item is looked into if its top lacks any of the fields', () => {
  const cursor = createCursor(['createdOn', 'subscriptionId'].map(memberPath));
  cursor.read(Buffer.from('{"createdOn":"c","d":{"eventId":"e","subscriptionId":"s"}}'), 0);
  expect([0, 1].map(cursor.text)).toEqual(['c', 's']);
});

test('a path that only begins with a known name, or an object deeper down, is not the event', () => {
  const cursor = createCursor(parseFieldPaths('createdOn.x,eventId.y,a.b.c,eventType'));
  const read = (item: unknown) => {
    const bytes = Buffer.from(JSON.stringify(item));
    cursor.read(bytes, 0);
    return [...cursor.starts]
      .slice(0, 4)
      .map((start, path) => (start < 0 ? '' : bytes.toString('utf8', start, cursor.ends[path])));
  };
  const inner = { eventId: 'e', createdOn: { x: 1 }, eventType: 'T' };
  expect(read({ d: inner })).toEqual(['', '', '', '"T"']);
  expect(read({ d: { ...inner, eventId: { y: 1 } } })).toEqual(['', '', '', '']);
  expect(read({ a: { b: { c: 1, ...inner } } })).toEqual(['', '', '1', '']);
  expect(read({ a: { b: { ...inner, c: 2 } }, d: { ...inner, eventType: 'U' } })).toEqual([
    '',
    '',
    '2',
    '"U"',
  ]);
});

test('a cursor goes from items of one shape to the other, and back', () => {
  const cursor = createCursor(KNOWN_FIELDS.map(memberPath));
  for (const item of [FLAT, PUBLISHED, {}, PUBLISHED, FLAT, { eventId: 'x' }, PUBLISHED])
    expect(found(item, cursor)).toEqual(knownValues(item as Record<string, unknown>));
});

test('of members with one name the last counts, in whatever order they stand', () => {
  const cursor = createCursor(KNOWN_FIELDS.map(memberPath));
  const read = (text: string) => {
    cursor.read(Buffer.from(text), 0);
    return cursor.text(3);
  };
  expect(read('{"eventId":"a","d":{"eventId":"b"},"eventId":"c"}')).toBe('c');
  expect(read('{"eventId":"a","d":{"eventId":"b"},"eventId":null}')).toBe('b');
});

test('bytes and parsed values are read by one rule', () => {
  const name = fc.constantFrom('eventId', 'eventType', 'createdOn', 'a', 'b');
  const leaf = fc.constantFrom<unknown>('x', 'y', 5, null, [], [{ eventId: 'x' }], {});
  const inner = fc.dictionary(name, leaf);
  const item = fc.dictionary(name, fc.oneof(leaf, inner));
  const cursor = createCursor(KNOWN_FIELDS.map(memberPath));
  fc.assert(
    fc.property(item, (value) => {
      expect(found(value, cursor)).toEqual(knownValues(value));
    }),
  );
});

test('the same in an order of members in which objects stand before the id', () => {
  const item = fc.dictionary(
    fc.constantFrom('a', 'b', 'eventId', 'eventType'),
    fc.constantFrom<unknown>('x', 5, null, { eventId: 'i', eventType: 'I' }, { eventId: 7 }),
  );
  const cursor = createCursor(KNOWN_FIELDS.map(memberPath));
  fc.assert(
    fc.property(item, fc.boolean(), (value, isReversed) => {
      const members = Object.entries(value);
      const ordered = Object.fromEntries(isReversed ? members.reverse() : members);
      expect(found(ordered, cursor)).toEqual(knownValues(ordered));
    }),
  );
});

test('a path written in full is taken as it is, beside short names', () => {
  const cursor = createCursor(parseFieldPaths('eventData.eventId,eventId,eventData.body.id,publishStatus'));
  const bytes = Buffer.from(JSON.stringify(PUBLISHED));
  cursor.read(bytes, 0);
  expect([0, 1, 2, 3].map(cursor.text)).toEqual(['e', 'e', 'b', 'FAILED']);
  cursor.read(Buffer.from(JSON.stringify(FLAT)), 0);
  expect([0, 1, 2, 3].map(cursor.text)).toEqual([undefined, 'e', undefined, 'FAILED']);
});

describe('the event inside a record', () => {
  const spanOf = (text: string) => {
    const bytes = Buffer.from(`..${text}..`);
    const cursor = createKnownCursor([memberPath('eventId')]);
    cursor.read(bytes, 2);
    return bytes.toString('utf8', cursor.eventStart, cursor.eventEnd);
  };
  test.each([
    ['{"a":1,"eventData":{"eventId":"e","n":1.10}}', '{"eventId":"e","n":1.10}'],
    ['{"eventId":"e","eventData":{"eventId":"f"}}', '{"eventId":"e","eventData":{"eventId":"f"}}'],
    ['{"a":{"eventId":"e"},"b":{"eventId":"f"}}', '{"a":{"eventId":"e"},"b":{"eventId":"f"}}'],
    ['{"a":{"eventId":5}}', '{"a":{"eventId":5}}'],
    ['{"eventId":5,"a":{"eventId":"e"}}', '{"eventId":"e"}'],
    ['{}', '{}'],
  ])('of %s', (text, event) => expect(spanOf(text)).toBe(event));
});

describe('the offsets of a record', () => {
  test.each(CASES)('are those of known fields %s', (_, item, known) => {
    const bytes = Buffer.from(`"${JSON.stringify(item)}`);
    const scanner = new JsonScanner(bytes);
    scanner.item(1);
    const { eventIdAt, subscriptionIdAt, publishStatusAt, createdOnAt, eventAt, isDoubtful } =
      recordOffsets(scanner);
    const valueAt = (at: number) =>
      at === 0 ? undefined : JSON.parse(bytes.toString('utf8', at, valueEnd(bytes, at)));
    const { eventType: _type, ...others } = known as Record<string, unknown>;
    // A record without a time at its top and in its event has none, whether null or missing.
    if (others['createdOn'] === null) others['createdOn'] = undefined;
    expect({
      eventId: valueAt(eventIdAt),
      subscriptionId: valueAt(subscriptionIdAt),
      publishStatus: valueAt(publishStatusAt),
      createdOn: valueAt(createdOnAt),
    }).toEqual(others);
    const members = item as Record<string, { readonly eventId?: unknown } | null>;
    const name = eventMember(members);
    expect(valueAt(eventAt)).toEqual(name === undefined ? undefined : members[name]);
    const holders = Object.values(members).filter((member) => typeof member?.eventId === 'string');
    expect(isDoubtful).toBe(typeof members['eventId'] !== 'string' && holders.length > 1);
  });
});

describe('the keys of records', () => {
  const keysOf = (...items: readonly object[]) => [
    ...identified(Items.of(items.map((item) => Buffer.from(JSON.stringify(item))))).keys,
  ];

  test('tell the subscriptions of one event apart, in either shape', () => {
    const other = { ...FLAT, subscriptionId: 'other' };
    const [one, two, three, four] = keysOf(FLAT, other, PUBLISHED, { ...PUBLISHED, subscriptionId: 'other' });
    expect([one === two, one === three, two === four]).toEqual([false, true, true]);
  });

  test('are those of the text where two members could be the event', () => {
    const doubtful = { a: { eventId: 'e' }, b: { eventId: 'f' } };
    const [one, two] = keysOf(doubtful, { ...doubtful, c: 1 });
    expect(one).not.toBe(two);
  });
});

test('a parsed item has each known field once, at its top', () => {
  expect(withKnownFieldsAtTop(PUBLISHED)).toEqual({ ...FLAT, eventData: { body: { id: 'b' } } });
  expect(withKnownFieldsAtTop(FLAT)).toBe(FLAT);
  const bare = { subscriptionId: 's', eventData: { eventId: 'e' } };
  expect(withKnownFieldsAtTop(bare)).toEqual({ subscriptionId: 's', eventId: 'e' });
  const both = { createdOn: 'c', eventData: { eventId: 'e', createdOn: 'i' } };
  expect(withKnownFieldsAtTop(both)).toEqual({ createdOn: 'c', eventId: 'e', eventData: { createdOn: 'i' } });
  const none = { createdOn: null, eventData: { eventId: 'e', createdOn: 'i', n: 1 } };
  expect(withKnownFieldsAtTop(none)).toStrictEqual({ createdOn: 'i', eventId: 'e', eventData: { n: 1 } });
});
