import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { type HandlerServer, startHandler } from '../support/handler.ts';
import { createHome, type Home } from '../support/home.ts';
import { hooktrail, type Result, startHooktrail } from '../support/program.ts';
import { idsOf } from '../support/searching.ts';
import { faultRounds, noteFaults, sampleSize } from '../support/seed.ts';
import {
  type Change,
  type ChangingService,
  type Manner,
  type Step,
  startChangingService,
  TYPES,
} from './changing-service.ts';

/*
 * Commands that read events, while the service changes under them and fails. Whatever the history:
 *   exit 0 means that every event that matched throughout is there, once;
 *   exit 1 says why;
 *   no id comes twice.
 */

let service: ChangingService;
let handler: HandlerServer;
let home: Home;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  [service, handler, home] = await Promise.all([startChangingService(), startHandler(), createHome()]);
  env = {
    ...home.env,
    HOOKTRAIL_BASE_URL: service.baseUrl,
    HOOKTRAIL_VENDOR: 'x',
    HOOKTRAIL_ACCESS_TOKEN: 'token',
    HOOKTRAIL_API_TOKEN: 'secret',
  };
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await handler[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

/**
 * Events that join the pages to come and others that leave those before, in one moment, keep the count as it
 * is: no reader of pages can see that. A history has either the one or the other; events created meanwhile
 * join no read.
 */
const joining = fc.constantFrom('fail', 'add late', 'add', 'add future', 'reorder', '503', 'lost');
const leaving = fc.constantFrom('deliver', 'delete', 'add', 'reorder', '503', 'lost');
const stepsOf = (
  kinds: fc.Arbitrary<string>,
  after = fc.oneof(fc.nat(12), fc.nat(60)),
  length: fc.ArrayConstraints = { maxLength: 8 },
): fc.Arbitrary<Step[]> => {
  const change = fc.record({ kind: kinds, failed: fc.boolean(), which: fc.nat(60) });
  return fc.array(fc.record({ after, change: change as unknown as fc.Arbitrary<Change> }), length);
};
/**
 * With short pages and neither counts nor links nobody can tell the last page. A count that is the one of the
 * answer before is no better: events that join in the middle meanwhile push the last ones behind the page
 * that seems to be the last.
 */
const manner: fc.Arbitrary<Manner> = fc
  .record({
    order: fc.constantFrom('newest first' as const, 'oldest first' as const),
    mostItems: fc.constantFrom(500, 3, 1),
    counts: fc.constantFrom('right' as const, 'right' as const, 'late' as const, 'absent' as const),
    hasLinks: fc.boolean(),
    shape: fc.constantFrom('flat' as const, 'nested' as const, 'mixed' as const),
    ahead: fc.constantFrom(0, 0, 7, -3600),
  })
  .map((given) => (given.counts === 'right' ? given : { ...given, hasLinks: true }));
const parts = {
  manner,
  events: fc.nat(40),
  steps: fc.oneof(stepsOf(joining), stepsOf(leaving)),
  pageSize: fc.integer({ min: 1, max: 9 }),
  concurrency: fc.integer({ min: 1, max: 4 }),
  failedOnly: fc.boolean(),
  /** True for a search of each type, whose events are merged. */
  byType: fc.boolean(),
  /** Of an export. */
  byDay: fc.boolean(),
  /** The number of requests, to the service and to a handler, with which the program is killed. */
  killedAt: fc.nat(30),
};
const history = fc.record(parts);
/** Of exports of several files, which events join while other files are read. */
const joinedExport = fc.record({
  ...parts,
  manner: manner.map((given) => ({ ...given, counts: 'right' as const })),
  events: fc.integer({ min: 24, max: 40 }),
  steps: stepsOf(fc.constant('add late'), fc.integer({ min: 12, max: 45 }), { minLength: 2, maxLength: 4 }),
  pageSize: fc.constant(1),
  failedOnly: fc.constant(false),
});
type History = typeof history extends fc.Arbitrary<infer Value> ? Value : never;

/**
 * An event created in the second of the first answer joins a read after all, at its end where the oldest come
 * first.
 */
function canBeSeen({ manner, steps }: History): boolean {
  const has = (...kinds: string[]) => steps.some(({ change }) => kinds.includes(change.kind));
  return manner.order === 'newest first' || !has('add') || !has('deliver', 'delete');
}

/**
 * Without counts, and without links on pages that are full of them, a command cannot know all, and says so.
 */
const UNSURE = /^warning: the service (does not count its events|sends no time)/m;

function checkOutcome(code: number | string, stderr: string): void {
  expect([0, 1, 5]).toContain(code);
  if (code !== 0) expect(stderr).toMatch(/^error: \S/m);
}

function checkIds(ids: readonly string[], throughout: readonly string[], isWhole: boolean): void {
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  if (isWhole) expect(throughout.filter((id) => !ids.includes(id))).toEqual([]);
}

const filterFlags = ({ failedOnly, byType }: History) => [
  ...(failedOnly ? ['--failed'] : []),
  ...(byType ? TYPES.flatMap((type) => ['--type', type]) : []),
];
const readingFlags = (given: History) => [
  ...['--page-size', `${given.pageSize}`, '--concurrency', `${given.concurrency}`],
  ...filterFlags(given),
];

/**
 * Runs a command to its end, or until that many requests have arrived. What is killed without a request (at
 * each write of a file) is another test's.
 */
async function killedRun(args: readonly string[], requests: number): Promise<Result> {
  const program = startHooktrail(args, { env });
  let left = requests;
  const count = () => {
    if (left === 0) program.kill('SIGINT');
    left -= 1;
  };
  count();
  service.onSearch(count);
  handler.answer = () => {
    count();
    return 200;
  };
  const result = await program.finished;
  left = -1;
  return result;
}

/**
 * Makes up histories. `run` resolves to true if the command answered for sure: an oracle of what such an
 * answer has is worth nothing where there are none, so that at least the given share has to be sure.
 */
async function hold(
  few: number,
  many: number,
  leastSure: number,
  run: (history: History, folder: string) => Promise<boolean>,
  histories: fc.Arbitrary<History> = history,
) {
  let runs = 0;
  let sure = 0;
  const property = fc.asyncProperty(histories.filter(canBeSeen), async (given) => {
    const restore = clock.held();
    const folder = await mkdtemp(path.join(os.tmpdir(), 'history-'));
    try {
      service.begin(given.manner, given.events, given.steps);
      const isSure = await run(given, folder);
      runs += 1;
      if (isSure) sure += 1;
    } finally {
      await rm(folder, { recursive: true, force: true });
      restore();
    }
  });
  await fc.assert(property, {
    numRuns: faultRounds(sampleSize(Math.ceil(few / 3), few), many),
    endOnFailure: false,
  });
  noteFaults(expect.getState().currentTestName as string, runs, sure);
  // Of a few runs chance may take two standard errors.
  expect(sure / runs).toBeGreaterThan(leastSure - 2 * Math.sqrt((leastSure * (1 - leastSure)) / runs));
}

const isSureAnswer = ({ code, stderr }: Result) => code === 0 && !UNSURE.test(stderr);

describe('a service that changes and fails while it is read', { timeout: 1_800_000 }, () => {
  test.each([
    ['search', 40, 4000],
    ['search --reverse', 16, 1500],
  ])('%s', (command, few, many) =>
    hold(few, many, 0.5, async (given) => {
      service.mark();
      const args = ['events', ...command.split(' '), '--ndjson', ...readingFlags(given)];
      const result = await hooktrail(args, { env });
      checkOutcome(result.code, result.stderr);
      const isSure = isSureAnswer(result);
      checkIds(idsOf(result.stdout), service.matchedThroughout(given.failedOnly), isSure);
      return isSure;
    }),
  );

  test('watch, in runs of cron, the second of them killed anywhere', () =>
    hold(14, 1500, 0.4, async (given, folder) => {
      const start = clock.now() + given.manner.ahead * 1000;
      const state = path.join(folder, 'place.json');
      const watch = ['events', 'watch', '--ndjson', '--overlap', '1h', '--state', state, '--until', 'now'];
      const args = [...watch, ...filterFlags(given)];
      const ids: string[] = [];
      const round = async () => {
        const { code, stdout, stderr } = await hooktrail(args, { env });
        checkOutcome(code, stderr);
        ids.push(...idsOf(stdout));
        return code;
      };
      while ((await round()) !== 0);
      clock.advance(5000);
      const killed = await killedRun(args, given.killedAt % 6);
      ids.push(...idsOf(killed.stdout));
      clock.advance(5000);
      await round();
      service.settle();
      clock.advance(5000);
      while ((await round()) !== 0);
      checkIds(ids, service.matching(given.failedOnly, start + 1001), true);
      return killed.code === 130;
    }));

  test.each([
    ['', 14, 1000, history],
    [', whose events change in files that are written', 8, 500, joinedExport],
  ] as const)('export, killed anywhere and continued, and updated%s', (_, few, many, histories) => {
    const run = async (given: History, folder: string) => {
      const directory = path.join(folder, 'export');
      const exported = async () => {
        const all = await readdir(directory, { recursive: true });
        const names = all.filter((name) => path.basename(name).startsWith('part-')).sort();
        const texts = await Promise.all(names.map((name) => readFile(path.join(directory, name), 'utf8')));
        return idsOf(texts.join(''));
      };
      const folders = given.byDay ? ['--partition', 'day'] : [];
      const args = ['events', 'export', directory, ...readingFlags(given), ...folders];
      service.mark();
      const start = clock.now() + given.manner.ahead * 1000;
      await killedRun(args, given.killedAt);
      let code: number | string = 1;
      let isSure = true;
      for (let tries = 0; tries < 6 && code !== 0; tries++) {
        const result = await hooktrail(args, { env });
        checkOutcome(result.code, result.stderr);
        code = result.code;
        isSure = isSureAnswer(result);
      }
      if (code !== 0) return false;
      checkIds(await exported(), service.matchedThroughout(given.failedOnly), isSure);
      // Its end is earlier than everything that is created once it is finished.
      const { pin } = JSON.parse(await readFile(path.join(directory, 'manifest.json'), 'utf8'));
      const end = Date.parse(pin);
      // What came into it while it was read is counted at its end, and read.
      const isCounted = given.manner.counts === 'right';
      checkIds(await exported(), service.joined(given.failedOnly, end), isSure && isCounted);
      service.settle();
      if (!given.failedOnly) checkIds(await exported(), service.matching(false, start, end), isSure);
      clock.advance(5000);
      const updated = await hooktrail([...args, '--update'], { env });
      checkOutcome(updated.code, updated.stderr);
      const isUpToDate = isSure && updated.code === 0;
      checkIds(await exported(), service.matching(given.failedOnly), isUpToDate);
      return isUpToDate;
    };
    return hold(few, many, 0.5, run, histories);
  });

  test('recover, killed anywhere and continued', () =>
    hold(14, 1500, 0.5, async (given, folder) => {
      handler.taken.clear();
      const journal = path.join(folder, 'journal');
      const recover = ['webhooks', 'recover', '--after', '2d', '--forward-to', handler.url];
      const args = [...recover, '--journal', journal, '--new-journal', ...filterFlags(given)];
      service.mark();
      await killedRun(args, given.killedAt);
      const result = await hooktrail(args, { env });
      checkOutcome(result.code, result.stderr);
      const taken = [...handler.taken];
      expect(taken.filter(([, times]) => times > 1)).toEqual([]);
      const ids = taken.map(([id]) => id);
      const isSure = isSureAnswer(result);
      checkIds(ids, service.matchedThroughout(given.failedOnly), isSure);
      return isSure;
    }));
});
