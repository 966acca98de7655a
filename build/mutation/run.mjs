/** `npm run mutation [-- CORE… [-- STRYKER'S OPTIONS]]`: changes the cores in one place after another. */
import { spawnSync } from 'node:child_process';
import { CORES } from './cores.ts';

const here = import.meta.dirname;
const end = process.argv.indexOf('--');
const names = process.argv.slice(2, end === -1 ? undefined : end);
const options = end === -1 ? [] : process.argv.slice(end + 1);
const unknown = names.filter((name) => !(name in CORES));
if (unknown.length > 0)
  throw new Error(`no such core: ${unknown.join(', ')}; there are ${Object.keys(CORES).join(', ')}`);

for (const core of names.length > 0 ? names : Object.keys(CORES)) {
  const { status } = spawnSync(
    `${here}/node_modules/.bin/node`,
    [
      `${here}/node_modules/@stryker-mutator/core/bin/stryker.js`,
      'run',
      `${here}/stryker.config.mjs`,
      ...options,
    ],
    { stdio: 'inherit', env: { ...process.env, HOOKTRAIL_MUTATION_CORE: core } },
  );
  if (status !== 0) process.exitCode = 1;
}
