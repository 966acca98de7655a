import { describe, expect, test } from 'vitest';
import { guidsIn, notAGuid } from '../../src/items/guids.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
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
    ID.replaceAll('-', ''),
  ])("'%s' is understood", (text) => expect(guidsIn(text)).toEqual([ID]));

  test('upper case is kept', () => expect(guidsIn(`{${ID.toUpperCase()}}`)).toEqual([ID.toUpperCase()]));

  test.each(['', 'x', ID.slice(1), `a${ID}`, `${ID}0`, `${ID}-${OTHER}`, `x${ID.replaceAll('-', '')}`])(
    "'%s' is not a GUID",
    (text) => expect(guidsIn(text)).toEqual([]),
  );

  test('of several ids the message names the wrong one', () => {
    expect(guidsIn(`${ID} ${OTHER}`)).toEqual([ID, OTHER]);
    expect(notAGuid(`${ID} ${OTHER}`)).toBe(`'${ID} ${OTHER.slice(0, 23)}…' holds 2 GUIDs: ${ID}, ${OTHER}`);
    expect(notAGuid('x')).toBe("'x' is not a GUID such as 0f8fad5b-d9cb-469f-a165-70867728950e");
  });
});
