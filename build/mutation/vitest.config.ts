import { defineConfig } from 'vitest/config';
import { CORES } from './cores.ts';
import { keptProcess } from './kept-process.ts';

const core = CORES[process.env['HOOKTRAIL_MUTATION_CORE'] ?? ''];
const { tests = [], without = '$^', hangsAfterMs = 30_000 } = core ?? {};

/** The tests of one core, with nothing built, in one process, not threads, since tests change the folder. */
export default defineConfig({
  plugins: [
    {
      name: 'kept process',
      // Stryker overrides the option `pool`.
      configureVitest({ project }) {
        project.config.pool = keptProcess.name;
        project.config.poolRunner = keptProcess;
      },
    },
  ],
  test: {
    env: { HOOKTRAIL_TEST_SEED: '20261120' },
    globalSetup: ['test/support/run-folder.ts'],
    setupFiles: [
      'build/mutation/forget-last-change.mjs',
      'test/support/setup.ts',
      'build/mutation/load-core.mjs',
    ],
    sequence: { setupFiles: 'list' },
    provide: { shape: 'published' },
    testTimeout: hangsAfterMs,
    hookTimeout: hangsAfterMs,
    expect: { poll: { timeout: 10_000 } },
    pool: 'forks',
    isolate: false,
    include: [...tests],
    testNamePattern: new RegExp(`^(?!.*(?:${without}))`),
    exclude: ['test/**/*.process.test.ts'],
  },
});
