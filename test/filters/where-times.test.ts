import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idsOf, ndjsonOf, type Searching, startSearching } from '../support/searching.ts';

const BERLIN = ['--timezone', 'Europe/Berlin'];

const VISITS = [
  {
    sentOn: '2026-11-20T08:29:58.5001234Z',
    appointment: '2026-11-20T08:30',
    exp: '2026-10',
    born: '1969-12-31',
  },
  { sentOn: '2026-11-20T08:30:00', appointment: '2026-11-20 09:30:00', exp: '2026-11', born: '1970-01-01' },
  {
    sentOn: '2026-11-20T08:30:02.5Z',
    appointment: '2026-11-20T08:30:00+0000',
    exp: '2027-01',
    born: '1985-05-05',
  },
  {
    sentOn: '2026-11-20T09:30:03+01:00',
    appointment: '2026-10-25T02:30:00',
    exp: '2025-12',
    born: '2001-01-01',
  },
].map((fields, index) => ({
  eventId: `0000000${index}-0000-4000-8000-000000000000`,
  eventType: 'visit.booked',
  subscriptionId: '50b2863f-0d3c-4f6a-9d0e-0e9a3c1d2b4f',
  createdOn: `2026-11-20T08:30:0${index}Z`,
  publishStatus: 'SUCCESS',
  ...fields,
}));

let at: Searching;
let file: string;
beforeAll(async () => {
  at = await startSearching({ events: 0 });
  file = path.join(at.env['HOME'] as string, 'visits.ndjson');
  await writeFile(file, ndjsonOf(VISITS));
});
afterAll(() => at[Symbol.asyncDispose]());

const search = (...args: string[]) => at.search('--from', file, ...args);
const found = async (field: string, rest: string, ...flags: string[]) => {
  const { stdout } = await search('--ndjson', '--where', `${field} ${rest}`, ...flags);
  return idsOf(stdout).map((id) => Number(id[7]));
};

describe('a time of the payload without an offset is that of a wall clock', () => {
  test('and is compared as such, in any zone', async () => {
    for (const zone of [[], BERLIN]) {
      expect(await found('appointment', '= 2026-11-20T08:30', ...zone)).toContain(0);
      expect(await found('appointment', '= 2026-11-20 09:30', ...zone)).toContain(1);
      expect(await found('appointment', 'in (2026-10-25 02:30)', ...zone)).toEqual([3]);
      expect(await found('appointment', '< 2026-11-20', ...zone)).toEqual([3]);
    }
    // With an offset it is the same moment for everybody.
    expect(await found('appointment', '= 2026-11-20T08:30')).toEqual([0, 2]);
    expect(await found('appointment', '= 2026-11-20T09:30', ...BERLIN)).toEqual([1, 2]);
  });

  test('and is shown as it is written, beside one with an offset in the zone', async () => {
    const fields = ['--fields', 'appointment', ...BERLIN];
    const times = [
      '2026-11-20T08:30',
      '2026-11-20 09:30:00',
      '2026-11-20T09:30:00+01:00',
      '2026-10-25T02:30:00',
    ];
    const csv = await search('--csv', '--no-header', ...fields);
    expect(csv.stdout.split('\r\n').slice(0, -1)).toEqual(times);
    const table = await search('--no-header', ...fields);
    expect(table.stdout.split('\n').slice(0, -1)).toEqual(times);
    const hours = await search('--csv', '--no-header', '--fields', 'appointment:hour', ...BERLIN);
    expect(hours.stdout.split('\r\n').slice(0, -1)).toEqual(['8', '9', '9', '2']);
  });
});

test('a delay is the time to the creation of the record, in milliseconds', async () => {
  const csv = await search('--csv', '--no-header', '--fields', 'sentOn:delay');
  expect(csv.stdout.split('\r\n').slice(0, -1)).toEqual(['1499.8766', '""', '-500', '0']);
  expect(await found('sentOn:delay', '> 1000')).toEqual([0]);
  const percentiles = await at.run([
    ...['events', 'stats', '--from', file, '--percentiles', 'sentOn:delay', '--json'],
  ]);
  expect(JSON.parse(percentiles.stdout).percentiles).toMatchObject({ numbers: 3, p50: 0, most: 1499.8766 });
});

test('limits of dates compare as dates', async () => {
  expect(await found('exp', '< 2026-11')).toEqual([0, 3]);
  expect(await found('exp', '>= 2026-11-01')).toEqual([1, 2]);
  expect(await found('exp', '= 2026-11')).toEqual([1]);
  expect(await found('born', '< 1970-01-01', ...BERLIN)).toEqual([0]);
});

test('createdOn takes its times in quotes too', async () => {
  const { code, stdout } = await search('--ndjson', '--where', 'createdOn > "2026-11-20 08:30:01"');
  expect({ code, ids: idsOf(stdout).map((id) => id[7]) }).toEqual({ code: 0, ids: ['2', '3'] });
});
