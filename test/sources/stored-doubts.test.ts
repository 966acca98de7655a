import { describe, expect, test } from 'vitest';
import { Items, KeyedItems } from '../../src/items/items.ts';
import {
  doubtAge,
  doubtCaseOfStatus,
  doubtOutcomes,
  doubtRecords,
  doubtTimes,
  doubtTypes,
} from '../../src/sources/stored-doubts.ts';
import { type Instant, parseInstant } from '../../src/time/instant.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { itemOf } from '../support/shape.ts';

const itemsOf = (...events: Readonly<Record<string, unknown>>[]) =>
  Items.of(events.map((event) => Buffer.from(JSON.stringify(itemOf({ eventId: 'e', ...event })))));
const NONE = Items.of([]);

describe('a filter by outcome', () => {
  const UNKNOWN = '--from: no event has the publishStatus SUCCESS or FAILED, so failures are unknown';

  test('is doubted where no event has one, and not where there is no event', () => {
    const doubter = doubtOutcomes();
    doubter.see(NONE);
    expect(doubter.doubts()).toEqual([]);
    doubter.see(itemsOf({ publishStatus: 'failed' }, {}));
    doubter.see(NONE);
    expect(doubter.doubts()).toEqual([UNKNOWN]);
    doubter.see(itemsOf({ publishStatus: 'FAILED' }));
    doubter.see(itemsOf({}));
    expect(doubter.doubts()).toEqual([]);
  });
});

describe('a filter by status', () => {
  test.each([
    [{ publishStatus: 'failed' }, 1],
    [{ publishStatus: 'Failed' }, 1],
    [{ publishStatus: 'FAILED' }, 0],
    [{ publishStatus: 'FAiled' }, 0],
    [{ publishStatus: 'success' }, 0],
    [{ publishStatus: 'unfailed' }, 0],
    [{ eventType: 'failed' }, 0],
  ])('is doubted for the same word in other letters: %j', (event, count) => {
    const doubter = doubtCaseOfStatus(['FAILED']);
    doubter.see(itemsOf({}, event));
    expect(doubter.doubts().length).toBe(count);
  });

  test('says how many it left out, and which condition finds them', () => {
    const doubter = doubtCaseOfStatus(['FAILED', 'SUCCESS']);
    doubter.see(itemsOf({ eventType: 'unfailed', publishStatus: 'failed' }));
    doubter.see(
      itemsOf({ publishStatus: 'Success' }, { publishStatus: 'success' }, { publishStatus: 'FAILED' }),
    );
    expect(doubter.doubts()).toEqual([
      "--status: 3 events left out: their publishStatus is failed or Failed or success or Success, which the service does not have; --where 'publishStatus ~ failed' finds those too",
    ]);
  });
});

describe('a window', () => {
  test('is doubted where all events are older, and not where there is none', () => {
    const doubter = doubtAge(parseInstant('2026-11-20T12:00:00Z') as Instant, UTC);
    doubter.see(NONE);
    expect(doubter.doubts()).toEqual([]);
    doubter.see(itemsOf({ createdOn: '2026-11-20T11:59:59Z' }));
    expect(doubter.doubts()).toEqual(['--from: no event was created after 2026-11-20T12:00:00Z']);
    doubter.see(itemsOf({ createdOn: '2026-11-20T12:00:01Z' }));
    doubter.see(itemsOf({ createdOn: '2026-11-20T11:00:00Z' }));
    expect(doubter.doubts()).toEqual([]);
  });

  test('says how many events it left out for want of a time', () => {
    const doubter = doubtTimes();
    doubter.see(NONE);
    expect(doubter.doubts()).toEqual([]);
    doubter.see(itemsOf({}));
    doubter.see(itemsOf({}, {}));
    expect(doubter.doubts()).toEqual([
      '3 events left out: createdOn is missing or not a time, which --since and --until need',
    ]);
  });
});

test('a type that no event has is named, with the place and the one that was meant', () => {
  const doubter = doubtTypes(['order.paid', 'order.sent', 'invoice.*'], 'the file');
  expect(doubter.doubts()).toHaveLength(3);
  doubter.see(itemsOf({ eventType: 'order.paid' }, { eventType: 'order.sends' }, {}));
  doubter.see(itemsOf({ eventType: 'invoice.due' }, { eventType: 'order.paid' }));
  const [doubt = '', ...others] = doubter.doubts();
  expect(others).toEqual([]);
  expect(doubt).toContain('order.sent');
  expect(doubt).toContain('order.sends');
  expect(doubt).toContain('the file');
  doubter.see(itemsOf({ eventType: 'order.sent' }));
  expect(doubter.doubts()).toEqual([]);
});

describe('a record that is there twice', () => {
  const see = (doubter: ReturnType<typeof doubtRecords>, keys: readonly number[], isDoubtful = false) =>
    doubter.see(
      new KeyedItems(Items.of(keys.map(() => Buffer.from('{}'))), Float64Array.from(keys), isDoubtful),
    );

  test('is counted each time, and one without a key never', () => {
    const doubter = doubtRecords();
    see(doubter, [1, 2, Number.NaN, Number.NaN]);
    doubter.see(itemsOf({}, {}));
    expect(doubter.doubts()).toEqual([]);
    see(doubter, [2]);
    expect(doubter.doubts()).toEqual([
      '--from: 1 event has the eventId and subscription of an earlier one, and counts again',
    ]);
    see(doubter, [1, 1]);
    expect(doubter.doubts()).toEqual([
      '--from: 3 events have the eventId and subscription of an earlier one, and count again',
    ]);
  });

  test('is looked for in vain in doubtful items, if there are any', () => {
    const doubter = doubtRecords();
    see(doubter, [], true);
    see(doubter, [1]);
    expect(doubter.doubts()).toEqual([]);
    see(doubter, [2], true);
    see(doubter, [3]);
    expect(doubter.doubts()).toEqual([expect.stringMatching(/^--from: /)]);
  });

  test('is noticed among a million', () => {
    const doubter = doubtRecords();
    const keys = Float64Array.from({ length: 1_000_000 }, (_, record) => record);
    doubter.see(new KeyedItems(NONE, keys, false));
    expect(doubter.doubts()).toEqual([]);
    doubter.see(new KeyedItems(NONE, keys.slice(-1), false));
    expect(doubter.doubts()).toHaveLength(1);
    // No more are remembered.
    doubter.see(new KeyedItems(NONE, Float64Array.of(1_000_001, 1_000_001), false));
    expect(doubter.doubts()).toEqual([expect.stringContaining('1 event has')]);
  });
});
