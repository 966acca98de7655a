import { expect, test } from 'vitest';
import { chooseColumn, columnNamedForIds, countGuids, isNameOfIds } from '../../src/ids/id-column.ts';

const GUID = '3f2504e0-4f89-41d3-9a0c-000000000001';

test.each([
  ['eventId', true],
  ['EVENT_ID', true],
  ['event id', true],
  ['event.id', true],
  ['data.event/id', true],
  ['eventType', false],
  ['event', false],
  ['webhook_event_id', false],
  ['event.id.part', false],
  ['id', false],
  ['', false],
])('%j names event ids: %j', (name, expected) => {
  expect(isNameOfIds(name)).toBe(expected);
});

test.each<[names: string[], found: number | undefined]>([
  [['id', 'webhookEventId', 'event_id'], 2],
  [['id', 'evt'], 1],
  [['guid', 'event-uuid'], 1],
  [['x', 'event key'], 1],
  [['time', 'example'], 1],
  [['time', 'uuid'], 1],
  [['identity', 'ideas', 'my_id', 'events', 'eventIds', 'prevent'], undefined],
  [[], undefined],
  // The path with the fewest steps, then the first.
  [['data.eventId', 'event (id)', 'EventId'], 1],
  [['a.event_id', 'Event----------ID'], 1],
])('of the columns %j the one named for ids is %j', (names, found) => {
  expect(columnNamedForIds(names.map((name) => ({ name })))).toBe(found);
});

/** Columns of these names, with so many GUIDs. */
const columnsOf = (facts: Readonly<Record<string, number>>) =>
  Object.entries(facts).map(([name, guids]) => ({ name, guids }));

test.each<[facts: Record<string, number>, chosen: ReturnType<typeof chooseColumn>]>([
  [{ note: 0 }, undefined],
  [
    { eventId: 0, order: 3 },
    { index: 1, name: 'order', others: [], isGuessed: false },
  ],
  [
    { order: 9, eventId: 1 },
    { index: 1, name: 'eventId', others: ['order'], isGuessed: false },
  ],
  [
    { order: 9, note: 0, id: 1 },
    { index: 2, name: 'id', others: ['order'], isGuessed: true },
  ],
  [
    { customer: 3, order: 9 },
    { index: 1, name: 'order', others: ['customer'], isGuessed: true },
  ],
])('of columns with these numbers of GUIDs, %j, the ids are in %j', (facts, chosen) => {
  expect(chooseColumn(columnsOf(facts), undefined)).toEqual(chosen);
});

test.each([
  ['ORDER', 1],
  ['2', 1],
  ['note', 2],
])('the column given as %j is number %i, whatever it holds', (field, index) => {
  const columns = columnsOf({ eventId: 3, order: 2, note: 0 });
  const name = columns[index]?.name as string;
  const others = ['eventId', 'order'].filter((other) => other !== name);
  expect(chooseColumn(columns, field)).toEqual({ index, name, others, isGuessed: false });
});

test('a column whose name is a number is found by its name', () => {
  const columns = ['a', '1', '2'].map((name) => ({ name, guids: 1 }));
  expect(chooseColumn(columns, '1')?.index).toBe(1);
  expect(chooseColumn(columns.slice(2).concat(columns), '2')?.index).toBe(0);
});

test('a column is found by a number of several digits', () => {
  const columns = Array.from({ length: 12 }, (_, index) => ({ name: `c${index}`, guids: 0 }));
  expect(chooseColumn(columns, '12')?.name).toBe('c11');
});

test.each(['0', '3', 'x1', '1x', ''])('there is no column %j', (field) => {
  expect(() => chooseColumn(columnsOf({ eventId: 3, order: 2 }), field)).toThrow(
    expect.objectContaining({
      name: 'UsageError',
      message: `--received-field: there is no column '${field}'`,
      details: ['columns: eventId, order'],
      next: 'name one of the columns',
    }),
  );
});

test.each<[texts: (string | undefined)[], count: number]>([
  [[GUID, `{${GUID}}`, undefined, GUID], 2],
  [[GUID.toUpperCase(), GUID.replaceAll('-', ''), `urn:uuid:${GUID}`], 3],
  [['', 'order 7', `${GUID} ${GUID}`, `x${GUID}`, GUID.slice(1)], 0],
])('of the cells %j %i are different GUIDs alone', (texts, count) => {
  expect(countGuids(texts)).toBe(count);
});
