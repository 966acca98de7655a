import { inject, type RunnerTestCase, type RunnerTestFile, type RunnerTestSuite, TestRunner } from 'vitest';
import { drawnRows, drawnTests } from './seed.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of so many tests of this project, or of so many rows of its tables, `npm test` runs one. */
    oneIn: number;
    draws: 'tests' | 'rows';
  }
}

/** Runs a sample of the tests, which the run's seed draws, and skips the others: the report counts them. */
export default class SamplingRunner extends TestRunner {
  /** Called when their tests are known. */
  onBeforeRunFiles(files: readonly RunnerTestFile[]): void {
    for (const file of files) sample(file);
  }
}

function sample(file: RunnerTestFile): void {
  const tests = testsOf(file).filter(({ mode }) => mode === 'run' || mode === 'queued');
  const draw = inject('draws') === 'rows' ? drawnRows : drawnTests;
  const drawn = new Set(draw(tests, inject('oneIn')));
  for (const test of tests) {
    if (drawn.has(test)) continue;
    test.mode = 'skip';
    test.result = { state: 'skip' };
  }
  for (const suite of [file, ...suitesOf(file)]) if (!hasTests(suite)) leaveOutHooks(suite);
}

function testsOf(suite: RunnerTestSuite): RunnerTestCase[] {
  return suite.tasks.flatMap((task) => (task.type === 'suite' ? testsOf(task) : [task]));
}

function suitesOf(suite: RunnerTestSuite): RunnerTestSuite[] {
  return suite.tasks.flatMap((task) => (task.type === 'suite' ? [task, ...suitesOf(task)] : []));
}

const hasTests = (suite: RunnerTestSuite) => testsOf(suite).some(({ mode }) => mode !== 'skip');

/** A keychain or a browser would start for nothing. */
function leaveOutHooks(suite: RunnerTestSuite): void {
  const { beforeAll, afterAll } = TestRunner.getSuiteHooks(suite);
  beforeAll.length = 0;
  afterAll.length = 0;
}
