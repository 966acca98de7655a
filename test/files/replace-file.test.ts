import { readdir, readFile, stat } from 'node:fs/promises';
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
