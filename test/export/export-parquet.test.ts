import { readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, test } from 'vitest';
import { NO_DAY_FOLDER } from '../../src/export/partitions.ts';
import { clock } from '../support/clock.ts';
import { type Exporting, rowsOf, startExporting } from '../support/exporting.ts';
import { itemOf, knownOf } from '../support/shape.ts';

const asParquet = ['--format', 'parquet', '--page-size', '5'];
const byDay = ['--partition', 'day'];

const rowsIn = async (at: Exporting) => {
  const files = (await at.parts()).map((name) => readFile(path.join(at.directory, name)));
  return (await Promise.all((await Promise.all(files)).map(rowsOf))).flat();
};

/** What a search finds in the export is what it finds at the service. */
async function expectSame(at: Exporting, ...flags: string[]): Promise<void> {
  const { stdout, code, stderr } = await at.search('--ndjson', '--from', at.directory, ...flags);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toBe((await at.search('--ndjson', ...flags)).stdout);
}

const ago = (minutes: number) => new Date(clock.now() - minutes * 60_000).toISOString();

describe('events export --format parquet', () => {
  test.each([[[]], [byDay]])('holds each event once, in the bytes of the service %j', async (by) => {
    await using at = await startExporting({ events: 300 });
    const { code, stderr } = await at.export(...asParquet, ...by);
    const files = await at.parts();
    const { parts, ...manifest } = await at.manifest();
    expect([code, stderr]).toEqual([
      0,
      `exported: 300 events in ${files.length} files in ${at.directory}, all that match before ${manifest['pin']}\n`,
    ]);
    expect(files.every((name) => /(^|^date=[-\d]{10}\/)part-\d{6}\.parquet$/.test(name))).toBe(true);
    expect(parts.map(({ file }) => file)).toEqual(expect.arrayContaining(files));
    expect(manifest).toMatchObject({ version: 1, fileFormat: 'parquet', gzip: false, events: 300 });
    await expectSame(at);
    await expectSame(at, '--failed', '--since', '3d');
    const items = (await rowsIn(at)).map(({ item }) => `${item}\n`);
    expect(items.sort().join('')).toBe((await at.search('--ndjson')).stdout.match(/.+\n/g)?.sort().join(''));
    expect((await at.export(...asParquet, ...by)).stderr).toMatch(/^verified: 300 events in \d+ files/);
  });

  test('has the known fields as columns, wherever an item has them', async () => {
    await using at = await startExporting({ events: 20 });
    expect((await at.export(...asParquet)).code).toBe(0);
    for (const { item, createdOn, createdOnText, ...row } of await rowsIn(at)) {
      const { createdOn: text, ...known } = knownOf(JSON.parse(item as string));
      expect(createdOnText).toBe(text);
      expect(row).toEqual(known);
      const [, fraction = ''] = /\.(\d+)Z$/.exec(text) ?? [];
      const micros = Number(fraction.slice(0, 6).padEnd(6, '0'));
      expect(createdOn).toBe(BigInt(Math.floor(Date.parse(text) / 1000)) * 1_000_000n + BigInt(micros));
    }
  });

  test('keeps every byte of odd events, and leaves a column empty where the event has no such field', async () => {
    await using at = await startExporting({ events: 3 });
    // What the service goes by.
    const storedTimes = [undefined, undefined, '2026-11-18T23:30:00.9999999Z', '1969-12-31T23:59:59.5Z'];
    const fields = [
      { createdOn: undefined, publishStatus: undefined, eventType: null },
      { createdOn: 'yesterday', subscriptionId: 7 },
      { createdOn: '2026-11-19T00:30:00.9999999+01:00', text: '\u{1F600} ß \\ud800' },
      { createdOn: '1969-12-31T23:59:59.5Z', long: 'x'.repeat(1_500_000) },
    ];
    const texts = fields.map((given, index) => {
      const eventId = `00000000-0000-4000-8000-00000000000${index}`;
      const item = JSON.stringify(itemOf({ eventId, ...given, n: 1 })).replace(
        '"n":1',
        '"n":9007199254740993,"n":1.10,"e":1e400,"u":"\\ud800\\u0000"',
      );
      at.control.addEvent({ eventId, json: item, createdOn: storedTimes[index] ?? ago(60) });
      return item;
    });
    expect((await at.export(...asParquet, ...byDay)).code).toBe(0);
    const rows = await rowsIn(at);
    const odd = texts.map((text) => rows.find(({ item }) => item === text));
    expect(odd.map((row) => [row?.['createdOn'] ?? null, row?.['createdOnText'] ?? null])).toEqual([
      [null, null],
      [null, 'yesterday'],
      [1_795_044_600_999_999n, '2026-11-19T00:30:00.9999999+01:00'],
      [-500_000n, '1969-12-31T23:59:59.5Z'],
    ]);
    expect(odd[0]).toMatchObject({ publishStatus: null, eventType: null });
    expect(odd[1]).toMatchObject({ subscriptionId: '7' });
    expect((await at.parts()).filter((name) => name.startsWith(NO_DAY_FOLDER)).length).toBeGreaterThan(0);
    const stored = (await at.search('--ndjson', '--from', at.directory)).stdout.trimEnd().split('\n');
    expect(stored).toEqual(expect.arrayContaining(texts));
    expect(stored).toHaveLength(7);
  });

  test.each([[[]], [byDay]])(
    'is updated, and each event is there once, as it was last read %j',
    async (by) => {
      await using at = await startExporting({ events: 60, tokenLifetimeSeconds: 864_000 });
      expect((await at.export(...asParquet, ...by)).code).toBe(0);
      const changed = at.control.store.newestIds(1)[0] as string;
      at.control.setStatus(changed, 'FAILED');
      clock.advance(3_600_000);
      for (let added = 0; added < 7; added++) at.control.addEvent();
      clock.advance(5_000);
      expect((await at.export(...asParquet, ...by, '--update')).code).toBe(0);
      await expectSame(at);
      expect(await rowsIn(at)).toHaveLength(67);
    },
  );

  test('a file that is cut is kept aside and downloaded again', async () => {
    await using at = await startExporting({ events: 30 });
    expect((await at.export(...asParquet)).code).toBe(0);
    const [file = ''] = await at.parts();
    await truncate(path.join(at.directory, file), 1000);
    const torn = await at.search('--from', at.directory);
    expect([torn.code, torn.stderr]).toEqual([
      1,
      expect.stringMatching(/is 1000 instead of \d+ bytes long\n/),
    ]);
    expect((await at.export(...asParquet)).stderr).toContain(
      `it is kept as damaged-${file}.1, and its events`,
    );
    await expectSame(at);
  });

  test('is another export than one of NDJSON, and holds nothing in a file that can be read', async () => {
    await using at = await startExporting({ events: 0 });
    expect((await at.export('--format', 'parquet')).code).toBe(0);
    expect(await rowsOf(await readFile(path.join(at.directory, 'part-000001.parquet')))).toEqual([]);
    expect((await at.search('--json', '--from', at.directory)).stdout).toBe('[]\n');
    expect(await at.export()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('\n  --format: parquet there, not given here\n'),
    });
    expect((await at.export('--format', 'ndjson')).code).toBe(2);
  });

  test('a manifest whose files have the names of another format is damaged', async () => {
    await using at = await startExporting({ events: 5 });
    expect((await at.export('--format', 'parquet')).code).toBe(0);
    const file = path.join(at.directory, 'manifest.json');
    await writeFile(file, (await readFile(file, 'utf8')).replace('000001.parquet', '000001.ndjson'));
    expect((await at.search('--from', at.directory)).stderr).toContain('manifest.json is damaged\n');
  });
});

describe('--from FILE.parquet', () => {
  test('reads one file of an export, and events are checked as in any file', async () => {
    await using at = await startExporting({ events: 40 });
    expect((await at.export('--format', 'parquet')).code).toBe(0);
    const file = path.join(at.directory, 'part-000001.parquet');
    expect((await at.search('--ndjson', '--from', file)).stdout).toBe((await at.search('--ndjson')).stdout);
    await writeFile(
      file,
      Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'item', data: ['{"a":'] }] })),
    );
    expect((await at.search('--from', file)).code).toBe(1);
  });

  test('that has no events as an export has them, or is cut anywhere, is an error that names it', async () => {
    await using at = await startExporting({ events: 40 });
    expect((await at.export('--format', 'parquet')).code).toBe(0);
    const file = path.join(at.directory, 'part-000001.parquet');
    const whole = await readFile(file);
    const other = { columnData: [{ name: 'id', data: ['a', 'b'] }] };
    await writeFile(file, Buffer.from(parquetWriteBuffer(other)));
    expect(await at.search('--from', file)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`error: ${file} has no column \`item\` with the text of each event\n`),
    });
    for (const bytes of [4, 8, 1000, whole.length - 5, whole.length - 1]) {
      await writeFile(file, whole.subarray(0, bytes));
      const { code, stderr } = await at.search('--from', file);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`error: ${file} cannot be read as Parquet: `),
      ]);
    }
    for (let from = 4; from < whole.length; from += Math.ceil(whole.length / 40)) {
      const changed = Buffer.from(whole);
      changed.fill(0xff, from, from + 3);
      await writeFile(file, changed);
      // A change in a text may leave it JSON; nothing else may happen than an error or that.
      const { code, stderr } = await at.search('--json', '--from', file);
      expect([code, stderr]).toEqual([expect.any(Number), expect.not.stringContaining('internal')]);
      expect([0, 1]).toContain(code);
    }
  });
});
