import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { describe, expect, inject, test } from 'vitest';
import { ClosedPipeError, type HooktrailError, OutputError } from '../src/errors.ts';
import { diskFault } from '../src/export/export-directory.ts';
import { outputKind, outputOf } from '../src/streams.ts';
import { createHome } from './support/home.ts';
import { spawnHooktrail } from './support/process.ts';
import { idsOf, startSearching } from './support/searching.ts';
import { sampleOf } from './support/seed.ts';

const isLinux = process.platform === 'linux';

/** Runs the program with the shell's redirection of its standard output. */
async function redirected(args: readonly string[], to: string, env: Readonly<Record<string, string>>) {
  const script = `ulimit -f 16; exec "$0" "$@" > ${to}`;
  return await spawnHooktrail(['-c', script, process.execPath, inject('program'), ...args], {
    env,
    executable: 'sh',
  });
}

describe.runIf(isLinux)('a full disk is an error', () => {
  test.each(
    sampleOf('full', 3, [
      ['--version'],
      ['--help'],
      ['help'],
      ['events search --help'],
      ['help events search'],
      ['completion zsh'],
      ['config path'],
    ]),
  )('for %s', async (words) => {
    await using home = await createHome();
    expect(await redirected(words.split(' '), '/dev/full', home.env)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'error: the output cannot be written: no space left on device (ENOSPC)\n' +
        'next: make room where the output goes, and run the command again\n',
    });
  });

  test.each(
    sampleOf('cut short', 2, [
      ['events search --limit 100'],
      ['events search --limit 100 --ndjson'],
      ['events search --limit 100 --json'],
      ['events search --limit 100 --csv'],
      ['events search --limit 100 --ndjson --jq .'],
      ['events report -'],
    ]),
  )('for %s, also if the last write is cut short', async (words) => {
    await using searching = await startSearching({ events: 1000 });
    const { code, stderr } = await redirected(words.split(' '), 'events.out', searching.env);
    const file = await readFile(path.join(searching.env['HOME'] as string, 'events.out'));
    expect(stderr).toBe('error: the output cannot be written: file too large (EFBIG)\n');
    expect(code).toBe(1);
    // POSIX: `ulimit -f` counts blocks of 512 bytes. The output that fits is in the file.
    expect(file.length).toBe(16 * 512);
  });
});

test.runIf(isLinux)('a full disk leaves the old file of --output-file', async () => {
  await using searching = await startSearching({ events: 1000 });
  const file = path.join(searching.env['HOME'] as string, 'events.out');
  await writeFile(file, 'old');
  const words = ['events', 'search', '--ndjson', '--limit', '100', '--output-file', file];
  expect(await redirected(words, '/dev/null', searching.env)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: the output cannot be written: file too large (EFBIG)\n',
  });
  expect(await readFile(file, 'utf8')).toBe('old');
  expect((await readdir(path.dirname(file))).filter((name) => name.startsWith('events'))).toEqual([
    'events.out',
  ]);
});

test.runIf(isLinux)(
  'a full disk leaves no part of what a watch prints, which its next run appends',
  async () => {
    await using searching = await startSearching({ events: 100 });
    const file = path.join(searching.env['HOME'] as string, 'events.out');
    const words = ['events', 'watch', '--since', '30d', '--until', 'now', '--state', 'place', '--ndjson'];
    const { code, stderr } = await redirected([...words, '--quiet'], 'events.out', searching.env);
    expect([code, stderr]).toEqual([1, 'error: the output cannot be written: file too large (EFBIG)\n']);
    expect(await readFile(file, 'utf8')).toBe('');
  },
);

test.runIf(isLinux)('a folder on standard input is an error, not an empty input', async () => {
  await using home = await createHome();
  const args = ['-c', 'exec "$0" "$@" < .', process.execPath, inject('program')];
  expect(
    await spawnHooktrail([...args, 'events', 'count', '--from', '-'], { env: home.env, executable: 'sh' }),
  ).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: standard input is a folder\nnext: redirect it from a file in it\n',
  });
});

test.runIf(isLinux)('--output-file may be a pipe that the shell has opened', async () => {
  await using searching = await startSearching({ events: 10 });
  const words = ['events', 'count', '--output-file', '/dev/fd/3'];
  const script = '"$0" "$@" 3>&1 >/dev/null | cat';
  const args = ['-c', script, process.execPath, inject('program'), ...words];
  expect(await spawnHooktrail(args, { env: searching.env, executable: 'sh' })).toEqual({
    code: 0,
    stdout: '10\n',
    stderr: '',
  });
});

test('a file holds all that was written', async () => {
  await using searching = await startSearching({ events: 1000 });
  const args = [inject('program'), 'events', 'search', '--ndjson', '--limit', '5'];
  const script = 'exec "$0" "$@" >> events.out';
  const { code } = await spawnHooktrail(['-c', script, process.execPath, ...args], {
    env: searching.env,
    executable: 'sh',
  });
  const text = await readFile(path.join(searching.env['HOME'] as string, 'events.out'), 'utf8');
  expect([code, idsOf(text).length]).toEqual([0, 5]);
});

function failing(code: string): Writable {
  const error = Object.assign(new Error(`${code}: told by the test`), { code });
  return new Writable({ write: (_chunk, _encoding, done) => done(error) });
}

describe('a failed write', () => {
  test.runIf(isLinux)('to a file is an error if it is EIO', async () => {
    // Nothing is mapped at address 0 of a process: Linux answers a write there with EIO.
    const memory = openSync('/proc/self/mem', 'r+');
    const failures: HooktrailError[] = [];
    const output = outputOf(
      memory,
      'file',
      () => process.stdout,
      (failure) => failures.push(failure),
    );
    await expect(output.write('text')).rejects.toThrow('the output cannot be written: i/o error (EIO)');
    await expect(output.write('text')).rejects.toThrow(OutputError);
    expect(failures).toHaveLength(1);
    closeSync(memory);
  });

  test.each([
    ['pipe', 'EPIPE', ClosedPipeError],
    ['pipe', 'EIO', OutputError],
    ['terminal', 'EIO', ClosedPipeError],
    ['terminal', 'ENOSPC', OutputError],
  ] as const)('to a %s with %s is a %o', async (kind, code, expected) => {
    const failures: HooktrailError[] = [];
    const output = outputOf(
      -1,
      kind,
      () => failing(code),
      (failure) => failures.push(failure),
    );
    await expect(output.write('text')).rejects.toBeInstanceOf(expected);
    expect(failures).toEqual([expect.any(expected)]);
  });

  // Node has no name for EDQUOT.
  const overQuota = Object.assign(new Error('Unknown system error -122: Unknown system error -122, write'), {
    errno: -122,
    code: 'Unknown system error -122',
    syscall: 'write',
  });

  test.runIf(isLinux)('says that a quota is exceeded', () => {
    const { message, next } = new OutputError(overQuota);
    expect([message, next]).toEqual([
      'the output cannot be written: disk quota exceeded (EDQUOT)',
      'make room where the output goes, and run the command again',
    ]);
  });

  test.runIf(isLinux)('of an export says that a quota is exceeded', async () => {
    const { message, next } = (await diskFault(overQuota, '/')) as HooktrailError;
    expect([message, next]).toEqual([
      'writing to / failed: disk quota exceeded (EDQUOT)',
      'free some space and run the same command again: it continues where this one stopped',
    ]);
  });
});

test('a descriptor that cannot be inspected is written as a pipe', () => {
  const closed = openSync('/dev/null', 'w');
  closeSync(closed);
  expect(outputKind(closed, isatty)).toBe('pipe');
});

test('a pipe gets without a stream what an empty one takes, and the rest in order', async () => {
  await using home = await createHome();
  const file = path.join(home.env['HOME'] as string, 'pipe');
  const pipe = openSync(file, 'a');
  const streamed: string[] = [];
  const open = () =>
    new Writable({ decodeStrings: false, write: (chunk, _, done) => done(void streamed.push(chunk)) });
  const to = (descriptor: number) => outputOf(descriptor, 'pipe', open, () => undefined);

  const output = to(pipe);
  await output.write('help ');
  await output.write('é'.repeat(2045));
  expect(streamed).toEqual([]);
  await output.write('xx');
  await output.write('y');
  expect(streamed).toEqual(['xx', 'y']);
  expect(await readFile(file, 'utf8')).toBe(`help ${'é'.repeat(2045)}`);

  // Its reader is slow or has left: the stream waits for it, or says so.
  const full = to(-1);
  await full.write('one');
  await full.write('two');
  expect(streamed.slice(2)).toEqual(['one', 'two']);
  closeSync(pipe);
});

test('a terminal without a size has 80 columns and 24 rows', () => {
  const terminal = Object.assign(failing('EIO'), { isTTY: true, columns: 0, rows: 0 });
  const output = outputOf(
    1,
    'terminal',
    () => terminal as unknown as NodeJS.WriteStream,
    () => undefined,
  );
  expect([output.columns, output.rows]).toEqual([80, 24]);
  // Libraries ask the stream itself.
  expect([terminal.columns, terminal.rows]).toEqual([80, 24]);
});
