import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sortRows, TimeColumn } from '../../src/items/time-column.ts';

function columnOf(texts: readonly string[]): TimeColumn {
  const times = new TimeColumn();
  expect(texts.map((text) => times.push(text))).toEqual([...texts.keys()]);
  return times;
}

describe('a time in a column', () => {
  test.each([
    ['2026-11-20T12:00:00Z', '2026-11-20T12:00:00Z', ''],
    ['2026-11-20T12:00:00.5Z', '2026-11-20T12:00:00.5Z', '5'],
    ['2026-11-20T12:00:00.000Z', '2026-11-20T12:00:00.000Z', ''],
    ['2026-11-20T12:00:00.050', '2026-11-20T12:00:00.050Z', '05'],
    ['2026-11-20T14:00:00.000000001+02:00', '2026-11-20T12:00:00.000000001Z', '000000001'],
    ['2026-11-20T12:00:00.0123456789Z', '2026-11-20T12:00:00.012345678Z', '012345678'],
    ['2026-11-20', '2026-11-20T00:00:00Z', ''],
    ['1969-12-31T23:59:59.25Z', '1969-12-31T23:59:59.25Z', '25'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00Z', ''],
    ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999999999Z', '999999999'],
  ])('%s is %s', (written, text, fraction) => {
    const times = columnOf([written]);
    const seconds = Math.floor(Date.parse(text) / 1000);
    expect(times.at(0)).toEqual({ text, seconds, fraction });
    expect(times.millisecondsAt(0)).toBe(1000 * seconds);
    expect([times.isKnown(0), times.unknown]).toEqual([true, 0]);
  });

  test.each(['', 'soon', '2026-11', '2026-02-30', '9999-12-31T24:00:00Z', '0000-01-01T00:00:00+00:01'])(
    '%j is unknown',
    (written) => {
      const times = columnOf(['2026-11-20', written]);
      expect([times.isKnown(1), times.unknown, times.millisecondsAt(1)]).toEqual([false, 1, Number.NaN]);
    },
  );

  test('is a text in JSON; numbers, null and missing values are unknown', () => {
    const page = Buffer.from('"2026-11-20T12:00:00\\u002e5Z",1795176000,null');
    const times = new TimeColumn();
    expect(times.pushValue(page, 0, 28)).toBe(0);
    expect(times.pushValue(page, 29, 39)).toBe(1);
    expect(times.pushValue(page, 40, 44)).toBe(2);
    expect(times.pushValue(page, -1, -1)).toBe(3);
    // Offsets of a missing value where the scanner writes 0 for it.
    expect(times.pushValue(page, 0, 0)).toBe(4);
    expect(times.at(0).text).toBe('2026-11-20T12:00:00.5Z');
    expect([1, 2, 3, 4].map((row) => times.isKnown(row))).toEqual([false, false, false, false]);
    expect(times.unknown).toBe(4);
  });
});

/** In order of time; those in one line are one moment. */
const MOMENTS = [
  ['0000-01-01T00:00:00Z'],
  ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59,999+00:00'],
  ['2026-11-19T23:59:59.999999999Z'],
  ['2026-11-20', '2026-11-20T00:00:00Z', '2026-11-20T02:00:00+02:00', '2026-11-20T00:00:00.000Z'],
  ['2026-11-20T00:00:00.000000001Z'],
  ['2026-11-20T00:00:00.5Z', '2026-11-20T00:00:00.500Z'],
  ['2026-11-20T00:00:01Z'],
];

/** The place of a time among the moments; -1 of an unknown one. */
function placeOf(text: string | undefined): number {
  return MOMENTS.findIndex((moment) => moment.includes(text as string));
}

const texts = fc.array(fc.constantFrom(...MOMENTS.flat(), 'soon'), { maxLength: 12 });

describe('rows of times', () => {
  test('compare as their moments do, and an unknown one as equal to any', () => {
    const all = [...MOMENTS.flat(), 'soon', ''];
    const times = columnOf(all);
    for (const [a, first] of all.entries())
      for (const [b, second] of all.entries()) {
        const areKnown = placeOf(first) >= 0 && placeOf(second) >= 0;
        const order = areKnown ? Math.sign(placeOf(first) - placeOf(second)) : 0;
        expect(Math.sign(times.compare(a, b))).toBe(order);
      }
  });

  test('are sorted by moment, then by row, unknown times last', () => {
    const key = (written: string) => (placeOf(written) < 0 ? MOMENTS.length : placeOf(written));
    fc.assert(
      fc.property(texts, fc.constantFrom('as drawn', 'ascending', 'descending'), (drawn, order) => {
        const ascending = drawn.toSorted((a, b) => key(a) - key(b));
        const written = { 'as drawn': drawn, ascending, descending: ascending.toReversed() }[order];
        const sorted = [...written.keys()].sort(
          (a, b) => key(written[a] as string) - key(written[b] as string) || a - b,
        );
        expect(sortRows([...written.keys()], columnOf(written))).toEqual(sorted);
      }),
    );
  });

  test('have an oldest and a newest one, also beyond a limit, the first of equal ones', () => {
    fc.assert(
      fc.property(texts, fc.nat({ max: 11 }), (written, limit) => {
        const times = columnOf(written);
        const rows = [...written.keys()].filter((row) => placeOf(written[row]) >= 0);
        const place = (row: number) => placeOf(written[row]);
        const first = (found: readonly number[], sign: number) =>
          found.toSorted((a, b) => sign * (place(a) - place(b)) || a - b)[0];
        const all = Int32Array.from(written.keys());
        expect([times.oldest(all), times.newest(all)]).toEqual([first(rows, 1), first(rows, -1)]);
        const bounds = { first: times.at(first(rows, 1)), last: times.at(first(rows, -1)) };
        expect(times.bounds).toEqual(bounds);
        if (!rows.includes(limit)) return;
        const later = rows.filter((row) => place(row) > place(limit));
        const earlier = rows.filter((row) => place(row) < place(limit));
        expect(times.oldest(all, limit)).toBe(first(later, 1));
        expect(times.newest(all, limit)).toBe(first(earlier, -1));
        expect(times.oldest(all.subarray(0, 1))).toBe(rows[0] === 0 ? 0 : undefined);
      }),
    );
  });

  test('keep their times, however many there are', () => {
    const written = Array.from(
      { length: 2100 },
      (_, row) => `2026-11-20T12:00:00.${String(row).padStart(4, '0')}Z`,
    );
    const times = columnOf(written);
    expect(written.map((_, row) => times.at(row).text)).toEqual(written);
    expect(times.bounds).toMatchObject({ first: { text: written[0] }, last: { text: written.at(-1) } });
  });
});
