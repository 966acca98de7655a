import { describe, expect, test } from 'vitest';
import { comparedId, guidsIn, notAGuid, pastedGuid, withoutGuidCase } from '../../src/items/guids.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const BARE = ID.replaceAll('-', '');
const OTHER = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

describe('a GUID as people paste it', () => {
  test.each([
    ID,
    ` ${ID}\n`,
    `"${ID}"`,
    `{${ID}}`,
    `urn:uuid:${ID}`,
    `https://events.example.com/events/${ID}?page=1`,
    `2026-11-21T08:00:00Z ERROR eventId=${ID}, status 502`,
    `${ID} ${ID.toUpperCase()}`,
    BARE,
  ])("'%s' is understood", (text) => expect(guidsIn(text)).toEqual([ID]));

  test('upper case is kept', () => expect(guidsIn(`{${ID.toUpperCase()}}`)).toEqual([ID.toUpperCase()]));

  test.each([
    '',
    'x',
    ID.slice(1),
    `a${ID}`,
    `${ID}0`,
    `${ID}-${OTHER}`,
    `x${BARE}`,
    `${BARE}x`,
    `${BARE} x`,
  ])("'%s' is not a GUID", (text) => expect(guidsIn(text)).toEqual([]));

  test('of several ids the message names the wrong one', () => {
    expect(guidsIn(`${ID} ${OTHER}`)).toEqual([ID, OTHER]);
    expect(notAGuid(`${ID} ${OTHER}`)).toBe(`'${ID} ${OTHER.slice(0, 23)}…' holds 2 GUIDs: ${ID}, ${OTHER}`);
    expect(notAGuid('x')).toBe("'x' is not a GUID such as 0f8fad5b-d9cb-469f-a165-70867728950e");
  });

  test('the message shows 60 characters and three ids at most', () => {
    const shown = (length: number) => /^'(.*)' is not/.exec(notAGuid('x'.repeat(length)))?.[1];
    expect([60, 61].map(shown)).toEqual(['x'.repeat(60), `${'x'.repeat(60)}…`]);
    const ids = ['1', '2', '3', '4'].map((digit) => ID.replace('0', digit));
    const listed = (count: number) => / holds (.*)$/.exec(notAGuid(ids.slice(0, count).join()))?.[1];
    expect(listed(3)).toBe(`3 GUIDs: ${ids.slice(0, 3).join(', ')}`);
    expect(listed(4)).toBe(`4 GUIDs: ${ids.slice(0, 3).join(', ')}, …`);
    expect(notAGuid(ID)).toBe(`'${ID}' is not a GUID such as ${ID}`);
  });
});

describe('a GUID alone', () => {
  test.each([
    ID,
    ` {${ID}} `,
    `urn:uuid:${ID}`,
    `"URN:UUID:${ID}"`,
    BARE,
    `('\t${BARE}')\n`,
    `\`{ ${BARE} }\``,
    `${' '.repeat(464)}${ID}`,
  ])("is '%s'", (text) => expect(pastedGuid(text)).toBe(ID));

  test.each([
    '',
    'x',
    `x${ID}`,
    `${ID}x`,
    `${ID}.`,
    `${ID} ${OTHER}`,
    `${BARE}x`,
    `${BARE} x`,
    `${BARE}.`,
    `x ${BARE}`,
    `${' '.repeat(465)}${ID}`,
  ])("is not '%s'", (text) => expect(pastedGuid(text)).toBeUndefined());
});

test('ids are compared in any case, GUIDs without hyphens too', () => {
  const spellings = [ID, ID.toUpperCase(), BARE, BARE.toUpperCase()];
  expect(new Set(spellings.map(comparedId))).toEqual(new Set([BARE]));
  expect(['Order-1', `${ID}x`, `{${ID}}`].map(comparedId)).toEqual(['order-1', `${ID}x`, `{${ID}}`]);
  expect(withoutGuidCase(ID.toUpperCase())).toBe(ID);
  expect(withoutGuidCase('Order-1')).toBe('Order-1');
});
