import type { IncomingMessage } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { type Exporting, startExporting } from '../support/exporting.ts';
import { times } from '../support/sandbox.ts';
import { randomOf } from '../support/seed.ts';

const small = ['--page-size', '5'];
const isPage = (url = '') => /limit\(\d+,5\)/.test(decodeURIComponent(url));

/** From now on `run` is called before each answer of a search. */
function beforeEach(exporting: Exporting, run: (request: IncomingMessage) => Promise<void>): void {
  exporting.control.fault('events', ...times(5000, { kind: 'run', run }));
}

const sharedFiles = async (exporting: Exporting) =>
  (await exporting.manifest()).parts.filter(({ sha256 }) => sha256).map(({ file }) => file);

test('parts are read side by side, and each that was read is there when the run fails', async () => {
  await using exporting = await startExporting({ events: 500 });
  // Pages of the newest part are held until three others are there; then the service fails.
  const isOfNewest = async (url = '') =>
    decodeURIComponent(url).includes(String((await exporting.manifest())['pin']));
  beforeEach(exporting, async ({ url, socket }) => {
    if (isPage(url) && (await isOfNewest(url)))
      await expect.poll(async () => (await sharedFiles(exporting)).length).toBeGreaterThanOrEqual(3);
    if ((await sharedFiles(exporting).catch(() => [])).length >= 3) socket.destroy();
  });
  const failed = await exporting.export(...small);
  expect(failed.code).toBe(5);
  const files = await sharedFiles(exporting);
  expect(files).not.toContain('part-000001.ndjson');
  expect((await exporting.parts()).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  exporting.control.clearFaults();
  const asked = exporting.queries().length;
  const { code, stderr } = await exporting.export(...small);
  const { parts } = await exporting.manifest();
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining(
      `continuing: ${files.length} of ${parts.length} files are there already\n`,
    ),
  });
  expect(await exporting.lines()).toBe((await exporting.search('--ndjson')).stdout);
  // What was there is not asked for again: of 500 events there are 100 pages of five.
  const pages = exporting
    .queries()
    .slice(asked, -100)
    .filter((query) => query.endsWith(',5)'));
  expect(pages.length).toBeLessThan(100);
});

test.each([1, 2])(
  'events of the second that two parts share are in one of them, in order, however answers come (%i)',
  async (round) => {
    await using exporting = await startExporting({ events: 0 });
    const start = clock.now() - 60_000;
    // Six pages of events in each second.
    for (let event = 0; event < 300; event++)
      exporting.control.addEvent({
        createdOn: new Date(start + Math.floor((event * 1000) / 30)).toISOString(),
      });
    const random = randomOf(`answers ${round}`);
    beforeEach(exporting, async () => {
      for (let turns = random.below(40); turns > 0; turns--) await turn();
    });
    expect(await exporting.export(...small)).toMatchObject({ code: 0 });
    exporting.control.clearFaults();
    expect((await exporting.manifest()).parts.length).toBeGreaterThan(3);
    expect(await exporting.lines()).toBe((await exporting.search('--ndjson')).stdout);
  },
);

test('parts that are read at once send no more requests together than --concurrency says, and half after 429', async () => {
  await using exporting = await startExporting({ events: 700, latencyMs: 5 });
  const atOnce: number[] = [];
  const note = async () =>
    void atOnce.push(exporting.sandbox.log.filter(({ ms }) => ms === undefined).length);
  beforeEach(exporting, note);
  const flags = [...small, '--concurrency', '4'];
  expect(await exporting.export(...flags)).toMatchObject({ code: 0 });
  expect(Math.max(...atOnce)).toBe(4);
  // The same again, with a busy answer in the midst of the pages.
  exporting.control.clearFaults();
  const counts = exporting.queries().findIndex((query) => query.endsWith(',5)'));
  const busy = { kind: 'status', status: 429, headers: { 'retry-after': '1' } } as const;
  exporting.control.fault(
    'events',
    ...times(counts + 6, { kind: 'pass' }),
    busy,
    ...times(4, { kind: 'pass' }),
  );
  atOnce.length = 0;
  beforeEach(exporting, note);
  const other = ['events', 'export', `${exporting.directory}-other`, ...flags];
  expect(await exporting.run(other)).toMatchObject({ code: 0 });
  expect(Math.max(...atOnce)).toBe(2);
});
