import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { run } from '../support/program.ts';
import { startSearching } from '../support/searching.ts';

const asked = ['__complete', 'events', 'search', '--type', ''];

test('event types come from a cache that another process fills', async () => {
  await using searching = await startSearching();
  const { env } = searching;
  const requests = () => searching.sandbox.log.filter(({ url }) => url.includes('/event-types')).length;
  expect(await run(asked, { env })).toEqual({ code: 0, stdout: 'words\n', stderr: '' });
  const folder = path.join(env['HOOKTRAIL_CONFIG_DIR'] as string, 'cache');
  const cached = async () => {
    const [name] = (await readdir(folder)).filter((file) => file.endsWith('.json'));
    return JSON.parse(await readFile(path.join(folder, name as string), 'utf8'));
  };
  for (let tries = 0; tries < 200 && (await cached()).names.length === 0; tries++) await setTimeout(50);
  const { code, stdout, stderr } = await run(asked, { env });
  const [directive, ...names] = stdout.trimEnd().split('\n');
  expect([code, directive, stderr]).toEqual([0, 'words', '']);
  const { stdout: listed } = await run(['event-types', '--json'], { env });
  const types = JSON.parse(listed).map((type: Record<string, string>) => Object.values(type)[0]);
  expect(names.map((name) => name.trim())).toEqual(types);
  // A cache that is fresh asks nothing: one request filled it, one was the command's.
  expect(requests()).toBe(2);
  await rm(folder, { recursive: true });
});

test('without a service, with a service out of reach or a damaged cache nothing is offered and nothing fails', async () => {
  await using searching = await startSearching();
  const { HOOKTRAIL_BASE_URL: _, ...without } = searching.env;
  const nothing = { code: 0, stdout: 'words\n', stderr: '' };
  expect(await run(asked, { env: without })).toEqual(nothing);
  const unreachable = { ...searching.env, HOOKTRAIL_BASE_URL: 'http://127.0.0.1:9' };
  expect(await run(asked, { env: unreachable })).toEqual(nothing);
  expect(await run(asked, { env: { ...searching.env, HOOKTRAIL_BASE_URL: 'no URL' } })).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
});
