import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCsv } from '../../support/csv-reader.ts';
import { type Searching, startSearching } from '../../support/searching.ts';
import { hasTerminal, startOnTerminal } from '../../support/terminal.ts';

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
  test('all list the same events in the same order', async () => {
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

  test('an array stays valid when the service fails on the way', async () => {
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

  test.skipIf(!hasTerminal)('a terminal that tells no size has 80 columns', async () => {
    await using slow = await startSearching({ events: 3, latencyMs: 500 });
    const terminal = startOnTerminal(['events', 'search', '--no-color'], { env: slow.env, columns: 0 });
    expect(await terminal.finished).toBe(0);
    expect(terminal.screen).toContain('searching');
    const rows = shownLines(terminal.screen).slice(0, 4);
    expect(rows[0]).toMatch(/^createdOn/);
    expect(rows.every((row) => row.length <= 80)).toBe(true);
  });

  test.skipIf(!hasTerminal)('progress leaves nothing between the rows on one terminal', async () => {
    await using slow = await startSearching({ events: 130, latencyMs: 300 });
    const args = ['events', 'search', '--all', '--page-size', '50', '--concurrency', '1', '--no-color'];
    const terminal = startOnTerminal(args, { env: slow.env, columns: 100 });
    expect(await terminal.finished).toBe(0);
    expect(terminal.screen).toContain('searching: ');
    // What comes after the rows is the next step it offers.
    const rows = shownLines(terminal.screen).slice(0, 131);
    expect(rows.map((line) => line.split(/ {2,}/)[3])).toEqual([
      'eventId',
      ...slow.sandbox.control.store.newestIds(130),
    ]);
  });
});

/** The lines that stay on a terminal, as far as a spinner's line can be drawn over: none of its frames holds a line feed. */
function shownLines(screen: string): string[] {
  return screen
    .split('\r\n')
    .slice(0, -1)
    .map((line) => {
      const text = line.slice(line.lastIndexOf('\u001b[1G') + 1);
      return text.replace(/^\[1G/, '').replace(/\u001b\[[?\d;]*[a-zA-Z]/g, '');
    });
}
