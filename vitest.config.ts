import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { Random } from './src/sandbox/random.ts';
import { isSampled } from './test/support/sampled.ts';

/** Pinned, so that a failure is the change's and not the draw's; `.ci/run` draws another. */
const seed = process.env['HOOKTRAIL_TEST_SEED'] ?? '20261120';

/** With `npm run faults` a test repeats its work many times. */
const isFaultRun = process.env['npm_lifecycle_event'] === 'faults';

const sampling = { runner: 'test/support/sampling-runner.ts' };
const sample = isSampled ? sampling : {};

/** In each run of `.ci/run` another third of the tests run a second time. */
const isWholeRun = process.env['npm_lifecycle_event'] === 'test' && !isSampled;
const sampleOfFlat = isSampled || isWholeRun ? sampling : {};

/** One row of a table in so many is drawn, and one test: of those that run a second time, and of processes. */
const ONE_OF_ROWS = 8;
const ONE_OF_FLAT = isWholeRun ? 3 : 8;
const ONE_OF_PROCESS = 8;

const inFolder = (folder: string) => `test/${folder}/*`;

/** What works on items or hands them on runs again with a service that keeps everything at the top of an item. */
const inBothShapes = [
  ...['about', 'count', 'event-types', 'export', 'find', 'get', 'health', 'mcp', 'search'].map(inFolder),
  ...['listen', 'reconcile', 'recover', 'replay', 'send'].map((name) => inFolder(`webhooks/${name}`)),
  'test/webhooks/{found-events,hand-over}*',
  'test/browse/browse.*',
  'test/cli/{completion-event-types,mixed-streams,screens}*',
  'test/demo/demo*',
  'test/explain/{exact-counts,explain-command}*',
  'test/filters/{event-types,where}*',
  'test/formats/{markdown.process,output-faults,output-file,scripts,table-note}*',
  'test/network/proxies*',
  'test/names/{marketplace-filter,name-filter}*',
  'test/questions/{folds,health-fold}*',
  'test/report/{report,report-page.machine}*',
  'test/sources/{creation-order,from,item-text,stored-doubts,stored-matches}*',
  'test/stats/stats*',
  'test/terminal/inert-text*',
  'test/watch/{watch,watch-command,watch-crash}*',
  'test/{streams,signals}.*',
];

/** Beside them, what has no items of a service: it would run a second time for nothing. */
const inOneShape = [
  'test/about/about-text',
  'test/cli/mixed-streams',
  'test/demo/demo',
  'test/explain/{explain-command-times,explain-commands}',
  'test/export/{export-damage,export-manifest,export-part,export-plan,export-window}',
  'test/export/{part-reader,planted-files}',
  'test/formats/output-file',
  'test/health/{health-text,reported-change}',
  'test/report/report-page',
  'test/search/search-terminal',
  'test/watch/{watch-follower,watch-state}',
  'test/webhooks/listen/{delivery-printer,expected-token,intake,receiver}',
  'test/webhooks/reconcile/reconciliation-text',
  'test/webhooks/recover/forward-retry',
  'test/webhooks/listen/listen{,.hostile,.renewed}',
  'test/webhooks/send/send',
  'test/streams',
];

/**
 * With `npm test` a sixth of these files, which the seed draws: loading a file takes longer than one of its
 * tests.
 */
const drawn = isSampled ? sixthOf(inBothShapes) : inBothShapes;

function sixthOf(files: readonly string[]): string[] {
  const random = new Random(Number(seed));
  const left = [...files];
  while (left.length > files.length / 6) left.splice(random.below(left.length), 1);
  return left;
}

const listsSkipped = 'test/support/machine/requirement.ts';

/** Left to `.ci/run`. */
const flatProcess: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'flat process',
    include: inBothShapes.map((files) => `${files}.process.test.ts`),
    globalSetup: ['test/support/build.ts'],
    isolate: false,
    ...sampleOfFlat,
    provide: { shape: 'flat', draws: 'tests', oneIn: ONE_OF_FLAT },
  },
};

/** Left to `.ci/run`, which installs their tools. */
const machine: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'machine',
    include: ['test/**/*.machine.test.ts'],
    isolate: false,
    globalSetup: ['test/support/build.ts', listsSkipped],
    provide: { shape: 'published' },
  },
};

export default defineConfig({
  test: {
    // A failure names it. The files' order under `--sequence.shuffle` comes from it too.
    env: { HOOKTRAIL_TEST_SEED: seed },
    sequence: { seed: Number(seed) },
    globalSetup: ['test/support/run-folder.ts'],
    setupFiles: ['test/support/setup.ts'],
    // They end a test that hangs: nothing waits for them. A test of 2 s took over 30 s on two cores that were shared by twelve.
    testTimeout: isFaultRun ? 1_800_000 : 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    // They wait for sockets too, and tests of processes for more: one for each of two cores would leave them idle.
    maxWorkers: isSampled ? 3 : 4,
    // Most functions run a few times, and most objects die young: it saves a tenth of the CPU time.
    execArgv: ['--always-sparkplug', '--max-semi-space-size=64'],
    // What one project has translated, the others and the next run read.
    experimental: { fsModuleCache: true },
    // The layer of a test is in its file's name: docs/testing.md.
    projects: [
      {
        extends: true,
        test: {
          name: 'source',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.{process,machine}.test.ts'],
          // Files of a worker share what they load: a third of the time would go into loading it anew for each.
          isolate: false,
          ...sample,
          provide: { shape: 'published', draws: 'rows', oneIn: ONE_OF_ROWS },
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['test/**/*.process.test.ts'],
          globalSetup: ['test/support/build.ts', ...(isSampled ? [listsSkipped] : [])],
          isolate: false,
          ...sample,
          provide: { shape: 'published', draws: 'tests', oneIn: ONE_OF_PROCESS },
        },
      },
      {
        extends: true,
        test: {
          name: 'flat source',
          include: drawn.map((files) => `${files}.test.ts`),
          exclude: ['test/**/*.{process,machine}.test.ts', ...inOneShape.map((files) => `${files}.test.ts`)],
          isolate: false,
          ...sampleOfFlat,
          provide: { shape: 'flat', draws: 'tests', oneIn: ONE_OF_FLAT },
        },
      },
      ...(isSampled ? [] : [flatProcess, machine]),
    ],
  },
});
