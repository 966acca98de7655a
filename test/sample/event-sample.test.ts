import { describe, expect, test } from 'vitest';
import { Items } from '../../src/items/items.ts';
import { EventSample } from '../../src/sample/event-sample.ts';
import { eventText, itemsOf, upTo } from './made-samples.ts';

const MIB = 1024 * 1024;
const MAX_SAMPLE_BYTES = 64 * MIB;

/** As many events with their numbers, of which some failed. */
const numbered = (count: number, hasFailed: (index: number) => boolean) =>
  itemsOf(upTo(count).map((index) => eventText({ n: index }, hasFailed(index))));

const isEven = (index: number) => index % 2 === 0;

/** Only their beginnings are read: some are long. */
const sampled = (sample: EventSample) =>
  [...sample.readSampled()].map(({ text, hasFailed }) => {
    const [, number] = /"n":(\d+)/.exec(text.toString('latin1', 0, 60)) ?? [];
    return { n: Number(number), hasFailed };
  });

/** The numbers of the kept events with an outcome, from the lowest. */
const keptOf = (sample: EventSample, failed: boolean) =>
  sampled(sample)
    .flatMap(({ n, hasFailed }) => (hasFailed === failed ? [n] : []))
    .sort((a, b) => a - b);

const sampleOf = (items: Items, maxEvents?: number, haveFailed?: boolean) => {
  const sample = new EventSample(maxEvents);
  sample.add(items, haveFailed);
  return sample;
};

const sampleOfEvents = (events: readonly string[], haveFailed?: boolean) =>
  sampleOf(itemsOf(events), undefined, haveFailed);

describe('what is counted of events', () => {
  test('is how many failed, and how many have no outcome that is known', () => {
    const sample = sampleOfEvents([
      eventText({}, true),
      eventText({}, false),
      eventText({}, true),
      '{}',
      '{"publishStatus":"failed"}',
      '{"publishStatus":null}',
      '{"publishStatus":["FAILED"]}',
      '{"event":{"eventId":"e","publishStatus":"FAILED"}}',
    ]);
    expect(sample).toMatchObject({ events: 4, failed: 3, unknownOutcomes: 4, sampledEvents: 4 });
  });

  test('is the outcome that is given with them, whatever they say', () => {
    for (const hasFailed of [true, false]) {
      const sample = sampleOfEvents(['{}', eventText({}, !hasFailed)], hasFailed);
      expect(sample).toMatchObject({ events: 2, failed: hasFailed ? 2 : 0, unknownOutcomes: 0 });
      expect([...sample.readSampled()].map((event) => event.hasFailed)).toEqual([hasFailed, hasFailed]);
    }
  });

  test('are their subscriptions, in any case and spelling', () => {
    const count = (...values: string[]) =>
      sampleOfEvents(values.map((value) => eventText(`"subscriptionId":${value}`, true))).subscriptions;
    expect(count('"a"', '"A"', '"\\u0061"', '"a"')).toBe(1);
    expect(count('"a"', '"b"', '"c"', '"B"')).toBe(3);
    expect(count('7', '"7"', '8', '9')).toBe(3);
    expect(count('"ä"', '"Ä"', '"ö"')).toBe(2);
    expect(count('null', '"a"', 'null')).toBe(1);
    expect(
      sampleOfEvents([eventText({}, true), eventText({ event: { eventId: 'e', subscriptionId: 's' } }, true)])
        .subscriptions,
    ).toBe(1);
  });

  test('are the earliest and the latest time, and how many times are unknown', () => {
    const times = ['2026-11-20T10:00:00Z', '2026-11-19T10:00:00Z', '2026-11-21T10:00:00Z', 'soon', 7];
    const sample = sampleOfEvents([
      ...times.map((createdOn) => eventText({ createdOn }, true)),
      eventText({}, false),
      '{"createdOn":"2020-01-01T00:00:00Z"}',
    ]);
    expect(sample.unknownTimes).toBe(3);
    expect([sample.bounds.first?.text, sample.bounds.last?.text]).toEqual([times[1], times[2]]);
  });

  test('is if delivered events are longer by the name of their outcome', () => {
    const outcomes = (...all: boolean[]) => all.map((hasFailed) => eventText({}, hasFailed));
    expect(sampleOfEvents(outcomes(true, false)).bytesAddedBySuccess).toBe(1);
    expect(sampleOfEvents(outcomes(true, true)).bytesAddedBySuccess).toBe(0);
    expect(sampleOfEvents(outcomes(true, false), false).bytesAddedBySuccess).toBe(0);
    expect(sampleOfEvents(outcomes(true, false), true).bytesAddedBySuccess).toBe(0);
  });
});

describe('a few events', () => {
  test('are all kept, in their order, with the places of their times and events', () => {
    const events = upTo(25).map((index) => {
      const at = `2026-11-20T10:00:${10 + index}Z`;
      if (index % 3 === 0) return eventText({ n: index }, isEven(index));
      return eventText({ n: index, event: { eventId: 'e', createdOn: at } }, isEven(index));
    });
    const sample = new EventSample();
    sample.add(itemsOf(events.slice(0, 12)), undefined);
    sample.add(itemsOf(events.slice(12)), undefined);
    expect(sample).toMatchObject({ isWhole: true, sampledEvents: 25, shares: { failed: 1, delivered: 1 } });
    const read = [...sample.readSampled()];
    expect(read.map(({ text }) => `${text}`)).toEqual(events);
    for (const [index, { text, hasFailed, eventAt, createdOnStart, createdOnEnd }] of read.entries()) {
      expect(hasFailed).toBe(isEven(index));
      const time = `${text.subarray(createdOnStart, createdOnEnd)}`;
      if (index % 3 === 0) expect([eventAt, time]).toEqual([0, '']);
      else
        expect([`${text}`.slice(eventAt - 8, eventAt + 10), time]).toEqual([
          '"event":{"eventId"',
          `"2026-11-20T10:00:${10 + index}Z"`,
        ]);
    }
    expect([...sample.readSampled()]).toHaveLength(25);
  });

  test('leave room for as many as the sample takes', () => {
    const sample = sampleOf(numbered(4, isEven), 10);
    expect(sample.hasRoomFor(numbered(6, isEven))).toBe(true);
    expect(sample.hasRoomFor(numbered(7, isEven))).toBe(false);
    sample.add(numbered(7, isEven), undefined);
    expect(sample.isWhole).toBe(false);
    expect(sample.hasRoomFor(numbered(0, isEven))).toBe(false);
  });

  test('leave room for 64 MiB', () => {
    const event = eventText({ n: 1 }, true);
    const sample = sampleOfEvents([event]);
    const large = (bytes: number) => new Items(Buffer.alloc(bytes), [0, bytes]);
    expect(sample.hasRoomFor(large(MAX_SAMPLE_BYTES - event.length))).toBe(true);
    expect(sample.hasRoomFor(large(MAX_SAMPLE_BYTES - event.length + 1))).toBe(false);
  });

  test('are no more there after they were released, but counted', () => {
    const sample = sampleOf(numbered(4, isEven));
    sample.releaseEvents();
    expect(sample).toMatchObject({ events: 4, failed: 2, sampledEvents: 4 });
    expect(() => [...sample.readSampled()]).toThrow(TypeError);
    expect(sample.hasRoomFor(new Items(Buffer.alloc(MAX_SAMPLE_BYTES), [0, MAX_SAMPLE_BYTES]))).toBe(true);
  });

  test('of one outcome or none have the share of all', () => {
    expect(new EventSample()).toMatchObject({
      events: 0,
      shares: { failed: 1, delivered: 1 },
      subscriptions: 0,
    });
    expect(sampleOf(numbered(3, () => true)).shares).toEqual({ failed: 1, delivered: 1 });
  });
});

describe('of many events', () => {
  test('all are kept up to the limit, and then half as many of each outcome', () => {
    expect(new EventSample().hasRoomFor(numbered(0, isEven))).toBe(true);
    const full = sampleOf(numbered(10, isEven), 10);
    expect([full.isWhole, sampled(full).map(({ n }) => n)]).toEqual([true, upTo(10)]);
    for (const [isFailed, failed, delivered] of [
      [isEven, 5, 5],
      [() => true, 5, 0],
      [() => false, 0, 5],
      [(index: number) => index === 3, 1, 5],
      [(index: number) => index > 7, 3, 5],
      [(index: number) => index < 10, 5, 1],
    ] as const) {
      const sample = sampleOf(numbered(11, isFailed), 10);
      expect(sample.isWhole).toBe(false);
      expect([keptOf(sample, true).length, keptOf(sample, false).length]).toEqual([failed, delivered]);
      const seen = upTo(11).filter((index) => isFailed(index)).length;
      expect(sample.shares).toEqual({
        failed: seen === 0 ? 1 : failed / seen,
        delivered: seen === 11 ? 1 : delivered / (11 - seen),
      });
    }
  });

  test('24,000 are kept without another limit', () => {
    const text = Buffer.from(eventText({}, true));
    const items = (count: number) =>
      new Items(
        text,
        upTo(2 * count).map((at) => (at % 2) * text.length),
      );
    const sample = sampleOf(items(24_000));
    expect([sample.isWhole, sample.sampledEvents]).toEqual([true, 24_000]);
    sample.add(items(1), undefined);
    expect([sample.isWhole, sample.events, sample.sampledEvents]).toEqual([false, 24_001, 12_000]);
  });

  test('the rarer outcome is kept as a whole, and each event once', () => {
    const isRare = (index: number) => index % 100 === 7;
    const sample = sampleOf(numbered(2000, isRare), 100);
    expect(keptOf(sample, true)).toEqual(upTo(2000).filter(isRare));
    expect(new Set(keptOf(sample, false)).size).toBe(50);
    expect(keptOf(sample, false).some(isRare)).toBe(false);
    expect(sample.shares).toEqual({ failed: 1, delivered: 50 / 1980 });
    expect(sample).toMatchObject({ events: 2000, failed: 20, sampledEvents: 70 });
  });

  test('each has the same chance, and one at the end as one at the beginning', () => {
    const sample = sampleOf(numbered(8000, isEven), 1600);
    for (const failed of [true, false]) {
      const kept = keptOf(sample, failed);
      expect(new Set(kept).size).toBe(800);
      const byEighth = upTo(8).map((eighth) => kept.filter((n) => Math.floor(n / 1000) === eighth).length);
      for (const count of byEighth) expect(Math.abs(count - 100)).toBeLessThan(35);
    }
  });

  test('the same ones give the same sample in each run and version', () => {
    const sample = sampleOf(numbered(120, isEven), 12);
    expect(keptOf(sample, true)).toEqual([10, 16, 28, 52, 76, 96]);
    expect(keptOf(sample, false)).toEqual([13, 45, 63, 85, 89, 95]);
  });

  test('so many are kept that they have no more than 64 MiB', () => {
    const text = Buffer.alloc(4 * MIB + 1, 'x');
    text.write('"}', text.length - 2);
    const addTo = (sample: EventSample, index: number) => {
      text.write(`${eventText({ n: index }, true).slice(0, -1)},"x":"`);
      sample.add(new Items(text, [0, text.length]), undefined);
    };
    const sample = new EventSample();
    for (const index of upTo(16)) {
      addTo(sample, index);
      expect(sample.isWhole).toBe(index < 15);
    }
    const kept = sample.sampledEvents;
    expect(kept * text.length).toBeLessThanOrEqual(MAX_SAMPLE_BYTES);
    expect(kept).toBeGreaterThanOrEqual(8);
    expect(sample.shares.failed).toBe(kept / 16);
    expect(new Set(sampled(sample).map(({ n }) => n)).size).toBe(kept);
    for (const index of upTo(10)) addTo(sample, 16 + index);
    expect(sample.sampledEvents).toBe(kept);
    expect(sampled(sample).some(({ n }) => n >= 16)).toBe(true);
  });

  test('one is kept of each outcome, however large they are', () => {
    const text = Buffer.alloc(MAX_SAMPLE_BYTES / 2 + MIB, 'x');
    const sample = new EventSample();
    for (const failed of [true, true, false, false]) {
      text.write(`${eventText({}, failed).slice(0, -1)},"x":"`);
      text.write('"}', text.length - 2);
      sample.add(new Items(text, [0, text.length]), undefined);
    }
    expect(sample.sampledEvents).toBe(2);
    expect(sample.shares).toEqual({ failed: 0.5, delivered: 0.5 });
  });
});
