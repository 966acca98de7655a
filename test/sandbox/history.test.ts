import { describe, expect, test } from 'vitest';
import { Random } from '../../src/sandbox/random.ts';
import { flatShape } from '../../src/sandbox/shapes/flat-shape.ts';
import { publishedShape } from '../../src/sandbox/shapes/published-shape.ts';
import { eventTypes } from '../../src/sandbox/store/event-item.ts';
import { createEventStore } from '../../src/sandbox/store/event-store.ts';
import { writeHistory } from '../../src/sandbox/store/seeded-history.ts';

const now = Date.UTC(2026, 10, 20, 15, 30);
const DAY = 86_400_000;

function history(count: number, seed = 1, shape = flatShape) {
  const history = writeHistory(count, seed, now);
  const store = createEventStore(history, new Random(1), () => now);
  const text = store.page({}, 1, count).events.map(shape.itemText).join(',');
  return { store, text, items: JSON.parse(`[${text}]`) as Record<string, string>[] };
}

describe('seeded history', () => {
  test('is the same for the same seed and time, and differs for another seed', () => {
    expect(history(2000).text).toBe(history(2000).text);
    expect(history(2000).text).not.toBe(history(2000, 2).text);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('fails in 3 to 6 of 100 deliveries with seed %d', (seed) => {
    const { store } = history(5000, seed);
    const share = store.page({ publishStatus: 'FAILED' }, 1, 1).count / store.size;
    expect(share).toBeGreaterThan(0.03);
    expect(share).toBeLessThan(0.06);
  });

  test.each([1, 2, 10, 5000])('holds a failure of the last 24 hours among %d events', (count) => {
    const { store } = history(count);
    const after = '2026-11-19T15:30:00.0000000';
    expect(store.page({ publishStatus: 'FAILED', after }, 1, 1).count).toBeGreaterThan(0);
  });

  test('can be empty', () => {
    expect(history(0).store.page({}, 1, 500)).toEqual({ count: 0, events: [] });
  });

  test('spans 30 days up to now, newest first, busier on working days', () => {
    const { items } = history(5000);
    const times = items.map((item) => Date.parse(item['createdOn'] as string));
    expect(times.every((time, index) => index === 0 || time <= (times[index - 1] as number))).toBe(true);
    expect(times[0]).toBeLessThan(now);
    expect(times.at(-1)).toBeGreaterThan(now - 30 * DAY);
    expect(times.at(-1)).toBeLessThan(now - 29 * DAY);
    const perDay = (weekend: boolean) =>
      times.filter((time) => [0, 6].includes(new Date(time).getUTCDay()) === weekend).length /
      (weekend ? 2 : 5);
    expect(perDay(false)).toBeGreaterThan(perDay(true) * 2);
  });

  test('fails in bursts: most failures stand next to one of the same subscription', () => {
    const { items } = history(20_000);
    const failed = items.filter((item) => item['publishStatus'] === 'FAILED');
    const near = failed.filter((item, index) =>
      failed
        .slice(Math.max(0, index - 3), index)
        .some((other) => other['subscriptionId'] === item['subscriptionId']),
    );
    expect(near.length / failed.length).toBeGreaterThan(0.7);
  });

  test('holds items of about 540 bytes with values that JSON parsers tend to damage', () => {
    const { text, items } = history(5000);
    const size = Buffer.byteLength(text) / 5000;
    expect(size).toBeGreaterThan(500);
    expect(size).toBeLessThan(580);
    expect(text).toContain('"sequence":9007199254740993,');
    expect(text).toContain('"version":1.10}');
    expect(text).toMatch(/"value":\d+\.\d0,/);
    expect(text).toContain('業務委託契約書');
    expect(new Set(items.map((item) => item['eventId'])).size).toBe(5000);
    expect(new Set(items.map((item) => item['eventType']))).toEqual(
      new Set(eventTypes.map(({ name }) => name)),
    );
    expect(new Set(items.map((item) => item['subscriptionId'])).size).toBe(8);
  });

  test('holds events of the same moment', () => {
    const { items } = history(5000);
    expect(new Set(items.map((item) => item['createdOn'])).size).toBeLessThan(5000);
  });
});

describe('the published shape of the history', () => {
  interface PublishedItem extends Record<string, unknown> {
    readonly eventData: { readonly eventId: string; readonly topicVersion: string };
  }
  const flat = history(5000);
  const published = history(5000, 1, publishedShape);
  const items = published.items as unknown as readonly PublishedItem[];

  test('is of the same events as the flat one', () => {
    const knownIn = ({ eventData, ...item }: PublishedItem) => {
      const { eventId, eventType, publishStatus, subscriptionId, createdOn } = {
        ...eventData,
        ...item,
      } as never;
      return { eventId, eventType, publishStatus, subscriptionId, createdOn: Date.parse(createdOn) };
    };
    const flatOnes = flat.items.map(({ createdOn, eventId, eventType, publishStatus, subscriptionId }) => ({
      ...{ eventId, eventType, publishStatus, subscriptionId },
      createdOn: Date.parse(createdOn as string),
    }));
    expect(items.map(knownIn)).toEqual(flatOnes);
    expect(history(5000, 1, publishedShape).text).toBe(published.text);
  });

  test('has times whose fraction loses its trailing zeros', () => {
    const times = items.map(({ createdOn }) => createdOn as string);
    expect(times.every((time) => /^\d{4}-\d\d-\d\dT[\d:]{8}(\.\d{0,6}[1-9])?Z$/.test(time))).toBe(true);
    expect(new Set(times.map(({ length }) => length)).size).toBeGreaterThan(2);
  });

  test('has the members of the published service and no others, and nothing about the delivery', () => {
    const members = (value: object) => Object.keys(value).join(' ');
    expect(new Set(items.map(members))).toEqual(
      new Set(['subscriptionId publishStatus createdOn eventData']),
    );
    const ofEvent =
      'eventId eventType topic topicVersion timeStamp environment partition correlationId headers body';
    expect(new Set(items.map(({ eventData }) => members(eventData)))).toEqual(new Set([ofEvent]));
    expect(published.text).not.toMatch(/error|attempts|httpStatus|endpoint/i);
  });

  test('holds values that JSON parsers tend to damage', () => {
    expect(published.text).toContain('"sequence":9007199254740993,');
    expect(published.text).toContain('"version":1.10,');
    expect(published.text).toMatch(/"value":\d+\.\d0,/);
    expect(published.text).toContain('業務委託契約書');
  });

  test('tells failures outside of outages by the version of their topic', () => {
    const isNew = ({ eventData }: PublishedItem) => eventData.topicVersion === '2';
    const hasFailed = (item: PublishedItem) => item['publishStatus'] === 'FAILED';
    const failedOfNew = items.filter(isNew).filter(hasFailed).length;
    const newOnes = items.filter(isNew).length;
    expect(failedOfNew).toBeGreaterThan(5);
    expect(failedOfNew).toBeLessThan(newOnes);
    expect(failedOfNew / newOnes).toBeGreaterThan(0.4);
    expect(items.filter(hasFailed).length / items.length).toBeLessThan(0.06);
  });
});
