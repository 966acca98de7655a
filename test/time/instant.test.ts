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
