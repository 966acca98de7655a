import { defineConfig } from 'vitest/config';
import { CORES } from './cores.ts';

const { tests = [], without = '$^' } = CORES[process.env['HOOKTRAIL_MUTATION_CORE'] ?? ''] ?? {};

/** The tests of one core, with nothing built, in a process for each worker, since tests change the folder. */
export default defineConfig({
  test: {
    env: { HOOKTRAIL_TEST_SEED: '20261120' },
    globalSetup: ['test/support/run-folder.ts'],
    setupFiles: ['test/support/setup.ts'],
    provide: { shape: 'published' },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 10_000 } },
    pool: 'forks',
    isolate: false,
    include: [...tests],
    testNamePattern: new RegExp(`^(?!.*(?:${without}))`),
    exclude: ['test/**/*.process.test.ts'],
  },
});
