import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { startSearching } from '../support/searching.ts';
import { startRefreshing } from '../support/signing-in.ts';

const asked = ['__complete', 'events', 'search', '--type', ''];
const nothing = { code: 0, stdout: 'words\n', stderr: '' };

test.each([[['event-types', '--match', 'nothing has this']], [['events', 'stats']]])(
  'event types are those that the service listed to %j last',
  async (command) => {
    await using searching = await startSearching();
    const { env } = searching;
    expect(await hooktrail(asked, { env })).toEqual(nothing);
    expect((await hooktrail(command, { env })).code).toBe(0);
    const requests = searching.sandbox.log.length;
    const { code, stdout, stderr } = await hooktrail(asked, { env });
    expect(searching.sandbox.log).toHaveLength(requests);
    const [directive, ...names] = stdout.trimEnd().split('\n');
    expect([code, directive, stderr]).toEqual([0, 'words', '']);
    const { stdout: listed } = await hooktrail(['event-types', '--json'], { env });
    const types = JSON.parse(listed).map((type: Record<string, string>) => Object.values(type)[0]);
    expect(names.map((name) => name.trim())).toEqual(types);
  },
);

test('a name that would act on a terminal, or end its line, is not offered', async () => {
  await using searching = await startSearching();
  const { env } = searching;
  const items = ['a.b', 'a\u001b]0;x\u0007', 'c\nd', 'e\tf'].map((name) => ({ name }));
  const body = JSON.stringify({ href: 'x', count: items.length, items });
  searching.sandbox.control.fault('event-types', { kind: 'status', status: 200, body });
  expect((await hooktrail(['event-types', '--json'], { env })).code).toBe(0);
  expect(await hooktrail(asked, { env })).toEqual({ ...nothing, stdout: 'words\na.b\t\n' });
});

test('the Tab key does not refresh the token', async () => {
  await using at = await startRefreshing();
  const before = at.sandbox.log.length;
  expect(await at.run(asked)).toEqual(nothing);
  expect(at.sandbox.log.slice(before)).toEqual([]);
});

test('without a service, or with one that never listed its types, nothing is offered and nothing fails', async () => {
  await using searching = await startSearching();
  const { HOOKTRAIL_BASE_URL: _, ...without } = searching.env;
  expect(await hooktrail(asked, { env: without })).toEqual(nothing);
  const unreachable = { ...searching.env, HOOKTRAIL_BASE_URL: 'http://127.0.0.1:9' };
  expect(await hooktrail(asked, { env: unreachable })).toEqual(nothing);
  expect(await hooktrail(asked, { env: { ...searching.env, HOOKTRAIL_BASE_URL: 'no URL' } })).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
});

test('--timezone offers the names of zones, ignoring case', async () => {
  await using home = await createHome();
  const complete = async (typed: string) =>
    (await hooktrail(['__complete', 'events', 'search', '--timezone', typed], { env: home.env })).stdout;
  expect(await complete('europe/ber')).toBe('words\nEurope/Berlin\t\n');
  expect(await complete('lo')).toBe('words\nlocal\t\n');
  expect(await complete('Asia/Kol')).toBe('words\nAsia/Kolkata\t\n');
});
