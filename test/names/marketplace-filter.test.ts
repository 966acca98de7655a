import { expect, test } from 'vitest';
import { Items } from '../../src/items/items.ts';
import { marketplaceFilter, marketplacesText } from '../../src/names/marketplaces.ts';
import { inShape, itemOf } from '../support/shape.ts';

/** One event for each list of marketplaces; null: an event without the field. */
function eventsOf(lists: readonly (readonly unknown[] | null)[]): Items {
  return Items.of(
    lists.map((marketplaceIds, index) => {
      const headers = marketplaceIds === null ? {} : { headers: { marketplaceIds } };
      return Buffer.from(
        JSON.stringify(itemOf({ eventId: `e${index}`, publishStatus: 'SUCCESS', ...headers })),
      );
    }),
  );
}

const idsOf = (items: Items) =>
  [...items.values()].map((item) => {
    const { eventId, eventData } = item as { eventId?: string; eventData?: { eventId: string } };
    return inShape({ flat: eventId, published: eventData?.eventId });
  });

test('events of any of the wanted marketplaces are kept, and all of a page as the page itself', () => {
  const keep = marketplaceFilter(['2001', '2002']);
  const page = eventsOf([['2001'], ['2003'], null, ['2003', '2002'], []]);
  expect(idsOf(keep(page))).toEqual(['e0', 'e3']);
  const whole = eventsOf([['2001'], ['2002']]);
  expect(keep(whole)).toBe(whole);
  expect(keep(eventsOf([['2003']])).count).toBe(0);
  expect(keep.doubts?.()).toEqual([]);
});

test('a doubt names the marketplaces that events have, sorted, ten at most', () => {
  const keep = marketplaceFilter(['1']);
  expect(keep.doubts?.()).toEqual([]);
  keep(eventsOf([['2003'], null]));
  keep(eventsOf([['2001', '2003']]));
  expect(keep.doubts?.()).toEqual([
    '--marketplace: no event is of marketplace 1; there are events of 2001, 2003 (3 events looked at)',
  ]);
  const many = marketplaceFilter(['1', '2']);
  many(eventsOf(Array.from({ length: 12 }, (_, index) => [String(10 + index)])));
  expect(many.doubts?.()).toEqual([
    '--marketplace: no event is of marketplaces 1, 2; there are events of 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 (12 events looked at)',
  ]);
});

test('a doubt names the field where no event has it', () => {
  const keep = marketplaceFilter(['2001']);
  keep(eventsOf([null, []]));
  expect(keep.doubts?.()).toEqual([
    '--marketplace: no event has the field headers.marketplaceIds (2 events looked at)',
  ]);
});

test('marketplaces are named in the singular and the plural', () => {
  expect(marketplacesText(['2001'])).toBe('marketplace 2001');
  expect(marketplacesText(['2001', '2002'])).toBe('marketplaces 2001, 2002');
});
