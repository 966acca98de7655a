import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareInstants, type Instant, instantAt, parseInstant } from '../../src/time/instant.ts';

describe('an instant', () => {
  test('instants compare by time, to the last digit of the fraction', () => {
    const at = (text: string) => parseInstant(text) as Instant;
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
        expect(compareInstants(instant as Instant, parseInstant(instant?.text as string) as Instant)).toBe(0);
      }),
    );
  });
});

test('the usual form of a time is read as the others are, also where it is no time', () => {
  const two = (max: number) => fc.integer({ min: 0, max }).map((number) => `${number}`.padStart(2, '0'));
  const text = fc
    .tuple(
      fc.constantFrom('0099', '0999', '1000', '1900', '1999', '2024', '2026', '9999', '20x6'),
      ...[two(13), two(32), two(25), two(61), two(61)],
      fc.constantFrom('', '.', '.0', '.5', '.120', '.0000001', '.1234567', '.12x', '.000'),
    )
    .map(
      ([year, month, day, hour, minute, second, fraction]) =>
        `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}Z`,
    );
  fc.assert(
    fc.property(text, (usual) => {
      const other = parseInstant(usual.replace('Z', 'z'));
      expect(parseInstant(usual)).toEqual(other && { ...other, text: usual });
    }),
    { numRuns: 5000 },
  );
});
