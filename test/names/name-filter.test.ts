import { expect, test } from 'vitest';
import { parseFieldPath } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { nameFilter, nearName } from '../../src/names/name-filter.ts';
import { createWhoReader, namesText } from '../../src/names/who.ts';
import { textInShape } from '../support/shape.ts';

const ID = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';
const field = parseFieldPath('for[].name', 'name-field');

interface Made {
  readonly names?: readonly unknown[];
  readonly subscriptionId?: string;
}

function eventsOf(made: readonly Made[]): Items {
  return Items.of(
    made.map(({ names, subscriptionId }, index) => {
      const receivers = names && { for: names.map((name) => ({ name })) };
      return Buffer.from(textInShape({ eventId: `e${index}`, eventType: 'a', subscriptionId, ...receivers }));
    }),
  );
}

/** The positions of the events that are kept. */
function kept(words: readonly string[], made: readonly Made[]): number[] {
  const items = eventsOf(made);
  const texts = [...items.texts()].map(String);
  return [...nameFilter(field, words)(items).texts()].map((text) => texts.indexOf(String(text)));
}

test('events are kept by a whole word of any of their names, or by the id of their subscription', () => {
  const made = [
    { names: ['Acme Ltd'] },
    { names: ['Acmes'] },
    { names: ['Bolt', 'ACME'] },
    { subscriptionId: ID },
    { subscriptionId: ID.toUpperCase() },
    {},
  ];
  expect(kept(['acme'], made)).toEqual([0, 2]);
  expect(kept(['nobody', 'bolt'], made)).toEqual([2]);
  expect(kept([ID.toUpperCase()], made)).toEqual([3, 4]);
  const all = eventsOf([{ names: ['Acme'] }, { names: ['Acme'] }]);
  expect(nameFilter(field, ['acme'])(all)).toBe(all);
});

/** What is doubted after these pages. */
function doubts(
  words: readonly string[],
  ...pages: readonly (readonly Made[])[]
): readonly string[] | undefined {
  const keep = nameFilter(field, words);
  for (const page of pages) keep(eventsOf(page));
  return keep.doubts?.();
}

test('a doubt names the nearest name, the field where nothing has it, and a comma in a name', () => {
  expect(doubts(['acme'])).toEqual([]);
  expect(doubts(['acme'], [])).toEqual([]);
  expect(doubts(['acme'], [{ names: ['Acme'] }], [{}])).toEqual([]);
  expect(doubts(['acne'], [{ names: ['Acme Ltd'] }], [{}])).toEqual([
    "--subscription: no event is for 'acne', by its for[].name; did you mean Acme Ltd? (2 events looked at)",
  ]);
  expect(doubts(['wholly-other', 'x'], [{ names: ['Acme'] }])).toEqual([
    "--subscription: no event is for 'wholly-other, x', by its for[].name (1 event looked at)",
  ]);
  expect(doubts(['q, Inc.', 'x'], [{ names: ['Acme'] }])).toEqual([
    "--subscription: no event is for 'q, Inc., x', by its for[].name; a comma belongs to the name: give --subscription again for each of several (1 event looked at)",
  ]);
  expect(doubts(['acme'], [{ subscriptionId: ID }, {}])).toEqual([
    "name-field: no event has the field 'for[].name' (2 events looked at)",
  ]);
});

test('a near name is looked for among 1,000', () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => ({ names: [`${index}`] }));
  const near = 'did you mean Acme';
  expect(doubts(['acm'], numbered(999), [{ names: ['Acme'] }])?.[0]).toContain(near);
  expect(doubts(['acm'], numbered(1000), [{ names: ['Acme'] }])?.[0]).not.toContain(near);
});

test.each([
  ['acm', 'Acme Ltd', 'the name that holds it, in any case'],
  ['LTD', 'Acme Ltd', 'the name that holds it, in any case'],
  ['E lT', 'Acme Ltd', 'the name that holds it, in any case'],
  ['doubel', 'Double  Space', 'the name with a word that is near'],
  ['acne', 'Acme Ltd', 'the name with a word that is near'],
  ['bolt nd sons', 'Bolt and Sons', 'the name that is near as a whole'],
  ['wholly other', undefined, 'none'],
])('nearest to %s is %s: %s', (text, near, _) => {
  expect(nearName(text, ['Zebra', 'Acme Ltd', 'Bolt and Sons', 'Double  Space'])).toBe(near);
});

test('an event is for the names in its field that are not empty, and has its subscription in lower case', () => {
  const whoOf = (made: Made, nameField: typeof field | undefined = field) => {
    const items = eventsOf([made]);
    return createWhoReader(nameField)(items.bytes, items.start(0));
  };
  const made = { names: ['Acme', '', 4711], subscriptionId: ID.toUpperCase() };
  expect(whoOf(made)).toEqual({ names: ['Acme', '4711'], subscriptionId: ID });
  expect(namesText(whoOf(made))).toBe('Acme, 4711');
  const items = eventsOf([made]);
  expect(createWhoReader(undefined)(items.bytes, items.start(0)).names).toEqual([]);
  expect(whoOf({ subscriptionId: 'No-Guid' })).toEqual({ names: [], subscriptionId: 'No-Guid' });
  expect(whoOf({})).toEqual({ names: [], subscriptionId: undefined });
  expect(namesText(whoOf({}))).toBeUndefined();
});
