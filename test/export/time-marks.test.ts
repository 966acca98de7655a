import { describe, expect, test } from 'vitest';
import { type Mark, markDays, markTime } from '../../src/export/time-marks.ts';
import { type FetchPage, readPage } from '../../src/paging/page.ts';
import { clock } from '../support/clock.ts';

const DAY_SECONDS = 86_400;
const baseUrl = new URL('https://events.example.com');

/** A service with events at some seconds, which counts those before the end that it is asked for. */
function startCounting(events: readonly number[]) {
  const asked: number[] = [];
  let change = (count: number) => count;
  const fetchPage: FetchPage = async (url) => {
    const end = /lt\(createdOn,([^)]+)\)/.exec(decodeURIComponent(url.search))?.[1] ?? '';
    const seconds = Date.parse(end) / 1000;
    asked.push(seconds);
    const count = change(events.filter((at) => at < seconds).length);
    return { page: readPage(Buffer.from(`{"count":${count},"items":[]}`)), serviceTime: clock.now() };
  };
  const client = {
    baseUrl,
    fetchPage,
    pageSize: 5,
    concurrency: () => 4,
    clock: { now: () => clock.now(), sleep: async () => {} },
    signal: new AbortController().signal,
  };
  const bounds = (from: number, to: number): Mark[] => [
    { seconds: to, events: events.length },
    { seconds: from, events: 0 },
  ];
  return {
    asked,
    changeCounts: (changed: typeof change) => {
      change = changed;
    },
    time: (from: number, to: number, target: number) =>
      markTime(bounds(from, to), {}, target, client as never),
    days: (from: number, to: number) => markDays(bounds(from, to), {}, client as never),
  };
}

const each = (count: number, at: (index: number) => number) => Array.from({ length: count }, (_, i) => at(i));
const shown = (marks: readonly Mark[]) => marks.map(({ seconds, events }) => [seconds, events]);

describe('marks of time', () => {
  test.each([
    [15, []],
    [16, [50]],
  ])('%i events with ten to a part are parted at %j', async (events, parted) => {
    const service = startCounting(each(events, (index) => index * 6));
    const marks = await service.time(0, 100, 10);
    expect(marks.slice(1, -1).map(({ seconds }) => seconds)).toEqual(parted);
    expect(service.asked).toEqual(parted);
  });

  test('count what lies before each of them, newest first, and at most sixteen at once', async () => {
    const service = startCounting(each(1000, (index) => index));
    const marks = await service.time(0, 1000, 10);
    expect(service.asked.slice(0, 15)).toEqual(each(15, (at) => 1000 - Math.ceil((1000 * (at + 1)) / 16)));
    for (const { seconds, events } of marks) expect(events).toBe(seconds);
    const spans = marks.slice(1).map((from, at) => (marks[at]?.events ?? 0) - from.events);
    expect(Math.max(...spans)).toBeLessThanOrEqual(15);
    // No mark could be left out.
    for (const [at, span] of spans.slice(1).entries()) expect(span + (spans[at] ?? 0)).toBeGreaterThan(15);
  });

  test('part nothing within a second', async () => {
    const service = startCounting(each(40, (index) => 50 + (index % 2)));
    expect(shown(await service.time(0, 100, 10))).toEqual([
      [100, 40],
      [52, 40],
      [51, 20],
      [50, 0],
      [0, 0],
    ]);
  });

  test('fall where events appear during the count', async () => {
    const service = startCounting(each(20, (index) => index * 5));
    service.changeCounts((count) => count + 30);
    const marks = await service.time(0, 100, 10);
    expect(marks.every(({ events }) => events <= 20)).toBe(true);
    expect(shown(marks)).toEqual([
      [100, 20],
      [1, 20],
      [0, 0],
    ]);
  });
});

describe('marks of days', () => {
  const noon = (day: number) => day * DAY_SECONDS + DAY_SECONDS / 2;

  test('are the midnights on both sides of each day that has events', async () => {
    const service = startCounting([noon(20), noon(21), noon(300)]);
    expect(shown(await service.days(noon(0), noon(365)))).toEqual([
      [noon(365), 3],
      [301 * DAY_SECONDS, 3],
      [300 * DAY_SECONDS, 2],
      [22 * DAY_SECONDS, 2],
      [21 * DAY_SECONDS, 1],
      [20 * DAY_SECONDS, 0],
      [noon(0), 0],
    ]);
    // Sixteen at once: the middles of sixteen equal parts of the 365 midnights.
    expect(service.asked.slice(0, 16)).toEqual(
      each(16, (at) => (1 + Math.floor(((at + 0.5) * 365) / 16)) * DAY_SECONDS),
    );
  });

  test('are none within a day, whose end is the midnight behind it', async () => {
    const service = startCounting([noon(20), noon(20) + 1]);
    expect(shown(await service.days(20 * DAY_SECONDS, 21 * DAY_SECONDS))).toEqual([
      [21 * DAY_SECONDS, 2],
      [20 * DAY_SECONDS, 0],
    ]);
    expect(service.asked).toEqual([]);
    await service.days(20 * DAY_SECONDS, 21 * DAY_SECONDS + 1);
    expect(service.asked).toEqual([21 * DAY_SECONDS]);
  });

  test('are none where no events are', async () => {
    const service = startCounting([]);
    expect(await service.days(noon(0), noon(9))).toHaveLength(2);
    expect(service.asked).toEqual([]);
  });
});
