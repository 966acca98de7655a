import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Random } from '../../src/sandbox/random.ts';
import { createdOnText, itemText, parseGuid, sortableTime } from '../../src/sandbox/store/event-item.ts';
import { type EventFilter, EventStore } from '../../src/sandbox/store/event-store.ts';

interface Plain {
  readonly ms: number;
  readonly ticks: number;
  readonly word: number;
  readonly type: string;
  readonly status: 'SUCCESS' | 'FAILED';
}

const plain: fc.Arbitrary<Plain> = fc.record({
  ms: fc.integer({ min: 0, max: 20 }),
  ticks: fc.integer({ min: 0, max: 2 }),
  word: fc.integer({ min: 0, max: 0xffffffff }),
  type: fc.constantFrom('a', 'b', 'ü'),
  status: fc.constantFrom('SUCCESS', 'FAILED'),
});

const filters: fc.Arbitrary<{
  after?: number;
  before?: number;
  type?: string;
  status?: 'SUCCESS' | 'FAILED';
}> = fc.record(
  {
    after: fc.integer({ min: 0, max: 22 }),
    before: fc.integer({ min: 0, max: 22 }),
    type: fc.constantFrom('a', 'b', 'unknown'),
    status: fc.constantFrom('SUCCESS', 'FAILED'),
  },
  { requiredKeys: [] },
);

const idOf = (word: number) => `${word.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
const text = (event: Plain) => `{"n":${event.word},"t":"${event.type}"}`;

function add(store: EventStore, event: Plain): void {
  store.add({
    eventId: idOf(event.word),
    eventType: event.type,
    createdOn: createdOnText(event.ms, event.ticks),
    publishStatus: event.status,
    subscriptionId: 's',
    json: text(event),
  });
}

function storeOf(events: readonly Plain[]): EventStore {
  const subscriptions = [{ id: 's', endpoint: 'https://hooks.example.com/', share: 1 }];
  const store = new EventStore({ events: [], subscriptions }, new Random(1), () => 0);
  for (const event of events) add(store, event);
  return store;
}

const bound = (ms: number) => createdOnText(ms, 0).slice(0, -1);

describe('event store', () => {
  test('finds and orders as a plain list would, in whatever order events were added', () => {
    const events = fc.uniqueArray(plain, { selector: (event) => event.word, maxLength: 40 });
    const paging = fc.record({
      start: fc.integer({ min: 1, max: 45 }),
      size: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(events, filters, paging, (list, { after, before, ...equal }, { start, size }) => {
        const filter: EventFilter = { ...equal };
        if (after !== undefined) filter.after = bound(after);
        if (before !== undefined) filter.before = bound(before);
        const page = storeOf(list).page(filter, start, size);
        const expected = list
          .filter(
            (event) => after === undefined || event.ms > after || (event.ms === after && event.ticks > 0),
          )
          .filter((event) => before === undefined || event.ms < before)
          .filter((event) => equal.type === undefined || event.type === equal.type)
          .filter((event) => equal.status === undefined || event.status === equal.status)
          .sort((one, other) => other.ms - one.ms || other.ticks - one.ticks || other.word - one.word);
        expect(page.count).toBe(expected.length);
        expect(page.events.map(itemText)).toEqual(expected.slice(start - 1, start - 1 + size).map(text));
      }),
    );
  });

  test('finds by id after events were added in the middle, unless another filter excludes it', () => {
    const store = storeOf([
      { ms: 10, ticks: 0, word: 1, type: 'a', status: 'FAILED' },
      { ms: 5, ticks: 0, word: 2, type: 'b', status: 'SUCCESS' },
    ]);
    expect(store.find(idOf(2))?.eventType).toBe('b');
    expect(store.find(idOf(3))).toBeUndefined();
    const count = (filter: EventFilter) => store.page({ id: idOf(2), ...filter }, 1, 1).count;
    expect([count({}), count({ id: idOf(3) })]).toEqual([1, 0]);
    expect([count({ after: bound(4) }), count({ after: bound(5) })]).toEqual([1, 0]);
    expect([count({ before: bound(6) }), count({ before: bound(5) })]).toEqual([1, 0]);
    expect([count({ status: 'SUCCESS' }), count({ status: 'FAILED' })]).toEqual([1, 0]);
    expect([count({ type: 'b' }), count({ type: 'a' })]).toEqual([1, 0]);
    expect([count({ subscription: 's' }), count({ subscription: 't' })]).toEqual([1, 0]);
  });

  test('shows a change in the next answer to the same query', () => {
    const store = storeOf([{ ms: 1, ticks: 0, word: 1, type: 'a', status: 'FAILED' }]);
    const count = () => store.page({ status: 'FAILED' }, 1, 9).count;
    expect(count()).toBe(1);
    add(store, { ms: 2, ticks: 0, word: 2, type: 'a', status: 'FAILED' });
    expect(count()).toBe(2);
    store.setStatus(idOf(1), 'SUCCESS');
    expect(count()).toBe(1);
  });
});

describe('creation times', () => {
  test('compare exactly with values finer than 100 ns', () => {
    const store = storeOf([{ ms: 7, ticks: 4567, word: 1, type: 'a', status: 'FAILED' }]);
    const count = (operator: 'after' | 'before', fraction: string) =>
      store.page({ [operator]: sortableTime(`1970-01-01T00:00:00.${fraction}Z`) }, 1, 1).count;
    expect([count('after', '0074566'), count('after', '0074567'), count('after', '00745669')]).toEqual([
      1, 0, 1,
    ]);
    expect([count('before', '0074567'), count('before', '0074568'), count('before', '00745670001')]).toEqual([
      0, 1, 1,
    ]);
    expect([count('after', '00745670001'), count('after', '007'), count('before', '008')]).toEqual([0, 1, 1]);
    expect([count('before', '007456700'), count('after', '007456700')]).toEqual([0, 0]);
  });

  test('are read as they are written', () => {
    const ms = fc.integer({ min: Date.UTC(1000, 0), max: Date.UTC(9999, 11, 31) });
    fc.assert(
      fc.property(ms, fc.integer({ min: 0, max: 9999 }), (time, ticks) => {
        const written = createdOnText(time, ticks);
        expect(`${sortableTime(written)}Z`).toBe(written);
      }),
    );
  });

  test('are days that exist', () => {
    expect(sortableTime('2024-02-29')).toBe('2024-02-29T00:00:00.0000000');
    expect(sortableTime('0001-01-01T02:03Z')).toBe('0001-01-01T02:03:00.0000000');
    expect(sortableTime('2026-02-29')).toBeUndefined();
    expect(sortableTime('2026-00-10')).toBeUndefined();
  });
});

describe('GUIDs', () => {
  test('are read in either case, in their usual form', () => {
    fc.assert(
      fc.property(fc.uuid(), (guid) => {
        expect(parseGuid(guid)).toBe(guid);
        expect(parseGuid(guid.toUpperCase())).toBe(guid);
        expect(parseGuid(guid.replaceAll('-', ''))).toBeUndefined();
      }),
    );
  });
});
