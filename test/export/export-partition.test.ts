import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { NO_DAY_FOLDER } from '../../src/export/partitions.ts';
import { clock } from '../support/clock.ts';
import { type Exporting, startExporting } from '../support/exporting.ts';
import { editJson, type SandboxOptions, times } from '../support/sandbox.ts';
import { idsOf } from '../support/searching.ts';
import { itemOf, knownOf } from '../support/shape.ts';

const byDay = ['--partition', 'day'];
const small = [...byDay, '--page-size', '5'];

async function startPartitioned(options: SandboxOptions = {}) {
  const at = await startExporting({ tokenLifetimeSeconds: 864_000, ...options });
  /** Returns the text of each file below a folder, by its path. */
  const files = async (): Promise<Record<string, string>> => {
    const names = await readdir(at.directory, { recursive: true });
    const parts = names.filter((name) => /part-[^/]*$/.test(name) && !name.startsWith('damaged-')).sort();
    const texts = parts.map(async (name) => {
      const bytes = await readFile(path.join(at.directory, name));
      return [name, (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()];
    });
    return Object.fromEntries(await Promise.all(texts));
  };
  const ids = async () => idsOf(Object.values(await files()).join(''));
  /** Each event lies in the folder of its day, and no folder is empty. */
  const expectSorted = async () => {
    for (const [name, text] of Object.entries(await files())) {
      const days = text
        .trimEnd()
        .split('\n')
        .map((line) => knownOf(JSON.parse(line)).createdOn.slice(0, 10));
      expect([...new Set(days)].map((day) => `date=${day}`)).toEqual([path.dirname(name)]);
    }
    for (const folder of await folders())
      expect(await readdir(path.join(at.directory, folder))).not.toEqual([]);
  };
  const folders = async () => (await readdir(at.directory)).filter((name) => name.startsWith('date=')).sort();
  /** What a search finds in the export is what it finds at the service. */
  const expectSame = async (...flags: string[]) => {
    const { stdout, code, stderr } = await at.search('--ndjson', '--from', at.directory, ...flags);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe((await at.search('--ndjson', ...flags)).stdout);
  };
  return Object.assign(at, {
    files,
    sortedIds: async () => (await ids()).sort(),
    expectSorted,
    expectSame,
    folders,
  });
}

const ago = (minutes: number) => new Date(clock.now() - minutes * 60_000).toISOString();
const allIds = ({ control }: Exporting) => control.store.newestIds(control.store.size).sort();

describe('events export --partition day', () => {
  test.each([[[]], [['--gzip']]])('puts each event into the folder of its day in UTC %j', async (gzip) => {
    await using at = await startPartitioned({ events: 100 });
    const { code, stderr } = await at.export(...small, ...gzip);
    const { parts, ...manifest } = await at.manifest();
    const names = Object.keys(await at.files());
    expect([code, stderr]).toEqual([
      0,
      `exported: 100 events in ${names.length} files in ${at.directory}, all that match before ${manifest['pin']}\n`,
    ]);
    expect(names.every((name) => /^date=[-\d]{10}\/part-\d{6}\.ndjson(\.gz)?$/.test(name))).toBe(true);
    expect(names.every((name) => name.endsWith('.gz'))).toBe(gzip.length > 0);
    expect((await at.folders()).length).toBeGreaterThan(20);
    expect(manifest).toMatchObject({ version: 1, partition: 'day', events: 100 });
    expect(parts.map(({ file }) => file)).toEqual(expect.arrayContaining(names));
    await at.expectSorted();
    await at.expectSame();
    await at.expectSame('--failed', '--since', '3d');
    expect((await at.export(...small, ...gzip)).stderr).toMatch(/^verified: 100 events in \d+ files/);
  });

  test('is another export than one without folders, and takes day alone', async () => {
    await using at = await startPartitioned({ events: 20 });
    expect((await at.export(...byDay)).code).toBe(0);
    expect(await at.export()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('\n  --partition: day there, not given here\n'),
    });
    expect(await at.export('--partition', 'hour')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("error: --partition: invalid value 'hour': must be day\n"),
    });
  });

  test('keeps events on both sides of midnight apart, each once', async () => {
    await using at = await startPartitioned({ events: 0 });
    const add = (createdOn: string) => at.control.addEvent({ createdOn });
    for (const day of ['17', '18', '19'])
      for (const time of ['00:00:00', '00:00:00.0000001', '12:00:00', '23:59:59', '23:59:59.9999999'])
        add(`2026-11-${day}T${time}Z`);
    // In UTC it is the 18th.
    const eventId = '00000000-0000-4000-8000-000000000000';
    const json = JSON.stringify(itemOf({ eventId, createdOn: '2026-11-19T00:30:00+01:00' }));
    at.control.addEvent({ eventId, json, createdOn: '2026-11-18T23:30:00Z' });
    expect(await at.export(...byDay)).toMatchObject({ code: 0 });
    expect(await at.sortedIds()).toEqual(allIds(at));
    const counts = Object.entries(await at.files()).map(([name, text]) => [
      path.dirname(name),
      text.split('\n').length - 1,
    ]);
    expect(counts).toEqual([
      ['date=2026-11-17', 5],
      ['date=2026-11-18', 6],
      ['date=2026-11-19', 5],
    ]);
  });

  test('passes through every byte, and puts what has no time into the partition for that', async () => {
    await using at = await startPartitioned({ events: 40 });
    const odd = [undefined, null, 7, 'yesterday', '2026-02-30T00:00:00Z'].map((createdOn, index) => {
      const eventId = `00000000-0000-4000-8000-00000000000${index}`;
      const json = JSON.stringify(itemOf({ eventId, createdOn, n: 1 })).replace('1}', '9007199254740993.10}');
      at.control.addEvent({ eventId, json, createdOn: ago(index * 3000) });
      return json;
    });
    expect(await at.export(...small)).toMatchObject({ code: 0 });
    const undated = Object.entries(await at.files()).filter(([name]) => name.startsWith(NO_DAY_FOLDER));
    const lines = undated.flatMap(([, text]) => text.trimEnd().split('\n'));
    expect(lines.sort()).toEqual(odd.sort());
    expect(await at.sortedIds()).toEqual(allIds(at));
    expect((await at.export(...small)).stderr).toMatch(/^verified: 45 events/);
    const offline = await at.search('--ndjson', '--from', at.directory);
    expect(idsOf(offline.stdout).sort()).toEqual(allIds(at));
    // Their file is like any other: what is gone is read again.
    const [[name = '', text] = []] = undated;
    await rm(path.join(at.directory, name));
    expect(await at.export(...small)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`${name} is missing`),
    });
    expect((await at.files())[name]).toBe(text);
  });

  test('holds an event without a time once, if the service returns it with any time asked for', async () => {
    await using at = await startPartitioned({ events: 60 });
    const undated = itemOf({ eventId: '00000000-0000-4000-8000-000000000000', publishStatus: 'FAILED' });
    const always = editJson(({ items, count, ...page }) => ({
      ...page,
      count: count + 1,
      items: page.next === null ? [...items, undated] : items,
    }));
    at.control.fault('events', ...times(3000, always));
    expect(await at.export(...byDay)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('exported: 61 events'),
    });
    expect(await at.sortedIds()).toEqual([...allIds(at), '00000000-0000-4000-8000-000000000000'].sort());
  });

  test('works without counts, with more days than files may be open', async () => {
    await using at = await startPartitioned({ events: 0 });
    for (let event = 0; event < 400; event++) at.control.addEvent({ createdOn: ago(event * 720 + 5) });
    at.control.behaviour.omit = ['count'];
    expect(await at.export(...byDay)).toMatchObject({ code: 0 });
    expect((await at.folders()).length).toBeGreaterThan(195);
    await at.expectSorted();
    expect(await at.sortedIds()).toEqual(allIds(at));
    expect((await at.export(...byDay)).stderr).toMatch(/^verified: 400 events/m);
  });

  test('makes no folder where there is no event', async () => {
    await using at = await startPartitioned({ events: 30 });
    expect(await at.export(...byDay, '--since', '2000-01-01', '--until', '2000-02-01')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('exported: 0 events in 0 files in '),
    });
    expect(await readdir(at.directory)).toEqual(['.lock', 'manifest.json']);
    const { code, stdout } = await at.search('--ndjson', '--from', at.directory);
    expect([code, stdout]).toEqual([0, '']);
  });

  test('--update adds days, and late events to an earlier day, each event once as it is now', async () => {
    await using at = await startPartitioned({ events: 200 });
    // Twenty minutes after midnight: the last hour is of two days.
    clock.set(Date.parse('2026-11-21T00:20:00Z'));
    const changing = at.control.addEvent({ publishStatus: 'SUCCESS', createdOn: ago(30) }).eventId;
    at.control.addEvent({ createdOn: ago(3) });
    clock.advance(2000);
    expect(await at.export(...small)).toMatchObject({ code: 0 });
    const before = await at.folders();
    at.control.addEvent({ createdOn: ago(25) });
    at.control.setStatus(changing, 'FAILED');
    clock.advance(2 * 86_400_000);
    at.control.addEvent();
    clock.advance(2000);
    expect(await at.export(...small, '--update')).toMatchObject({ code: 0 });
    expect(await at.folders()).toEqual([...before, 'date=2026-11-23']);
    await at.expectSorted();
    await at.expectSame();
    const held = Object.entries(await at.files()).filter(([, text]) => text.includes(changing));
    expect(held.map(([name, text]) => [path.dirname(name), text.includes(`"FAILED"`)])).toEqual([
      ['date=2026-11-20', true],
    ]);
    expect((await at.export(...small)).stderr).toMatch(/^verified: 204 events/);
  });

  test('a partition that was removed by hand is read again, and no other', async () => {
    await using at = await startPartitioned({ events: 120 });
    expect(await at.export(...small)).toMatchObject({ code: 0 });
    const before = await at.files();
    const folder = 'date=2026-11-10';
    await rm(path.join(at.directory, folder), { recursive: true });
    const offline = await at.search('--from', at.directory);
    expect([offline.code, offline.stderr]).toEqual([1, expect.stringContaining(`/${folder}/`)]);
    const asked = at.queries().length;
    const { code, stderr } = await at.export(...small);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`warning: ${folder}/part-`)]);
    expect(await at.files()).toEqual(before);
    const read = at
      .queries()
      .slice(asked)
      .filter((query) => query.includes(',5)'));
    expect(read.length).toBeLessThan(10);
    expect(read.every((query) => query.includes('2026-11-09T23:59:59') || query.includes('2026-11-10'))).toBe(
      true,
    );
  });

  test('a partition that was removed after the service deleted its events is an error until it is back', async () => {
    await using at = await startPartitioned({ events: 120 });
    expect(await at.export(...small)).toMatchObject({ code: 0 });
    const before = await at.files();
    at.forget(allIds(at));
    const folder = 'date=2026-11-10';
    await rm(path.join(at.directory, folder), { recursive: true });
    for (const flags of [[], ['--update']])
      expect(await at.export(...small, ...flags)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /lacks \d+ events that it held before[^\n]*\n {2}date=2026-11-10\/part-\d+\.ndjson has 0 of /,
        ),
      });
    const others = Object.entries(before).filter(([name]) => !name.startsWith(folder));
    expect(await at.files()).toEqual(Object.fromEntries(others));
    await mkdir(path.join(at.directory, folder));
    for (const [name, text] of Object.entries(before))
      if (name.startsWith(folder)) await writeFile(path.join(at.directory, name), text);
    expect(await at.export(...small)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^verified: 120 events/),
    });
    expect(await at.files()).toEqual(before);
  });

  test('a damaged file is kept beside the folders, where no engine reads it', async () => {
    await using at = await startPartitioned({ events: 120 });
    expect(await at.export(...small)).toMatchObject({ code: 0 });
    const before = await at.files();
    const [name = ''] = Object.keys(before);
    await writeFile(path.join(at.directory, name), 'damaged');
    await writeFile(path.join(at.directory, `${name}.0123456789abcdef.tmp`), '{"half');
    const aside = `damaged-${path.basename(name)}.1`;
    expect(await at.export(...small)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`${name} is 7 instead of `),
    });
    expect(await readFile(path.join(at.directory, aside), 'utf8')).toBe('damaged');
    expect(await at.files()).toEqual(before);
    expect(await readdir(path.dirname(path.join(at.directory, name)))).not.toContain(
      `${path.basename(name)}.0123456789abcdef.tmp`,
    );
  });

  test('a manifest of a version to come is an error that says so, and nothing is changed', async () => {
    await using at = await startPartitioned({ events: 30 });
    expect(await at.export(...byDay)).toMatchObject({ code: 0 });
    const file = path.join(at.directory, 'manifest.json');
    const newer = JSON.stringify({ ...(await at.manifest()), version: 2 });
    await writeFile(file, newer);
    const before = await at.files();
    const error = `error: ${file} was written by a newer version of hooktrail\n`;
    for (const { code, stderr } of [
      await at.export(...byDay, '--update'),
      await at.search('--from', at.directory),
    ])
      expect([code, stderr]).toEqual([2, expect.stringContaining(error)]);
    expect([await readFile(file, 'utf8'), await at.files()]).toEqual([newer, before]);
  });
});
