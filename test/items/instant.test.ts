import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { compareInstants, instantAt, parseInstant } from '../../src/items/instant.ts';

const NOW = Date.parse('2026-11-21T10:11:12.345Z');
const sent = (text: string) => parseInstant(text, '--after', NOW).text;

describe('a point in time on the command line', () => {
  test.each([
    '2026-11-01',
    '2026-11-01T08:30:00Z',
    '2026-11-01T08:30Z',
    '2026-11-01T08:30:00.1234567Z',
    '2024-02-29',
    '0000-01-01T00:00:00Z',
  ])('%s is in UTC and is sent as typed', (text) => expect(sent(text)).toBe(text));

  test.each([
    ['2026-11-01T08:30:00', '2026-11-01T08:30:00Z'],
    ['2026-11-01T08:30', '2026-11-01T08:30Z'],
    ['2026-11-01T08:30:00.100', '2026-11-01T08:30:00.100Z'],
  ])('%s has no zone: it is UTC', (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    ['2026-11-01T08:30:00+02:00', '2026-11-01T06:30:00Z'],
    ['2026-11-01T08:30:00.1234567890+0200', '2026-11-01T06:30:00.1234567890Z'],
    ['2026-12-31T23:30:00-01', '2027-01-01T00:30:00Z'],
    ['2026-11-01T08:30+05:45', '2026-11-01T02:45:00Z'],
  ])('%s is converted to Z with its fraction kept', (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    ['now', '2026-11-21T10:11:12.345Z'],
    ['today', '2026-11-21T00:00:00Z'],
    ['yesterday', '2026-11-20T00:00:00Z'],
    ['90s', '2026-11-21T10:09:42.345Z'],
    ['15m', '2026-11-21T09:56:12.345Z'],
    ['2h', '2026-11-21T08:11:12.345Z'],
    ['7d', '2026-11-14T10:11:12.345Z'],
    ['2w', '2026-11-07T10:11:12.345Z'],
  ])('%s counts from now', (text, expected) => expect(sent(text)).toBe(expected));

  test.each([
    '',
    'soon',
    '2026-02-30',
    '2026-13-01',
    '2026-00-10',
    '2025-02-29',
    '2026-11-01T24:00:00Z',
    '2026-11-01T10:60:00Z',
    '2026-11-01T10:00:60Z',
    '2026-11-01T10:00:00+24:00',
    '2026-11-01T10:00:00+01:60',
    '2026-11-01 10:00:00',
    '20261101',
    '2026-11-1',
    '-2h',
    '2x',
    '1.5h',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '999999999w',
    '2026-11-01T10:00:00Z)&eq(eventId,x',
  ])("'%s' is refused, and the flag is named", (text) => {
    expect(() => sent(text)).toThrow(UsageError);
    expect(() => sent(text)).toThrow(/^--after: /);
  });

  test('instants compare by time, to the last digit of the fraction', () => {
    const at = (text: string) => parseInstant(text, '--after', NOW);
    expect(compareInstants(at('2026-11-01'), at('2026-11-01T00:00:00.000Z'))).toBe(0);
    expect(compareInstants(at('2026-11-01T00:00:00.10Z'), at('2026-11-01T00:00:00.1Z'))).toBe(0);
    expect(compareInstants(at('2026-11-01T00:00:00.0000001Z'), at('2026-11-01T00:00:00Z'))).toBeGreaterThan(
      0,
    );
    expect(compareInstants(at('2026-11-01T00:00:00.09Z'), at('2026-11-01T00:00:00.1Z'))).toBeLessThan(0);
    expect(compareInstants(at('2026-11-01T02:00:00+02:00'), at('2026-11-01'))).toBe(0);
  });

  test('a clock reading and its text are the same instant', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }), (milliseconds) => {
        const instant = instantAt(milliseconds);
        expect(Date.parse(instant?.text ?? '')).toBe(milliseconds);
        expect(compareInstants(instant as never, parseInstant(instant?.text as string, '--after', 0))).toBe(
          0,
        );
      }),
    );
  });
});
