import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import module from 'node:module';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createHome } from './support/home.ts';
import { run } from './support/program.ts';

const LONG_AGO = new Date('2020-01-01');
/** Here Node keeps the code itself. */
const isNodes = 'enableCompileCache' in module;

describe.skipIf(isNodes)('compiled code that is kept between runs', () => {
  const folderOf = (home: string) =>
    path.join(home, 'config', 'cache', 'compiled', `${process.version}-${process.arch}`);
  const help = (env: Record<string, string>) => run(['--help'], { env });

  test('is written by the first run, for the user alone, and used by the next', async () => {
    await using home = await createHome();
    const first = await help(home.env);
    const folder = folderOf(home.folder);
    const names = await readdir(folder);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      expect(name).toMatch(/^[\w-]+-[\w-]{8}\.cjs$/);
      expect((await stat(path.join(folder, name))).mode & 0o777).toBe(0o600);
      await utimes(path.join(folder, name), LONG_AGO, LONG_AGO);
    }
    expect(await help(home.env)).toEqual(first);
    expect(await readdir(folder)).toEqual(names);
    for (const name of names) expect((await stat(path.join(folder, name))).mtime).toEqual(LONG_AGO);
  });

  test.each([
    [
      'a byte that was turned',
      (whole: Buffer) => whole.map((byte, at) => (at === whole.length >> 1 ? ~byte : byte)),
    ],
    ['an end that is missing', (whole: Buffer) => whole.subarray(0, whole.length - 8)],
    ['nothing at all', () => Buffer.alloc(0)],
  ])('is not run with %s, but made anew', async (_, damage) => {
    await using home = await createHome();
    const first = await help(home.env);
    const folder = folderOf(home.folder);
    const names = await readdir(folder);
    const file = path.join(folder, names.find((name) => name.startsWith('program-')) ?? '');
    const whole = await readFile(file);
    await writeFile(file, damage(whole));
    expect(await help(home.env)).toEqual(first);
    expect((await readFile(file)).length).toBe(whole.length);
    expect(await readdir(folder)).toEqual(names);
  });

  test('leaves nothing behind where one of its files cannot be written', async () => {
    await using home = await createHome();
    await help(home.env);
    const folder = folderOf(home.folder);
    const names = await readdir(folder);
    const [first = ''] = names;
    await rm(path.join(folder, first));
    await mkdir(path.join(folder, first));
    for (const name of names.slice(1)) await rm(path.join(folder, name));
    expect(await help(home.env)).toMatchObject({ code: 0, stderr: '' });
    expect(await readdir(folder)).toEqual(names);
  });

  test('does without where a file is in the place of the folder', async () => {
    await using home = await createHome();
    await mkdir(path.join(home.folder, 'config'));
    await writeFile(path.join(home.folder, 'config', 'cache'), '');
    expect(await help(home.env)).toMatchObject({ code: 0, stderr: '' });
  });
});
