import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCsv } from '../../support/csv-reader.ts';
import { type Searching, startSearching } from '../../support/searching.ts';

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
    const csv = readCsv(await printed('--csv'));
    expect(csv.slice(1).map((record) => record[(csv[0] as string[]).indexOf('eventId')])).toEqual(ids);
    expect(JSON.parse(await printed('--json')).map((event: { eventId: string }) => event.eventId)).toEqual(
      ids,
    );
    const lines = ids.map((eventId) => `${JSON.stringify({ eventId })}\n`).join('');
    expect(await printed('--ndjson', '--fields', 'eventId')).toBe(lines);
    expect(await printed('--jq', '.[].eventId')).toBe(ids.map((id) => `${id}\n`).join(''));
    expect(await printed('--ndjson', '--jq', '.eventId')).toBe(ids.map((id) => `${id}\n`).join(''));
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

  test.each([
    [['--jq', '.['], "--jq: '.[' is not a jq program"],
    [['--json', '--csv'], '--json and --csv contradict each other: give one'],
    [['--fields', 'a..b'], "--fields: invalid value 'a..b': a part of 'a..b' is empty"],
  ])('refuses %j', async (flags, message) => {
    const { code, stdout, stderr } = await search(...flags);
    expect({ code, stdout, first: stderr.split('\n')[0] }).toEqual({
      code: 2,
      stdout: '',
      first: `error: ${message}`,
    });
  });
});
