import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { replaceFile, syncFolder } from '../../src/files/whole-files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-replace-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a file is replaced as a whole, accessible to the user only, and nothing is left beside it', async () => {
  const file = path.join(folder, 'config.json');
  await replaceFile(file, 'old');
  await replaceFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['config.json']);
});

test('temporary files of writes that were killed long ago are removed, others stay', async () => {
  const file = path.join(folder, 'config.json');
  const old = new Date(Date.UTC(2001));
  const names = {
    abandoned: 'config.json.0123456789abcdef.tmp',
    recent: 'config.json.fedcba9876543210.tmp',
    foreign: 'config.json.notes.tmp',
    other: 'other.json.0123456789abcdef.tmp',
  };
  for (const name of Object.values(names)) await writeFile(path.join(folder, name), '');
  for (const name of [names.abandoned, names.foreign, names.other])
    await utimes(path.join(folder, name), old, old);
  await replaceFile(file, 'new');
  expect((await readdir(folder)).sort()).toEqual(
    ['config.json', names.recent, names.foreign, names.other].sort(),
  );
});

test('syncing a folder that is gone fails', async () => {
  await expect(syncFolder(path.join(folder, 'gone'))).rejects.toThrow('ENOENT');
});
