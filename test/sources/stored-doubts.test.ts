import { expect, test } from 'vitest';
import { Items, KeyedItems } from '../../src/items/items.ts';
import { doubtRecords } from '../../src/sources/stored-doubts.ts';

test('a record that is there twice is noticed among a million', () => {
  const doubter = doubtRecords();
  const keys = Float64Array.from({ length: 1_000_000 }, (_, record) => record);
  const see = (some: Float64Array) => doubter.see(new KeyedItems(Items.of([]), some, false));
  see(keys);
  expect(doubter.doubts()).toEqual([]);
  see(keys.slice(-1));
  expect(doubter.doubts()).toEqual([
    '--from: 1 event has the eventId and subscription of an earlier one, and counts again',
  ]);
});
