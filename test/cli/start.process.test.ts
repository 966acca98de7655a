import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { spawnHooktrail } from '../support/process.ts';
import { startSearching } from '../support/searching.ts';

/** An error code of commander, which survives bundling. */
const COMMANDER_CODE = 'commander.unknownOption';

/** Runs the program, and returns the modules of Node and the files that its process had loaded at its end. */
async function loadedBy(args: readonly string[], env: Readonly<Record<string, string>>) {
  const folder = env['HOME'] as string;
  const [preload, list] = [path.join(folder, 'list-loaded.cjs'), path.join(folder, 'loaded.json')];
  const modules = "process.moduleLoadList.map((name) => name.replace(/^NativeModule /, ''))";
  const loaded = `{ modules: ${modules}, files: Object.keys(require.cache) }`;
  await writeFile(
    preload,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(list)}, JSON.stringify(${loaded})));`,
  );
  const options = `${env['NODE_OPTIONS'] ?? ''} --require="${preload}"`;
  const result = await spawnHooktrail(args, { env: { ...env, NODE_OPTIONS: options } });
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(await readFile(list, 'utf8')) as { modules: string[]; files: string[] };
}

// Each takes a tenth of the time of an empty Node to load, or more.
test('a search with a ready token loads no HTTP/2, and nothing that starts programs, decompresses or encrypts', async () => {
  await using at = await startSearching({ events: 3 });
  const { modules } = await loadedBy(['events', 'search', '--json'], at.env);
  expect(modules).toContain('http');
  for (const name of [
    'http2',
    'child_process',
    'crypto',
    'fs/promises',
    'readline',
    'worker_threads',
    'zlib',
  ])
    expect(modules).not.toContain(name);
});

test('--help into a pipe loads no network, no cryptography, no streams and no commander', async () => {
  await using home = await createHome();
  const { modules, files } = await loadedBy(['--help'], home.env);
  for (const name of ['child_process', 'crypto', 'http', 'net', 'stream', 'tty'])
    expect(modules).not.toContain(name);
  for (const file of files) expect(await readFile(file, 'utf8'), file).not.toContain(COMMANDER_CODE);
});
