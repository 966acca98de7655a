import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { startExporting } from '../support/exporting.ts';
import { spawnHooktrail, startProcess } from '../support/process.ts';
import { times } from '../support/sandbox.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('an export', () => {
  test('writes what a search prints, in files that the manifest lists', async () => {
    await using exporting = await startExporting({ events: 1500 });
    const { code, stdout, stderr } = await exporting.export('--page-size', '20');
    expect([code, stdout]).toEqual([0, '']);
    const manifest = await exporting.manifest();
    expect(stderr).toBe(
      `exported: 1,500 events in ${manifest.parts.length} files in ${exporting.directory}, all that match before ${manifest['pin']}\n`,
    );
    expect(manifest.parts.length).toBeGreaterThan(5);
    expect(await exporting.lines()).toBe((await exporting.search('--ndjson')).stdout);
    expect(await readdir(exporting.directory)).toEqual([
      '.lock',
      'manifest.json',
      ...manifest.parts.map(({ file }) => file),
    ]);
    for (const { file, sha256: sum, ...part } of manifest.parts as unknown as Record<string, never>[]) {
      const bytes = await readFile(path.join(exporting.directory, file as unknown as string));
      expect([sha256(bytes), bytes.length, bytes.toString().split('\n').length - 1]).toEqual([
        sum,
        part['bytes'],
        part['events'],
      ]);
    }
    expect(manifest).toMatchObject({ events: 1500, filters: {}, gzip: false, queries: [{}] });
    expect(Date.parse(manifest['finishedAt'] as string)).not.toBeNaN();
  });

  test("warns about events dated later than the service's clock, which it leaves out", async () => {
    await using exporting = await startExporting({ events: 100 });
    for (const createdOn of ['2026-11-21T00:01:00.0000001Z', '2027-01-01T00:00:00.0000000Z'])
      exporting.sandbox.control.addEvent({ createdOn, eventType: 'document.signed' });
    const warning =
      "warning: 2 events are dated later than the service's clock and not in this export; --update adds them when their time has come\n";
    const { code, stderr } = await exporting.export();
    expect([code, stderr.startsWith(`${warning}exported: 100 events in `)]).toEqual([0, true]);
    expect((await exporting.export('--update')).stderr).toContain(warning);
    expect((await exporting.export()).stderr).toMatch(/^verified: 100 events/);
  });

  test('--gzip writes files that gunzip reads', async () => {
    await using exporting = await startExporting({ events: 700 });
    expect((await exporting.export('--page-size', '10', '--gzip')).code).toBe(0);
    const parts = await exporting.parts();
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.every((name) => name.endsWith('.ndjson.gz'))).toBe(true);
    expect(await exporting.lines()).toBe((await exporting.search('--ndjson')).stdout);
    expect((await exporting.export('--gzip')).stderr).toMatch(/^verified: 700 events/);
  });

  test('of a name like that of a file is called a directory', async () => {
    await using exporting = await startExporting({ events: 1 });
    const { code, stderr } = await spawnHooktrail(['events', 'export', 'exp.ndjson'], { env: exporting.env });
    expect([code, stderr.split('\n')[0]]).toEqual([
      0,
      'exp.ndjson is a directory of files; for one file: hooktrail events search … --output-file exp.ndjson',
    ]);
  });

  test('accepts filters, also repeated ones, and writes each event once', async () => {
    await using exporting = await startExporting({ events: 2000 });
    const filters = '--type document.signed --type document.created --status success --since 20d'.split(' ');
    expect((await exporting.export('--page-size', '5', ...filters)).code).toBe(0);
    const manifest = await exporting.manifest();
    const before = manifest['pin'] as string;
    const after = (manifest['queries'] as { after: string }[])[0]?.after as string;
    const same = ['--status', 'success', '--after', after, '--before', before];
    // The files of one search follow those of another.
    const signed = await exporting.search('--ndjson', '--type', 'document.signed', ...same);
    const created = await exporting.search('--ndjson', '--type', 'document.created', ...same);
    expect(await exporting.lines()).toBe(signed.stdout + created.stdout);
    expect((await exporting.ids()).length).toBeGreaterThan(100);
  });

  test('passes through every byte of every item', async () => {
    await using exporting = await startExporting({ events: 50 });
    const json =
      '{"eventId":"0f8fad5b-d9cb-469f-a165-70867728950e","n":9007199254740993,"d":1.10,"b":1,"b":2,"s":"\\u00e9"}';
    exporting.sandbox.control.addEvent({ eventId: '0f8fad5b-d9cb-469f-a165-70867728950e', json });
    exporting.sandbox.control.behaviour.pretty = true;
    expect((await exporting.export()).code).toBe(0);
    expect((await exporting.lines()).split('\n')[0]).toBe(json);
  });

  test('without events is also finished', async () => {
    await using exporting = await startExporting({ events: 10 });
    expect((await exporting.export('--after', '2000-01-01', '--before', '2000-01-02')).code).toBe(0);
    expect(await exporting.lines()).toBe('');
    expect((await exporting.manifest())['events']).toBe(0);
  });

  test('many events of one moment stay together', async () => {
    await using exporting = await startExporting({ events: 30 });
    const { control } = exporting.sandbox;
    for (let n = 0; n < 150; n++) control.addEvent({ createdOn: '2026-01-01T12:00:00.0000000Z' });
    for (let n = 0; n < 150; n++) control.addEvent({ createdOn: '2026-01-01T12:00:01.9999999Z' });
    expect((await exporting.export('--page-size', '3')).code).toBe(0);
    expect((await exporting.ids()).sort()).toEqual(control.store.newestIds(330).sort());
  });
});

describe('a directory', () => {
  test('that contains anything else is refused and not changed', async () => {
    await using exporting = await startExporting();
    await mkdir(exporting.directory);
    for (const name of 'gfedcba') await writeFile(path.join(exporting.directory, name), '');
    const { code, stderr } = await exporting.export();
    expect(code).toBe(2);
    expect(stderr).toBe(
      `error: ${exporting.directory} is not empty and holds no export\n  a\n  b\n  c\n  d\n  e\n  and 2 more\n` +
        'next: choose an empty directory, or one that does not exist yet\n',
    );
    expect(await readdir(exporting.directory)).toEqual([...'abcdefg']);
    expect(exporting.queries()).toEqual([]);
  });

  test('that cannot be created or filled is reported; existing content stays intact', async () => {
    await using exporting = await startExporting({ events: 1500 });
    const file = path.join(exporting.env['HOME'] as string, 'file');
    await writeFile(file, '');
    const { code, stderr } = await spawnHooktrail(['events', 'export', path.join(file, 'a', 'b')], exporting);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is a file, or inside one')]);
    // A limit on the size of files replaces a full disk: the manifest fits, the parts do not.
    const full = await promisify(execFile)(
      'sh',
      [
        '-c',
        `ulimit -f 400; exec "$@"`,
        'sh',
        process.execPath,
        inject('program'),
        'events',
        'export',
        exporting.directory,
      ],
      { env: exporting.env },
    ).catch((error) => error);
    expect([full.code, full.stderr]).toEqual([
      1,
      `error: writing to ${exporting.directory} failed: file too large (EFBIG)\n` +
        'next: run the same command again: it continues where this one stopped\n',
    ]);
    expect(await exporting.parts()).toEqual([]);
    expect((await exporting.export()).code).toBe(0);
    expect(await exporting.lines()).toBe((await exporting.search('--ndjson')).stdout);
  });

  test('of the same export with other words for the filters is accepted', async () => {
    await using exporting = await startExporting({ events: 40 });
    await exporting.export('--after', '2026-01-01', '--failed', '--type', 'a', '--type', 'b');
    const same = ['--since', '2026-01-01T01:00:00+01:00', '--status', 'failed', '--type', 'b', '--type', 'a'];
    expect((await exporting.export(...same)).stderr).toMatch(/^verified: /);
  });

  test('accepts one export at a time, by whatever path', async () => {
    await using exporting = await startExporting({ events: 1000 });
    // The first has its lock and its manifest, and waits for an answer.
    const hasBegun = () => existsSync(path.join(exporting.directory, 'manifest.json'));
    const run = async () => {
      if (hasBegun()) await new Promise(() => undefined);
    };
    exporting.control.fault('events', ...times(1000, { kind: 'run', run }));
    const first = startProcess(['events', 'export', exporting.directory, '--page-size', '10'], {
      env: exporting.env,
    });
    await expect.poll(hasBegun).toBe(true);
    const alias = path.join(exporting.env['HOME'] as string, 'alias');
    await symlink(exporting.directory, alias);
    const { code, stderr } = await spawnHooktrail(
      ['events', 'export', alias, '--page-size', '10'],
      exporting,
    );
    expect(code).toBe(1);
    expect(stderr).toBe(
      `error: another export into ${alias} is under way\n  process ${first.pid}\nnext: wait for it, or choose another directory\n`,
    );
    first.kill('SIGINT');
    expect((await first.finished).code).toBe(130);
  });
});
