import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, inject } from 'vitest';
import { clock } from './clock.ts';
import { leftSince } from './running.ts';
import { randomOf, sampleSize, seed } from './seed.ts';
import { useShape } from './shape.ts';

/** Runs before each test file: replaces what the machine would give to the test's process. */

const machine = createRequire(import.meta.url)('./given-machine.cjs') as {
  giveDate(now: () => number): void;
  giveHome(home: string): void;
};
const home = path.join(inject('folder'), 'home');
mkdirSync(home, { recursive: true });
process.env['HOME'] = home;
process.env['TMPDIR'] = inject('folder');
machine.giveHome(home);
machine.giveDate(() => clock.now());
// The hooks of the file before may have moved it, as by an export that waits for its end.
clock.reset();
useShape(inject('shape'));
fc.configureGlobal({ seed, numRuns: sampleSize(12, 100) });

// A file may begin where the last one of its worker ended, in a folder that is gone.
const folder = path.join(import.meta.dirname, '../..');
let restoreClock: () => void;
let endLeft: () => Promise<unknown>;
beforeEach(({ task, onTestFailed }) => {
  restoreClock = clock.held();
  endLeft = leftSince();
  const random = randomOf(task.fullName ?? task.name);
  Math.random = () => random.float();
  onTestFailed(() => console.error(`replay with HOOKTRAIL_TEST_SEED=${seed}`));
});
// This is the first hook, so that it ends after those of the test file.
afterEach(async () => {
  try {
    await endLeft();
  } finally {
    restoreClock();
    process.chdir(folder);
  }
});
