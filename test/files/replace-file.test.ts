import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
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

test('syncing a folder that is gone fails', async () => {
  await expect(syncFolder(path.join(folder, 'gone'))).rejects.toThrow('ENOENT');
});
