import { randomInt } from 'node:crypto';
import { defineConfig } from 'vitest/config';
import { projectFiles } from './test/support/projects.ts';

const seed = process.env['HOOKTRAIL_TEST_SEED'] ?? String(randomInt(2 ** 32));

export default defineConfig({
  test: {
    // A failure names it. The files' order under `--sequence.shuffle` comes from it too.
    env: { HOOKTRAIL_TEST_SEED: seed },
    sequence: { seed: Number(seed) },
    globalSetup: ['test/support/run-folder.ts'],
    setupFiles: ['test/support/setup.ts'],
    // They end a test that hangs: nothing waits for them. A test of 2 s took over 30 s on two cores that were shared by twelve.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // They wait for processes and sockets more than they compute: one at a time would leave the machine idle.
    maxWorkers: 4,
    projects: [
      { extends: true, test: { name: 'unit', include: projectFiles('unit'), isolate: false } },
      {
        extends: true,
        test: {
          name: 'program',
          include: projectFiles('program'),
          // Files of a worker share what they load: a third of the time would go into loading it anew for each.
          isolate: false,
          globalSetup: ['test/support/build.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'machine',
          include: projectFiles('machine'),
          globalSetup: ['test/support/build.ts', 'test/support/requirement.ts'],
        },
      },
    ],
  },
});
