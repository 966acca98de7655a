import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { ndjsonOf } from '../support/searching.ts';

const EVENTS = ['Hill; Sons', '=1+1', 5, '5', null, ''].map((plan, index) => ({
  eventId: `0000000${index}-0000-4000-8000-000000000000`,
  eventType: 'order.placed',
  createdOn: `2026-11-01T00:00:0${index}Z`,
  publishStatus: 'SUCCESS',
  plan,
}));

let home: Awaited<ReturnType<typeof createHome>>;
let file: string;
beforeAll(async () => {
  home = await createHome();
  file = path.join(home.folder, 'events.ndjson');
  await writeFile(file, ndjsonOf(EVENTS));
});
afterAll(() => home[Symbol.asyncDispose]());
const events = async (...args: string[]) => {
  const { code, stdout } = await hooktrail(['events', ...args, '--from', file], { env: home.env });
  return { code, lines: stdout.split('\r\n').slice(0, -1) };
};

test('--csv-delimiter parts the cells, and puts those that hold it in quotes', async () => {
  const fields = ['--csv', '--fields', 'plan,eventType', '--reverse', '--limit', '1'];
  expect(await events('search', ...fields, '--csv-delimiter', ';')).toEqual({
    code: 0,
    lines: ['plan;eventType', '"Hill; Sons";order.placed'],
  });
  const tabs = await events('stats', '--csv', '--csv-delimiter', 'tab');
  expect(tabs.lines).toEqual([
    ['eventType', 'total', 'success', 'failed', 'failureRate'].join('\t'),
    ['order.placed', 6, 6, 0, 0].join('\t'),
  ]);
  expect((await events('search', '--csv', '--csv-delimiter', 'x')).code).toBe(2);
});

test('groups that would look alike are JSON, and --csv-raw guards nothing', async () => {
  const groups = ['stats', '--by', 'plan', '--csv', '--no-header'];
  const keys = async (...flags: string[]) =>
    (await events(...groups, ...flags)).lines.map((line) => line.split(/,1,/)[0]).sort();
  expect(await keys()).toEqual(['', '""""""', '"""5"""', "'=1+1", '5', 'Hill; Sons'].sort());
  expect(await keys('--csv-raw')).toContain('=1+1');
});
