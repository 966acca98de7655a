import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { spawnHooktrail } from '../support/process.ts';
import { startSearching } from '../support/searching.ts';

/** Runs the program, and returns which of Node's public modules its process had loaded at its end. */
async function modulesLoadedBy(args: readonly string[], env: Readonly<Record<string, string>>) {
  const folder = env['HOME'] as string;
  const [preload, list] = [path.join(folder, 'list-modules.cjs'), path.join(folder, 'modules.json')];
  const names = "process.moduleLoadList.map((name) => name.replace(/^NativeModule /, ''))";
  await writeFile(
    preload,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(list)}, JSON.stringify(${names})));`,
  );
  const options = `${env['NODE_OPTIONS'] ?? ''} --require="${preload}"`;
  const result = await spawnHooktrail(args, { env: { ...env, NODE_OPTIONS: options } });
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(await readFile(list, 'utf8')) as string[];
}

// Each takes a tenth of the time of an empty Node to load, or more.
test('a search with a ready token loads no HTTP/2, and nothing that starts programs, decompresses or encrypts', async () => {
  await using at = await startSearching({ events: 3 });
  const loaded = await modulesLoadedBy(['events', 'search', '--json'], at.env);
  expect(loaded).toContain('http');
  for (const name of [
    'http2',
    'child_process',
    'crypto',
    'fs/promises',
    'readline',
    'worker_threads',
    'zlib',
  ])
    expect(loaded).not.toContain(name);
});

test('--help into a pipe loads no network, no cryptography and no streams', async () => {
  await using home = await createHome();
  const loaded = await modulesLoadedBy(['--help'], home.env);
  for (const name of ['child_process', 'crypto', 'http', 'net', 'stream', 'tty'])
    expect(loaded).not.toContain(name);
});
