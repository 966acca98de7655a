import { type RunnerTestCase, TestRunner } from 'vitest';
import { randomOf } from './seed.ts';

/** One test in this many runs. */
const SHARE = 3;

/** Runs a sample of the tests, which the run's seed draws, and skips the others. */
export default class SamplingRunner extends TestRunner {
  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    if (randomOf(test.fullName).below(SHARE) !== 0) {
      test.mode = 'skip';
      test.result = { state: 'skip' };
    }
    await super.onBeforeRunTask(test);
  }
}
