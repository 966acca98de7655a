import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compareInstants,
  earlierOf,
  type Instant,
  instantAt,
  knownInstant,
  laterOf,
  milliseconds,
  nextFullSecond,
  parseInstant,
  utcText,
} from '../../src/time/instant.ts';
import { TimeZone } from '../../src/time/time-zone.ts';
import { sampleSize } from '../support/seed.ts';

const at = (text: string) => parseInstant(text) as Instant;

describe('an instant', () => {
  test.each([
    ['2026-11-01', '2026-11-01T00:00:00Z'],
    ['2026-11-20T08:30+01:00', '2026-11-20T07:30:00Z'],
    ['2026-11-20T08:30:01.1203450Z', '2026-11-20T08:30:01.120345Z'],
    ['2026-11-20T23:59:59,000Z', '2026-11-20T23:59:59Z'],
    ['2026-11-20T08:30+01', '2026-11-20T07:30:00Z'],
    ['2026-11-20 08:30:00', '2026-11-20T08:30:00Z'],
    ['2026-11-20 08:30:00+00', '2026-11-20T08:30:00Z'],
    ['2026-11-20T24:00:00Z', '2026-11-21T00:00:00Z'],
    ['2026-11-20T08:30-0130', '2026-11-20T10:00:00Z'],
  ])('%s is %s as a full date-time in UTC', (text, full) => expect(utcText(at(text))).toBe(full));

  test.each([
    ['2026-11-01T08:30Z', '2026-11-01T08:30:00Z'],
    ['2026-11-01T08:30+05:00', '2026-11-01T03:30:00Z'],
    ['2026-11-01T08:30', '2026-11-01T07:30:00Z'],
  ])('%s is %s in UTC for somebody in Berlin', (text, full) =>
    expect(utcText(parseInstant(text, new TimeZone('Europe/Berlin')) as Instant)).toBe(full),
  );

  test('instants compare by time, to the last digit of the fraction', () => {
    expect(compareInstants(at('2026-11-01'), at('2026-11-01T00:00:00.000Z'))).toBe(0);
    expect(compareInstants(at('2026-11-01T00:00:00.10Z'), at('2026-11-01T00:00:00.1Z'))).toBe(0);
    expect(compareInstants(at('2026-11-01T00:00:00.0000001Z'), at('2026-11-01T00:00:00Z'))).toBeGreaterThan(
      0,
    );
    expect(compareInstants(at('2026-11-01T00:00:00.09Z'), at('2026-11-01T00:00:00.1Z'))).toBeLessThan(0);
    expect(compareInstants(at('2026-11-01T02:00:00+02:00'), at('2026-11-01'))).toBe(0);
    expect(compareInstants(at('2026-11-01T00:00:01Z'), at('2026-11-01T00:00:00.9Z'))).toBeGreaterThan(0);
    expect(compareInstants(at('2026-11-01T00:00:00.9Z'), at('2026-11-01T00:00:01Z'))).toBeLessThan(0);
  });

  test('is read in a time that grows with its digits', () => {
    const zeros = '0'.repeat(300_000);
    for (const zone of ['Z', '+01:00']) {
      const instant = at(`2026-11-01T08:00:00.${zeros}1${zone}`);
      expect(instant.fraction.length).toBe(300_001);
    }
    expect(at(`2026-11-01T08:00:00.1${zeros}Z`).fraction).toBe('1');
  });

  test('of two instants one is later, and the second of equal ones is taken', () => {
    const [early, late, alike] = [
      '2026-11-01T00:00:00.1Z',
      '2026-11-01T00:00:00.2Z',
      '2026-11-01T00:00:00.20Z',
    ].map(at) as [Instant, Instant, Instant];
    expect([
      laterOf(early, late),
      laterOf(late, early),
      laterOf(late, alike),
      laterOf(undefined, early),
    ]).toEqual([late, late, alike, early]);
    expect([
      earlierOf(early, late),
      earlierOf(late, early),
      earlierOf(late, alike),
      earlierOf(undefined, late),
    ]).toEqual([early, early, alike, late]);
  });

  test('has milliseconds, without finer digits', () => {
    expect(milliseconds(at('2026-11-01T00:00:01.5Z'))).toBe(Date.parse('2026-11-01T00:00:01.500Z'));
    expect(milliseconds(at('2026-11-01T00:00:01.0009999Z'))).toBe(Date.parse('2026-11-01T00:00:01Z'));
  });

  test('the next full second is later than each time of this one', () => {
    const next = (text: string) => nextFullSecond(Date.parse(text)).text;
    expect(next('2026-11-01T00:00:00Z')).toBe('2026-11-01T00:00:01Z');
    expect(next('2026-11-01T00:00:00.999Z')).toBe('2026-11-01T00:00:01Z');
  });

  test.each([Date.UTC(10_000, 0), Date.UTC(0, 0) - 1e14, Number.NaN])(
    '%i is in no year that can be written',
    (time) => {
      expect(instantAt(time)).toBeUndefined();
      expect(() => knownInstant(time)).toThrow(`no time of the years 0 to 9999: ${time}`);
    },
  );

  test('in UTC is sent as it is written, with a zone that is not, in UTC', () => {
    expect(at('2026-11-01T10:00:00+23:59')).toEqual({
      text: '2026-10-31T10:01:00Z',
      seconds: Date.parse('2026-10-31T10:01:00Z') / 1000,
      fraction: '',
    });
    expect(at('2026-11-01T10:00:00.50z').text).toBe('2026-11-01T10:00:00.50z');
  });

  test.each([
    ['2026-11-20 08:30Z', '2026-11-20T08:30:00Z'],
    ['2026-11-20 08:30', '2026-11-20T08:30:00Z'],
    ['2026-11-20T08:30:00,50Z', '2026-11-20T08:30:00.50Z'],
    ['2026-11-20T24:00Z', '2026-11-21T00:00:00Z'],
  ])('%s is sent as %s, which the service reads', (text, sent) => expect(at(text).text).toBe(sent));

  test('is not a month', () => expect(parseInstant('2026-11')).toBeUndefined());

  test('a clock reading and its text are the same instant', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }), (milliseconds) => {
        const instant = instantAt(milliseconds);
        expect(Date.parse(instant?.text ?? '')).toBe(milliseconds);
        expect(compareInstants(instant as Instant, parseInstant(instant?.text as string) as Instant)).toBe(0);
      }),
    );
  });
});

test.each([
  '2026x11-20T08:30:00Z',
  '2026-11x20T08:30:00Z',
  '2026-11-20x08:30:00Z',
  '2026-11-20T08x30:00Z',
  '2026-11-20T08:30x00Z',
  '2026-11-20T08:30:00x5Z',
  '2026-11-20T08:30:00.5',
  '2026-11-20T08:30:00.5Zx',
  'x2026-11-20T08:30:00.5Z',
  '+002026-11-20T08:30:00Z',
])('%s is not in the usual form', (text) =>
  expect(parseInstant(text)?.text).toBe(text.endsWith('5') ? `${text}Z` : undefined),
);

test('the usual form of a time is read as the others are, also where it is no time', () => {
  const two = (max: number) => fc.integer({ min: 0, max }).map((number) => `${number}`.padStart(2, '0'));
  const parts = fc.record({
    date: fc
      .tuple(
        fc.constantFrom('0099', '0999', '1000', '1900', '1999', '2024', '2026', '9999', '20x6'),
        two(13),
        two(32),
      )
      .map((ofDate) => ofDate.join('-')),
    clock: fc.oneof(
      { weight: 9, arbitrary: fc.tuple(two(25), two(61), two(61)).map((ofClock) => ofClock.join(':')) },
      { weight: 1, arbitrary: fc.constant('24:00:00') },
    ),
    fraction: fc.constantFrom('', '.', '.0', '.5', '.120', '.0000001', '.1234567', '.12x', '.000'),
  });
  fc.assert(
    fc.property(parts, ({ date, clock, fraction }) => {
      const usual = `${date}T${clock}${fraction}Z`;
      const expected = usualTime(date, clock, fraction);
      expect(parseInstant(usual)).toEqual(expected);
      const other = parseInstant(usual.replace('Z', 'z'));
      expect(other && { ...other, text: other.text.toUpperCase() }).toEqual(expected);
    }),
    { numRuns: sampleSize(200, 2000) },
  );
});

function usualTime(date: string, clock: string, fraction: string): Instant | undefined {
  if (!/^(\.\d+)?$/.test(fraction)) return undefined;
  const digits = fraction.replace(/^\.|0+$/g, '');
  const isEndOfDay = clock === '24:00:00';
  if (isEndOfDay && digits !== '') return undefined;
  const read = Date.parse(`${date}T${isEndOfDay ? '23:59:59' : clock}Z`);
  // Date.parse reads a day too many as one of the next month, and every 24:00.
  if (Number.isNaN(read) || !new Date(read).toISOString().startsWith(date)) return undefined;
  if (!isEndOfDay) {
    return clock.startsWith('24')
      ? undefined
      : { text: `${date}T${clock}${fraction}Z`, seconds: read / 1000, fraction: digits };
  }
  const next = new Date(read + 1000).toISOString();
  if (!/^\d{4}-/.test(next)) return undefined;
  return { text: `${next.slice(0, 19)}${fraction}Z`, seconds: read / 1000 + 1, fraction: '' };
}
