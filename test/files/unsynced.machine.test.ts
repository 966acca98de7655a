import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { spawnHooktrail } from '../support/process.ts';
import { available } from '../support/requirement.ts';
import { startSigningIn } from '../support/signing-in.ts';

/** Runs the program under strace with these options, and returns its result and what strace wrote. */
async function traceHooktrail(
  options: readonly string[],
  args: readonly string[],
  env: Readonly<Record<string, string>>,
) {
  const log = path.join(env['HOME'] as string, 'strace.log');
  const words = [
    '-f',
    '-qq',
    '-y',
    '-o',
    log,
    ...options,
    '--',
    process.execPath,
    inject('program'),
    ...args,
  ];
  const result = await spawnHooktrail(words, { env, executable: 'strace' });
  return { result, trace: await readFile(log, 'utf8') };
}

describe.skipIf(!available('strace'))('a folder whose last sync fails', () => {
  const failingSync = (folder: string) => ['-P', folder, '-e', 'inject=fsync:error=EIO'];

  test('keygen: the key is there, and the error says so', async () => {
    await using home = await createHome();
    const file = path.join(home.folder, 'key');
    const { result } = await traceHooktrail(failingSync(home.folder), ['keygen', file], home.env);
    expect(result).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `error: the key is in ${file}, but a loss of power could lose it: EIO: i/o error, fsync\n` +
        'next: copy it to another disk before something is sealed with it\n',
    });
    expect(await readFile(file, 'utf8')).toMatch(/^htk1-[\w-]{43}\n$/);
  });

  test('config set: the settings are saved, and the error says so', async () => {
    await using home = await createHome();
    const folder = home.env['HOOKTRAIL_CONFIG_DIR'] as string;
    const file = path.join(folder, 'config.json');
    const { result } = await traceHooktrail(
      failingSync(folder),
      ['config', 'set', 'vendor', 'acme'],
      home.env,
    );
    expect(result).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `error: the settings are saved in ${file}, but a loss of power could undo that: EIO: i/o error, fsync\n` +
        'next: check the disk\n',
    });
    expect(JSON.parse(await readFile(file, 'utf8')).profiles).toEqual({ default: { vendor: 'acme' } });
  });
});

describe.skipIf(!available('strace'))('a loss of power brings no deleted secrets back', () => {
  test.each([['logout'], ['logout', '--all', '--yes'], ['profiles', 'delete', 'default']])(
    '%s %s: the folder is synced after the last of its files is deleted',
    async (...args) => {
      await using at = await startSigningIn();
      await at.signIn();
      const folder = path.join(at.env['HOOKTRAIL_CONFIG_DIR'] as string, 'secrets');
      const { result, trace } = await traceHooktrail(['-e', 'trace=unlink,unlinkat,fsync'], args, at.env);
      expect(result).toMatchObject({ code: 0 });
      const steps = trace.split('\n').filter((line) => line.includes(folder) && line.includes(' = 0'));
      const deleted = steps.findLastIndex((line) => /unlink(at)?\(.*\.vault/.test(line));
      expect(deleted).not.toBe(-1);
      expect(
        steps.slice(deleted + 1).some((line) => line.includes(`fsync(`) && line.includes(`<${folder}>`)),
      ).toBe(true);
    },
  );
});
