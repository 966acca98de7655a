import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCsv } from '../support/outputs.ts';
import { hooktrail } from '../support/program.ts';
import { type Searching, startSearching } from '../support/searching.ts';
import { knownOf, pathInEvent, pathOf } from '../support/shape.ts';

let searching: Searching;
let ids: string[];
beforeAll(async () => {
  searching = await startSearching({ events: 130 });
  ids = searching.sandbox.control.store.newestIds(130);
});
afterAll(() => searching[Symbol.asyncDispose]());
const search = (...args: string[]) => searching.search('--page-size', '50', ...args);
const printed = async (...args: string[]) => {
  const { code, stdout, stderr } = await search(...args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
};

describe('the formats of a search', () => {
  test('list the same events in the same order', async () => {
    const table = (await printed()).split('\n').slice(1, -1);
    expect(table.map((line) => line.split(/ {2,}/)[3])).toEqual(ids);
    // On one page: later pages of the published shape have members that the first has not.
    const csv = readCsv((await searching.search('--csv')).stdout);
    expect(csv.slice(1).map((record) => record[(csv[0] as string[]).indexOf('eventId')])).toEqual(ids);
    const array: object[] = JSON.parse(await printed('--json'));
    expect(array.map((item) => knownOf(item).eventId)).toEqual(ids);
    const lines = ids.map((eventId) => `${JSON.stringify({ eventId })}\n`).join('');
    expect(await printed('--ndjson', '--fields', 'eventId')).toBe(lines);
    const path = pathInEvent('eventId');
    expect(await printed('--jq', `.[].${path}`)).toBe(ids.map((id) => `${id}\n`).join(''));
    expect(await printed('--ndjson', '--jq', `.${path}`)).toBe(ids.map((id) => `${id}\n`).join(''));
  });

  test.each([
    [['--json'], '[]\n', ''],
    [['--ndjson'], '', ''],
    [['--csv'], 'createdOn,publishStatus,eventType,eventId,subscriptionId\r\n', 'no events match\n'],
    [['--csv', '--fields', 'eventId,a.b'], 'eventId,a.b\r\n', 'no events match\n'],
    [[], '', 'no events match\n'],
    [['--jq', 'length'], '0\n', ''],
  ])('nothing matched: %j', async (flags, stdout, stderr) => {
    const none = ['--id', '00000000-0000-4000-8000-000000000000'];
    expect(await search(...none, ...flags)).toEqual({ code: 0, stdout, stderr });
  });

  test('-o markdown says below the table what it shows and how to repeat it', async () => {
    const stdout = await printed(
      '-o',
      'markdown',
      '-n',
      '2',
      '--status',
      'failed,success',
      '--since',
      '2026-11-01',
    );
    const lines = stdout.split('\n');
    expect(lines[0]).toBe(
      '| createdOn | publishStatus | eventType | eventId | subscriptionId | error |'.replace(
        / error \|$/,
        lines[0]?.endsWith(' error |') ? ' error |' : '',
      ),
    );
    expect(lines.slice(2, 4).map((line) => line.split(' | ')[3])).toEqual(ids.slice(0, 2));
    expect(lines.at(-2)).toMatch(
      /^\*2 of \d+ events; 127\.0\.0\.1:\d+; created after 2026-11-01 and before 2026-11-20T12:00:01Z; --status FAILED --status SUCCESS: `hooktrail events search --page-size 50 -o markdown -n 2 --status failed,success --since 2026-11-01 --until 2026-11-20T12:00:01Z`\*$/,
    );
  });

  test('--no-header leaves the titles out of a table and of CSV', async () => {
    const loop = await printed('--fields', 'eventId', '--no-header', '-n', '3');
    expect(loop).toBe(
      ids
        .slice(0, 3)
        .map((id) => `${id}\n`)
        .join(''),
    );
    expect(await printed('--csv', '--fields', 'eventId', '--no-header', '-n', '1')).toBe(`${ids[0]}\r\n`);
  });

  test('HOOKTRAIL_FIELDS chooses the columns of tables and of nothing else', async () => {
    const env = { ...searching.env, HOOKTRAIL_FIELDS: `eventId, ${pathOf('sequence')}` };
    const shown = async (...args: string[]) =>
      (await hooktrail(['events', 'search', '-n', '1', ...args], { env })).stdout;
    expect(await shown()).toMatch(/^eventId +sequence\n[\da-f-]{36} +\d+\n$/);
    expect(await shown('--fields', 'eventType')).toMatch(/^eventType\n/);
    expect(await shown('--csv')).toMatch(/^createdOn,publishStatus,eventType,eventId,subscriptionId,/);
    expect(Object.keys(JSON.parse(await shown('--json'))[0]).length).toBeGreaterThan(2);
  });

  test('an array stays valid if the service fails during the read', async () => {
    await using failing = await startSearching({ events: 130 });
    const page = { kind: 'status', status: 400 } as const;
    failing.sandbox.control.fault('events', { kind: 'pass' }, { kind: 'pass' }, page);
    const { code, stdout, stderr } = await failing.search(
      '--page-size',
      '50',
      '--concurrency',
      '1',
      '--json',
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: /);
    expect(JSON.parse(stdout)).toHaveLength(100);
  });
});
