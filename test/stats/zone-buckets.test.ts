import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Division, divideTime } from '../../src/stats/buckets.ts';
import type { BucketUnit } from '../../src/stats/stats-flags.ts';
import { type Instant, instantAt, milliseconds, parseInstant } from '../../src/time/instant.ts';
import { TimeZone } from '../../src/time/time-zone.ts';
import { sampleSize } from '../support/seed.ts';

const HOUR = 3_600_000;

const bucketEnds = (...asked: Parameters<typeof divideTime>) => divideTime(...asked).map(({ to }) => to);

/** `from` and `to`: in milliseconds. */
const windowOf = (zone: TimeZone, from: number, to: number) => ({
  after: instantAt(from) as Instant,
  before: instantAt(to) as Instant,
  zone,
});

/** Returns the starts and ends of the buckets of some local days, in milliseconds. */
function bucketsOf(zone: TimeZone, from: string, to: string): [start: number, end: number][] {
  const [after, before] = [from, to].map((text) => parseInstant(text, zone) as Instant) as [Instant, Instant];
  const ends = bucketEnds({ after, before, zone }).map(milliseconds);
  return ends.map((end, index) => [ends[index - 1] ?? milliseconds(after), end]);
}

describe('buckets of a day on which clocks change', () => {
  test.each([
    ['Europe/Berlin', '2027-03-28', 23],
    ['Europe/Berlin', '2027-10-31', 25],
    ['America/St_Johns', '2027-03-14', 23],
    ['America/St_Johns', '2027-11-07', 25],
    ['Australia/Lord_Howe', '2027-10-03', 23.5],
    ['Australia/Lord_Howe', '2027-04-04', 24.5],
    ['Pacific/Apia', '2011-12-30', 0],
    ['Pacific/Apia', '2011-12-31', 24],
    ['Asia/Kolkata', '2027-03-28', 24],
    // Midnight is skipped here, and occurs twice there.
    ['America/Santiago', '2027-09-05', 23],
    ['America/Havana', '2027-11-07', 25],
  ])('%s: %s has %s hours, in buckets without a gap', (name, day, hours) => {
    const zone = new TimeZone(name);
    const next = new Date(Date.parse(day) + 24 * HOUR).toISOString().slice(0, 10);
    if (hours === 0) {
      expect(parseInstant(day, zone)).toEqual(parseInstant(next, zone));
      return;
    }
    const buckets = bucketsOf(zone, day, next);
    expect(buckets.reduce((sum, [start, end]) => sum + end - start, 0)).toBe(hours * HOUR);
    for (const [index, [start, end]] of buckets.entries()) {
      expect(end).toBeGreaterThan(start);
      expect(start).toBe(buckets[index - 1]?.[1] ?? start);
    }
  });

  test('begin at each full hour of the clock, both times at one that occurs twice', () => {
    const zone = new TimeZone('Europe/Berlin');
    const shown = (day: string, next: string) =>
      bucketsOf(zone, day, next).map(([start]) => zone.shown(new Date(start).toISOString()).slice(11, 29));
    expect(shown('2027-10-31', '2027-11-01').slice(0, 5)).toEqual([
      '00:00:00.000+02:00',
      '01:00:00.000+02:00',
      '02:00:00.000+02:00',
      '02:00:00.000+01:00',
      '03:00:00.000+01:00',
    ]);
    expect(shown('2027-03-28', '2027-03-29').slice(0, 4)).toEqual([
      '00:00:00.000+01:00',
      '01:00:00.000+01:00',
      '03:00:00.000+02:00',
      '04:00:00.000+02:00',
    ]);
  });

  test('of a month begin at midnights, of a season on Mondays', () => {
    const zone = new TimeZone('Europe/Berlin');
    const starts = (from: string, to: string) =>
      bucketsOf(zone, from, to).map(([start]) => zone.shown(new Date(start).toISOString()));
    const october = starts('2027-10-10', '2027-11-05');
    expect(october).toHaveLength(26);
    expect(october.map((text) => text.slice(11, 19))).toEqual(Array.from({ length: 26 }, () => '00:00:00'));
    expect(october.slice(21, 23)).toEqual(['2027-10-31T00:00:00.000+02:00', '2027-11-01T00:00:00.000+01:00']);
    expect(starts('2027-09-06', '2027-12-20').slice(7, 9)).toEqual([
      '2027-10-25T00:00:00.000+02:00',
      '2027-11-01T00:00:00.000+01:00',
    ]);
  });
});

/** The buckets that the window cuts, `<` at its start and `>` at its end. */
test.each<[string, string, string, Division | undefined, string]>([
  ['Europe/Berlin', '2027-06-01T22:00Z', '2027-06-11T22:00Z', 'day', ''],
  ['Europe/Berlin', '2027-06-01T22:30Z', '2027-06-11T22:00Z', 'day', '<'],
  ['Europe/Berlin', '2027-06-01T22:00Z', '2027-06-11T21:30Z', 'day', '>'],
  ['Europe/Berlin', '2027-06-06T22:00Z', '2027-06-13T22:00Z', 'week', ''],
  ['Europe/Berlin', '2027-06-07T22:00Z', '2027-06-20T22:00Z', 'week', '<'],
  ['Europe/Berlin', '2027-06-01T22:00Z', '2027-06-02T03:10Z', 'hour', '>'],
  // An hour that the clock shows twice begins twice, a day that does begins once.
  ['Europe/Berlin', '2027-10-31T00:00Z', '2027-10-31T04:00Z', 'hour', ''],
  ['Europe/Berlin', '2027-10-31T01:00Z', '2027-10-31T04:00Z', 'hour', ''],
  ['Europe/Berlin', '2027-10-31T00:30Z', '2027-10-31T04:00Z', 'hour', '<'],
  ['America/Havana', '2027-11-07T04:00Z', '2027-11-10T05:00Z', 'day', ''],
  ['America/Havana', '2027-11-07T05:00Z', '2027-11-10T05:00Z', 'day', '<'],
  // Without a division, days and longer buckets are marked, and shorter ones are not.
  ['Europe/Berlin', '2027-06-01T12:00Z', '2027-06-21T12:00Z', undefined, '<>'],
  ['Europe/Berlin', '2027-06-01T12:10Z', '2027-06-02T12:10Z', undefined, ''],
])('in %s from %s to %s, by %s, are cut: %s', (name, from, to, division, expected) => {
  const window = windowOf(new TimeZone(name), Date.parse(from), Date.parse(to));
  const cut = divideTime(window, division).map(({ isPart }) => isPart);
  expect((cut[0] ? '<' : '') + (cut.at(-1) ? '>' : '')).toBe(expected);
  expect(cut.slice(1, -1)).not.toContain(true);
});

test('two days each begin at the midnight before the window', () => {
  const zone = new TimeZone('Europe/Berlin');
  const window = windowOf(zone, Date.parse('2027-06-01T22:30Z'), Date.parse('2027-06-11T22:30Z'));
  const days = bucketEnds(window, 5).map((end) => zone.shown(end.text).slice(8, 16));
  expect(days).toEqual(['04T00:00', '06T00:00', '08T00:00', '10T00:00', '12T00:00', '12T00:30']);
});

test.each<[BucketUnit, number, string]>([
  ['hour', HOUR, '--buckets day'],
  ['day', 24 * HOUR, 'fewer --buckets'],
  ['week', 7 * 24 * HOUR, 'fewer --buckets'],
])('are 500 at most by %s', (division, length, other) => {
  const start = Date.parse('2020-01-06');
  const zone = new TimeZone('UTC');
  const divided = (count: number) => divideTime(windowOf(zone, start, start + count * length), division);
  expect(divided(500)).toHaveLength(500);
  expect(() => divided(501)).toThrow(`--buckets ${division}: 501 of them, and 500 are the most`);
  expect(() => divided(501)).toThrow(
    expect.objectContaining({ next: `ask for a shorter time, or for ${other}` }),
  );
});

/**
 * The times at which the zone's clock comes to a multiple of the step, looked for at each of five minutes:
 * each time it does up to an hour, and the first time only for more.
 */
function boundariesOf(zone: TimeZone, start: number, end: number, step: number): number[] {
  const GRID = HOUR / 12;
  const wallAt = (time: number) => time + zone.offsetAt(time);
  const partAt = (time: number) => Math.floor(wallAt(time) / step);
  const seen = new Set([partAt(start)]);
  const times: number[] = [];
  for (let time = (Math.floor(start / GRID) + 1) * GRID; time < end; time += GRID) {
    const isNew = !seen.has(partAt(time));
    const isRepeated = step <= HOUR && wallAt(time) % step === 0;
    if (isNew || isRepeated) times.push(time);
    seen.add(partAt(time));
  }
  return times;
}

test.each([
  ['Europe/Berlin', '2027-06-15T07:07Z', 24, HOUR],
  ['Europe/Berlin', '2027-10-30T22:07Z', 24, HOUR],
  ['Europe/Berlin', '2027-10-30T23:37Z', 3, HOUR / 4],
  ['Europe/Berlin', '2027-10-31T00:32Z', 1, HOUR / 12],
  ['Europe/Berlin', '2027-03-27T12:07Z', 20 * 24, 24 * HOUR],
  ['America/New_York', '2027-06-15T07:07Z', 24, HOUR],
  ['America/New_York', '2027-11-06T12:07Z', 24, HOUR],
  ['America/Havana', '2027-10-30T12:07Z', 20 * 24, 24 * HOUR],
  ['America/Havana', '2027-11-06T12:07Z', 3 * 24, 3 * HOUR],
  ['America/Santiago', '2027-08-28T12:07Z', 20 * 24, 24 * HOUR],
  ['Asia/Kolkata', '2027-03-28T07:07Z', 5 * 24, 6 * HOUR],
  ['Australia/Lord_Howe', '2027-04-03T07:07Z', 24, HOUR],
])(
  'in %s from %s on for %i hours each boundary of the clock is there, in order',
  (name, from, hours, step) => {
    const zone = new TimeZone(name);
    const start = Date.parse(from);
    const end = start + hours * HOUR;
    const ends = bucketEnds(windowOf(zone, start, end)).map(milliseconds);
    expect(ends).toEqual([...boundariesOf(zone, start, end, step), end]);
  },
);

const ZONES = [
  'Europe/Berlin',
  'America/St_Johns',
  'Pacific/Apia',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
].map((name) => new TimeZone(name));

test('any window in any zone is covered without gaps, in parts that begin at round local times', () => {
  const anyStart = fc.integer({ min: Date.parse('2009-01-01') / 1000, max: Date.parse('2029-01-01') / 1000 });
  const anyLength = fc.oneof(
    fc.integer({ min: 1, max: 86_400 }),
    fc.integer({ min: 86_400, max: 400 * 86_400 }),
  );
  const anyCount = fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined });
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), anyStart, anyLength, anyCount, (zone, start, length, count) => {
      const window = windowOf(zone, start * 1000, (start + length) * 1000);
      const ends = bucketEnds(window, count).map(milliseconds);
      expect(ends.at(-1)).toBe((start + length) * 1000);
      for (const [index, end] of ends.entries())
        expect(end).toBeGreaterThan(
          ends[index - 1] ?? (count === undefined ? start * 1000 : start * 1000 - 1),
        );
      if (count !== undefined) {
        const days = length / count / 86_400;
        const areDays = Math.round(days) > 0 && Math.abs(days - Math.round(days)) <= 0.05;
        if (!areDays) expect(ends).toHaveLength(count);
        return;
      }
      expect(ends.length).toBeLessThanOrEqual(33);
      // Days and more begin at the first time that the calendar shows the day.
      if (length > 31 * 43_200) {
        const dayOf = (time: number) => new Date(time + zone.offsetAt(time)).toISOString().slice(0, 10);
        for (const end of ends.slice(0, -1)) expect(dayOf(end - 1)).not.toBe(dayOf(end));
      }
    }),
    { numRuns: sampleSize(75, 300) },
  );
});
