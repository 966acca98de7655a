import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { replaceFile, syncFolder } from '../../src/files/whole-files.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';

const at = forEachTest(createHome);
test('a file is replaced as a whole, accessible to the user only, and nothing is left beside it', async () => {
  const file = path.join(at.folder, 'config.json');
  await replaceFile(file, 'old');
  await replaceFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(at.folder)).toEqual(['config.json']);
});

test('syncing a folder that is gone fails', async () => {
  await expect(syncFolder(path.join(at.folder, 'gone'))).rejects.toThrow('ENOENT');
});

test('unfinished replacements of the same file go when they are an hour old, and nothing else', async () => {
  const file = path.join(at.folder, 'config.json');
  const old = ['config.json.0123456789abcdef.tmp', 'config.json.tmp', 'other.json.0123456789abcdef.tmp'];
  const young = 'config.json.fedcba9876543210.tmp';
  const place = (name: string) => path.join(at.folder, name);
  for (const name of [...old, young]) await writeFile(place(name), '{');
  const { mtimeMs } = await stat(place(young));
  for (const name of old) await utimes(place(name), 0, mtimeMs / 1000 - 3_601);
  await utimes(place(young), 0, mtimeMs / 1000 - 3_500);
  await replaceFile(file, 'new');
  expect((await readdir(at.folder)).sort()).toEqual(['config.json', young, ...old.slice(1)].sort());
});
