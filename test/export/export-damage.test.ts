import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { type Exporting, startExporting } from '../support/exporting.ts';
import { idsOf } from '../support/searching.ts';

const small = ['--page-size', '5'];
const PART = 'part-000002.ndjson';

/** Flips one bit in the middle of a part. Resolves to what it held, and what it holds now. */
async function flipBit({ directory }: Exporting, name = PART): Promise<{ whole: Buffer; flipped: Buffer }> {
  const file = path.join(directory, name);
  const whole = await readFile(file);
  const flipped = Buffer.from(whole);
  flipped[whole.length >> 1] = (whole[whole.length >> 1] as number) ^ 1;
  await writeFile(file, flipped);
  return { whole, flipped };
}

const idsIn = (lines: Buffer) => idsOf(lines.toString());

describe('a damaged part of an export', () => {
  test.each([[[]], [['--update']]])(
    'whose events the service has deleted is kept, and the run fails until it is whole again %j',
    async (flags) => {
      await using exporting = await startExporting({ events: 200 });
      const { directory } = exporting;
      expect((await exporting.export(...small)).code).toBe(0);
      const files = await Promise.all(
        (await exporting.parts()).map((name) => readFile(path.join(directory, name))),
      );
      const { whole, flipped } = await flipBit(exporting);
      const kept = idsIn(whole);
      // The service still has five events of that part, and nothing else.
      exporting.forget(files.flatMap(idsIn).filter((id) => !kept.slice(0, 5).includes(id)));
      const first = await exporting.export(...small, ...flags);
      expect([first.code, first.stderr.split('\n').slice(-4)]).toEqual([
        1,
        [
          `error: ${directory} lacks ${kept.length - 5} events that it held before: the service no longer returns them`,
          `  ${PART} has 5 of ${kept.length} events`,
          'next: put an undamaged copy of each such file in its place and run the same command again; the damaged ones are in the same folder as damaged-part-…',
          '',
        ],
      ]);
      expect(await readFile(path.join(directory, `damaged-${PART}.1`))).toEqual(flipped);
      // All other parts are as they were.
      const now = await Promise.all(
        (await exporting.parts()).map((name) => readFile(path.join(directory, name))),
      );
      expect(now.filter((bytes) => files.some((before) => before.equals(bytes)))).toHaveLength(
        files.length - 1,
      );
      expect((await exporting.export(...small, ...flags)).code).toBe(1);
      await writeFile(path.join(directory, PART), whole);
      const restored = await exporting.export(...small);
      expect([restored.code, restored.stderr]).toEqual([
        0,
        expect.stringMatching(/^verified: 200 events in /),
      ]);
      expect((await exporting.ids()).sort()).toEqual(files.flatMap(idsIn).sort());
      expect((await exporting.search('--ndjson', '--from', directory)).code).toBe(0);
    },
  );

  test('that is damaged once more still says how much it held before the first time', async () => {
    await using exporting = await startExporting({ events: 200 });
    const { directory } = exporting;
    expect((await exporting.export(...small)).code).toBe(0);
    const { whole } = await flipBit(exporting);
    const kept = idsIn(whole);
    exporting.forget(kept.slice(5));
    for (const time of ['damaged', 'damaged again']) {
      const { code, stderr } = await exporting.export(...small);
      expect([time, code, stderr]).toEqual([
        time,
        1,
        expect.stringContaining(`\n  ${PART} has 5 of ${kept.length} events\n`),
      ]);
      await flipBit(exporting);
    }
    // The copy of what it held at first is what makes it whole.
    await writeFile(path.join(directory, PART), whole);
    expect(await exporting.export(...small)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^verified: 200 events in /),
    });
  });

  test('whose events the service has deleted is doubted by each command that reads it', async () => {
    await using exporting = await startExporting({ events: 200 });
    const { directory } = exporting;
    expect((await exporting.export(...small)).code).toBe(0);
    const { whole } = await flipBit(exporting);
    const kept = idsIn(whole);
    exporting.forget(kept.slice(5));
    expect((await exporting.export(...small)).code).toBe(1);
    const doubt = `warning: ${path.join(directory, PART)} was damaged: it has 5 of ${kept.length} events\n`;
    for (const command of ['search', 'count', 'stats', 'health', 'explain']) {
      const { code, stderr } = await exporting.run(['events', command, '--from', directory, '--quiet']);
      expect([command, code, stderr]).toEqual([command, 0, expect.stringContaining(doubt)]);
    }
  });

  test('is read again, and --update adds what is new in the same run', async () => {
    await using exporting = await startExporting({ events: 300 });
    const { control } = exporting.sandbox;
    expect((await exporting.export(...small)).code).toBe(0);
    await flipBit(exporting);
    clock.advance(3 * 60_000);
    const added = Array.from({ length: 40 }, () => control.addEvent().eventId);
    clock.advance(2000);
    const { code, stderr } = await exporting.export(...small, '--update');
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^exported: 340 events in /m)]);
    expect(await exporting.ids()).toEqual(expect.arrayContaining(added));
    expect((await exporting.ids()).sort()).toEqual(control.store.newestIds(340).sort());
    expect((await exporting.export(...small)).stderr).toMatch(/^verified: 340 events/);
  });

  test('of before an update holds no event again that the update read, in however many parts', async () => {
    await using exporting = await startExporting({ events: 30, tokenLifetimeSeconds: 86_400 });
    const at = (minutes: number) => new Date(clock.now() - minutes * 60_000).toISOString();
    for (let event = 0; event < 60; event++) exporting.control.addEvent({ createdOn: at(event) });
    expect((await exporting.export('--page-size', '3')).code).toBe(0);
    for (let event = 0; event < 60; event++) exporting.control.addEvent({ createdOn: at(event + 0.4) });
    clock.advance(2000);
    expect((await exporting.export('--page-size', '3', '--update')).code).toBe(0);
    const all = exporting.control.store.newestIds(150).sort();
    expect((await exporting.ids()).sort()).toEqual(all);
    for (const name of await exporting.parts()) {
      await rm(path.join(exporting.directory, name));
      expect(await exporting.export('--page-size', '3')).toMatchObject({ code: 0 });
      expect((await exporting.ids()).sort()).toEqual(all);
    }
  });

  test.each([
    ['that is missing', 'is missing', (file: string) => rm(file)],
    ['that is a folder', 'is not a file', (file: string) => rm(file).then(() => mkdir(file))],
  ])('%s is read again', async (_, why, damage) => {
    await using exporting = await startExporting({ events: 100 });
    expect((await exporting.export(...small)).code).toBe(0);
    const lines = await exporting.lines();
    await damage(path.join(exporting.directory, PART));
    const { code, stderr } = await exporting.export(...small);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`warning: ${PART} ${why}; `)]);
    expect(await exporting.lines()).toBe(lines);
  });

  test('is never replaced by an earlier damaged one', async () => {
    await using exporting = await startExporting({ events: 100 });
    expect((await exporting.export(...small)).code).toBe(0);
    const damaged: Buffer[] = [];
    for (const bit of [1, 2, 3]) {
      const { flipped } = await flipBit(exporting);
      damaged.push(flipped);
      expect((await exporting.export(...small)).code, `${bit}`).toBe(0);
    }
    const names = (await readdir(exporting.directory)).filter((name) => name.startsWith('damaged-')).sort();
    expect(names).toEqual([1, 2, 3].map((number) => `damaged-${PART}.${number}`));
    for (const [index, name] of names.entries())
      expect(await readFile(path.join(exporting.directory, name))).toEqual(damaged[index]);
  });
});
