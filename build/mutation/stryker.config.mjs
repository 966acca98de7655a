import { CORES } from './cores.ts';

const core = process.env['HOOKTRAIL_MUTATION_CORE'];
const { mutate, floor } = CORES[core];

/** One core, as `run.mjs` chooses it. */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'build/mutation/vitest.config.ts', pool: 'forks', related: false },
  mutate,
  // TypeScript 7 has no JavaScript API: the file must not be there, so that nothing is rewritten by it.
  tsconfigFile: 'build/mutation/none.json',
  ignorePatterns: ['coverage', 'dist', 'build/mutation/node_modules', 'docs'],
  coverageAnalysis: 'perTest',
  concurrency: 2,
  timeoutMS: 10_000,
  reporters: ['clear-text', 'json', 'progress-append-only'],
  jsonReporter: { fileName: `coverage/mutation/${core}.json` },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  tempDirName: `coverage/stryker-${core}`,
  thresholds: { high: 95, low: 92, break: floor },
};
