import { execFile, execFileSync } from 'node:child_process';
import { cp, link, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { build } from '../../build/build.ts';
import { createHome } from '../support/home.ts';

const root = path.resolve(import.meta.dirname, '../..');

/**
 * Without minifying, a build takes a third less time.
 */
const plain = { minify: false };

/**
 * A copy of the built program in a folder of its own, and builds of it whose every chunk differs from the
 * last.
 */
async function startBuilding() {
  const home = await createHome();
  const folder = path.join(home.folder, 'program');
  const dist = path.join(folder, 'dist');
  await mkdir(folder);
  const built = path.resolve(inject('program'), '../..');
  for (const name of ['bin', 'dist', 'docs/help', 'package.json'])
    await cp(path.join(built, name), path.join(folder, name), { recursive: true });
  let builds = 0;
  const program = path.join(folder, 'bin', 'hooktrail.js');
  const again = async () => {
    const chunkFileNames = `chunks/[name]-${++builds}-[hash].cjs`;
    const entryFileNames = ({ name }: { name: string }) => (name === 'start' ? '[name].cjs' : chunkFileNames);
    await build(dist, { ...plain, chunkFileNames, entryFileNames });
    return await chunksIn(dist);
  };
  const file = path.join(home.folder, 'events.ndjson');
  await writeFile(file, '{"eventId":"e","eventType":"a","createdOn":"2026-11-20T11:00:00Z"}\n');
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [program, ...args], { env: home.env }).then(
      ({ stdout }) => stdout,
      (error) => `${error.code} ${error.stderr}`,
    );
  return { again, run, file, dist, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
}

const chunksIn = async (dist: string) =>
  (await readdir(path.join(dist, 'chunks'))).filter((name) => name.endsWith('.cjs'));

describe('two builds, one after the other', () => {
  let at: Awaited<ReturnType<typeof startBuilding>>;
  /** The chunks of the build before, of the first and of the second. */
  let chunks: readonly (readonly string[])[];
  /** The outputs of a command that ran again and again while they were made. */
  const printed: string[] = [];
  /** The files of the build before, with another name that stays. */
  let before: { readonly file: string; readonly opened: string; readonly content: Buffer }[];

  beforeAll(async () => {
    at = await startBuilding();
    before = await opened(at.dist);
    const search = () => at.run('events', 'search', '--from', at.file, '--jq', '.[].eventId');
    let isBuilding = true;
    const runner = async () => {
      while (isBuilding) printed.push(await search());
    };
    const running = runner();
    chunks = [await chunksIn(at.dist), await at.again(), await at.again()];
    isBuilding = false;
    await running;
  }, 120_000);
  afterAll(() => at[Symbol.asyncDispose]());

  test('break no command that runs meanwhile', () => {
    expect(printed.length).toBeGreaterThan(2);
    expect(new Set(printed)).toEqual(new Set(['e\n']));
  });

  test('replace each file by a whole one: who has opened the last one reads it to its end', async () => {
    for (const { content, opened } of before) expect(content.equals(await readFile(opened))).toBe(true);
    const entry = before.find(({ file }) => file.endsWith('start.cjs'))?.content as Buffer;
    expect(entry.equals(await readFile(path.join(at.dist, 'start.cjs')))).toBe(false);
  });

  test('keep the chunks of the last build for a command that runs, and those of the one before go', async () => {
    const [first = [], second = [], third = []] = chunks;
    const own = (some: readonly string[], others: readonly string[]) =>
      some.filter((chunk) => !others.includes(chunk));
    expect(first.length).toBeGreaterThan(20);
    expect(own(second, first).length).toBe(first.length);
    expect([...third].sort()).toEqual([...own(second, first), ...own(third, second)].sort());
    const files = await readdir(at.dist, { recursive: true });
    expect(files.filter((file) => file.endsWith('.tmp'))).toEqual([]);
    // A package holds one build.
    await build(at.dist, plain, true);
    expect((await chunksIn(at.dist)).length).toBe(first.length);
  });
});

/** Gives each file of a build another name: what stays under that is what an open file shows. */
async function opened(dist: string) {
  const files = (await readdir(dist, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name));
  const folder = path.join(dist, '..', 'opened');
  await mkdir(folder);
  return await Promise.all(
    files.map(async (file, index) => {
      const opened = path.join(folder, String(index));
      await link(file, opened);
      return { file, opened, content: await readFile(file) };
    }),
  );
}

test('a build of the same sources has the same bytes, and writes nothing', async () => {
  await using at = await startBuilding();
  const times = async () => {
    const files = (await readdir(at.dist, { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
    return await Promise.all(
      files.map(async ({ parentPath, name }) => [name, (await stat(path.join(parentPath, name))).mtimeMs]),
    );
  };
  const before = await times();
  expect(before.length).toBeGreaterThan(20);
  await build(at.dist);
  expect(await times()).toEqual(before);
});

test('the version names the commit that was built', async () => {
  await using at = await startBuilding();
  const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();
  const isModified = git('status', '--porcelain', '--untracked-files=no') !== '';
  const expected = `${version}+${git('rev-parse', '--short=8', 'HEAD')}${isModified ? '.modified' : ''}\n`;
  for (const args of [['--version'], ['-v'], ['version'], ['--no-color', '--version']])
    expect(await at.run(...args)).toBe(expected);
});
