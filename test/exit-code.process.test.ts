import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { createHome } from './support/home.ts';
import { spawnHooktrail } from './support/process.ts';

/** File system operations never complete. */
const NEVER = `
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
for (const name of ['open', 'readFile', 'stat', 'lstat']) fs[name] = () => new Promise(() => {});
syncBuiltinESMExports();
`;

test('a command that waits for something that never happens is not a success', async () => {
  await using home = await createHome();
  const never = path.join(home.folder, 'never.mjs');
  await writeFile(never, NEVER);
  const NODE_OPTIONS = `${home.env['NODE_OPTIONS'] ?? ''} --import=${pathToFileURL(never)}`;
  expect(
    await spawnHooktrail(['config', 'set', 'scope', 'event_api'], { env: { ...home.env, NODE_OPTIONS } }),
  ).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: hooktrail ended before its work was done, which is a defect of hooktrail\n' +
      'next: run the command again with --debug, and report what it prints\n',
  });
});
