import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { type Exporting, startExporting } from '../support/exporting.ts';
import { startProcess } from '../support/process.ts';
import { times } from '../support/sandbox.ts';
import { idsOf } from '../support/searching.ts';
import { drawnCases, sampleSize } from '../support/seed.ts';
import { inShape, shape } from '../support/shape.ts';

const small = ['--page-size', '10'];
const complete = async (exporting: Exporting) =>
  (await exporting.manifest()).parts.filter(({ sha256 }) => sha256).length;
/**
 * Runs until that many more parts exist; from then on the service does not answer, and the program gets the
 * signal. Returns what it printed.
 */
async function endedAfter(exporting: Exporting, parts: number, signal: NodeJS.Signals, ...args: string[]) {
  const had = await complete(exporting).catch(() => 0);
  const isEnough = async () => (await complete(exporting).catch(() => 0)) >= had + parts;
  const run = async () => {
    if (await isEnough()) await new Promise(() => undefined);
  };
  exporting.control.fault('events', ...times(5000, { kind: 'run', run }));
  const words = ['events', 'export', exporting.directory, ...small, ...args];
  const program = startProcess(words, { env: exporting.env });
  await expect.poll(isEnough, { interval: 10 }).toBe(true);
  program.kill(signal);
  const result = await program.finished;
  exporting.control.clearFaults();
  return result;
}

/** Kills the program without a warning when that many more parts exist. */
async function killedAfter(exporting: Exporting, parts: number, ...args: string[]): Promise<void> {
  expect((await endedAfter(exporting, parts, 'SIGKILL', ...args)).code).toBe('SIGKILL');
}

const parquet = ['--format', 'parquet'];
/** Each takes seconds. */
const few = sampleSize(1, inShape({ published: 2, flat: 1 }));
const FORMS = [[], ['--gzip'], ['--partition', 'day'], parquet, [...parquet, '--partition', 'day']];

describe('after a crash or a signal', () => {
  test.each(drawnCases(`export-resume ${shape}`, few, FORMS).map((form) => [form]))(
    'the same command continues where it stopped %j',
    async (form) => {
      const events = 2_000;
      await using exporting = await startExporting({ events });
      for (const parts of [1, 11]) await killedAfter(exporting, parts, ...form);
      const had = await complete(exporting);
      expect(had).toBeGreaterThan(11);
      const asked = exporting.queries().length;
      const { code, stderr } = await exporting.export(...small, ...form);
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^continuing: \d+ of \d+ files are there/)]);
      expect(await exporting.lines()).toBe((await exporting.search('--ndjson')).stdout);
      // Half of it was there and is not requested again.
      const pages = exporting
        .queries()
        .slice(asked)
        .filter((query) => query.endsWith(',10)'));
      expect(pages.length).toBeLessThan(((events / 10) * 3) / 4);
    },
  );

  test('events that arrive meanwhile stay out: a time such as 7d was resolved once', async () => {
    await using exporting = await startExporting({ events: 5_000 });
    await killedAfter(exporting, 2, '--since', '7d');
    const { pin, queries } = await exporting.manifest();
    clock.set(Date.parse(pin as string) + 1);
    for (let n = 0; n < 30; n++) exporting.sandbox.control.addEvent();
    await killedAfter(exporting, 2, '--since', '7d');
    expect((await exporting.export(...small, '--since', '7d')).code).toBe(0);
    const manifest = await exporting.manifest();
    expect([manifest['pin'], manifest['queries']]).toEqual([pin, queries]);
    const { after } = (queries as { after: string }[])[0] as { after: string };
    const window = ['--after', after, '--before', pin as string];
    expect(await exporting.lines()).toBe((await exporting.search('--ndjson', ...window)).stdout);
  });

  test.each(drawnCases(`changed status ${shape}`, few, [[], ['--partition', 'day']]).map((by) => [by]))(
    'a status that changed between the runs has its last value, and hides no other event %j',
    async (by) => {
      await using exporting = await startExporting({ events: 3_000 });
      await killedAfter(exporting, 3, '--failed', '--page-size', '2', ...by);
      const done = await exporting.ids();
      const all = idsOf((await exporting.search('--failed', '--ndjson')).stdout);
      const healthy = idsOf((await exporting.search('--status', 'SUCCESS', '--ndjson')).stdout);
      for (const id of [done[0], done[1], done.at(-1), all.at(-1)])
        exporting.control.setStatus(id as string, 'SUCCESS');
      for (const id of [healthy[0], healthy.at(-1)]) exporting.control.setStatus(id as string, 'FAILED');
      expect((await exporting.export('--failed', '--page-size', '2', ...by)).code).toBe(0);
      const now = idsOf((await exporting.search('--failed', '--ndjson')).stdout);
      expect((await exporting.ids()).sort()).toEqual(now.sort());
    },
  );

  test('a late event in the second that two parts share is there once', async () => {
    await using exporting = await startExporting({ events: 600 });
    await killedAfter(exporting, 1);
    const first = (await exporting.manifest()).parts[0] as unknown as { after: string; file: string };
    const createdOn = new Date(Date.parse(first.after) + 500).toISOString();
    const late = exporting.sandbox.control.addEvent({ createdOn }).eventId;
    const once = async () => expect((await exporting.ids()).filter((id) => id === late)).toEqual([late]);
    expect((await exporting.export(...small)).code).toBe(0);
    await once();
    // Now the newer part is read once more, and contains the event too.
    await appendFile(path.join(exporting.directory, first.file), '{}\n');
    expect((await exporting.export(...small)).code).toBe(0);
    await once();
    expect(await exporting.ids()).toHaveLength(601);
  });

  test('a signal ends it with 130 and leaves nothing half written', async () => {
    await using exporting = await startExporting({ events: 1_000 });
    const { code, stderr } = await endedAfter(exporting, 2, 'SIGINT');
    expect(code).toBe(130);
    expect(stderr).toMatch(/to resume: run the same command again\n$/);
    expect((await exporting.parts()).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect((await exporting.export(...small)).code).toBe(0);
    expect(await exporting.lines()).toBe((await exporting.search('--ndjson')).stdout);
  });
});
