import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Searching, startSearching, valuesIn } from '../support/searching.ts';
import { knownOf, textInShape } from '../support/shape.ts';

const BERLIN = ['--timezone', 'Europe/Berlin'];

/** The clocks of Berlin are put back on 25 October, and October ends on the 31st at 23:00 UTC. */
const TIMES = [
  '2026-09-30T22:00:00Z',
  '2026-10-24T22:00:00Z',
  '2026-10-25T22:59:59.9999999Z',
  '2026-10-25T23:00:00Z',
  '2026-10-31T23:00:00.000Z',
  '2026-11-01T00:00:00Z',
];

let at: Searching;
beforeAll(async () => {
  at = await startSearching({ events: 0 });
  for (const [index, createdOn] of TIMES.entries()) {
    const event = {
      eventId: `0000000${index}-0000-4000-8000-000000000000`,
      eventType: 'invoice.issued',
      subscriptionId: '50b2863f-0d3c-4f6a-9d0e-0e9a3c1d2b4f',
      createdOn,
      publishStatus: index === 1 ? ('FAILED' as const) : ('SUCCESS' as const),
    };
    at.control.addEvent({ ...event, json: textInShape(event) });
  }
});
afterAll(() => at[Symbol.asyncDispose]());

const found = async (...flags: string[]) => {
  const { code, stdout } = await at.search('--ndjson', ...flags);
  expect(code).toBe(0);
  return valuesIn(stdout)
    .map((item) => TIMES.indexOf(knownOf(item).createdOn))
    .sort();
};

describe('--day and --month', () => {
  test.each([
    [
      ['--month', '2026-10', ...BERLIN],
      [0, 1, 2, 3],
    ],
    [
      ['--month', 'Nov 2026', ...BERLIN],
      [4, 5],
    ],
    [
      ['--month', 'october'],
      [1, 2, 3, 4],
    ],
    [['--month', '2026-11'], [5]],
    [
      ['--day', '2026-10-25', ...BERLIN],
      [1, 2],
    ],
    [['--day', '26 Oct', ...BERLIN], [3]],
    [
      ['--day', '2026-11-01', ...BERLIN],
      [4, 5],
    ],
    [['--day', 'yesterday'], []],
  ])('%s has each event in the one that it begins or is in', async (flags, indexes) => {
    expect(await found(...flags)).toEqual(indexes);
  });

  test('send the instants next to both midnights', async () => {
    const { stdout } = await at.search('--day', '2026-10-25', '--dry-run', ...BERLIN);
    expect(stdout).toContain(
      '?gt(createdOn,2026-10-24T21:59:59.9999999Z)&lt(createdOn,2026-10-25T23:00:00Z)&limit(',
    );
    const month = await at.search('--month', '2026-02', '--dry-run');
    expect(month.stdout).toContain(
      '?gt(createdOn,2026-01-31T23:59:59.9999999Z)&lt(createdOn,2026-03-01T00:00:00Z)&',
    );
  });

  test.each([
    [['--day', '2026-10-31', '--since', '2d'], '--day and --since exclude each other'],
    [['--month', '2026-10', '--before', 'today'], '--month and --before exclude each other'],
    [['--day', '2026-10-31', '--month', '2026-10'], '--day and --month exclude each other'],
    [['--day', '2026-10-31 08:00'], "--day: invalid value '2026-10-31 08:00': must be a day"],
    [['--day', '2026-10'], "--day: invalid value '2026-10': must be a day"],
    [['--day', '2026-02-30'], "--day: invalid value '2026-02-30': must be a day"],
    [['--month', '2026-13'], "--month: invalid value '2026-13': must be a month"],
    [['--day', 'tomorrow'], '--day: 2026-11-21 is in the future'],
  ])('%s is refused', async (flags, message) => {
    const { code, stderr } = await at.search(...flags);
    expect(code).toBe(2);
    expect(stderr).toContain(`error: ${message}`);
  });

  test('stay in next steps, and in the command below a table', async () => {
    const tty = { terminal: 120 };
    const hints = await at.run(['events', 'search', '--day', '25 Oct 2026', ...BERLIN], tty);
    expect(hints.stderr).toContain('hooktrail events explain --day 2026-10-25 --timezone Europe/Berlin');
    const { stdout } = await at.search('-o', 'markdown', '--day', '2026-10-25', ...BERLIN);
    expect(stdout).toContain('created since 2026-10-25T00:00:00+02:00 and before 2026-10-26T00:00:00+01:00');
    expect(stdout).toContain(
      '`hooktrail events search -o markdown --timezone Europe/Berlin --since 2026-10-24T21:59:59.9999999Z --until 2026-10-25T23:00:00Z`',
    );
  });

  test('a saved zone is in no next step, which has it anyway', async () => {
    const env = { ...at.env, HOOKTRAIL_TIMEZONE: 'Europe/Berlin' };
    const tty = { env, terminal: 120 };
    const { stderr } = await at.run(['events', 'search', '--month', '2026-10'], tty);
    expect(stderr).toContain('hooktrail events explain --month 2026-10 ');
    expect(stderr).not.toContain('--timezone');
  });
});
