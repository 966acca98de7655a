import { describe, expect, test } from 'vitest';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { eventKey } from '../../src/ids/event-keys.ts';
import { parseCondition } from '../../src/items/item-conditions.ts';
import { Items } from '../../src/items/items.ts';
import { parseInstant } from '../../src/time/instant.ts';
import {
  createEventReader,
  eventPrinter,
  type FoundEvent,
  notFound,
  noticeHandOver,
  onceInOrder,
  oncePerEvent,
  onlySubscription,
} from '../../src/webhooks/found-events.ts';
import { createContext, fakeOutput } from '../support/context.ts';
import { foundOf } from '../support/found.ts';
import { fakeReporter, pageOf } from '../support/outputs.ts';
import { inShape, itemOf } from '../support/shape.ts';

type Fields = Readonly<Record<string, unknown>>;
const read = createEventReader('event');
const eventsOf = (...items: readonly Fields[]) => foundOf(items);
const secondOf = (second: number) => `2026-11-20T12:00:0${second}Z`;
const ids = (events: readonly FoundEvent[]) => events.map(({ eventId }) => eventId);

describe('a found event', () => {
  const FIELDS = { eventId: 'a', createdOn: secondOf(1), publishStatus: 'SUCCESS', extra: [1] };

  test('is read with its record, and with the body that a delivery carries', () => {
    const record = JSON.stringify(itemOf(FIELDS));
    const body = inShape({ flat: record, published: '{"eventId":"a","extra":[1]}' });
    const [event] = read(pageOf(['{}', record])).slice(1);
    expect(event).toEqual({
      record: Buffer.from(record),
      body: Buffer.from(body),
      eventId: 'a',
      key: eventKey('a'),
      createdOn: parseInstant(secondOf(1)),
      isDelivered: true,
    });
    const [whole] = createEventReader('record')(pageOf([record]));
    expect(String(whole?.body)).toBe(record);
  });

  test('keeps its bytes when the page is read into again', () => {
    const page = pageOf([JSON.stringify(itemOf(FIELDS))]);
    const [event] = read(page);
    page.bytes.fill(0);
    expect(JSON.parse(String(event?.record))).toEqual(itemOf(FIELDS));
    expect(JSON.parse(String(event?.body))).toMatchObject({ eventId: 'a' });
  });

  test.each<[Fields, Partial<FoundEvent>]>([
    [{}, { eventId: undefined, key: undefined, createdOn: undefined, isDelivered: false }],
    [{ eventId: '' }, { eventId: '', key: undefined }],
    [{ eventId: 7 }, { key: undefined }],
    [{ createdOn: 'no time' }, { createdOn: undefined }],
    [{ publishStatus: 'FAILED' }, { isDelivered: false }],
    [{ publishStatus: 'success' }, { isDelivered: false }],
  ])('may lack any field, or hold something else there: %j', (fields, expected) => {
    expect(eventsOf(fields)[0]).toMatchObject(expected);
  });

  test('that is not UTF-8 could not be a delivery', () => {
    const [before, after] = JSON.stringify(itemOf({ ...FIELDS, extra: '#' })).split('#') as [string, string];
    const item = Buffer.concat([Buffer.from(before), Buffer.from([0xff]), Buffer.from(after)]);
    const [event] = read(Items.of([item]));
    expect([event?.eventId, event?.key]).toEqual(['a', undefined]);
  });
});

describe('several records of one event', () => {
  test('are one, the newest, in the place of the first', () => {
    const events = eventsOf(
      { eventId: 'a', createdOn: secondOf(1), n: 1 },
      { eventId: 'b', createdOn: secondOf(3), n: 2 },
      { eventId: 'a', createdOn: secondOf(2), n: 3 },
      { eventId: 'b', createdOn: secondOf(3), n: 4 },
      { eventId: 'b', createdOn: secondOf(1), n: 5 },
      { n: 6 },
      { n: 7 },
    );
    expect(oncePerEvent(events)).toEqual([events[2], events[1], events[5], events[6]]);
  });

  test('of which one has no time are the other', () => {
    const [dated, undated, another] = eventsOf(
      { eventId: 'a', createdOn: secondOf(1) },
      { eventId: 'a' },
      { eventId: 'a', n: 1 },
    ) as [FoundEvent, FoundEvent, FoundEvent];
    expect(oncePerEvent([dated, undated])).toEqual([dated]);
    expect(oncePerEvent([undated, dated])).toEqual([dated]);
    expect(oncePerEvent([undated, another])).toEqual([undated]);
  });

  test('are told to be left out, and the events come oldest first', () => {
    const reporter = fakeReporter();
    const once = (...fields: Fields[]) => ids(onceInOrder(eventsOf(...fields), reporter));
    const [a, b] = [
      { eventId: 'a', createdOn: secondOf(1) },
      { eventId: 'b', createdOn: secondOf(2) },
    ];
    expect(once(b, a)).toEqual(['a', 'b']);
    expect(reporter.said).toEqual([]);
    expect(once(b, a, a)).toEqual(['a', 'b']);
    once(...Array<Fields>(1001).fill(a));
    const end = 'of these events left out: each event is forwarded once, from its newest record';
    expect(reporter.said).toEqual([`notice: 1 more record ${end}`, `notice: 1,000 more records ${end}`]);
  });
});

test('that the handler gets less than the record is told once, and only if it does', () => {
  const reporter = fakeReporter();
  noticeHandOver(createEventReader('record')(pageOf([JSON.stringify(itemOf({ eventId: 'a' }))])), reporter);
  expect(reporter.said).toEqual([]);
  noticeHandOver(eventsOf({ eventId: 'a' }, { eventId: 'b' }), reporter);
  expect(reporter.said).toEqual(
    inShape({
      flat: [],
      published: [
        'notice: the handler gets the event inside each record, as a delivery carries it; --hand-over record sends the whole record',
      ],
    }),
  );
});

test.each([
  [['s'], [], 's'],
  [['s', 't'], [], undefined],
  [[], [], undefined],
  [['s'], ['word'], undefined],
])(
  'of the subscriptions %j and the words %j the only one is %s',
  (subscriptionId, subscriptionWords, only) => {
    expect(onlySubscription(new EventFilters({ values: { subscriptionId }, subscriptionWords }))).toBe(only);
  },
);

describe('ids without an event', () => {
  const after = { flag: '--since', text: '1d', time: { kind: 'ago', seconds: 86_400 } } as const;
  const error = (given: readonly string[], parts: ConstructorParameters<typeof EventFilters>[0] = {}) => {
    const { message, details, next, kind } = notFound(
      given,
      new EventFilters({ values: { eventId: given }, ...parts }),
      { done: 'replayed' },
    );
    return { message, details, next, kind };
  };

  test('are named in order, with what to leave out', () => {
    expect(error(['b', 'a'])).toEqual({
      message: '2 of the events were not found',
      details: ['a', 'b'],
      next: 'leave them out; nothing was replayed (the service has no event that `webhooks send` made)',
      kind: 'not-found',
    });
    expect(error(['a'], { after })).toMatchObject({
      message: '1 of the events was not found by these filters',
      next: 'leave it or --since out; nothing was replayed (the service has no event that `webhooks send` made)',
    });
  });

  test('may be there and not pass the other filters', () => {
    const conditions = [parseCondition('a = b', '--where', 0)];
    expect(error(['a'], { conditions }).message).toBe('1 of the events was not found by these filters');
  });

  test('come with what happened to the others', () => {
    const given = new EventFilters({ values: { eventId: ['a'] } });
    const { next } = notFound(['a'], given, { done: 'recovered', outcome: 'the others were recovered' });
    expect(next).toBe('the others were recovered (the service has no event that `webhooks send` made)');
  });
});

describe('printing events', () => {
  const print = async (format: 'table' | 'ndjson' | 'json', count: number) => {
    const stdout = fakeOutput();
    const context = { ...createContext(), stdout };
    const call = { context, reporter: fakeReporter() } as unknown as Parameters<typeof eventPrinter>[1];
    const printing = await eventPrinter({ format } as Parameters<typeof eventPrinter>[0], call);
    await printing(eventsOf(...Array.from({ length: count }, (_, n) => ({ eventId: String(n), n }))));
    return stdout.text;
  };

  test('prints each record, also of more than are printed at once', async () => {
    const lines = (await print('ndjson', 401)).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      Array.from({ length: 401 }, (_, n) => itemOf({ eventId: String(n), n })),
    );
    expect(JSON.parse(await print('json', 2))).toHaveLength(2);
  });

  test('of none prints no table, and in JSON an empty list', async () => {
    expect(await print('table', 0)).toBe('');
    expect(JSON.parse(await print('json', 0))).toEqual([]);
  });
});
