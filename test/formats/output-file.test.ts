import { execFileSync, spawn } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { type CommandOptions, startHooktrail } from '../support/program.ts';
import { times } from '../support/sandbox.ts';
import { idsOf, startSearching } from '../support/searching.ts';

/** A sandbox, an empty folder, and a file in it that does not exist yet. */
async function startWriting(events = 20) {
  const searching = await startSearching({ events });
  const folder = path.join(searching.env['HOME'] as string, 'data');
  await mkdir(folder);
  const file = path.join(folder, 'out');
  return {
    ...searching,
    folder,
    file,
    run: (args: readonly string[], options: Partial<CommandOptions> = {}) =>
      searching.run(args, { ...options }),
    [Symbol.asyncDispose]: () => searching[Symbol.asyncDispose](),
  };
}

/** Beginnings of lines that end with a file's name, and what they write to it. */
const WRITERS = [
  ['events count --output-file', /^20\n$/],
  ['events report', /^<!doctype html>.*<\/html>\s*$/s],
] as const;
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const at = forEachTest(startWriting);

describe('--output-file', () => {
  test.each([
    'events search',
    'events search --json',
    'events search --ndjson',
    'events search --csv --csv-bom',
    'events search --jq .[].eventId',
    'events search --failed --dry-run',
    'events count',
    'events stats',
    'events stats --csv',
    'event-types',
    'api /event-types',
  ])('%s: the file gets the same bytes as a pipe, also on a terminal', async (line) => {
    await using at = await startWriting(60);
    const words = line.split(' ');
    const { stdout } = await at.run(words);
    expect(stdout).not.toBe('');
    for (const terminal of [{}, { terminal: 60 }]) {
      const { code, stdout: printed } = await at.run([...words, '--output-file', at.file], terminal);
      expect([code, printed]).toEqual([0, '']);
      expect(await readFile(at.file, 'utf8')).toBe(stdout);
      expect(await readdir(at.folder)).toEqual(['out']);
    }
  });

  test.each([
    ['events search', 'f.csv', 'csv'],
    ['events stats', 'f.csv', 'csv'],
    ['events explain', 'f.md', 'markdown'],
    ['event-types', 'f.JSONL', 'ndjson'],
    ['events count', 'f.json', 'json'],
    ['events search --ndjson', 'f.csv', 'ndjson'],
    ['events search -o table', 'f.csv', 'table'],
    ['events search --jq .', 'f.csv', 'json'],
    ['events search', 'f.txt', 'table'],
    ['events explain', 'f.JSON', 'json'],
    ['events explain -o table', 'f.csv', 'table'],
    ['events count', 'f.csv', 'table'],
  ])('%s into %s: its name chooses the format, if nothing else does', async (line, name, meant) => {
    await using at = await startWriting(20);
    const words = line.split(' ');
    const { stdout } = await at.run([...words, ...(words[2] ? [] : ['-o', meant])]);
    const file = path.join(at.folder, name);
    expect(await at.run([...words, '--output-file', file])).toMatchObject({ code: 0, stderr: '' });
    const withoutCommand = (text: string) => text.replace(/`hooktrail .*`/, '');
    expect(withoutCommand(await readFile(file, 'utf8'))).toBe(withoutCommand(stdout));
  });

  test.each([
    ['events search', 'f.csv.gz', '-o csv '],
    ['events search --json', 'f.csv.gz', ''],
    ['events count', 'f.ndjson.gz', ''],
  ])('%s into %s is an error: nothing would be compressed', async (line, name, meant) => {
    expect(await at.run([...line.split(' '), '--output-file', name], { cwd: at.folder })).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: --output-file does not compress\nnext: end the line with \`${meant}| gzip > ${name}\` instead\n`,
    });
    expect(await readdir(at.folder)).toEqual([]);
  });

  test.each([
    ['events explain', 'f.csv', 'table, json or markdown, not csv'],
    ['events explain', 'f.CSV', 'table, json or markdown, not csv'],
    ['events stats', 'f.ndjson', 'table, json, csv or markdown, not ndjson'],
  ])(
    '%s into %s is an error: a table under that name would look like the format',
    async (line, name, not) => {
      expect(await at.run([...line.split(' '), '--output-file', name], { cwd: at.folder })).toEqual({
        code: 2,
        stdout: '',
        stderr: `error: --output-file: the formats of this command are ${not}\nnext: end the name of the file in .json or .md, or add -o table\n`,
      });
      expect(await readdir(at.folder)).toEqual([]);
    },
  );

  test.each([
    ['f.tsv', 'tsv', 'end its name in .csv, which spreadsheets open'],
    ['f.XLSX', 'xlsx', 'end its name in .csv, which spreadsheets open'],
    [
      'f.parquet',
      'parquet',
      '`hooktrail events export events --format parquet` writes Parquet into a directory',
    ],
    ['f.html', 'html', '`hooktrail events report failures.html` writes a page'],
    ['f.xml', 'xml', 'end its name in .json'],
  ])('%s is an error where no format is given: it would hold a table', async (name, ending, next) => {
    const formats = { search: 'table, json, ndjson, csv or markdown', stats: 'table, json, csv or markdown' };
    for (const [command, list] of Object.entries(formats))
      expect(await at.run(['events', command, '--output-file', name], { cwd: at.folder })).toEqual({
        code: 2,
        stdout: '',
        stderr: `error: --output-file: the formats are ${list}, not ${ending}\nnext: ${next}\n`,
      });
    expect(await readdir(at.folder)).toEqual([]);
    // Whoever names the format knows what the file is for.
    expect(
      (await at.run(['events', 'search', '--csv', '--output-file', name], { cwd: at.folder })).code,
    ).toBe(0);
    expect(await readdir(at.folder)).toEqual([name]);
  });

  test.each(['f', 'f.txt', 'f.log', 'failures.2026-11-20'])('%s gets a table', async (name) => {
    expect((await at.run(['events', 'search', '--output-file', name], { cwd: at.folder })).code).toBe(0);
    expect(await readFile(path.join(at.folder, name), 'utf8')).toMatch(/^createdOn +publishStatus /);
  });

  test('a relative path is one of the current directory, and - is standard output', async () => {
    const words = ['events', 'count', '--output-file'];
    expect(await at.run([...words, 'count'], { cwd: at.folder })).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(await readFile(path.join(at.folder, 'count'), 'utf8')).toBe('20\n');
    expect(await at.run([...words, '-'])).toEqual({ code: 0, stdout: '20\n', stderr: '' });
  });

  test('a result that fails halfway leaves the old file, or none', async () => {
    const words = ['events', 'search', '--ndjson', '--page-size', '5', '--output-file', at.file];
    const refusals = times(9, { kind: 'status', status: 400 });
    for (const left of [[], ['out']]) {
      at.sandbox.control.fault('events', { kind: 'pass' }, ...refusals);
      expect(await at.run(words)).toMatchObject({ code: 1, stdout: '' });
      expect(await readdir(at.folder)).toEqual(left);
      await writeFile(at.file, 'old');
    }
    expect(await readFile(at.file, 'utf8')).toBe('old');
  });

  test('an interrupt leaves the old file', async () => {
    await writeFile(at.file, 'old');
    at.sandbox.control.behaviour.latencyMs = 3_600_000;
    const running = startHooktrail(['events', 'search', '--output-file', at.file], { env: at.env });
    await expect.poll(() => readdir(at.folder)).toHaveLength(2);
    running.kill('SIGINT');
    expect((await running.finished).code).toBe(130);
    expect(await readdir(at.folder)).toEqual(['out']);
    expect(await readFile(at.file, 'utf8')).toBe('old');
  });

  test('exit codes 3 and 10 are those of a result that is whole', async () => {
    const [id = ''] = at.sandbox.control.store.newestIds(1);
    const get = await at.run(['events', 'get', UNKNOWN, id, '--ndjson', '--output-file', at.file]);
    expect([get.code, idsOf(await readFile(at.file, 'utf8'))]).toEqual([3, [id]]);
    const count = await at.run(['events', 'count', '--exit-code', '--output-file', at.file]);
    expect([count.code, await readFile(at.file, 'utf8')]).toEqual([10, '20\n']);
  });

  test('the file that is read may be the one that is written', async () => {
    await at.run(['events', 'search', '--ndjson', '--output-file', at.file]);
    const all = await readFile(at.file, 'utf8');
    const words = ['events', 'search', '--limit', '3', '--ndjson'];
    await at.run([...words, '--from', at.file, '--output-file', at.file]);
    expect(await readFile(at.file, 'utf8')).toBe(all.split('\n').slice(0, 3).join('\n').concat('\n'));
  });

  test.each(WRITERS)('modes are those of a redirection; a link stays: %s', async (line, whole) => {
    const words = line.split(' ');
    const link = path.join(at.folder, 'link');
    await symlink(at.file, link);
    await writeFile(at.file, 'old');
    await chmod(at.file, 0o640);
    expect((await at.run([...words, link])).code).toBe(0);
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(await readFile(at.file, 'utf8')).toMatch(whole);
    expect((await stat(at.file)).mode & 0o777).toBe(0o640);
    const fresh = path.join(at.folder, 'new');
    await at.run([...words, fresh]);
    expect((await stat(fresh)).mode & 0o777).toBe(0o666 & ~process.umask());
  });

  test('the file that a link names is created', async () => {
    const [link, other] = [path.join(at.folder, 'link'), path.join(at.folder, 'other')];
    await symlink('other', link);
    await symlink('out', other);
    expect((await at.run(['events', 'count', '--output-file', link])).code).toBe(0);
    expect([await readlink(link), await readlink(other)]).toEqual(['other', 'out']);
    expect(await readFile(at.file, 'utf8')).toBe('20\n');
  });

  test('/dev/stdout is standard output', async () => {
    expect(await at.run(['events', 'count', '--output-file', '/dev/stdout'])).toEqual({
      code: 0,
      stdout: '20\n',
      stderr: '',
    });
  });

  test.each(WRITERS)('a named pipe is written to, not replaced: %s', async (line, whole) => {
    execFileSync('mkfifo', [at.file]);
    const reader = spawn('cat', [at.file]);
    const read = text(reader.stdout);
    try {
      expect((await at.run([...line.split(' '), at.file])).code).toBe(0);
      expect([await read, (await lstat(at.file)).isFIFO()]).toEqual([expect.stringMatching(whole), true]);
    } finally {
      reader.kill();
    }
  });
});
