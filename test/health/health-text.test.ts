import { describe, expect, test } from 'vitest';
import type { Call } from '../../src/command.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import type { FormatOptions } from '../../src/formats/format-options.ts';
import type { HealthReport } from '../../src/health/health.ts';
import { healthJson } from '../../src/health/health-json.ts';
import { printHealth } from '../../src/health/health-text.ts';
import { memberPath, parseFieldPath } from '../../src/items/field-path.ts';
import { type Health, NO_EVENTS } from '../../src/questions/health-row.ts';
import { type Instant, knownInstant, parseInstant } from '../../src/time/instant.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { clock } from '../support/clock.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput, fakeReporter, readCsv } from '../support/outputs.ts';

const instant = (time: string) => parseInstant(`2026-11-20T${time}Z`) as Instant;
const rowOf = (id: string | null, parts: Partial<Health> = {}): Health => ({
  ...NO_EVENTS,
  address: null,
  values: [id],
  ...parts,
});
const report = (rows: readonly Health[], parts: Partial<HealthReport> = {}): HealthReport => ({
  after: instant('00:00:00'),
  before: knownInstant(clock.now()),
  unknownOutcomes: 0,
  by: [memberPath('subscriptionId')],
  isListUnknown: false,
  rows,
  ...parts,
});

interface Given {
  readonly format?: FormatOptions['format'];
  readonly zone?: TimeZone;
  /** The time of `--until`. */
  readonly until?: string;
  readonly width?: number;
  readonly locale?: string;
}

async function printed(
  { rows, ...parts }: HealthReport,
  { format = 'table', zone = UTC, until, width, locale = 'C.UTF-8' }: Given = {},
) {
  const stdout = fakeOutput(width);
  const stderr = fakeOutput(width);
  const reporter = fakeReporter();
  const call = {
    context: createContext({ stdout, stderr, environment: { LC_ALL: locale } }),
    reporter,
    commands: { root: { rawArgs: ['events', 'health'] } },
  } as unknown as Call;
  const end = until === undefined ? undefined : instant(until);
  const before = end && { flag: '--until', text: end.text, time: { kind: 'instant' as const, instant: end } };
  const filters = new EventFilters({ zone, before, values: { eventType: ['order.paid'] } });
  const options = { format: { format, list: 'events' } as const, filters, from: 'events.ndjson' };
  await printHealth({ ...parts, rows, before: end ?? parts.before }, options, call);
  return { lines: stdout.text.split('\n'), said: reporter.said };
}

const FAILING: Partial<Health> = {
  state: 'failing',
  failed: 1200,
  events: 4000,
  failingSince: instant('08:00:00.123'),
  lastFailed: instant('11:00:00'),
  lastSuccess: instant('07:00:00'),
  recent: 'FFFFFFFFFS',
};

describe('the table of events health', () => {
  test('has each state, in the order of the rows, with the marks of the last ten', async () => {
    const rows = [
      rowOf('a', { ...FAILING, edge: true }),
      rowOf('b', { state: 'failing', failed: 1, events: 1, failingSince: instant('10:00:00'), recent: 'F' }),
      rowOf('c', { state: 'recovered', failed: 1, events: 2, lastError: '503 down', recent: 'SF' }),
      rowOf('d', { state: 'silent', silentSince: instant('02:30:00'), usualGapSeconds: 1230 }),
      rowOf('e', { state: 'ok', silentSince: instant('08:00:00') }),
      rowOf('f', { state: 'silent' }),
      rowOf('g', { state: 'off' }),
      rowOf('h', { state: 'gone' }),
      rowOf(null, { state: 'ok', events: 3, recent: 'SSS' }),
    ];
    expect(await printed(report(rows))).toEqual({
      lines: [
        'subscriptionId  state              failed  silent for                             failing since                    last failure          error     last success          last ten',
        'a               failing    1,200 of 4,000  -                                      2026-11-20 08:00:00Z or earlier  2026-11-20 11:00:00Z  -         2026-11-20 07:00:00Z  ✗✗✗✗✗✗✗✗✗·',
        'b               failing            1 of 1  -                                      2026-11-20 10:00:00Z             -                     -         -                     ✗',
        'c               recovered          1 of 2  -                                      -                                -                     503 down  -                     ·✗',
        'd               silent             0 of 0  9 h 30 min, usually every 20 min       -                                -                     -         -',
        'e               ok                 0 of 0  4 h, usually every less than a second  -                                -                     -         -',
        'f               no events          0 of 0  -                                      -                                -                     -         -',
        'g               off                0 of 0  -                                      -                                -                     -         -',
        'h               gone               0 of 0  -                                      -                                -                     -         -',
        '-               ok                 0 of 3  -                                      -                                -                     -         -                     ···',
        '',
        '2 of 9 failing, 1 recovered, 2 silent for unusually long, 1 off, 1 gone, 1 without events, from 2026-11-20 00:00Z to 2026-11-20 12:00Z',
        'worst first within each state, by the lower bound of the failure rate: 1 of 1 proves less than 40 of 50',
        '',
      ],
      said: [],
    });
  });

  test('names a subscription without an address by the start of its id on a terminal', async () => {
    const id = 'aa66d24e-de9e-47e1-8d86-3ab59e571dd5';
    const named = { ...FAILING, address: 'hooks.example.com/in' };
    const rows = [rowOf('5', named), rowOf(id, { state: 'gone', failed: 1, events: 2, recent: 'FS' })];
    const second = async (width?: number) =>
      (await printed(report(rows), width === undefined ? {} : { width })).lines[2]
        ?.split(/ {2,}/)
        .slice(0, 3);
    expect(await second(80)).toEqual(['aa66d24e…', 'gone', '1 of 2']);
    expect(await second()).toEqual(['-', id, 'gone']);
  });

  test.each<[boolean, string, Partial<Health>, Partial<Health>]>([
    [true, 'a higher rate follows', { failed: 40, events: 50 }, { failed: 1, events: 1 }],
    [false, 'a lower rate follows', { failed: 40, events: 50 }, { failed: 1, events: 2 }],
    [false, 'the same rate follows', { failed: 40, events: 50 }, { failed: 4, events: 5 }],
    [false, 'another state follows', { failed: 1, events: 3 }, { state: 'ok', failed: 1, events: 2 }],
    [false, 'nothing was sent before', { failed: 0, events: 0 }, { failed: 1, events: 2 }],
  ])('explains its order: %s, where %s', async (isExplained, _, above, below) => {
    const rows = [above, below].map((parts, index) => rowOf(`${index}`, { state: 'recovered', ...parts }));
    const { lines } = await printed(report(rows));
    expect(lines.some((line) => line.startsWith('worst first'))).toBe(isExplained);
  });

  test('is of the past where the window has ended', async () => {
    const rows = [rowOf('a', FAILING), rowOf('b', { state: 'recovered' })];
    const given = { until: '11:58:59', zone: new TimeZone('Asia/Kolkata'), locale: 'C' };
    expect(await printed(report(rows), given)).toEqual({
      lines: [
        'subscriptionId  state then          failed  failing from               last failure               last success               last ten',
        'a               failing     1,200 of 4,000  2026-11-20 13:30:00+05:30  2026-11-20 16:30:00+05:30  2026-11-20 12:30:00+05:30  FFFFFFFFF.',
        'b               recovered           0 of 0  -                          -                          -',
        '',
        '1 of 2 was failing at the end, 1 had recovered, from 2026-11-20 05:30+05:30 to 2026-11-20 17:28:59+05:30',
        '',
      ],
      said: [],
    });
    const several = [rowOf('a', FAILING), rowOf('b', FAILING)];
    expect(await printed(report(several), { until: '10:59:30', width: 100 })).toEqual({
      lines: [
        'subscriptionId  state then          failed  failing from  last failure  last success  last ten',
        'a               failing     1,200 of 4,000  11-20 08:00Z  11-20 11:00Z  11-20 07:00Z  ✗✗✗✗✗✗✗✗✗·',
        'b               failing     1,200 of 4,000  11-20 08:00Z  11-20 11:00Z  11-20 07:00Z  ✗✗✗✗✗✗✗✗✗·',
        '',
        '2 of 2 were failing at the end, 0 had recovered, from 2026-11-20 00:00Z to 2026-11-20 10:59:30Z',
        '',
      ],
      said: [
        'notice: next: `hooktrail events explain --until 2026-11-20T10:59:30Z --type order.paid --from events.ndjson` says why they failed',
      ],
    });
  });

  test('names the command that explains failures, and is of now within a minute', async () => {
    const { lines, said } = await printed(report([rowOf('a', FAILING), rowOf('b')]), {
      until: '11:59:00',
      width: 80,
    });
    expect([lines.slice(-3), said]).toEqual([
      ['', '1 of 2 failing, 0 recovered, from 2026-11-20 00:00Z to 2026-11-20 11:59Z', ''],
      [
        'notice: next: `hooktrail events explain --until 2026-11-20T11:59:00Z --type order.paid --from events.ndjson` says why they fail',
      ],
    ]);
    expect((await printed(report([rowOf('a')]), { width: 80 })).said).toEqual([]);
  });

  test('gives way to the reason why there are no rows', async () => {
    const shown = async (unknownOutcomes: number) => (await printed(report([], { unknownOutcomes }))).lines;
    expect([await shown(0), await shown(3)]).toEqual([
      ['no events from 2026-11-20 00:00Z to 2026-11-20 12:00Z', ''],
      ['the outcome of 3 events is unknown', ''],
    ]);
  });

  test('leaves out first what identifies a row least on a narrow terminal', async () => {
    const rows = [rowOf('a', { ...FAILING, lastError: '503 down' }), rowOf('b', FAILING)];
    const left = async (shown: readonly Health[], width: number) =>
      (await printed(report(shown), { width })).lines.find((line) => line.startsWith('columns left out'));
    expect([await left(rows, 95), await left(rows, 80), await left(rows, 70)]).toEqual([
      'columns left out: last ten; a wider terminal shows them',
      'columns left out: last failure, last ten; a wider terminal shows them',
      'columns left out: last failure, error, last ten; a wider terminal',
    ]);
    const calm = [rowOf('a', { ...FAILING, failingSince: undefined }), rowOf('b', { state: 'off' })];
    expect(await left(calm, 80)).toBe('columns left out: failing since; a wider terminal shows them');
  });

  const FREIGHT = 'Harbour Freight Lines';
  const HILL = { who: 'Hill & Sons of the Hill', address: 'hooks.hill.example/in' };
  test.each<[string, RegExp, readonly Partial<Health>[]]>([
    ['names', /^for$/, [{ who: FREIGHT, address: 'hooks.harbour.example/in' }, HILL]],
    ['names that some rows lack', /^for$/, [{ who: FREIGHT, address: 'hooks.harbour.example/in' }, {}]],
    [
      'addresses where two rows have one name',
      /^for +address$/,
      [{ who: HILL.who, address: 'hooks.hill.example/other' }, HILL],
    ],
    [
      'addresses where one row has several names',
      /^for +address$/,
      [{ who: FREIGHT, address: 'hooks.harbour.example/in', isShared: true }, HILL],
    ],
    ['addresses without names', /^address$/, [{ address: 'hooks.harbour.example/in' }, {}]],
  ])('has %s in place of ids on a narrow terminal', async (_, head, whos) => {
    const rows = whos.map((who, index) => rowOf(`${index}`, { ...FAILING, ...who }));
    const heads = async (width?: number) =>
      (await printed(report(rows), width === undefined ? {} : { width })).lines[0]?.split(
        / +(?:state|failed)/,
      )[0];
    expect(await heads(48)).toMatch(head);
    expect(await heads()).toMatch(/^(for +)?address +subscriptionId$/);
  });

  test('has names and ids where two rows have one name and no address', async () => {
    const { lines } = await printed(report(['a', 'b'].map((id) => rowOf(id, { ...FAILING, who: 'Ann' }))), {
      width: 60,
    });
    expect(lines[0]).toMatch(/^for +subscriptionId/);
  });
});

describe('every format of events health', () => {
  const by = [memberPath('subscriptionId'), parseFieldPath('data.kind', '--by')];
  const whole = report(
    [
      rowOf(null, {
        ...FAILING,
        values: ['=1', 'x'],
        edge: true,
        lastError: '=1+1',
        who: 'Ann',
        address: 'a.example',
        silentSince: instant('02:30:00'),
        usualGapSeconds: 5,
      }),
      rowOf(null, { values: [null, { a: 7 }] }),
    ],
    { by },
  );

  test('CSV has the fields and members in columns, and no cell that a spreadsheet runs', async () => {
    const { lines } = await printed(whole, { format: 'csv' });
    expect(readCsv(lines.join('\n').replaceAll(/\r?\n/g, '\r\n'))).toEqual([
      [
        ...['subscriptionId', 'data.kind', 'name', 'state', 'failed', 'events', 'failingSince', 'edge'],
        ...['lastFailed', 'lastError', 'lastSuccess', 'silentSince', 'usualGapSeconds', 'recent'],
      ],
      [
        ...["'=1", 'x', 'Ann', 'failing', '1200', '4000', '2026-11-20T08:00:00.123Z', 'true'],
        ...[
          '2026-11-20T11:00:00Z',
          "'=1+1",
          '2026-11-20T07:00:00Z',
          '2026-11-20T02:30:00Z',
          '5',
          'FFFFFFFFFS',
        ],
      ],
      ['', '{"a":7}', '', 'ok', '0', '0', '', 'false', '', '', '', '', '', ''],
    ]);
  });

  test('JSON has every member of a row', async () => {
    expect(healthJson(whole)).toEqual([
      {
        by: { subscriptionId: '=1', 'data.kind': 'x' },
        value: '=1',
        name: 'Ann',
        state: 'failing',
        failed: 1200,
        events: 4000,
        failingSince: '2026-11-20T08:00:00.123Z',
        edge: true,
        lastFailed: '2026-11-20T11:00:00Z',
        lastError: '=1+1',
        lastSuccess: '2026-11-20T07:00:00Z',
        silentSince: '2026-11-20T02:30:00Z',
        usualGapSeconds: 5,
        recent: 'FFFFFFFFFS',
      },
      {
        by: { subscriptionId: null, 'data.kind': { a: 7 } },
        value: null,
        name: null,
        state: 'ok',
        failed: 0,
        events: 0,
        failingSince: null,
        edge: false,
        lastFailed: null,
        lastError: null,
        lastSuccess: null,
        silentSince: null,
        usualGapSeconds: null,
        recent: '',
      },
    ]);
    const lines = async (format: 'json' | 'ndjson') => (await printed(whole, { format })).lines;
    expect(JSON.parse((await lines('json')).join(''))).toEqual(healthJson(whole));
    expect((await lines('ndjson')).filter(Boolean).map((line) => JSON.parse(line))).toEqual(
      healthJson(whole),
    );
  });

  test.each<[string | null, Partial<Health>]>([
    ['Ann', { who: 'Ann', address: 'a.example' }],
    ['a.example', { who: null, address: 'a.example' }],
    ['a.example', { who: 'Ann', address: 'a.example', isShared: true }],
    ['Ann', { who: 'Ann', address: null, isShared: true }],
    [null, {}],
  ])('names a row %s', (name, who) => {
    expect(healthJson(report([rowOf('a', who)]))[0]?.name).toBe(name);
  });

  test('Markdown has the table above what it is about', async () => {
    expect((await printed(whole, { format: 'markdown' })).lines).toEqual([
      '| for | address | subscriptionId | data.kind | state | failed | silent for | failing since | last failure | error | last success | last ten |',
      '| --- | --- | --- | --- | --- | ---: | --- | --- | --- | --- | --- | --- |',
      '| Ann | a.example | =1 | x | failing | 1,200 of 4,000 | 9 h 30 min, usually every 5 s | 2026-11-20T08:00:00Z or earlier | 2026-11-20T11:00:00Z | =1+1 | 2026-11-20T07:00:00Z | ✗✗✗✗✗✗✗✗✗· |',
      '| - | - | - | {"a":7} | ok | 0 of 0 | - | - | - | - | - |  |',
      '',
      '*1 of 2 failing, 0 recovered, 1 silent for unusually long, from 2026-11-20 00:00Z to 2026-11-20 12:00Z; from events.ndjson; --type order.paid: `hooktrail events health`*',
      '',
    ]);
  });
});
