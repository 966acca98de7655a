import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { available } from '../support/machine/requirement.ts';
import { spawnHooktrail } from '../support/process.ts';

describe.skipIf(!available('strace'))('a folder whose last sync fails', () => {
  /** Runs the program with a sync of the folder that fails. */
  const run = (folder: string, args: readonly string[], env: Readonly<Record<string, string>>) => {
    const options = ['-f', '-qq', '-o', '/dev/null', '-P', folder, '-e', 'inject=fsync:error=EIO', '--'];
    const words = [...options, process.execPath, inject('program'), ...args];
    return spawnHooktrail(words, { env, executable: 'strace' });
  };

  test('keygen: the key is there, and the error says so', async () => {
    await using home = await createHome();
    const file = path.join(home.folder, 'key');
    const result = await run(home.folder, ['keygen', file], home.env);
    expect(result).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `error: the key is in ${file}, but a loss of power could lose it: i/o error (EIO)\n` +
        'next: copy it to another disk before something is sealed with it\n',
    });
    expect(await readFile(file, 'utf8')).toMatch(/^htk1-[\w-]{43}\n$/);
  });

  test('config set: the settings are saved, and the error says so', async () => {
    await using home = await createHome();
    const folder = home.env['HOOKTRAIL_CONFIG_DIR'] as string;
    const file = path.join(folder, 'config.json');
    const result = await run(folder, ['config', 'set', 'vendor', 'acme'], home.env);
    expect(result).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `error: the settings are saved in ${file}, but a loss of power could undo that: i/o error (EIO)\n` +
        'next: check the disk\n',
    });
    expect(JSON.parse(await readFile(file, 'utf8')).profiles).toEqual({ default: { vendor: 'acme' } });
  });
});
