import { describe, expect, test } from 'vitest';
import { EventFilters } from '../../src/filters/event-filters.ts';
import type { ChangeFindings } from '../../src/health/watch/change-findings.ts';
import {
  linesOfChange,
  nextCommand,
  reportedJson,
  subjectOf,
} from '../../src/health/watch/reported-change.ts';
import type { RowChange } from '../../src/health/watch/watched-rows.ts';
import { parseFieldPaths } from '../../src/items/field-path.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';

const ID = '50b2863f-0000-4000-8000-000000000000';
const BY_ID = parseFieldPaths('subscriptionId', '--by');
const ROW: RowChange['row'] = {
  state: 'failing',
  failed: 3,
  events: 5,
  failingSince: '2026-11-20T08:00:00.25Z',
  edge: false,
  lastFailed: '2026-11-20T09:00:00Z',
  lastError: '503 down',
  lastSuccess: null,
  silentSince: null,
  usualGapSeconds: null,
  recent: 'FFSFS',
};
const change = (parts: Partial<RowChange> = {}): RowChange => ({
  key: JSON.stringify(ID),
  change: 'failing',
  previous: null,
  since: '2026-11-20T08:00:00.25Z',
  until: null,
  reminder: false,
  run: { failed: 3, events: 4 },
  row: ROW,
  ...parts,
});
const subject = (key = JSON.stringify(ID), by = BY_ID, names: string[] = [], address: string | null = null) =>
  subjectOf(by, key, { names, address });
const NOTHING: ChangeFindings = { cause: null, verdict: null, problem: null };

describe('the subject of a change', () => {
  test.each([
    [[], null, null],
    [[], 'a.example', 'a.example'],
    [['Ann'], 'a.example', 'Ann'],
    [['Ann', 'Bob'], 'a.example', 'a.example'],
    [['Ann', 'Bob', 'Cid'], null, 'Ann and 2 more'],
  ])('with the names %j and the address %j is %j', (names, address, name) => {
    expect(subject(undefined, undefined, names, address)).toEqual({
      by: BY_ID,
      values: [ID],
      subscriptionId: ID,
      name,
    });
  });

  test('has a subscription only where the rows are subscriptions, and this one is known', () => {
    const by = parseFieldPaths('eventType', '--by');
    expect(subject('"a.b"', by)).toEqual({ by, values: ['a.b'], subscriptionId: undefined, name: null });
    expect(subject('null')).toMatchObject({ values: [null], subscriptionId: undefined });
    expect(subjectOf(BY_ID, '"x"', undefined)).toMatchObject({ subscriptionId: 'x', name: null });
  });
});

test('the JSON of a change has its row, its findings and the next command, without our key', () => {
  const by = parseFieldPaths('eventType,data.kind', '--by');
  const findings = {
    cause: null,
    verdict: 'broken',
    problem: { kind: 'http', message: 'it answers 404' },
  } as const;
  const reported = { ...change(), ...subject('"a.b"\n7', by, ['Ann']), ...findings };
  expect(reportedJson(reported, 'next')).toEqual({
    by: { eventType: 'a.b', 'data.kind': 7 },
    value: 'a.b',
    name: 'Ann',
    ...ROW,
    change: 'failing',
    previous: null,
    since: '2026-11-20T08:00:00.25Z',
    until: null,
    reminder: false,
    run: { failed: 3, events: 4 },
    ...findings,
    next: 'next',
  });
});

describe('the next command', () => {
  const filters = new EventFilters({
    before: { flag: '--until', text: 'now', time: { kind: 'ago', milliseconds: 0 } } as never,
    values: { publishStatus: ['FAILED'] },
    after: {
      flag: '--since',
      text: '1d',
      time: { kind: 'instant', instant: { text: '2026-11-19', seconds: 0, fraction: '' } },
    },
  });
  const next = (parts: Partial<RowChange>, of = subject()) =>
    nextCommand({ ...change(parts), ...of, ...NOTHING }, filters, { profile: 'night' });
  const until = '2026-11-20T09:00:00.75Z';

  test.each<[string, Partial<RowChange>]>([
    [`events about ${ID}`, {}],
    [`events about ${ID}`, { change: 'silent', previous: 'failing' }],
    [`events about ${ID}`, { change: 'recovered', previous: 'silent', until }],
    ['subscriptions list', { change: 'gone' }],
    [`subscriptions get ${ID}`, { change: 'off' }],
    [
      `events search --failed --subscription ${ID} --since 2026-11-20T08:00:00.249Z --until 2026-11-20T09:00:00.751Z`,
      { change: 'recovered', previous: 'failing', until },
    ],
    [
      `events search --failed --subscription ${ID}`,
      { change: 'recovered', previous: 'failing', since: null },
    ],
  ])('is %s', (command, parts) => {
    expect(next(parts)).toBe(`hooktrail ${command} --profile night`);
  });

  test.each([
    ['"a.b"', "--where 'eventType = a.b'"],
    ['7', "--where 'eventType = 7'"],
    ['{"n":7}', `--where 'eventType = {"n":7}'`],
    ['null', "--where '!eventType'"],
    ['"salt and pepper"', `--where 'eventType = "salt and pepper"'`],
  ])('of a row by another field searches for the value %s', (key, where) => {
    const of = subject(key, parseFieldPaths('eventType', '--by'));
    expect(next({ until }, of)).toBe(
      `hooktrail events search --status FAILED ${where} --since 2026-11-20T08:00:00.249Z --until 2026-11-20T09:00:00.751Z --profile night`,
    );
  });

  test('of a row by several fields searches for all their values', () => {
    const of = subject('"a.b"\n"x"', parseFieldPaths('eventType,data.kind', '--by'));
    expect(next({ change: 'gone' }, of)).toBe(
      "hooktrail events search --status FAILED --where 'eventType = a.b' --where 'data.kind = x' --since 2026-11-20T08:00:00.249Z --profile night",
    );
  });
});

describe('the lines of a change', () => {
  const lines = (
    parts: Partial<RowChange>,
    findings: Partial<ChangeFindings> = {},
    of = subject(),
    zone = UTC,
  ) => linesOfChange({ ...change(parts), ...of, ...NOTHING, ...findings }, 'NEXT', zone);

  test('have the run, its last error and its cause, in the zone of the watch', () => {
    const cause = {
      conditions: [
        { field: 'data.kind', op: '=', value: 'x' },
        { field: 'amount', op: 'is missing', value: undefined },
      ],
    } as unknown as ChangeFindings['cause'];
    const problem = { kind: 'ended', at: '2026-11-19T23:00:00Z' } as const;
    const of = subject(undefined, undefined, ['Ann']);
    expect(lines({}, { cause, verdict: 'broken', problem }, of, new TimeZone('Europe/Berlin'))).toEqual([
      `failing: Ann (${ID}), since 2026-11-20 09:00:00+01:00, 3 of 4 failed, last: 503 down`,
      '  cause: data.kind = x and amount is missing',
      '  endpoint: broken: its certificate ended 2026-11-20 00:00:00+01:00',
      '  next: NEXT',
    ]);
  });

  test.each<[string, Partial<RowChange>]>([
    [`failing still: ${ID}, since 2026-11-20 08:00:00Z, 3 of 4 failed, last: 503 down`, { reminder: true }],
    [
      `recovered: ${ID}, from 2026-11-20 08:00:00Z to 2026-11-20 09:00:00Z, 3 of 4 failed, last: 503 down`,
      { change: 'recovered', until: '2026-11-20T09:00:00Z' },
    ],
    [`silent: ${ID}, since 2026-11-20 08:00:00Z`, { change: 'silent', run: null }],
    [`gone: ${ID}`, { change: 'gone', run: null, since: null }],
    [
      `recovered: ${ID}, to 2026-11-20 09:00:00Z`,
      { change: 'recovered', since: null, run: null, until: '2026-11-20T09:00:00Z' },
    ],
    [`failing: ${ID}, since 2026-11-20 08:00:00Z, 3 of 4 failed`, { row: { ...ROW, lastError: null } }],
  ])('are %s', (first, parts) => {
    expect(lines(parts)).toEqual([first, '  next: NEXT']);
  });

  test('show an endpoint that was asked without a problem, and values of several fields', () => {
    const of = subject('"a.b"\n{"n":7}', parseFieldPaths('eventType,data', '--by'));
    expect(lines({ since: null, run: null }, { verdict: 'ok' }, of)).toEqual([
      'failing: a.b, {"n":7}',
      '  endpoint: ok',
      '  next: NEXT',
    ]);
  });

  test('send no control characters of events to the terminal', () => {
    const row = { ...ROW, lastError: 'a\u001b[2Jb\nc' };
    expect(lines({ row, since: null })[0]).toBe(`failing: ${ID}, 3 of 4 failed, last: a\\u001b[2Jb\\u000ac`);
  });
});
