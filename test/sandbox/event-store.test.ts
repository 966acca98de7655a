import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EventFilter, EventStore } from '../../src/sandbox/store/event-store.ts';
import { guidText, parseGuid } from '../../src/sandbox/store/guid.ts';
import { momentText, parseBound } from '../../src/sandbox/store/timestamp.ts';

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

const text = (event: Plain) => `{"n":${event.word},"t":"${event.type}"}`;

function storeOf(events: readonly Plain[]): EventStore {
  const store = new EventStore();
  for (const event of events) {
    store.add({ ...event, id: [event.word, 0, 0, 0], subscription: 's', json: Buffer.from(text(event)) });
  }
  return store;
}

describe('event store', () => {
  it('finds and orders as a plain list would, in whatever order events came', () => {
    const events = fc.uniqueArray(plain, { selector: (event) => event.word, maxLength: 40 });
    const paging = fc.record({
      start: fc.integer({ min: 1, max: 45 }),
      size: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(events, filters, paging, (list, { after, before, ...equal }, { start, size }) => {
        const bound = (ms: number) => ({ ms, ticks: 0, beyond: false });
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
        expect(Buffer.concat(page.items).toString()).toBe(
          expected
            .slice(start - 1, start - 1 + size)
            .map(text)
            .join(','),
        );
      }),
    );
  });

  it('keeps pages whole across the ends of its buffers', () => {
    const store = new EventStore();
    const filler = 'x'.repeat(10_000);
    for (let index = 0; index < 1000; index++) {
      const json = Buffer.from(`{"n":${index},"f":"${filler}"}`);
      store.add({
        ms: index,
        ticks: 0,
        id: [index, 1, 2, 3],
        type: 't',
        subscription: 's',
        status: 'FAILED',
        json,
      });
    }
    const page = store.page({}, 1, 1000);
    const items = JSON.parse(`[${Buffer.concat(page.items)}]`) as { n: number }[];
    expect(items.map(({ n }) => n)).toEqual(Array.from({ length: 1000 }, (_, index) => 999 - index));
    expect(page.items.length).toBeLessThan(5);
  });

  it('tells neighbours in memory from neighbours in a buffer', () => {
    const store = storeOf([{ ms: 10, ticks: 0, word: 1, type: 'a', status: 'FAILED' }]);
    // Fills a buffer of 4 MiB to its first byte, and is older than what stands at the end of the buffer before.
    const json = Buffer.from(`"${'y'.repeat(4 * 1024 * 1024 - 3)}"`);
    store.add({ ms: 5, ticks: 0, id: [2, 0, 0, 0], type: 'a', subscription: 's', status: 'FAILED', json });
    const { items } = store.page({}, 1, 2);
    expect(Buffer.concat(items).equals(Buffer.concat([Buffer.from('{"n":1,"t":"a"},'), json]))).toBe(true);
  });

  it('finds by id after events were added in the middle', () => {
    const store = storeOf([{ ms: 10, ticks: 0, word: 1, type: 'a', status: 'FAILED' }]);
    expect(store.text([1, 0, 0, 0])).toBe('{"n":1,"t":"a"}');
    const late = Buffer.from('{"late":true}');
    store.add({
      ms: 5,
      ticks: 0,
      id: [2, 0, 0, 0],
      type: 'a',
      subscription: 's',
      status: 'FAILED',
      json: late,
    });
    expect(store.text([1, 0, 0, 0])).toBe('{"n":1,"t":"a"}');
    expect(store.text([2, 0, 0, 0])).toBe('{"late":true}');
    expect(store.text([3, 0, 0, 0])).toBeUndefined();
  });

  it('shows a replaced event with its new status and text', () => {
    const store = storeOf([
      { ms: 1, ticks: 0, word: 1, type: 'a', status: 'FAILED' },
      { ms: 2, ticks: 0, word: 2, type: 'a', status: 'FAILED' },
    ]);
    store.replace([1, 0, 0, 0], 'SUCCESS', Buffer.from('{"new":"a longer text than before"}'));
    expect(store.page({ status: 'FAILED' }, 1, 9).count).toBe(1);
    expect(Buffer.concat(store.page({}, 1, 9).items).toString()).toBe(
      '{"n":2,"t":"a"},{"new":"a longer text than before"}',
    );
  });
});

describe('moments', () => {
  it('compares exactly with values finer than it can hold', () => {
    const store = storeOf([{ ms: 7, ticks: 4567, word: 1, type: 'a', status: 'FAILED' }]);
    const count = (operator: 'after' | 'before', fraction: string) =>
      store.page({ [operator]: parseBound(`1970-01-01T00:00:00.${fraction}Z`) }, 1, 1).count;
    expect([count('after', '0074566'), count('after', '0074567'), count('after', '00745669')]).toEqual([
      1, 0, 1,
    ]);
    expect([count('before', '0074567'), count('before', '0074568'), count('before', '00745670001')]).toEqual([
      0, 1, 1,
    ]);
    expect([count('after', '00745670001'), count('after', '007'), count('before', '008')]).toEqual([0, 1, 1]);
  });

  it('reads what it writes', () => {
    const moments = fc.record({
      ms: fc.integer({ min: Date.UTC(1000, 0), max: Date.UTC(9999, 11, 31) }),
      ticks: fc.integer({ min: 0, max: 9999 }),
    });
    fc.assert(
      fc.property(moments, (moment) => {
        expect(parseBound(momentText(moment))).toEqual({ ...moment, beyond: false });
      }),
    );
  });

  it('knows the days that exist', () => {
    expect(parseBound('2024-02-29')?.ms).toBe(Date.UTC(2024, 1, 29));
    expect(parseBound('0001-01-01')?.ms).toBe(Date.parse('0001-01-01T00:00:00Z'));
    expect(parseBound('2026-02-29')).toBeUndefined();
    expect(parseBound('2026-00-10')).toBeUndefined();
  });
});

describe('GUIDs', () => {
  it('reads what it writes', () => {
    const word = fc.integer({ min: 0, max: 0xffffffff });
    fc.assert(
      fc.property(word, word, word, word, (a, b, c, d) => {
        expect(parseGuid(guidText(a, b, c, d))).toEqual([a, b, c, d]);
      }),
    );
  });
});
