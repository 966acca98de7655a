import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { hooktrail } from '../support/program.ts';
import { startSearching } from '../support/searching.ts';
import { knownOf } from '../support/shape.ts';

const at = forEachTest(() => startSearching({ events: 400 }));
const WEEK = ['--since', '7d', '--until', '2026-11-21'];
const run = (args: readonly string[], env: object = {}) => hooktrail(args, { env: { ...at.env, ...env } });

const READING =
  'reading the events to count them: the service does not filter by --where, --grep and --marketplace\n';

interface Item {
  readonly headers?: { readonly marketplaceIds: string[] };
  readonly eventData?: { readonly headers: { readonly marketplaceIds: string[] } };
}
const marketplacesOf = ({ headers, eventData }: Item) =>
  (headers ?? eventData?.headers)?.marketplaceIds ?? [];

async function found(...flags: string[]): Promise<Item[]> {
  const { stdout } = await run(['events', 'search', ...WEEK, '--json', ...flags]);
  return JSON.parse(stdout);
}

test('--marketplace keeps what is of it, and a notice says so', async () => {
  const all = await found();
  const wanted = all.filter((item) => marketplacesOf(item).includes('2003')).map(knownOf);
  expect(wanted.length).toBeGreaterThan(3);
  expect((await found('--marketplace', '2003')).map(knownOf)).toEqual(wanted);
  const { stdout, stderr } = await run(['events', 'count', ...WEEK, '--marketplace', '2003']);
  expect([stdout, stderr]).toEqual([`${wanted.length}\n`, `only events of marketplace 2003\n${READING}`]);
  const both = all.filter((item) => marketplacesOf(item).some((id) => ['2003', '2900'].includes(id)));
  expect(await found('--marketplace', '2003, 2900')).toHaveLength(both.length);
});

test('a profile is kept to one marketplace, and --marketplace all takes that back for once', async () => {
  const all = await found();
  const tests = all.filter((item) => marketplacesOf(item).includes('2900'));
  await run(['config', 'set', 'marketplace', '2900']);
  const { stdout, stderr } = await run(['events', 'count', ...WEEK]);
  expect([stdout, stderr]).toEqual([
    `${tests.length}\n`,
    `only events of marketplace 2900, by your settings; --marketplace all shows all\n${READING}`,
  ]);
  expect(await found('--marketplace', 'all')).toHaveLength(all.length);
  for (const command of ['stats', 'health', 'explain']) {
    const counted = JSON.parse((await run(['events', command, ...WEEK, '--json'])).stdout);
    const events =
      command === 'health'
        ? counted.reduce((sum: number, row: { events: number }) => sum + row.events, 0)
        : (counted.events ?? counted.total);
    expect([command, events]).toEqual([command, tests.length]);
  }
  const folder = path.join(at.env['HOME'] as string, 'exported');
  await run(['events', 'export', folder, ...WEEK]);
  const manifest = await readFile(path.join(folder, 'manifest.json'), 'utf8');
  expect(manifest).toMatch(/"marketplace":\s*\[\s*"2900"/);
});

test('a marketplace without events is a warning that names those that have some', async () => {
  const { stderr } = await run(['events', 'search', ...WEEK, '--marketplace', '10000', '--quiet']);
  expect(stderr).toMatch(
    /^warning: --marketplace: no event is of marketplace 10000; there are events of 2001, 2002, 2003(, 2900)? \(\d+ events looked at\)\n/,
  );
  const empty = await run(['events', 'search', '--marketplace', '']);
  expect([empty.code, empty.stderr]).toEqual([
    2,
    expect.stringContaining("--marketplace: invalid value '': must be the id of a marketplace"),
  ]);
});

test('the page of a report says that marketplaces are mixed', async () => {
  const file = path.join(at.env['HOME'] as string, 'page.html');
  const page = async (...flags: string[]) => {
    await run(['events', 'report', file, ...WEEK, ...flags]);
    return await readFile(file, 'utf8');
  };
  expect(await page()).toMatch(
    /events of several marketplaces are mixed here \(2\d{3}, 2\d{3} …\): --marketplace chooses one</,
  );
  expect(await page('--marketplace', '2002')).not.toContain('are mixed here');
});

const MIXED =
  /^events of several marketplaces are mixed here \(2\d{3}, 2\d{3} …\): --marketplace chooses one$/m;

test.each(['health', 'stats', 'stats --by eventType', 'stats --where eventId'])(
  '%s says to people that marketplaces are mixed, unless they are chosen',
  async (command) => {
    const told = async (...flags: string[]) => {
      const { stderr } = await run(['events', ...command.split(' '), ...WEEK, ...flags]);
      return MIXED.test(stderr);
    };
    expect(await told()).toBe(true);
    expect(await told('--quiet')).toBe(false);
    expect(await told('--json')).toBe(false);
    expect(await told('--marketplace', '2001,2002')).toBe(false);
    expect(await told('--marketplace', 'all')).toBe(false);
    await run(['config', 'set', 'marketplace', 'all']);
    expect(await told()).toBe(false);
  },
);

test('events that share a marketplace are not mixed', async () => {
  const all = await found();
  const shared = all.filter((item) => marketplacesOf(item).includes('2001'));
  expect(new Set(shared.map((item) => marketplacesOf(item).join())).size).toBeGreaterThan(1);
  const stdin = shared.map((item) => JSON.stringify(item)).join('\n');
  const { stderr } = await hooktrail(['events', 'health', '--from', '-'], { env: at.env, stdin });
  expect(stderr).toBe('');
});
