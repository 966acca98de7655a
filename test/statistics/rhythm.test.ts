import { describe, expect, test } from 'vitest';
import {
  comparedSpans,
  daysBefore,
  rhythmOfDays,
  silenceAfter,
  usualGapSeconds,
} from '../../src/statistics/rhythm.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/time/lengths.ts';

const WEEK_MS = 7 * DAY_MS;
/** A Monday, midnight in UTC. */
const MONDAY_MS = Date.parse('2026-11-02T00:00:00Z');

/** Times at that distance from each other, for so long until `end`, which is the last. */
function regular(everyMs: number, lengthMs: number, end = MONDAY_MS): number[] {
  const count = Math.floor(lengthMs / everyMs);
  return Array.from({ length: count + 1 }, (_, index) => end - (count - index) * everyMs);
}

/** The events of some days at that hour, all within a minute. */
function bursts(everyMs: number, lengthMs: number): number[] {
  return regular(everyMs, lengthMs).flatMap((time) =>
    Array.from({ length: 50 }, (_, event) => time + event * 1000),
  );
}

/** Two events an hour from 8 to 18 o'clock on weekdays, for five weeks until a Friday. */
function officeHours(): number[] {
  const friday = MONDAY_MS + 4 * DAY_MS + 18 * HOUR_MS;
  return regular(30 * MINUTE_MS, 5 * WEEK_MS - 3 * DAY_MS, friday).filter((time) => {
    const date = new Date(time);
    const hour = date.getUTCHours() + date.getUTCMinutes() / 60;
    return date.getUTCDay() % 6 !== 0 && hour >= 8 && hour <= 18;
  });
}

/** The first full hour after the last event at which a silence is noticed, and the usual gap in seconds. */
function noticed(times: readonly number[]): string | undefined {
  const look = silenceAfter(times);
  const last = times.at(-1) as number;
  for (let hours = 1; hours <= 14 * 24; hours++) {
    const gapSeconds = look(last + hours * HOUR_MS);
    if (gapSeconds !== undefined) return `after ${hours} h, usually ${gapSeconds} s`;
  }
  return undefined;
}

describe('a silence', () => {
  test.each([
    ['10 minutes', 10 * MINUTE_MS, 'after 4 h, usually 600 s'],
    ['40 minutes', 40 * MINUTE_MS, 'after 4 h, usually 2400 s'],
    ['3 hours', 3 * HOUR_MS, 'after 11 h, usually 10800 s'],
    ['day', DAY_MS, 'after 74 h, usually 86400 s'],
  ])('after an event every %s is noticed in hours or days', (_, everyMs, expected) => {
    expect(noticed(regular(everyMs, 4 * WEEK_MS))).toBe(expected);
  });

  test('stays noticed', () => {
    const look = silenceAfter(regular(40 * MINUTE_MS, 4 * WEEK_MS));
    const later = [1, 7, 14, 21].map((days) => look(MONDAY_MS + days * DAY_MS));
    expect(later.filter((gapSeconds) => gapSeconds === undefined)).toEqual([]);
  });

  test('is noticed after two weeks of events, and not before', () => {
    const every = 40 * MINUTE_MS;
    expect(noticed(regular(every, 2 * WEEK_MS))).toBe('after 4 h, usually 2400 s');
    expect(noticed(regular(every, 2 * WEEK_MS - HOUR_MS))).toBeUndefined();
    expect([noticed([MONDAY_MS]), silenceAfter([])(MONDAY_MS)]).toEqual([undefined, undefined]);
  });

  test('is neither a night nor a weekend', () => {
    // Monday, 11 o'clock.
    expect(noticed(officeHours())).toMatch(/^after 65 h/);
  });

  test('lacks four times as many events as an earlier gap, if that is in the last four weeks', () => {
    const times = regular(40 * MINUTE_MS, 6 * WEEK_MS);
    const withGap = (days: number, hours: number) => {
      const start = MONDAY_MS - days * DAY_MS;
      return noticed(times.filter((time) => time <= start || time >= start + hours * HOUR_MS));
    };
    expect([withGap(10, 10), withGap(10, 5), withGap(40, 10)]).toEqual([
      'after 34 h, usually 2400 s',
      'after 16 h, usually 2400 s',
      'after 4 h, usually 2400 s',
    ]);
  });

  test('of events that come in bursts lacks several bursts, at several hours', () => {
    expect(noticed(bursts(DAY_MS, 4 * WEEK_MS))).toMatch(/^after 49 h/);
    expect(noticed(bursts(WEEK_MS, 4 * WEEK_MS))).toBeUndefined();
  });

  test('is noticed late if the weeks differ', () => {
    const weeks = [20, 60, 20, 60].flatMap((minutes, week) =>
      regular(minutes * MINUTE_MS, WEEK_MS - HOUR_MS, MONDAY_MS - (3 - week) * WEEK_MS),
    );
    expect(noticed(weeks)).toBe('after 117 h, usually 2160 s');
  });
});

test('the same hours of earlier weeks are compared, without the first and the last, up to a week', () => {
  const hours = (now: number, weeks?: number) =>
    comparedSpans(MONDAY_MS, MONDAY_MS + now * HOUR_MS, weeks).map(({ start, end }) =>
      [start, end].map((time) => (time - MONDAY_MS) / HOUR_MS),
    );
  expect([hours(1), hours(2)]).toEqual([[], []]);
  expect(hours(5)).toEqual([1, 2, 3, 4].map((week) => [1 - 168 * week, 4 - 168 * week]));
  expect(hours(24, 2)).toEqual([
    [-167, -145],
    [-335, -313],
  ]);
  expect(hours(400, 1)).toEqual([[-167, 0]]);
});

describe('by counts alone', () => {
  const days = (...weeks: readonly number[]) => weeks.flatMap((number) => Array<number>(7).fill(number));

  test('a rhythm takes two weeks since the first event', () => {
    expect(rhythmOfDays(days(0, 0, 0))).toBeUndefined();
    expect(rhythmOfDays([0, ...days(2).slice(1), ...days(2)])).toBeUndefined();
    expect(rhythmOfDays([...days(0), ...days(2, 2)])).toEqual({
      weeks: 2,
      dispersion: 1,
      worstLack: undefined,
    });
    expect(rhythmOfDays([0, 0, 0, 5, ...days(2, 2, 2).slice(1)])).toMatchObject({ weeks: 3 });
  });

  test('days that differ between weeks vary more than chance', () => {
    // The counts of each weekday are 10 and 30: a variance of 200 about a mean of 20.
    expect(rhythmOfDays(days(10, 30))?.dispersion).toBe(20);
    expect(rhythmOfDays(days(1, 10, 30))?.dispersion).toBeGreaterThan(20);
    // Weekdays may differ.
    expect(rhythmOfDays([1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7])?.dispersion).toBe(1);
  });

  test('a silence lacks eight times the variation, by less than the mean', () => {
    const spans = comparedSpans(MONDAY_MS, MONDAY_MS + 12 * HOUR_MS, 2);
    const gapOf = (numbers: readonly number[], dispersion: number, worstLack?: number) =>
      usualGapSeconds(spans, numbers, { weeks: 2, dispersion, worstLack });
    expect([gapOf([8, 8], 1), gapOf([8, 8], 1.1)]).toEqual([4500, undefined]);
    expect([gapOf([8, 8], 1, 2), gapOf([8, 8], 1, 2.1)]).toEqual([4500, undefined]);
    // Their mean is 10, and half-way to the least is 8.
    expect([gapOf([14, 6], 1), gapOf([14, 6], 1.1)]).toEqual([3600, undefined]);
    expect([gapOf([100, 2], 1), gapOf([100, 1], 1)]).toEqual([706, undefined]);
    expect(usualGapSeconds([], [], { weeks: 2, dispersion: 1, worstLack: 0 })).toBeUndefined();
  });

  test('the days of four weeks follow each other up to the last event', () => {
    const spans = daysBefore(MONDAY_MS);
    expect(spans).toHaveLength(28);
    expect(spans[0]).toEqual({ start: MONDAY_MS + 1 - 28 * DAY_MS, end: MONDAY_MS + 1 - 27 * DAY_MS });
    expect(spans.at(-1)).toEqual({ start: MONDAY_MS + 1 - DAY_MS, end: MONDAY_MS + 1 });
  });
});
