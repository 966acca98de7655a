import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventFilters } from '../../src/filters/filter-flags.ts';
import { statsWindow } from '../../src/filters/stats-window.ts';
import { Items } from '../../src/items/items.ts';
import type { Query } from '../../src/paging/event-query.ts';
import { OutcomeTable } from '../../src/questions/outcome-table.ts';
import { provenRate } from '../../src/statistics/proven-rate.ts';
import { divideTime } from '../../src/stats/buckets.ts';
import { byFailure, failureRate, gatherStats, statsOfTable } from '../../src/stats/tallies.ts';
import { compareInstants, type Instant, instantAt, parseInstant } from '../../src/time/instant.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { sampleSize } from '../support/seed.ts';

const at = (text: string) => parseInstant(text) as Instant;

const bucketEnds = (...asked: Parameters<typeof divideTime>) => divideTime(...asked).map(({ to }) => to);

const dayOf = (queries: Query[]) => ({
  after: at('2026-11-01'),
  before: at('2026-11-02'),
  zone: UTC,
  queries,
  status: undefined,
});

/** A service as in the service description: `gt` and `lt` are strict. */
const counting = (events: readonly { at: Instant; type: string; failed: boolean }[]) => {
  const matches = (event: (typeof events)[number], query: Query) =>
    (!query.after || compareInstants(event.at, query.after) > 0) &&
    (!query.before || compareInstants(event.at, query.before) < 0) &&
    (!query.eventType || query.eventType === event.type) &&
    (!query.publishStatus || (query.publishStatus === 'FAILED') === event.failed);
  return async (queries: readonly Query[]) =>
    queries.map((query) => events.filter((event) => matches(event, query)).length);
};

/** The nearest times to one that the service can tell from it. */
function besideTime(time: Instant, beside: string): Instant {
  const ticks = BigInt(time.seconds) * 10_000_000n + BigInt(time.fraction.padEnd(7, '0').slice(0, 7) || '0');
  const moved = ticks + { before: -1n, on: 0n, behind: 1n }[beside as 'on'];
  const second = new Date(Number(moved / 10_000_000n) * 1000).toISOString().slice(0, 19);
  return at(`${second}.${String(moved % 10_000_000n).padStart(7, '0')}Z`);
}

describe('buckets', () => {
  test('every event of the window is in exactly one, also at the boundaries, to seven digits', async () => {
    const start = Date.parse('2026-11-01T00:00:00Z');
    const tick = fc.integer({ min: -5, max: 65 });
    const moment = fc.tuple(tick, fc.constantFrom('', '.0000001', '.5', '.9999999'));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(moment, fc.constantFrom('a', 'b', 'strange'), fc.boolean()), { maxLength: 60 }),
        fc.integer({ min: 1, max: 70 }),
        async (drawn, buckets) => {
          const events = drawn.map(([[second, fraction], type, failed]) => {
            const text = (instantAt(start + second * 1000) as Instant).text.replace('Z', `${fraction}Z`);
            return { at: at(text), type, failed };
          });
          const window = {
            after: at('2026-11-01T00:00:00Z'),
            before: at('2026-11-01T00:01:00.0000001Z'),
            zone: UTC,
            queries: [{}],
            status: undefined,
          };
          const inside = events.filter(
            (event) =>
              compareInstants(event.at, window.after) > 0 && compareInstants(event.at, window.before) < 0,
          );
          const stats = await gatherStats(window, ['a', 'b'], buckets, counting(events));
          const sum = (key: 'total' | 'failed' | 'success', of: readonly object[]) =>
            of.reduce((total, one) => total + ((one as Record<string, number>)[key] as number), 0);
          for (const parts of [stats.buckets, stats.types, [stats]]) {
            expect(sum('total', parts)).toBe(inside.length);
            expect(sum('failed', parts)).toBe(inside.filter(({ failed }) => failed).length);
            expect(sum('success', parts)).toBe(inside.filter(({ failed }) => !failed).length);
          }
          for (const bucket of stats.buckets) {
            const own = inside.filter(
              (event) =>
                compareInstants(event.at, bucket.from) >= 0 && compareInstants(event.at, bucket.to) < 0,
            );
            expect(bucket.total).toBe(own.length);
          }
          expect(stats.moved).toBe(false);
        },
      ),
      { numRuns: sampleSize(20, 60) },
    );
  });

  test('are the same of events that were read as of those that the service counted, at each edge too', async () => {
    const [after, before] = [at('2026-11-01T00:00:00Z'), at('2026-11-01T00:00:10.1234567Z')];
    const edges = (count: number) => [after, ...bucketEnds({ after, before, zone: UTC }, count)];
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 9 }),
        fc.array(
          fc.record({
            edge: fc.nat(9),
            // On the edge, and the nearest times that the service keeps (100 ns).
            beside: fc.constantFrom('before', 'on', 'behind'),
            type: fc.constantFrom('a', 'b'),
            failed: fc.boolean(),
          }),
          { maxLength: 40 },
        ),
        fc.constantFrom(undefined, 'FAILED' as const, 'SUCCESS' as const),
        async (count, drawn, status) => {
          const all = edges(count);
          const events = drawn.map(({ edge, beside, type, failed }) => ({
            at: besideTime(all[edge % all.length] as Instant, beside),
            type,
            failed,
          }));
          const window = { after, before, zone: UTC, queries: [{}], status };
          const isAsked = ({ failed }: { failed: boolean }) =>
            status === undefined || failed === (status === 'FAILED');
          const inside = events.filter(
            (event) =>
              isAsked(event) && compareInstants(event.at, after) > 0 && compareInstants(event.at, before) < 0,
          );
          const table = new OutcomeTable();
          const items = Items.of(
            inside.map((event) =>
              Buffer.from(
                JSON.stringify({
                  eventType: event.type,
                  createdOn: event.at.text,
                  publishStatus: event.failed ? 'FAILED' : 'SUCCESS',
                }),
              ),
            ),
          );
          table.see({ items, haveFailed: undefined });
          const counted = await gatherStats(window, ['a', 'b'], count, counting(events));
          const read = statsOfTable(table, window, count);
          const named = counted.types.filter(({ total }) => total > 0);
          expect(read).toEqual({ ...counted, types: named });
        },
      ),
      { numRuns: sampleSize(50, 200) },
    );
  });

  test.each([
    ['2026-11-20T10:49:44Z', '2026-11-21T10:49:44Z', 25, '2026-11-20T11:00:00Z', '2026-11-21T10:00:00Z'],
    ['2026-11-21T08:49:44.5Z', '2026-11-21T10:49:44Z', 25, '2026-11-21T08:50:00Z', '2026-11-21T10:45:00Z'],
    ['2026-11-14T10:49:44Z', '2026-11-21T10:49:44Z', 29, '2026-11-14T12:00:00Z', '2026-11-21T06:00:00Z'],
    ['2026-10-22T10:49:44Z', '2026-11-21T10:49:44Z', 31, '2026-10-23T00:00:00Z', '2026-11-21T00:00:00Z'],
    // Mondays.
    ['2026-08-21', '2026-11-21', 14, '2026-08-24T00:00:00Z', '2026-11-16T00:00:00Z'],
    ['2026-11-01', '2026-11-02', 24, '2026-11-01T01:00:00Z', '2026-11-01T23:00:00Z'],
    ['1990-01-01', '2026-11-21', 32, '1991-02-28T00:00:00Z', '2025-09-25T00:00:00Z'],
  ])('begin on the clock from %s to %s', (after, before, count, second, last) => {
    const ends = bucketEnds({ after: at(after), before: at(before), zone: UTC }).map(({ text }) => text);
    expect([ends.length, ends[0], ends.at(-2), ends.at(-1)]).toEqual([count, second, last, before]);
  });

  test('of a given number are equal within a few per cent, and begin at times as round as that allows', () => {
    const window = { after: at('2026-11-20T10:49:44Z'), before: at('2026-11-21T10:49:44Z'), zone: UTC };
    expect(bucketEnds(window, 4).map(({ text }) => text)).toEqual([
      '2026-11-20T17:00:00Z',
      '2026-11-20T23:00:00Z',
      '2026-11-21T05:00:00Z',
      '2026-11-21T10:49:44Z',
    ]);
  });

  test.each([
    // Thirty of a second, and not thirty-one.
    ['00:00:00', '00:00:30', 30, '00:00:01'],
    ['00:00:00', '00:00:31', 7, '00:00:05'],
    ['00:00:00', '00:03:00', 12, '00:00:15'],
    ['00:00:00', '00:10:00', 20, '00:00:30'],
    ['00:00:00', '00:20:00', 20, '00:01:00'],
    ['00:00:00', '02:00:00', 24, '00:05:00'],
    ['00:00:00', '07:00:00', 28, '00:15:00'],
    ['00:00:00', '12:00:00', 24, '00:30:00'],
  ])('from %s to %s are %i, of which the first ends at %s', (from, to, count, first) => {
    const ends = bucketEnds({ after: at(`2026-11-20T${from}Z`), before: at(`2026-11-20T${to}Z`), zone: UTC });
    expect([ends.length, ends[0]?.text]).toEqual([count, `2026-11-20T${first}Z`]);
  });

  test('of a given number begin at midnight if each would be a day, or some days', () => {
    const window = { after: at('2026-11-02T10:49:44Z'), before: at('2026-11-20T10:49:44Z'), zone: UTC };
    const spans = divideTime(window, 6);
    expect(spans.map(({ to }) => to.text)).toEqual([
      '2026-11-05T00:00:00Z',
      '2026-11-08T00:00:00Z',
      '2026-11-11T00:00:00Z',
      '2026-11-14T00:00:00Z',
      '2026-11-17T00:00:00Z',
      '2026-11-20T00:00:00Z',
      '2026-11-20T10:49:44Z',
    ]);
    expect(spans.map(({ isPart }) => isPart)).toEqual([true, false, false, false, false, false, true]);
    expect(divideTime(window, 7)).toHaveLength(7);
  });

  test('of a unit are whole ones of the zone, marked where the window cuts them', () => {
    const zone = new TimeZone('Europe/Berlin');
    const parts = (after: string, before: string, unit: 'hour' | 'day' | 'week') =>
      divideTime({ after: at(after), before: at(before), zone }, unit).map(
        ({ from, isPart }) => `${zone.shown(from.text).slice(5, 16)}${isPart ? ' part' : ''}`,
      );
    // On the 25th an hour is there twice, and a day has 25 of them.
    expect(parts('2026-10-24T21:59:59.9999999Z', '2026-10-27T12:00:00Z', 'day')).toEqual([
      ...['10-25T00:00', '10-26T00:00', '10-27T00:00 part'],
    ]);
    expect(parts('2026-10-24T23:30:00Z', '2026-10-25T02:00:00Z', 'hour')).toEqual([
      ...['10-25T01:30 part', '10-25T02:00', '10-25T02:00'],
    ]);
    expect(parts('2026-10-15T12:00:00Z', '2026-11-01T23:00:00Z', 'week')).toEqual([
      ...['10-15T14:00 part', '10-19T00:00', '10-26T00:00'],
    ]);
    expect(() => parts('2025-01-01', '2026-01-01', 'hour')).toThrow('--buckets hour: 8,760 of them');
  });

  test('of a given number end at times of the zone as round as a tenth of their length', () => {
    const ends = (after: string, before: string, count: number, zone = UTC) =>
      bucketEnds({ after: at(after), before: at(before), zone }, count).map(({ text }) => text);
    expect(ends('2026-11-20T00:00:03Z', '2026-11-20T00:01:43Z', 2)[0]).toBe('2026-11-20T00:00:55Z');
    expect(ends('2026-11-20T00:00:00.5Z', '2026-11-20T00:00:04.5Z', 2)[0]).toBe('2026-11-20T00:00:03Z');
    const kolkata = new TimeZone('Asia/Kolkata');
    expect(ends('2026-11-20T00:07:00Z', '2026-11-20T20:07:00Z', 2, kolkata)[0]).toBe('2026-11-20T10:30:00Z');
  });

  test('end on full seconds if they are long enough, and the last at the end of the window', () => {
    const window = {
      after: at('2026-11-01T00:00:00Z'),
      before: at('2026-11-01T00:00:10.1234567Z'),
      zone: UTC,
    };
    expect(bucketEnds(window, 3).map(({ text }) => text)).toEqual([
      '2026-11-01T00:00:03Z',
      '2026-11-01T00:00:07Z',
      '2026-11-01T00:00:10.1234567Z',
    ]);
    expect(bucketEnds({ ...window, before: at('2026-11-01T00:00:01Z') }, 2).map(({ text }) => text)).toEqual([
      '2026-11-01T00:00:00.500Z',
      '2026-11-01T00:00:01Z',
    ]);
    expect(bucketEnds({ ...window, before: at('2026-11-01T00:00:00.0000002Z') }, 2)).toHaveLength(2);
  });

  test('counts that shrink meanwhile are shown as none and reported', async () => {
    const window = dayOf([{}]);
    const answers = [4, 1, 2, 1];
    const stats = await gatherStats(window, [], 2, async (queries) => answers.slice(0, queries.length));
    expect(stats.buckets.map(({ total }) => total)).toEqual([5, 0]);
    expect(stats.moved).toBe(true);
  });
});

test.each([
  // Of each end: those delivered, and those that failed.
  ['of delivered events', [4, 1, 2, 4]],
  ['of failed events', [1, 4, 4, 2]],
  ['of both', [4, 4, 2, 2]],
])('counts %s that shrink from one end to the next are reported', async (_, answers) => {
  const { moved } = await gatherStats(dayOf([{}]), [], 2, async () => answers);
  expect(moved).toBe(true);
});

test.each([
  ['more than', [3, 0], true],
  ['as many as', [2, 0], false],
  ['fewer than', [1, 0], false],
])('a type with %s the window has moved: %j', async (_, ofType, moved) => {
  const stats = await gatherStats(dayOf([{}]), ['a'], 1, async () => [...ofType, 2, 0]);
  expect(stats.moved).toBe(moved);
  // What no type stands for has a row of its own.
  expect(stats.types.map(({ eventType }) => eventType)).toEqual(
    (ofType[0] as number) < 2 ? ['a', null] : ['a'],
  );
});

describe('the window', () => {
  const now = Date.parse('2026-11-21T10:00:00Z');
  test.each([
    [{}, '2026-11-20T10:00:01Z', '2026-11-21T10:00:01Z'],
    [{ since: '2h' }, '2026-11-21T08:00:00Z', '2026-11-21T10:00:01Z'],
    [{ before: '2026-11-05' }, '2026-11-04T00:00:00Z', '2026-11-05'],
    [
      { after: '2026-11-01', until: '2026-11-02T00:00:00.1234567Z' },
      '2026-11-01',
      '2026-11-02T00:00:00.1234567Z',
    ],
  ])('of %j', (flags, after, before) => {
    const window = statsWindow(eventFilters(flags, now), now);
    expect([window.after.text, window.before.text]).toEqual([after, before]);
  });

  test('keeps the other filters, and one status if one is requested', () => {
    const flags = { type: ['a', 'b'], failed: true } as const;
    const window = statsWindow(eventFilters({ ...flags, type: [...flags.type] }, now), now);
    expect(window.queries.map(({ eventType }) => eventType)).toEqual(['a', 'b']);
    expect(window.status).toBe('FAILED');
    expect(statsWindow(eventFilters({ failed: true, status: ['SUCCESS'] }, now), now).status).toBeUndefined();
  });
});

const tally = (failed: number, total: number, eventType = `${failed} of ${total}`) => ({
  eventType,
  total,
  failed,
  success: total - failed,
});

describe('types', () => {
  test('stand worst first by the rate that their numbers prove: one failure of one is no worst type', () => {
    const types = [tally(0, 900), tally(1, 1), tally(50, 1000), tally(40, 50), tally(9, 10), tally(0, 5)];
    expect(types.sort(byFailure).map(({ eventType }) => eventType)).toEqual([
      '40 of 50',
      '9 of 10',
      '1 of 1',
      '50 of 1000',
      '0 of 900',
      '0 of 5',
    ]);
  });

  test('with the same numbers stand by their names, those of no type behind them', () => {
    const types = [null, 'b', 'a'].map((eventType) => ({ ...tally(1, 2), eventType }));
    expect(types.sort(byFailure).map(({ eventType }) => eventType)).toEqual(['a', 'b', null]);
  });

  test('that the filters name are counted by their own searches, and nothing is left for others', async () => {
    const types = ['a', 'b', 'b', 'c', 'd'];
    const events = types.map((type) => ({ at: at('2026-11-01T12:00:00Z'), type, failed: type === 'a' }));
    const queries = [{ eventType: 'a' }, { eventType: 'b' }, { eventType: 'd' }];
    const window = dayOf(queries);
    const stats = await gatherStats(window, null, 1, counting(events));
    expect(stats).toMatchObject({
      total: 4,
      types: [
        { eventType: 'a', total: 1, failed: 1, success: 0 },
        { eventType: 'b', total: 2, failed: 0, success: 2 },
        { eventType: 'd', total: 1, failed: 0, success: 1 },
      ],
    });
    expect(stats.types).toHaveLength(3);
  });

  test('that the filters name leave nothing for others if an event arrives during the count', async () => {
    const queries = [{ eventType: 'a' }];
    const window = dayOf(queries);
    const stats = await gatherStats(window, null, 1, async () => [1, 0, 2, 0]);
    expect(stats.types.map(({ eventType }) => eventType)).toEqual(['a']);
  });

  test('have a rate where both outcomes are known and there are events', () => {
    expect(failureRate({ total: 4, success: 3, failed: 1 })).toBe(0.25);
    expect(failureRate({ total: 0, success: 0, failed: 0 })).toBeNull();
    expect(failureRate({ total: 4, success: null, failed: 4 })).toBeNull();
    expect(failureRate({ total: 4, success: 4, failed: null })).toBeNull();
  });

  test('of which one status alone was asked for stand by their number of events', () => {
    const failed = (total: number) => ({ eventType: `${total}`, total, failed: total, success: null });
    expect([failed(3), failed(5), failed(4)].sort(byFailure).map(({ total }) => total)).toEqual([5, 4, 3]);
    const delivered = (total: number) => ({ eventType: `${total}`, total, failed: null, success: total });
    const types = [delivered(3), delivered(5), delivered(0), delivered(4)];
    expect(types.sort(byFailure).map(({ total }) => total)).toEqual([5, 4, 3, 0]);
  });
});

test('of one status the other is not told, and an event without a time is in the sum alone', () => {
  const events = [
    { eventType: 'a', createdOn: '2026-11-01T12:00:00Z', publishStatus: 'SUCCESS' },
    { eventType: 'a', publishStatus: 'SUCCESS' },
  ];
  const table = new OutcomeTable();
  table.see({
    items: Items.of(events.map((event) => Buffer.from(JSON.stringify(event)))),
    haveFailed: undefined,
  });
  const window = dayOf([{}]);
  const tallies = (status: 'SUCCESS' | 'FAILED' | undefined) => {
    const { total, success, failed, buckets } = statsOfTable(table, { ...window, status }, 1);
    return [total, success, failed, buckets.map((bucket) => bucket.total)];
  };
  expect(tallies(undefined)).toEqual([2, 2, 0, [1]]);
  expect(tallies('SUCCESS')).toEqual([2, 2, null, [1]]);
  expect(tallies('FAILED')).toEqual([2, null, 2, [1]]);
});

describe('the rate that some numbers prove', () => {
  // Newcombe 1998, table I, method 4: Wilson's interval with continuity correction.
  test.each([
    [81, 263, 0.2535],
    [15, 148, 0.0598],
    [1, 29, 0.0018],
    [0, 20, 0],
    [29, 29, 0.8544],
  ])('%i of %i is at least %f', (failed, total, least) => {
    expect(provenRate(failed, total)).toBeCloseTo(least, 4);
  });

  test('is below the rate, and rises with the number of events of one rate', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 0, max: 500 }), (failed, delivered) => {
        const total = failed + delivered;
        const proven = provenRate(failed, total);
        expect(proven).toBeGreaterThan(0);
        expect(proven).toBeLessThan(failed / total);
        expect(provenRate(2 * failed, 2 * total)).toBeGreaterThan(proven);
      }),
    );
  });
});
