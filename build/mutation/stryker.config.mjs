/** `npm run mutation [-- --mutate src/time/time-text.ts]`: docs/testing.md has the figures, and the mutants that are equivalent. */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'build/mutation/vitest.config.ts', pool: 'forks', related: false },
  mutate: ['src/events/merge-pages.ts', 'src/json/item-conditions.ts', 'src/time/time-text.ts'],
  // TypeScript 7 has no JavaScript API: the file must not be there, so that nothing is rewritten by it.
  tsconfigFile: 'build/mutation/none.json',
  ignorePatterns: ['dist', 'build/mutation/node_modules', 'docs'],
  checkers: [],
  coverageAnalysis: 'perTest',
  concurrency: 2,
  timeoutMS: 20_000,
  reporters: ['clear-text', 'progress', 'json'],
  jsonReporter: { fileName: 'coverage/mutation.json' },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  tempDirName: 'coverage/stryker',
  // The share of mutants that the tests notice. It only rises.
  thresholds: { high: 95, low: 92, break: 0 },
};
