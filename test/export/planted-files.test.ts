import { execFileSync } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { startExporting } from '../support/exporting.ts';

const small = ['--page-size', '10'];

describe('links in the directory of an export', () => {
  test.each(['part-000001.ndjson', 'part-000002.ndjson.tmp', 'manifest.json'])(
    '%s: the file that it leads to stays as it is',
    async (name) => {
      await using at = await startExporting({ events: 30 });
      expect((await at.export(...small)).code).toBe(0);
      const lines = await at.lines();
      const victim = path.join(at.env['HOME'] as string, 'victim');
      await writeFile(victim, 'precious');
      const place = path.join(at.directory, name);
      if (name === 'manifest.json') await rm(place);
      await rm(place, { force: true });
      await symlink(victim, place);
      const result = await at.export(...small, '--update');
      expect(await readFile(victim, 'utf8')).toBe('precious');
      if (name === 'manifest.json') expect(result.code).toBe(2);
      else expect([result.code, await at.lines()]).toEqual([0, lines]);
    },
  );

  test.each([
    ['.lock', []],
    ['date=2026-11-20', ['--partition', 'day']],
  ])('%s in place of a folder is refused, and nothing is written through it', async (name, flags) => {
    await using at = await startExporting({ events: 30 });
    const args = [...small, ...flags];
    expect((await at.export(...args)).code).toBe(0);
    const elsewhere = path.join(at.env['HOME'] as string, 'elsewhere');
    await mkdir(elsewhere);
    await rm(path.join(at.directory, name), { recursive: true });
    await symlink(elsewhere, path.join(at.directory, name));
    const { code, stderr } = await at.export(...args);
    expect([code, stderr]).toEqual([
      name === '.lock' ? 2 : 1,
      expect.stringContaining(
        `${path.join(at.directory, name)} is a link\nnext: ${
          name === '.lock' ? 'make it a folder' : 'remove the link and run the same command again'
        }`,
      ),
    ]);
    expect(await readdir(elsewhere)).toEqual([]);
  });
});

test('with an older manifest put back, newer parts are kept aside and named', async () => {
  await using at = await startExporting({ events: 30 });
  expect((await at.export(...small)).code).toBe(0);
  const manifest = path.join(at.directory, 'manifest.json');
  await writeFile(`${manifest}.older`, await readFile(manifest));
  const before = await at.parts();
  clock.advance(60_000);
  for (let added = 0; added < 12; added++) at.control.addEvent();
  clock.advance(2000);
  expect((await at.export(...small, '--update')).code).toBe(0);
  const newer = (await at.parts()).filter((name) => !before.includes(name));
  const texts = await Promise.all(newer.map((name) => readFile(path.join(at.directory, name), 'utf8')));
  await rename(`${manifest}.older`, manifest);
  const { code, stderr } = await at.export(...small);
  expect(code).toBe(0);
  for (const [index, name] of newer.entries()) {
    expect(stderr).toContain(`${name} as unlisted-${name}.1`);
    expect(await readFile(path.join(at.directory, `unlisted-${name}.1`), 'utf8')).toBe(texts[index]);
  }
});

test('a pipe in place of the manifest is an error, and nothing waits for its writer', async () => {
  await using at = await startExporting({ events: 10 });
  expect((await at.export(...small)).code).toBe(0);
  const manifest = path.join(at.directory, 'manifest.json');
  await rm(manifest);
  execFileSync('mkfifo', [manifest]);
  const error = `error: ${manifest} cannot be read: it is not a regular file\n`;
  for (const { code, stderr } of [await at.export(...small), await at.search('--from', at.directory)])
    expect([code, stderr]).toEqual([1, error]);
  expect((await lstat(manifest)).isFIFO()).toBe(true);
});
