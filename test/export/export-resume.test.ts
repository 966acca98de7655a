import { once } from 'node:events';
import { readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { startExporting } from '../support/exporting.ts';
import { editJson, times } from '../support/sandbox.ts';
import { idsOf } from '../support/searching.ts';

const small = ['--page-size', '10'];

test('a part that was cut, changed or removed is downloaded again, and a half-written one is dropped', async () => {
  await using exporting = await startExporting({ events: 1_000 });
  await exporting.export(...small);
  const lines = await exporting.lines();
  const manifest = path.join(exporting.directory, 'manifest.json');
  const finished = JSON.parse(await readFile(manifest, 'utf8'));
  await writeFile(manifest, JSON.stringify({ ...finished, finishedAt: null }));
  const part = (n: number) => path.join(exporting.directory, finished.parts[n].file);
  await truncate(part(1), 100);
  await rm(part(3));
  const text = await readFile(part(4), 'utf8');
  await writeFile(part(4), text.replace('SUCCESS', 'SUCCESs'));
  await writeFile(`${part(5)}.0123456789abcdef.tmp`, '{"half');
  const asked = exporting.queries().length;
  const { code, stderr } = await exporting.export(...small);
  expect(code).toBe(0);
  expect(stderr).toMatch(
    new RegExp(
      `^warning: part-000002.ndjson is 100 instead of \\d+ bytes long; it is kept as damaged-part-000002.ndjson.1, and its events will be downloaded again\n` +
        'warning: part-000004.ndjson is missing; its events will be downloaded again\n' +
        'warning: part-000005.ndjson was changed: its checksum differs; it is kept as damaged-part-000005.ndjson.1, and its events will be downloaded again\n' +
        'continuing: ',
    ),
  );
  expect(await exporting.lines()).toBe(lines);
  expect(exporting.queries().length - asked).toBeLessThan(60);
  await expect(stat(`${part(5)}.0123456789abcdef.tmp`)).rejects.toThrow('ENOENT');
});

describe('a finished export', () => {
  test('is verified without any request, also when signed out', async () => {
    await using exporting = await startExporting({ events: 300 });
    await exporting.export(...small);
    const asked = exporting.queries().length;
    await exporting.sandbox.close();
    const { code, stderr } = await exporting.export();
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^verified: 300 events .*; nothing was downloaded\n$/),
    ]);
    expect(exporting.queries()).toHaveLength(asked);
  });
});

describe('while it runs', () => {
  test('an event that joins a file while it is read is in the export', async () => {
    await using exporting = await startExporting({ events: 300 });
    // It joins the first page when that was read, before the second one is.
    const run = () => void exporting.control.addEvent({ createdOn: '2026-11-20T11:59:59.5Z' });
    exporting.control.fault('events', ...times(4, { kind: 'pass' }), { kind: 'run', run });
    expect(await exporting.export('--page-size', '100')).toMatchObject({ code: 0 });
    expect([...(await exporting.ids())].sort()).toEqual(exporting.control.store.newestIds(301).sort());
  });

  test.each([[[]], [['--where', 'eventId']]])(
    'every event created before its end is in it, also of the second in which it began %j',
    async (flags) => {
      await using exporting = await startExporting({ events: 20 });
      clock.advance(300);
      // One event is created with each request, and one when the export is finished.
      const run = () => void exporting.control.addEvent();
      exporting.control.fault('events', ...times(100, { kind: 'run', run }));
      const { code, stderr } = await exporting.export(...flags);
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('exported: ') });
      run();
      const pin = (await exporting.manifest())['pin'] as string;
      const before = await exporting.search('--ndjson', '--until', pin);
      expect([...(await exporting.ids())].sort()).toEqual(idsOf(before.stdout).sort());
    },
  );

  test('a service that counts more than it returns is reported, and the export is not finished', async () => {
    await using exporting = await startExporting({ events: 100 });
    const miscounting = editJson((page) => ({ ...page, count: page.count === 100 ? 103 : page.count }));
    exporting.sandbox.control.fault('events', ...times(300, miscounting));
    const { code, stderr } = await exporting.export();
    expect([code, stderr]).toEqual([1, expect.stringContaining('error: the result is not complete')]);
    expect((await exporting.manifest())['finishedAt']).toBeNull();
  });
});

test('an export that another process took over ends, says so, and leaves the directory to it', async () => {
  await using at = await startExporting({ events: 2_000 });
  const lock = path.join(at.directory, '.lock');
  const run = async ({ socket }: IncomingMessage) => {
    // Another process claims the lock, and the answer never arrives: this one notices when it gives its next
    // sign of life.
    await writeFile(path.join(lock, '99.lock'), '{}');
    await once(socket, 'close');
  };
  at.sandbox.control.fault('events', { kind: 'pass' }, { kind: 'run', run });
  const { code, stderr } = await at.run(['events', 'export', at.directory], {
    context: { lockRhythm: { beat: 20, silence: 20_000 } },
  });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining(
      `error: another hooktrail process took over the export ${at.directory}, since this one gave no sign of life\n` +
        'next: run the command again when that process has ended\n',
    ),
  });
});
