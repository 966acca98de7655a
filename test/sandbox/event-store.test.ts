import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Random } from '../../src/sandbox/random.ts';
import { flatShape } from '../../src/sandbox/shapes/flat-shape.ts';
import { createdOnText, sortableTime } from '../../src/sandbox/store/event-item.ts';
import { createEventStore, type EventFilter, type EventStore } from '../../src/sandbox/store/event-store.ts';

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
  const store = createEventStore({ events: [], subscriptions }, new Random(1), () => 0);
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
        const filter: EventFilter = {
          ...(equal.type && { eventType: equal.type }),
          ...(equal.status && { publishStatus: equal.status }),
        };
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
        expect(page.events.map(flatShape.itemText)).toEqual(
          expected.slice(start - 1, start - 1 + size).map(text),
        );
      }),
    );
  });
});

describe('creation times', () => {
  test('are read as they are written', () => {
    const ms = fc.integer({ min: Date.UTC(1000, 0), max: Date.UTC(9999, 11, 31) });
    fc.assert(
      fc.property(ms, fc.integer({ min: 0, max: 9999 }), (time, ticks) => {
        const written = createdOnText(time, ticks);
        expect(`${sortableTime(written)}Z`).toBe(written);
      }),
    );
  });
});
