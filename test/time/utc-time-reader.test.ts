import { expect, test } from 'vitest';
import { parseInstant } from '../../src/time/instant.ts';
import { UtcTimeReader } from '../../src/time/utc-time-reader.ts';
import { randomOf } from '../support/seed.ts';

/** Reads a JSON text that stands between others. */
function readTime(json: string, reader = new UtcTimeReader()) {
  const bytes = Buffer.from(`[${json},1]`);
  const isRead = reader.read(bytes, 1, 1 + Buffer.byteLength(json));
  return isRead
    ? { seconds: reader.seconds, nanoseconds: reader.nanoseconds, digits: reader.digits }
    : undefined;
}

test.each([
  ['"1970-01-01T00:00:00Z"', 0, 0, 0],
  ['"1970-01-01T00:00:00.0Z"', 0, 0, 1],
  ['"1969-12-31T23:59:59.5Z"', -1, 500_000_000, 1],
  ['"2026-11-26T09:30:15.3301629Z"', 1_795_685_415, 330_162_900, 7],
  ['"2024-02-29T23:59:59.123456789Z"', 1_709_251_199, 123_456_789, 9],
  ['"0001-01-01T00:00:00Z"', -62_135_596_800, 0, 0],
  ['"9999-12-31T23:59:59Z"', 253_402_300_799, 0, 0],
])('%s is read to the last digit', (json, seconds, nanoseconds, digits) => {
  expect(readTime(json)).toEqual({ seconds, nanoseconds, digits });
});

test.each([
  '"2026-02-30T00:00:00Z"',
  '"2026-13-01T00:00:00Z"',
  '"2026-00-01T00:00:00Z"',
  '"2026-01-00T00:00:00Z"',
  '"2025-02-29T00:00:00Z"',
  '"2026-11-26T24:00:00Z"',
  '"2026-11-26T09:60:00Z"',
  '"2026-11-26T09:30:60Z"',
  '"2026-11-26T09:30:00.Z"',
  '"2026-11-26T09:30:00.1234567890Z"',
  '"2026-11-26T09:30:00,5Z"',
  '"2026-11-26T09:30:00.5aZ"',
  '"2026-11-26T09:30:00"',
  '"2026-11-26T09:30:00+01:00"',
  '"2026-11-26t09:30:00Z"',
  '"2026-11-26T09:30:00z"',
  '"2026-11-26 09:30:00Z"',
  '"2026-11-26T09.30:00Z"',
  '"2026-11-26T09:30.00Z"',
  '"2026/11-26T09:30:00Z"',
  '"2026-11/26T09:30:00Z"',
  '"2o26-11-26T09:30:00Z"',
  '"2026-1l-26T09:30:00Z"',
  '"2026-11-2gT09:30:00Z"',
  '"2026-11-26T0h:30:00Z"',
  '"2026-11-26T09:3i:00Z"',
  '"2026-11-26T09:30:0jZ"',
  '"2026-11-26"',
  '""',
  'null',
  '{"a":"2026-11-26T09:30:00Z"}',
])('%s is left to others', (json) => {
  expect(readTime(json)).toBeUndefined();
});

test('agrees with parseInstant about any time, whichever was read before', () => {
  const random = randomOf('UtcTimeReader');
  const reader = new UtcTimeReader();
  const two = (below: number) => String(random.below(below)).padStart(2, '0');
  let read = 0;
  for (let round = 0; round < 3000; round++) {
    const year = String(1900 + random.below(200));
    const fraction = random.below(3) === 0 ? '' : `.${String(random.below(10 ** (1 + random.below(9))))}`;
    const text = `${year}-${two(14)}-${two(33)}T${two(25)}:${two(61)}:${two(61)}${fraction}Z`;
    const instant = parseInstant(text);
    const time = readTime(JSON.stringify(text), reader);
    expect([text, time?.seconds]).toEqual([text, instant?.seconds]);
    if (time === undefined) continue;
    read++;
    expect(time.digits).toBe(Math.max(0, fraction.length - 1));
    expect(String(time.nanoseconds).padStart(9, '0')).toBe(instant?.fraction.padEnd(9, '0'));
  }
  expect(read).toBeGreaterThan(1000);
});
