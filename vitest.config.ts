import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    // Most tests start the whole program; on a machine of two cores a start can take a second.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // They wait for processes and clocks more than they compute: one at a time would leave the machine idle.
    maxWorkers: 3,
  },
});
