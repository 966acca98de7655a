import { describe, expect, test } from 'vitest';
import { parseInstant } from '../../src/time/instant.ts';
import { afterText, readDayPeriod, readMonthPeriod } from '../../src/time/period.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';

const FRIDAY = Date.parse('2026-11-20T12:00:00Z');

describe('a month', () => {
  test.each([
    ['2026-01', '2026-01'],
    ['2026-09', '2026-09'],
    ['2026-12', '2026-12'],
    [' Oct  2025 ', '2025-10'],
    ['October', '2026-10'],
    ['nov', '2026-11'],
    ['December', '2025-12'],
  ])("'%s' is %s, the latest where it has no year", (text, month) =>
    expect(readMonthPeriod(text, FRIDAY, UTC)?.text).toBe(month),
  );

  test.each(['', '2026', '2026-00', '2026-13', '2026-1', '2026-10-01', '10', 'Oct2026', 'Oct 26', 'soon'])(
    "'%s' is refused",
    (text) => expect(readMonthPeriod(text, FRIDAY, UTC)).toBeUndefined(),
  );

  test('is that of the zone, from the last instant before it', () => {
    const { after, before } = readMonthPeriod('2026-10', FRIDAY, new TimeZone('Europe/Berlin')) ?? {};
    expect([after?.text, before?.text]).toEqual(['2026-09-30T21:59:59.9999999Z', '2026-10-31T23:00:00Z']);
  });
});

describe('a day', () => {
  test.each([
    ['2026-10-31', '2026-10-31'],
    ['31 Oct', '2026-10-31'],
    ['yesterday', '2026-11-19'],
    ['friday', '2026-11-20'],
    ['last friday', '2026-11-13'],
  ])("'%s' is %s", (text, day) => expect(readDayPeriod(text, FRIDAY, UTC)?.text).toBe(day));

  test.each(['', '2026-10', '2026-02-30', '30 Feb', '2026-10-31 08:00', '08:00', 'soon'])(
    "'%s' is refused",
    (text) => expect(readDayPeriod(text, FRIDAY, UTC)).toBeUndefined(),
  );

  test('has 25 hours where the clocks of the zone are put back', () => {
    const { after, before } = readDayPeriod('2026-10-25', FRIDAY, new TimeZone('Europe/Berlin')) ?? {};
    expect([after?.text, before?.text]).toEqual(['2026-10-24T21:59:59.9999999Z', '2026-10-25T23:00:00Z']);
  });
});

test.each([
  ['2026-11-19T23:59:59.9999999Z', 'since 2026-11-20T00:00:00Z'],
  ['2026-11-19T23:59:59.999999Z', 'after 2026-11-19T23:59:59.999999Z'],
  ['2026-11-20T00:00:00Z', 'after 2026-11-20T00:00:00Z'],
])('what is created after %s is created %s', (time, expected) => {
  const after = parseInstant(time);
  expect(after && afterText(after, ({ text }) => text)).toBe(expected);
});
