import { describe, expect, test } from 'vitest';
import { Items } from '../../src/items/items.ts';
import { createMatcher, keepKnownOutcomes, type StoredQuery } from '../../src/sources/stored-matches.ts';
import { type Instant, parseInstant } from '../../src/time/instant.ts';
import { idsIn, itemsOf } from '../support/found.ts';
import { itemOf } from '../support/shape.ts';

type Fields = Readonly<Record<string, unknown>>;
const idsOf = (items: Items | undefined) => items && idsIn(items);
const time = (text: string) => parseInstant(text) as Instant;

const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e';

describe('stored events are matched as the service does', () => {
  const kept = (queries: readonly StoredQuery[], events: readonly Fields[], types: readonly string[] = []) =>
    idsOf(createMatcher(queries, types)(itemsOf(...events)).kept);

  test('by each key, of which a GUID is the same in any case, with hyphens or without', () => {
    const events = [
      { eventId: 'a', subscriptionId: GUID, publishStatus: 'FAILED' },
      { eventId: 'b', subscriptionId: GUID.toUpperCase(), publishStatus: 'SUCCESS' },
      { eventId: 'c', subscriptionId: 'other', publishStatus: 'failed' },
      { eventId: 'd', subscriptionId: GUID.replaceAll('-', '') },
    ];
    expect(kept([{ subscriptionId: GUID.toUpperCase() }], events)).toEqual(['a', 'b', 'd']);
    expect(kept([{ publishStatus: 'FAILED' }], events)).toEqual(['a']);
    expect(kept([{ subscriptionId: GUID, publishStatus: 'SUCCESS' }], events)).toEqual(['b']);
    expect(kept([{ eventId: 'D' }], events)).toEqual(['d']);
    expect(kept([{ eventId: 'nothing' }], events)).toEqual([]);
  });

  test('by any of several searches', () => {
    const events = ['a', 'b', 'c'].map((eventId, at) => ({
      eventId,
      publishStatus: ['FAILED', 'SUCCESS', 'FAILED'][at],
    }));
    expect(kept([{ eventId: 'a' }, { eventId: 'c' }], events)).toEqual(['a', 'c']);
    const mixed: StoredQuery[] = [
      { eventId: 'a', publishStatus: 'FAILED' },
      { eventId: 'b', publishStatus: 'SUCCESS' },
      { eventId: 'c', publishStatus: 'SUCCESS' },
    ];
    expect(kept(mixed, events)).toEqual(['a', 'b']);
    const pairs: StoredQuery[] = [{ eventId: 'aa', subscriptionId: 'a' }];
    expect(kept(pairs, [{ eventId: 'a', subscriptionId: 'aa' }])).toEqual([]);
  });

  test('by types in any case, with * for any text', () => {
    const events = ['order.paid', 'Order.Sent', 'invoice.due', undefined].map((eventType, at) => ({
      eventId: String(at),
      eventType,
    }));
    expect(kept([{}], events, ['ORDER.PAID'])).toEqual(['0']);
    expect(kept([{}], events, ['order.*', 'invoice.due'])).toEqual(['0', '1', '2']);
    expect(kept([{}], events, ['*'])).toEqual(['0', '1', '2']);
    expect(kept([{ eventId: '1' }], events, ['order.*'])).toEqual(['1']);
  });

  test.each<[StoredQuery, string[]]>([
    [{ after: time('2026-11-20T12:00:01Z') }, ['2', '3']],
    [{ before: time('2026-11-20T12:00:02Z') }, ['0', '1']],
    [{ after: time('2026-11-20T12:00:00Z'), before: time('2026-11-20T12:00:02Z') }, ['1']],
  ])('by times, whose bounds are exclusive: %j', (query, expected) => {
    const events = [0, 1, 2, 3].map((at) => ({ eventId: String(at), createdOn: `2026-11-20T12:00:0${at}Z` }));
    expect(kept([query], events)).toEqual(expected);
  });

  test('where the time is unknown are told apart, if all else matches', () => {
    const events = [
      { eventId: 'a', createdOn: 'no time', publishStatus: 'FAILED' },
      { eventId: 'b', publishStatus: 'FAILED' },
      { eventId: 'c', publishStatus: 'SUCCESS' },
      { eventId: 'd', createdOn: '2026-11-20T12:00:00Z', publishStatus: 'FAILED' },
    ];
    const after = time('2026-11-20');
    const match = createMatcher([{ after, publishStatus: 'FAILED' }], []);
    const { kept, undated } = match(itemsOf(...events));
    expect([idsOf(kept), idsOf(undated)]).toEqual([['d'], ['a', 'b']]);
    expect(match(itemsOf(events[3] as Fields)).undated).toBeUndefined();
    const byId = createMatcher([{ after, eventId: 'a' }], [])(itemsOf(...events));
    expect([idsOf(byId.kept), idsOf(byId.undated)]).toEqual([[], ['a']]);
    expect(createMatcher([{ publishStatus: 'FAILED' }], [])(itemsOf(...events)).undated).toBeUndefined();
  });

  test('by a status that is written with escapes', () => {
    const escaped = JSON.stringify(itemOf({ eventId: 'a', publishStatus: 'FAILED' })).replace(
      'FAILED',
      'F\\u0041ILED',
    );
    const items = Items.of([
      ...itemsOf({ eventId: 'x', publishStatus: 'SUCCESS' }).texts(),
      Buffer.from(escaped),
      ...itemsOf({ eventId: 'b', publishStatus: 'FAILED' }, { eventId: 'y' }).texts(),
    ]);
    expect(idsOf(createMatcher([{ publishStatus: 'FAILED' }], [])(items).kept)).toEqual(['a', 'b']);
  });

  test('and not by the word of a status elsewhere in an item', () => {
    const events = [
      { eventId: 'a', publishStatus: 'SUCCESS', note: 'FAILED' },
      { eventId: 'b', publishStatus: 'FAILED' },
    ];
    expect(kept([{ publishStatus: 'FAILED' }], events)).toEqual(['b']);
  });

  test('as they are where nothing is asked for, or all match', () => {
    const items = itemsOf(
      { eventId: 'a', publishStatus: 'FAILED' },
      { eventId: 'b', publishStatus: 'FAILED' },
    );
    for (const queries of [[], [{}], [{ publishStatus: 'FAILED' }]])
      expect(createMatcher(queries, [])(items).kept).toBe(items);
  });
});

test('events with an outcome are those with SUCCESS or FAILED', () => {
  const statuses = ['SUCCESS', 'FAILED', 'failed', 'PENDING', undefined];
  const items = itemsOf(...statuses.map((publishStatus, at) => ({ eventId: String(at), publishStatus })));
  expect(idsOf(keepKnownOutcomes(items))).toEqual(['0', '1']);
});
