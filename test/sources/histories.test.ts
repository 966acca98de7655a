import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { type HandlerServer, startHandler } from '../support/handler.ts';
import { createHome, type Home } from '../support/home.ts';
import { hooktrail, startHooktrail } from '../support/program.ts';
import { idsOf } from '../support/searching.ts';
import { faultRounds } from '../support/seed.ts';
import {
  type Change,
  type ChangingService,
  type Manner,
  type Step,
  startChangingService,
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
const stepsOf = (kinds: fc.Arbitrary<string>): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.record({
      after: fc.nat(25),
      change: fc.record({
        kind: kinds,
        failed: fc.boolean(),
        which: fc.nat(60),
      }) as unknown as fc.Arbitrary<Change>,
    }),
    { maxLength: 8 },
  );
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
const history = fc.record({
  manner,
  events: fc.nat(40),
  steps: fc.oneof(stepsOf(joining), stepsOf(leaving)),
  pageSize: fc.integer({ min: 1, max: 9 }),
  concurrency: fc.integer({ min: 1, max: 4 }),
  failedOnly: fc.boolean(),
  /** Of an export. */
  byDay: fc.boolean(),
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

const readingFlags = ({ pageSize, concurrency, failedOnly }: History) => [
  ...['--page-size', `${pageSize}`, '--concurrency', `${concurrency}`],
  ...(failedOnly ? ['--failed'] : []),
];

async function hold(few: number, many: number, run: (history: History, folder: string) => Promise<void>) {
  const property = fc.asyncProperty(history.filter(canBeSeen), async (given) => {
    const restore = clock.held();
    const folder = await mkdtemp(path.join(os.tmpdir(), 'history-'));
    try {
      service.begin(given.manner, given.events, given.steps);
      await run(given, folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
      restore();
    }
  });
  await fc.assert(property, { numRuns: faultRounds(few, many), endOnFailure: false });
}

describe('a service that changes and fails while it is read', { timeout: 1_800_000 }, () => {
  test.each([
    ['search', 120, 4000],
    ['search --reverse', 40, 1500],
  ])('%s', (command, few, many) =>
    hold(few, many, async (given) => {
      service.mark();
      const args = ['events', ...command.split(' '), '--ndjson', ...readingFlags(given)];
      const { code, stdout, stderr } = await hooktrail(args, { env });
      checkOutcome(code, stderr);
      checkIds(
        idsOf(stdout),
        service.matchedThroughout(given.failedOnly),
        code === 0 && !UNSURE.test(stderr),
      );
    }),
  );

  test('watch, in runs of cron, the first of them killed anywhere', () =>
    hold(40, 1500, async (given, folder) => {
      const start = clock.now() + given.manner.ahead * 1000;
      const state = path.join(folder, 'place.json');
      const args = ['events', 'watch', '--ndjson', '--overlap', '1h', '--state', state, '--until', 'now'];
      const flags = given.failedOnly ? ['--failed'] : [];
      const ids: string[] = [];
      const round = async (kill?: number) => {
        const program = startHooktrail([...args, ...flags], { env });
        if (kill !== undefined) setTimeout(() => program.kill('SIGINT'), kill);
        const { code, stdout, stderr } = await program.finished;
        if (kill === undefined) checkOutcome(code, stderr);
        ids.push(...idsOf(stdout));
        return code;
      };
      while ((await round()) !== 0);
      clock.advance(5000);
      await round(given.events % 12);
      clock.advance(5000);
      await round();
      service.settle();
      clock.advance(5000);
      while ((await round()) !== 0);
      checkIds(ids, service.matching(given.failedOnly, start + 1001), true);
    }));

  test('export, killed anywhere and continued, and updated', () =>
    hold(40, 1500, async (given, folder) => {
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
      const killed = startHooktrail(args, { env });
      setTimeout(() => killed.kill('SIGINT'), given.events % 15);
      await killed.finished;
      let code: number | string = 1;
      let isSure = true;
      for (let tries = 0; tries < 6 && code !== 0; tries++) {
        const result = await hooktrail(args, { env });
        checkOutcome(result.code, result.stderr);
        code = result.code;
        isSure = !UNSURE.test(result.stderr);
      }
      if (code !== 0) return;
      checkIds(await exported(), service.matchedThroughout(given.failedOnly), isSure);
      service.settle();
      // Its end is earlier than everything that is created once it is finished.
      const { pin } = JSON.parse(await readFile(path.join(directory, 'manifest.json'), 'utf8'));
      if (!given.failedOnly)
        checkIds(await exported(), service.matching(false, start, Date.parse(pin)), isSure);
      clock.advance(5000);
      const updated = await hooktrail([...args, '--update'], { env });
      checkOutcome(updated.code, updated.stderr);
      checkIds(await exported(), service.matching(given.failedOnly), updated.code === 0 && isSure);
    }));

  test('recover, killed anywhere and continued', () =>
    hold(30, 1500, async (given, folder) => {
      handler.taken.clear();
      const journal = path.join(folder, 'journal');
      const args = [
        'webhooks',
        'recover',
        '--after',
        '2d',
        '--forward-to',
        handler.url,
        '--journal',
        journal,
      ];
      const flags = [...(given.failedOnly ? ['--failed'] : []), '--new-journal'];
      service.mark();
      const killed = startHooktrail([...args, ...flags], { env });
      setTimeout(() => killed.kill('SIGINT'), given.events % 15);
      await killed.finished;
      const { code, stderr } = await hooktrail([...args, ...flags], { env });
      checkOutcome(code, stderr);
      const taken = [...handler.taken];
      expect(taken.filter(([, times]) => times > 1)).toEqual([]);
      const ids = taken.map(([id]) => id);
      checkIds(ids, service.matchedThroughout(given.failedOnly), code === 0 && !UNSURE.test(stderr));
    }));
});
