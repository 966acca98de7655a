import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  areKeptRows,
  type KeptRows,
  type RowRules,
  type WatchedRow,
  WatchedRows,
} from '../../src/health/watch/watched-rows.ts';
import { memberPath, parseFieldPath } from '../../src/items/field-path.ts';
import { type Instant, instantAt } from '../../src/time/instant.ts';
import { UTC } from '../../src/time/time-zone.ts';
import type { WatchedItem } from '../../src/watch/watch-follower.ts';
import { sampleSize } from '../support/seed.ts';
import { textInShape } from '../support/shape.ts';
import { type MadeEvent, plainChanges } from './plain-alarm.ts';

const START = Date.parse('2026-11-20T12:00:00Z');
const SECOND = 1000;
const ROWS = ['50b2863f-0000-4000-8000-000000000000', '50b2863f-0000-4000-8000-000000000001'];

let made = 0;
/** `at` is in seconds since the start. */
function itemOf({ row, at, hasFailed }: MadeEvent): WatchedItem {
  const createdOn = instantAt(START + at * SECOND) as Instant;
  const text = textInShape({
    eventId: `e${++made}`,
    eventType: 'a',
    subscriptionId: ROWS[row],
    createdOn: createdOn.text,
    publishStatus: hasFailed ? 'FAILED' : 'SUCCESS',
  });
  return { key: made, text: Buffer.from(text), createdOn, createdBefore: START + at * SECOND + 1 };
}

function startRows(given: Partial<RowRules>, kept?: KeptRows) {
  const rules = {
    by: [memberPath('subscriptionId')],
    zone: UTC,
    nameField: undefined,
    failures: 3,
    lengthMs: 0,
    windowMs: 86_400_000,
    overlapMs: 120_000,
    remindMs: Number.POSITIVE_INFINITY,
    ...given,
  };
  return new WatchedRows(rules, kept);
}

const seconds = (time: string | null) => (time === null ? null : (Date.parse(time) - START) / SECOND);
const told = (rows: WatchedRows) =>
  rows.pending.map(({ key, change, since, until, reminder }) => ({
    row: ROWS.indexOf(JSON.parse(key)),
    change: reminder ? `${change} still` : change,
    since: seconds(since),
    until: seconds(until),
  }));

const history = fc.array(
  fc.record({ row: fc.nat(1), gap: fc.integer({ min: 1, max: 40 }), hasFailed: fc.boolean() }),
  { maxLength: 40 },
);

describe('rows of a watch', () => {
  test('change as a plain model of the rules says, however polls cut the history, and across restarts', () => {
    fc.assert(
      fc.property(
        history,
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom(0, 30, 90),
        fc.infiniteStream(fc.record({ size: fc.integer({ min: 0, max: 6 }), restarts: fc.boolean() })),
        (drawn, failures, length, polls) => {
          let at = 0;
          const events = drawn.map(({ gap, ...event }) => {
            at += gap;
            return { ...event, at };
          });
          const given = { failures, lengthMs: length * SECOND };
          let rows = startRows(given);
          rows.reach(START);
          const changes: ReturnType<typeof told> = [];
          for (let seen = 0; seen < events.length; ) {
            const { size, restarts } = polls.next().value as { size: number; restarts: boolean };
            const batch = events.slice(seen, seen + size);
            seen += batch.length;
            rows.see(batch.map(itemOf));
            rows.reach(START + (events[seen - 1]?.at ?? 0) * SECOND);
            changes.push(...told(rows));
            rows.pending.length = 0;
            if (restarts) rows = startRows(given, JSON.parse(JSON.stringify(rows.kept)));
          }
          rows.reach(START + (at + 200) * SECOND);
          changes.push(...told(rows));
          for (const row of [0, 1])
            expect(changes.filter((one) => one.row === row)).toEqual(
              plainChanges(events, row, { failures, length }, at + 200),
            );
        },
      ),
      { numRuns: sampleSize(100, 300) },
    );
  });

  test('are reported after the first reading only as they are then', () => {
    const rows = startRows({});
    const events = [true, true, true, false, false].map((hasFailed, at) => ({ row: 0, at, hasFailed }));
    rows.see([...events, ...events.slice(0, 3).map((one) => ({ ...one, row: 1 }))].map(itemOf));
    expect(rows.pending).toEqual([]);
    rows.reach(START + 10 * SECOND);
    expect(told(rows)).toEqual([{ row: 1, change: 'failing', since: 0, until: null }]);
  });

  test('take events that appear late at the time of their creation', () => {
    const rows = startRows({});
    rows.reach(START);
    rows.see([0, 30, 60].map((at) => itemOf({ row: 0, at, hasFailed: true })));
    rows.reach(START + 61 * SECOND);
    // Two late deliveries do not end a run that goes on after them.
    rows.see([10, 11].map((at) => itemOf({ row: 0, at, hasFailed: false })));
    rows.reach(START + 62 * SECOND);
    expect(told(rows)).toEqual([{ row: 0, change: 'failing', since: 0, until: null }]);
    rows.see([70, 71].map((at) => itemOf({ row: 0, at, hasFailed: false })));
    expect(told(rows).at(-1)).toEqual({ row: 0, change: 'recovered', since: 0, until: 70 });
  });

  test('are reported again after --remind while they last', () => {
    const rows = startRows({ failures: 1, remindMs: 60 * SECOND });
    rows.reach(START);
    rows.see([itemOf({ row: 0, at: 1, hasFailed: true }), itemOf({ row: 1, at: 1, hasFailed: false })]);
    const reported = [2, 60, 61, 120, 121].map((at) => {
      rows.reach(START + at * SECOND);
      return told(rows).map(({ row, change }) => `${row} ${change}`);
    });
    const [first, again] = ['0 failing', '0 failing still'];
    expect(reported).toEqual([[first], [first], [first, again], [first, again], [first, again, again]]);
  });

  test('become off, gone and silent, and recover from it once', () => {
    const rows = startRows({});
    rows.reach(START);
    rows.see([0, 1, 2].map((at) => itemOf({ row: 0, at, hasFailed: true })));
    const key = JSON.stringify(ROWS[0]);
    rows.setEndpoint(key, 'off', 'hooks.example.com/in');
    rows.reach(START + 10 * SECOND);
    rows.reach(START + 11 * SECOND);
    rows.setEndpoint(key, 'on', 'hooks.example.com/in');
    rows.reach(START + 20 * SECOND);
    rows.setSilence(key, { since: instantAt(START + 2 * SECOND) as Instant, usualGapSeconds: 5 });
    rows.reach(START + 30 * SECOND);
    rows.see([itemOf({ row: 0, at: 40, hasFailed: false })]);
    rows.setEndpoint(key, 'gone', null);
    rows.reach(START + 50 * SECOND);
    expect(told(rows)).toEqual([
      { row: 0, change: 'failing', since: 0, until: null },
      { row: 0, change: 'off', since: 10, until: null },
      { row: 0, change: 'recovered', since: 10, until: 20 },
      { row: 0, change: 'silent', since: 2, until: null },
      { row: 0, change: 'recovered', since: 2, until: 40 },
      { row: 0, change: 'gone', since: 50, until: null },
    ]);
  });

  test('count failures and events of the run and of the window', () => {
    const rows = startRows({ failures: 2, windowMs: 2 * 3_600_000 });
    rows.reach(START);
    const hours = 3600;
    const events: MadeEvent[] = [
      { row: 0, at: 0, hasFailed: true },
      { row: 0, at: 1, hasFailed: false },
      { row: 0, at: 5 * hours, hasFailed: false },
      { row: 0, at: 5 * hours + 1, hasFailed: true },
      { row: 0, at: 5 * hours + 2, hasFailed: false },
      { row: 0, at: 5 * hours + 3, hasFailed: true },
    ];
    rows.see(events.slice(0, 3).map(itemOf));
    rows.reach(START + 5 * hours * SECOND);
    rows.see(events.slice(3).map(itemOf));
    const [change] = rows.pending;
    expect(change?.run).toEqual({ failed: 2, events: 3 });
    expect(change?.row).toMatchObject({
      failed: 2,
      events: 4,
      state: 'failing',
      recent: 'FSFSSF',
      edge: false,
    });
  });

  /** An event of the first row that fails, unless its fields say otherwise. */
  function failureOf(at: number, fields: object, isDated = true): WatchedItem {
    const created = instantAt(START + at * SECOND) as Instant;
    const text = textInShape({
      eventId: `e${++made}`,
      eventType: 'a',
      subscriptionId: ROWS[0],
      publishStatus: 'FAILED',
      ...(isDated ? { createdOn: created.text } : {}),
      ...fields,
    });
    const createdOn = isDated ? created : undefined;
    return { key: made, text: Buffer.from(text), createdOn, createdBefore: START + at * SECOND };
  }

  test('leave out events of unknown outcome, and take one without a time at the latest it can be of', () => {
    const rows = startRows({ failures: 1 });
    rows.reach(START);
    rows.see([
      failureOf(1, { publishStatus: 'PENDING' }),
      failureOf(2, { publishStatus: undefined }),
      failureOf(3, {}, false),
    ]);
    expect(rows.pending).toEqual([
      {
        key: JSON.stringify(ROWS[0]),
        change: 'failing',
        previous: null,
        since: '2026-11-20T12:00:03.000Z',
        until: null,
        reminder: false,
        run: { failed: 1, events: 1 },
        row: {
          state: 'failing',
          failed: 1,
          events: 1,
          failingSince: '2026-11-20T12:00:03.000Z',
          edge: true,
          lastFailed: '2026-11-20T12:00:03.000Z',
          lastError: null,
          lastSuccess: null,
          silentSince: null,
          usualGapSeconds: null,
          recent: 'F',
        },
      },
    ]);
  });

  test('are of each combination of several fields, with the last error, whatever succeeded since', () => {
    const rows = startRows({ by: [memberPath('kind'), memberPath('n')], failures: 2 });
    rows.reach(START);
    rows.see([
      failureOf(1, { kind: 'x', n: 12345678901234567890n.toString() }),
      failureOf(2, { kind: 'x', delivery: { lastError: '503' } }),
      failureOf(3, { kind: 'y', delivery: { lastError: 'other' } }),
      failureOf(4, { kind: 'x', publishStatus: 'SUCCESS', delivery: { lastError: 'not this' } }),
      failureOf(5, { kind: 'x' }),
    ]);
    expect([...rows.rows.keys()]).toEqual(['"x"\n"12345678901234567890"', '"x"\nnull', '"y"\nnull']);
    expect(rows.pending.map(({ key, run, row }) => ({ key, run, error: row.lastError }))).toEqual([
      { key: '"x"\nnull', run: { failed: 2, events: 3 }, error: '503' },
    ]);
  });

  test('know up to twenty names of those their events are for, each once', () => {
    const rows = startRows({ nameField: parseFieldPath('customer', '--name-field') });
    const names = Array.from({ length: 22 }, (_, index) => `name ${index}`);
    rows.see([...names, ...names].map((customer, at) => failureOf(at, { customer })));
    expect([...rows.rows.values()].map((row) => row.names)).toEqual([names.slice(0, 20)]);
  });

  test('count an event that appears late in its own hour, for as long as that is in the window', () => {
    const HOUR_SECONDS = 3600;
    const rows = startRows({ windowMs: HOUR_SECONDS * SECOND });
    const see = (at: number, hasFailed: boolean) => rows.see([itemOf({ row: 0, at, hasFailed })]);
    const first = START / (HOUR_SECONDS * SECOND);
    const counted = () =>
      rows.rows.get(JSON.stringify(ROWS[0]))?.hours.map(([hour, ...counts]) => [hour - first, ...counts]);
    rows.reach(START);
    see(HOUR_SECONDS + 10, false);
    see(10, true);
    see(HOUR_SECONDS + 20, true);
    see(20, false);
    expect(counted()).toEqual([
      [0, 1, 2],
      [1, 1, 2],
    ]);
    // The window begins in the first hour until then.
    rows.reach(START + 2 * HOUR_SECONDS * SECOND - 1);
    expect(counted()).toHaveLength(2);
    rows.reach(START + 2 * HOUR_SECONDS * SECOND);
    expect(counted()).toEqual([[1, 1, 2]]);
  });

  test('have an address that stays when the service no longer names it, and no run after a change of endpoint', () => {
    const rows = startRows({ failures: 2 });
    const key = JSON.stringify(ROWS[0]);
    rows.reach(START);
    rows.see([itemOf({ row: 0, at: 1, hasFailed: true })]);
    rows.setSilence(key, { since: instantAt(START) as Instant, usualGapSeconds: 60 });
    rows.setEndpoint(key, 'off', 'a.example');
    rows.setEndpoint(key, 'on', null);
    expect(rows.rows.get(key)).toMatchObject({ address: 'a.example', silence: null, unsettled: [] });
    rows.see([itemOf({ row: 0, at: 2, hasFailed: true })]);
    expect(rows.pending).toEqual([]);
    rows.see([itemOf({ row: 0, at: 3, hasFailed: true })]);
    expect(told(rows)).toEqual([{ row: 0, change: 'failing', since: 2, until: null }]);
    // The same state again ends nothing.
    rows.setEndpoint(key, 'on', 'b.example');
    expect(rows.rows.get(key)).toMatchObject({ address: 'b.example' });
    expect(rows.rows.get(key)?.unsettled).toHaveLength(2);
  });

  test('that are off or silent report that state, and since when', () => {
    const rows = startRows({ failures: 1 });
    const key = JSON.stringify(ROWS[0]);
    rows.reach(START);
    rows.setSilence(key, { since: instantAt(START - SECOND) as Instant, usualGapSeconds: 60 });
    rows.reach(START + SECOND);
    rows.setEndpoint(key, 'off', null);
    rows.see([itemOf({ row: 0, at: 2, hasFailed: true })]);
    expect(rows.pending.map(({ change, previous, run, row }) => ({ change, previous, run, row }))).toEqual([
      {
        change: 'silent',
        previous: null,
        run: null,
        row: expect.objectContaining({
          state: 'silent',
          events: 0,
          silentSince: '2026-11-20T11:59:59Z',
          usualGapSeconds: 60,
        }),
      },
      {
        change: 'off',
        previous: 'silent',
        run: null,
        row: expect.objectContaining({ state: 'off', failingSince: null, edge: false, silentSince: null }),
      },
    ]);
  });

  test('that are off stay off, whatever fails meanwhile', () => {
    const rows = startRows({ failures: 1, remindMs: SECOND });
    rows.reach(START);
    rows.setEndpoint(JSON.stringify(ROWS[0]), 'off', null);
    rows.see([itemOf({ row: 0, at: 1, hasFailed: true }), itemOf({ row: 0, at: 2, hasFailed: true })]);
    rows.reach(START + 10 * SECOND);
    expect(rows.pending.at(-1)).toMatchObject({
      change: 'off',
      reminder: true,
      run: { failed: 2, events: 2 },
      row: { state: 'off', failingSince: null, edge: false, failed: 2 },
    });
  });

  test('that recovered have the counts of the run that ended, and no run after a silence', () => {
    const rows = startRows({ failures: 1 });
    rows.reach(START);
    const events = [false, true, false, true, false, false].map((hasFailed, at) => ({
      row: 0,
      at,
      hasFailed,
    }));
    rows.see(events.map(itemOf));
    rows.setSilence(JSON.stringify(ROWS[0]), { since: instantAt(START) as Instant, usualGapSeconds: 1 });
    rows.reach(START + 10 * SECOND);
    rows.see([itemOf({ row: 0, at: 20, hasFailed: false })]);
    expect(rows.pending.map(({ change, previous, run }) => ({ change, previous, run }))).toEqual([
      { change: 'failing', previous: null, run: { failed: 1, events: 1 } },
      { change: 'recovered', previous: 'failing', run: { failed: 2, events: 3 } },
      { change: 'silent', previous: null, run: null },
      { change: 'recovered', previous: 'silent', run: null },
    ]);
  });

  test('put late events in their place at once, and settle those that none can precede', () => {
    const rows = startRows({ failures: 3, overlapMs: 10 * SECOND });
    const see = (at: number, hasFailed: boolean) => rows.see([itemOf({ row: 0, at, hasFailed })]);
    const row = () => {
      const { settled, unsettled } = rows.rows.get(JSON.stringify(ROWS[0])) as WatchedRow;
      const unsettledText = unsettled.map(
        ({ at, hasFailed }) => `${(at - START) / SECOND}${hasFailed ? 'F' : 'S'}`,
      );
      return [settled.recent, unsettledText.join(' ')];
    };
    rows.reach(START);
    see(5, true);
    see(9, true);
    see(5, false);
    see(2, false);
    see(6, false);
    expect(row()).toEqual(['', '2S 5F 5S 6S 9F']);
    expect(rows.pending).toEqual([]);
    rows.reach(START + 15 * SECOND);
    expect(row()).toEqual(['S', '5F 5S 6S 9F']);
    rows.reach(START + 16 * SECOND);
    expect(row()).toEqual(['SFS', '6S 9F']);
    // A late one may be the third in a run.
    see(10, true);
    see(8, true);
    expect(row()).toEqual(['SFS', '6S 8F 9F 10F']);
    expect(rows.pending.map(({ change, run, row: { recent } }) => ({ change, run, recent }))).toEqual([
      { change: 'failing', run: { failed: 3, events: 3 }, recent: 'FFFSSFS' },
    ]);
    rows.reach(START + 30 * SECOND);
    expect(row()).toEqual(['FFFSSFS', '']);
  });

  test('keep what was not reported yet', () => {
    const rows = startRows({ failures: 1 });
    rows.reach(START);
    rows.see([itemOf({ row: 0, at: 1, hasFailed: true })]);
    const kept = JSON.parse(JSON.stringify(rows.kept));
    expect(areKeptRows(kept)).toBe(true);
    expect(startRows({ failures: 1 }, kept).kept).toEqual(rows.kept);
    expect(startRows({}).kept).toEqual({ isRead: false, rows: [], pending: [] });
  });
});

describe('rows that a state keeps', () => {
  const row = {
    settled: { lastMs: 1, recent: '', run: null },
    unsettled: [],
    hours: [],
    names: [],
    endpoint: 'on',
    reported: { level: 'fine' },
  };
  const keptWith = (parts: object) => ({ isRead: true, rows: [['key', { ...row, ...parts }]], pending: [] });
  const pendingWith = (parts: object) => ({ isRead: true, rows: [], pending: [parts] });

  test.each<[object]>([
    [{ isRead: false, rows: [], pending: [] }],
    [keptWith({})],
    [keptWith({ settled: { ...row.settled, run: {} } })],
    ...['off', 'gone'].map((endpoint): [object] => [keptWith({ endpoint })]),
    ...['failing', 'silent', 'off', 'gone'].map((level): [object] => [keptWith({ reported: { level } })]),
    ...['recovered', 'failing', 'silent', 'off', 'gone'].map((change): [object] => [
      pendingWith({ key: 'k', change }),
    ]),
  ])('are %j', (kept) => {
    expect(areKeptRows(kept)).toBe(true);
  });

  test.each<[unknown]>([
    [undefined],
    [[]],
    [{ isRead: 1, rows: [], pending: [] }],
    [{ isRead: true, rows: {}, pending: [] }],
    [{ isRead: true, rows: [], pending: {} }],
    [{ isRead: true, rows: ['ab'], pending: [] }],
    [{ isRead: true, rows: [[1, row]], pending: [] }],
    [{ isRead: true, rows: [['key', 1]], pending: [] }],
    [keptWith({ settled: 1 })],
    [keptWith({ settled: { ...row.settled, lastMs: '1' } })],
    [keptWith({ settled: { ...row.settled, recent: 1 } })],
    [keptWith({ settled: { ...row.settled, run: 1 } })],
    ...['unsettled', 'hours', 'names'].map((name): [unknown] => [keptWith({ [name]: {} })]),
    [keptWith({ endpoint: 'up' })],
    [keptWith({ reported: 1 })],
    [keptWith({ reported: { level: 'recovered' } })],
    [pendingWith([])],
    [pendingWith({ key: 1, change: 'off' })],
    [pendingWith({ key: 'k', change: 'fine' })],
  ])('are not %j', (kept) => {
    expect(areKeptRows(kept)).toBe(false);
  });
});
