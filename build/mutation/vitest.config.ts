import { defineConfig } from 'vitest/config';

/** The source layer alone, for the mutants: nothing is built, and a process of its own for each worker, since tests change the folder. */
export default defineConfig({
  test: {
    env: { HOOKTRAIL_TEST_SEED: '20261120' },
    globalSetup: ['test/support/run-folder.ts'],
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 10_000 } },
    pool: 'forks',
    isolate: false,
    include: (process.env['HOOKTRAIL_MUTATION_TESTS'] ?? 'test/**/*.test.ts').split(','),
    exclude: ['test/**/*.{process,machine}.test.ts', 'test/architecture/**', 'test/docs/**'],
  },
});
