import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type KeptRows, WatchedRows } from '../../src/health/watched-rows.ts';
import { memberPath } from '../../src/items/field-path.ts';
import { type Instant, instantAt } from '../../src/time/instant.ts';
import { UTC } from '../../src/time/time-zone.ts';
import type { WatchedItem } from '../../src/watch/watch-follower.ts';
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

function startRows(
  given: { failures?: number; lengthMs?: number; remindMs?: number; overlapMs?: number; windowMs?: number },
  kept?: KeptRows,
) {
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
      { numRuns: 300 },
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
    rows.see([itemOf({ row: 0, at: 1, hasFailed: true })]);
    for (const at of [2, 60, 61, 100, 500]) rows.reach(START + at * SECOND);
    expect(told(rows).map(({ change }) => change)).toEqual(['failing', 'failing still', 'failing still']);
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
});
