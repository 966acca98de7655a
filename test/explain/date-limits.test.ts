import { describe, expect, test } from 'vitest';
import { dateOrderOf } from '../../src/explain/date-limits.ts';
import { Items } from '../../src/items/items.ts';
import { withEventInside } from '../support/shape.ts';
import { explainItems } from './explained.ts';

test.each([
  ['1969-12-28', '1970-01-09', '1970-01-01'],
  ['2026-10', '2026-11', '2026-11'],
  ['2026-10-03', '2026-11-09', '2026-11-01'],
  ['2026-11-03', '2026-11-09', '2026-11-09'],
  ['2026-11-01', '2026-11-09', '2026-11-09'],
  ['2026-11-03 08:30', '2026-11-03 10:15', '2026-11-03 10:00'],
  ['2026-05-31T22:10:00Z', '2026-06-02T01:00:00Z', '2026-06-01T00:00:00Z'],
  ['2026-06-01T00:00:00Z', '2026-06-02T01:00:00Z', '2026-06-02T00:00:00Z'],
  ['2026-05-31T22:10:00.25Z', '2026-05-31T22:10:01.5+02:00', '2026-05-31T22:10:01.5+02:00'],
])('between %s and %s the roundest date is %s', (low, high, round) =>
  expect(dateOrderOf([low, high])?.roundestBetween(low, high)).toBe(round),
);

test.each([
  ['2026-10-03', '2026-11-01', true],
  ['2026-10-03T10:00:05', '2026-10-03T10:00:59', true],
  ['2026-06-01T12:00:00Z', '2026-06-01T08:00:00-05:00', false],
])('of %s and %s the first is earlier, as texts: %s', (first, second, isOfTexts) => {
  const order = dateOrderOf([first, second]);
  expect(order?.isOfTexts).toBe(isOfTexts);
  const pairs = [
    [first, second],
    [second, first],
    [first, first],
  ] as const;
  expect(pairs.map(([a, b]) => Math.sign(order?.compare(a, b) ?? Number.NaN))).toEqual([-1, 1, 0]);
});

test('dates without a zone have one order in one form alone, and other texts have none', () => {
  for (const texts of [
    ['2026-10', '2026-10-03'],
    ['2026-10-03', 'soon'],
    ['2026-13-01'],
    ['of 2026-10-03'],
    [],
  ])
    expect(dateOrderOf(texts)).toBeUndefined();
});

describe('a date in the payload', () => {
  const explained = (dateOf: (index: number) => string, isBad: (date: string) => boolean) => {
    const events = Array.from({ length: 1200 }, (_, index) => ({
      eventId: `e${index}`,
      publishStatus: isBad(dateOf(index)) ? 'FAILED' : 'SUCCESS',
      subscriptionId: `s${index % 7}`,
      customer: { date: dateOf(index), city: 'abc'[index % 3] },
    }));
    const items = Items.of(events.map((event) => Buffer.from(JSON.stringify(withEventInside(event)))));
    const { causes } = explainItems(items);
    return causes.map(({ conditions, failed, events }) => [
      conditions.map(({ field, op, value }) => `${field} ${op} ${value}`).join(' and '),
      events - failed,
    ]);
  };
  const day = (index: number) =>
    new Date(Date.parse('1930-01-01') + ((index * 7919) % 24_000) * 86_400_000).toISOString().slice(0, 10);

  test('has limits, as a number has', () => {
    const isOld = (date: string) => date < '1970-01-01';
    expect(explained(day, isOld)).toEqual([['customer.date < 1970-01-01', 0]]);
    const month = (index: number) =>
      `${2025 + (index % 4)}-${String(1 + ((Math.floor(index / 4) * 7) % 12)).padStart(2, '0')}`;
    expect(explained(month, (date) => date < '2026-11')).toEqual([['customer.date < 2026-11', 0]]);
    const time = (index: number) => `${day(index)}T08:30:${String(index % 60).padStart(2, '0')}Z`;
    expect(explained(time, (date) => date >= '1980')).toEqual([['customer.date >= 1980-01-01T00:00:00Z', 0]]);
  });
});
