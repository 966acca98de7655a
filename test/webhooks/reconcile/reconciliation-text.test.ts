import { describe, expect, test } from 'vitest';
import type { Call } from '../../../src/command.ts';
import { EventFilters } from '../../../src/filters/event-filters.ts';
import type { FormatOptions } from '../../../src/formats/format-options.ts';
import { knownInstant, parseInstant } from '../../../src/time/instant.ts';
import { TimeZone } from '../../../src/time/time-zone.ts';
import type { ReconciliationReport } from '../../../src/webhooks/reconcile/reconcile.ts';
import type { MissingGroup } from '../../../src/webhooks/reconcile/reconciliation.ts';
import {
  adviseAfter,
  headlineOf,
  printReconciliation,
} from '../../../src/webhooks/reconcile/reconciliation-text.ts';
import { createContext } from '../../support/context.ts';
import { fakeOutput, fakeReporter, reporterTo } from '../../support/outputs.ts';

const instant = (time: string) => parseInstant(`2026-11-20T${time}Z`);
const after = knownInstant(Date.parse('2026-11-20T00:00:00Z'));
const before = knownInstant(Date.parse('2026-11-21T00:00:00Z'));
const NOTHING_MISSING = { records: 0, failed: 0, succeeded: 0 };
const EMPTY: ReconciliationReport = {
  after,
  before,
  file: { name: 'had.csv', column: undefined },
  received: 5,
  records: 1200,
  both: 1200,
  groups: [],
  gaps: [],
  missing: NOTHING_MISSING,
  failedButReceived: 0,
  receivedTwice: 0,
  notInWindow: 0,
  severalReceivers: 0,
  bounds: { first: undefined, last: undefined },
  addressOf: () => undefined,
  labelOf: () => undefined,
};
const SINCE = { flag: '--since', text: '2026-11-20', time: { kind: 'instant', instant: after } } as const;
const UNTIL = { flag: '--until', text: '2026-11-21', time: { kind: 'instant', instant: before } } as const;

const group = (
  subscriptionId: string | null,
  hour: string | null,
  status: MissingGroup['status'],
  count: number,
  first?: string,
  last = first,
): MissingGroup => ({
  subscriptionId,
  hour: hour === null ? null : `2026-11-20T${hour}`,
  status,
  count,
  first: first === undefined ? undefined : instant(first),
  last: last === undefined ? undefined : instant(last),
});

interface Given {
  readonly zone?: string;
  readonly format?: FormatOptions['format'];
  readonly from?: string;
  readonly since?: boolean;
  readonly until?: boolean;
  readonly width?: number;
}

const optionsOf = ({ zone = 'UTC', format = 'table', from, since = false, until = false }: Given) => ({
  format: { format, list: 'events' } as const,
  filters: new EventFilters({
    zone: new TimeZone(zone),
    values: { eventType: ['order.paid'] },
    after: since ? SINCE : undefined,
    before: until ? UNTIL : undefined,
  }),
  from,
});

/** Returns the lines that are printed for a report. */
async function printed(parts: Partial<ReconciliationReport>, given: Given = {}): Promise<string[]> {
  const stdout = fakeOutput(given.width);
  const call = {
    context: createContext({ stdout }),
    reporter: fakeReporter(),
    commands: { root: { rawArgs: ['webhooks', 'reconcile', '--received', 'had.csv'] } },
  } as unknown as Call;
  await printReconciliation({ ...EMPTY, ...parts }, optionsOf(given), call);
  return stdout.text.split('\n');
}

const addressOf = (id: string) => (id === 'b' ? 'https://b.example/hook' : undefined);
const labelOf = (id: string) => (id === 'b' ? 'https://b.example/hook, off' : 'gone');
const gap = (subscriptionId: string | null, count: number, milliseconds: number) => {
  const first = Date.parse('2026-11-20T10:00:00.250Z');
  return { subscriptionId, count, first, last: first + milliseconds };
};
const GAPS = [
  gap('a', 2, 1000),
  gap('b', 1007, 3_600_000),
  gap(null, 6, 999),
  gap('a', 5, 0),
  gap('a', 4, 60_000),
  gap('a', 3, 1000),
];

describe('the headline', () => {
  test.each<[string, Partial<ReconciliationReport>]>([
    ['no records to compare with', { records: 0 }],
    ['nothing is missing: had.csv has all 1,200 records', {}],
    [
      '1 of 1,200 records is missing: 1 of unknown outcome',
      { missing: { records: 1, failed: 0, succeeded: 0 } },
    ],
    [
      '1,100 of 1,200 records are missing: 1,050 FAILED, 20 delivered to your endpoint and lost afterwards, 30 of unknown outcome',
      { missing: { records: 1100, failed: 1050, succeeded: 20 } },
    ],
    ['2 of 1,200 records are missing: 2 FAILED', { missing: { records: 2, failed: 2, succeeded: 0 } }],
  ])('%s', (text, parts) => {
    expect(headlineOf({ ...EMPTY, ...parts })).toBe(text);
  });
});

const GROUPS = [
  group('b', '10:00:00Z', 'FAILED', 2, '10:30:00', '10:31:00'),
  group('a', '09:00:00Z', 'SUCCESS', 1, '09:20:00'),
  group('b', '09:00:00Z', 'FAILED', 1, '09:10:00.5'),
  group('b', null, null, 1000),
  group('a', '10:00:00Z', null, 1, '10:05:00'),
  group(null, '08:00:00Z', 'SUCCESS', 1500, '08:00:00'),
  group('b', '09:00:00Z', 'SUCCESS', 4, '09:40:00', '09:50:00'),
];
const SOME = { groups: GROUPS, missing: { records: 9, failed: 3, succeeded: 5 }, records: 10 };
const HEADLINE =
  '9 of 10 records are missing: 3 FAILED, 5 delivered to your endpoint and lost afterwards, 1 of unknown outcome';

describe('the tables', () => {
  const HOURS = [
    'hour               missing  FAILED  SUCCESS',
    '-                    1,000       0        0',
    '2026-11-20 08:00Z    1,500       0    1,500',
    '2026-11-20 09:00Z        6       1        5',
    '2026-11-20 10:00Z        3       2        0',
  ];

  test('have the subscriptions with most missing records first, and the hours in order', async () => {
    expect(await printed(SOME)).toEqual([
      `${HEADLINE}, since 2026-11-20 00:00Z`,
      '',
      'subscriptionId  missing  FAILED  SUCCESS  first                 last',
      '-                 1,500       0    1,500  2026-11-20 08:00:00Z  2026-11-20 08:00:00Z',
      'b                 1,007       3        4  2026-11-20 09:10:00Z  2026-11-20 10:31:00Z',
      'a                     2       0        1  2026-11-20 09:20:00Z  2026-11-20 10:05:00Z',
      '',
      ...HOURS,
      '',
    ]);
  });

  test('name the addresses that are known, and what is off or gone', async () => {
    expect((await printed({ ...SOME, addressOf, labelOf })).slice(2)).toEqual([
      'address                      subscriptionId  missing  FAILED  SUCCESS  first                 last',
      '-                            -                 1,500       0    1,500  2026-11-20 08:00:00Z  2026-11-20 08:00:00Z',
      'https://b.example/hook, off  b                 1,007       3        4  2026-11-20 09:10:00Z  2026-11-20 10:31:00Z',
      'gone                         a                     2       0        1  2026-11-20 09:20:00Z  2026-11-20 10:05:00Z',
      '',
      ...HOURS,
      '',
    ]);
  });

  test('are in the zone of the run, whose hours may not begin at full hours', async () => {
    const groups = [group('a', '14:30:00+05:30', 'FAILED', 1, '09:10:00'), group('a', null, 'FAILED', 1)];
    expect(await printed({ ...SOME, groups }, { zone: 'Asia/Kolkata', until: true })).toEqual([
      `${HEADLINE}, from 2026-11-20 05:30+05:30 to 2026-11-21 05:30+05:30`,
      '',
      'subscriptionId  missing  FAILED  SUCCESS  first                      last',
      'a                     2       2        0  2026-11-20 14:40:00+05:30  2026-11-20 14:40:00+05:30',
      '',
      'hour                    missing  FAILED  SUCCESS',
      '-                             1       1        0',
      '2026-11-20 14:30+05:30        1       1        0',
      '',
    ]);
    expect((await printed({ ...SOME, groups: groups.slice(1) })).slice(2, 4)).toEqual([
      'subscriptionId  missing  FAILED  SUCCESS  first  last',
      'a                     1       1        0  -      -',
    ]);
  });

  test('have days instead of more than 36 hours', async () => {
    const hours = Array.from({ length: 37 }, (_, index) => {
      const hour = new Date(Date.UTC(2026, 10, 18, 20 + index)).toISOString().replace('.000', '');
      return { ...group('a', null, 'FAILED', 1, '09:10:00'), hour };
    });
    const inHours = await printed({ ...SOME, groups: hours.slice(1) });
    expect([inHours.length, ...inHours.slice(5, 7)]).toEqual([
      43,
      'hour               missing  FAILED  SUCCESS',
      '2026-11-18 21:00Z        1       1        0',
    ]);
    expect((await printed({ ...SOME, groups: [...hours, group('a', null, null, 2)] })).slice(5)).toEqual([
      'day         missing  FAILED  SUCCESS',
      '-                 2       0        0',
      '2026-11-18        4       4        0',
      '2026-11-19       24      24        0',
      '2026-11-20        9       9        0',
      '',
    ]);
  });

  test('is of the subscriptions in Markdown, above the notes', async () => {
    const given = { format: 'markdown', from: 'events.ndjson', until: true } as const;
    expect(await printed({ ...SOME, receivedTwice: 2 }, given)).toEqual([
      '| subscriptionId | missing | FAILED | SUCCESS | first | last |',
      '| --- | ---: | ---: | ---: | --- | --- |',
      '| - | 1,500 | 0 | 1,500 | 2026-11-20 08:00:00Z | 2026-11-20 08:00:00Z |',
      '| b | 1,007 | 3 | 4 | 2026-11-20 09:10:00Z | 2026-11-20 10:31:00Z |',
      '| a | 2 | 0 | 1 | 2026-11-20 09:20:00Z | 2026-11-20 10:05:00Z |',
      '',
      `*${HEADLINE}; from events.ndjson; from 2026-11-20 00:00Z to 2026-11-21 00:00Z; ` +
        'had.csv has 2 ids more than once: handled twice?; --type order.paid: ' +
        '`hooktrail webhooks reconcile --received had.csv --since 2026-11-20T00:00:00Z --until 2026-11-21T00:00:00Z`*',
      '',
    ]);
  });
});

describe('the notes', () => {
  test('name the five largest gaps, by the id where the address is unknown', async () => {
    const lines = await printed(
      { gaps: GAPS, addressOf, labelOf, failedButReceived: 1 },
      { zone: 'Asia/Kolkata' },
    );
    expect(lines).toEqual([
      'nothing is missing: had.csv has all 1,200 records, since 2026-11-20 05:30+05:30',
      '',
      'gap: all 1,007 records of https://b.example/hook from 2026-11-20 15:30:00+05:30 to 2026-11-20 16:30:00+05:30 (1 h)',
      'gap: all 6 records from 2026-11-20 15:30:00+05:30 to 2026-11-20 15:30:01+05:30',
      'gap: all 5 records of a from 2026-11-20 15:30:00+05:30 to 2026-11-20 15:30:00+05:30',
      'gap: all 4 records of a from 2026-11-20 15:30:00+05:30 to 2026-11-20 15:31:00+05:30 (1 min)',
      'gap: all 3 records of a from 2026-11-20 15:30:00+05:30 to 2026-11-20 15:30:01+05:30 (1 s)',
      'had.csv has 1 record that the service calls FAILED',
      '',
    ]);
  });

  test.each<[string, Partial<ReconciliationReport>]>([
    ['had.csv has 1 record that the service calls FAILED', { failedButReceived: 1 }],
    ['had.csv has 1,000 records that the service calls FAILED', { failedButReceived: 1000 }],
    ['had.csv has 1 id more than once: handled twice?', { receivedTwice: 1 }],
    ['had.csv has 2,000 ids that this window does not have, which proves nothing', { notInWindow: 2000 }],
    [
      '1 event went to several subscriptions: the file has only the event id, so all records of such an event count as received; --subscription compares one',
      { severalReceivers: 1 },
    ],
  ])('%s', async (text, parts) => {
    expect((await printed(parts)).slice(1)).toEqual(['', text, '']);
  });

  test('are wrapped to the terminal', async () => {
    const lines = await printed({ receivedTwice: 1, severalReceivers: 3 }, { width: 80 });
    expect(lines.slice(2)).toEqual([
      'had.csv has 1 id more than once: handled twice?',
      '3 events went to several subscriptions: the file has only the event id, so all',
      'records of such an event count as received; --subscription compares one',
      '',
    ]);
  });
});

test('JSON has every number, and the groups and gaps with their times in UTC', async () => {
  const [first, unknown] = [GROUPS[0] as MissingGroup, group(null, null, null, 1000)];
  const groups = [first, unknown, group('a', null, 'SUCCESS', 3)];
  const counts = { failedButReceived: 1, receivedTwice: 2, notInWindow: 3, severalReceivers: 4 };
  const parts = { ...SOME, groups, gaps: GAPS.slice(0, 1), both: 1, addressOf, labelOf, ...counts };
  const lines = await printed(parts, { format: 'json', zone: 'Asia/Kolkata' });
  expect(JSON.parse(lines.join('\n'))).toEqual({
    after: '2026-11-20T00:00:00Z',
    before: '2026-11-21T00:00:00Z',
    received: 5,
    records: 10,
    both: 1,
    missing: {
      records: 9,
      failed: 3,
      succeeded: 5,
      groups: [
        {
          by: { subscriptionId: 'b', 'createdOn:hour': '2026-11-20T10:00:00Z' },
          address: 'https://b.example/hook',
          status: 'FAILED',
          count: 2,
          first: '2026-11-20T10:30:00Z',
          last: '2026-11-20T10:31:00Z',
        },
        {
          by: { subscriptionId: null, 'createdOn:hour': null },
          address: null,
          status: null,
          count: 1000,
          first: null,
          last: null,
        },
        {
          by: { subscriptionId: 'a', 'createdOn:hour': null },
          address: null,
          status: 'SUCCESS',
          count: 3,
          first: null,
          last: null,
        },
      ],
      gaps: [
        {
          subscriptionId: 'a',
          count: 2,
          first: '2026-11-20T10:00:00.250Z',
          last: '2026-11-20T10:00:01.250Z',
        },
      ],
    },
    failedButReceived: 1,
    receivedTwice: 2,
    notInWindow: 3,
  });
});

describe('the next step', () => {
  const MISSING = { missing: { records: 1, failed: 1, succeeded: 0 }, both: 7 };
  const NONE = { ...MISSING, both: 0 };
  const column = (...others: string[]) => ({ index: 0, name: 'order_id', others, isGuessed: false });

  interface Asked extends Given {
    readonly received?: string;
    readonly receivedField?: string;
  }

  function advised(parts: Partial<ReconciliationReport>, asked: Asked): string[] {
    const said: string[] = [];
    const reporter = reporterTo((line) => void said.push(line));
    const { received = 'had.csv', receivedField } = asked;
    const options = { ...optionsOf(asked), received, receivedField, concurrency: 1 };
    adviseAfter({ ...EMPTY, ...parts }, options, { reporter });
    return said;
  }

  const RECOVER = 'notice: next: `hooktrail webhooks recover --received';
  const TYPE = '--type order.paid';
  test.each<[string, string[], Partial<ReconciliationReport>, Asked?]>([
    ['is none if nothing is missing', [], {}],
    [
      'recovers what is missing in an open window, and nothing created since',
      [
        `${RECOVER} had.csv --since 2026-11-20T00:00:00Z --until 2026-11-21T00:00:00Z ${TYPE} --forward-to URL\`: recovers exactly these`,
      ],
      MISSING,
      { since: true },
    ],
    [
      'recovers what is missing up to the end of a window, by the same column',
      [
        `${RECOVER} had.csv --since 2026-11-20T00:00:00Z --until 2026-11-21T00:00:00Z ${TYPE} --received-field order --forward-to URL\`: recovers exactly these`,
      ],
      MISSING,
      { since: true, until: true, receivedField: 'order' },
    ],
    [
      'has a file for ids that were piped',
      [
        `${RECOVER} FILE --since 2026-11-20T00:00:00Z --until 2026-11-21T00:00:00Z ${TYPE} --forward-to URL\`, with the piped ids saved as FILE: recovers exactly these`,
      ],
      MISSING,
      { received: '-' },
    ],
    [
      'has a file for ids of a command that the shell ran',
      [expect.stringContaining('--received FILE')],
      MISSING,
      { received: '/dev/fd/63' },
    ],
    [
      'lists what is missing of stored events, for a replay',
      [
        `notice: next: \`hooktrail webhooks reconcile --ndjson --received had.csv ${TYPE} --received-field order --from events.ndjson\` lists them, for \`hooktrail webhooks replay --from - --forward-to URL\``,
      ],
      MISSING,
      { from: 'events.ndjson', receivedField: 'order' },
    ],
    [
      'lists what is missing in the window of stored events',
      [
        `notice: next: \`hooktrail webhooks reconcile --ndjson --received had.csv --since 2026-11-20T00:00:00Z --until 2026-11-21T00:00:00Z ${TYPE} --from events.ndjson\` lists them, for \`hooktrail webhooks replay --from - --forward-to URL\``,
      ],
      MISSING,
      { from: 'events.ndjson', since: true, until: true },
    ],
    [
      'pipes the stored events again',
      [
        `notice: next: \`… | hooktrail webhooks reconcile --ndjson --received had.csv ${TYPE} --from -\` lists them, for \`hooktrail webhooks replay --from - --forward-to URL\``,
      ],
      MISSING,
      { from: '-' },
    ],
    [
      'is another column if none of the ids was found',
      [
        "usage: --received: the window has none of the ids in had.csv; they were taken from 'order_id'; --received-field 'event' takes another column that holds GUIDs",
      ],
      { ...NONE, file: { name: 'had.csv', column: column('event', 'other') } },
    ],
    [
      'is to recover if no column has other ids',
      [
        "usage: --received: the window has none of the ids in had.csv; they were taken from 'order_id'",
        expect.stringContaining(RECOVER),
      ],
      { ...NONE, file: { name: 'had.csv', column: column() } },
    ],
    [
      'is to recover if the file has no columns',
      ['usage: --received: the window has none of the ids in had.csv', expect.stringContaining(RECOVER)],
      NONE,
    ],
    ['warns of nothing if there are no records', [], { records: 0, both: 0 }],
  ])('%s', (_, expected, parts, asked = {}) => {
    expect(advised(parts, asked)).toEqual(expected);
  });
});
