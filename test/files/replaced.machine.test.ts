import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { available } from '../support/machine/requirement.ts';
import { spawnHooktrail } from '../support/process.ts';
import { hooktrail } from '../support/program.ts';

/** Runs the program with a fault of a system call, on that folder alone if one is given. */
function run(fault: string, args: readonly string[], env: Readonly<Record<string, string>>, folder?: string) {
  const options = [
    '-f',
    '-qq',
    '-o',
    '/dev/null',
    ...(folder ? ['-P', folder] : []),
    '-e',
    `inject=${fault}`,
    '--',
  ];
  const words = [...options, process.execPath, inject('program'), ...args];
  return spawnHooktrail(words, { env, executable: 'strace' });
}

describe.skipIf(!available('strace'))(
  'settings that cannot be replaced, as on Windows while another program has them open',
  () => {
    // Each of the four threads that rename counts for itself.
    test.each([
      [
        'at first are replaced a moment later',
        ':when=1..1',
        { code: 0, stdout: '', stderr: "saved vendor in profile 'default'\n" },
      ],
      [
        'for a second stay unchanged, and the error says so',
        '',
        {
          code: 2,
          stdout: '',
          stderr:
            'error: the settings cannot be written to FILE: it cannot be replaced, perhaps because another program has it open (EPERM)\n' +
            'next: make the folder writable and free some space, or choose another with HOOKTRAIL_CONFIG_DIR\n',
        },
      ],
    ])('%s', async (_, when, expected) => {
      await using home = await createHome();
      const file = path.join(home.env['HOOKTRAIL_CONFIG_DIR'] as string, 'config.json');
      const set = (vendor: string) => ['config', 'set', 'vendor', vendor];
      expect(await hooktrail(set('first'), { env: home.env })).toMatchObject({ code: 0 });
      const result = await run(`rename:error=EPERM${when}`, set('second'), home.env);
      expect({ ...result, stderr: result.stderr.replace(file, 'FILE') }).toEqual(expected);
      expect(await readFile(file, 'utf8')).toContain(expected.code === 0 ? 'second' : 'first');
    });
  },
);

describe.skipIf(!available('strace'))('a folder whose last sync fails', () => {
  test('keygen: the key is there, and the error says so', async () => {
    await using home = await createHome();
    const file = path.join(home.folder, 'key');
    const result = await run('fsync:error=EIO', ['keygen', file], home.env, home.folder);
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
    const result = await run('fsync:error=EIO', ['config', 'set', 'vendor', 'acme'], home.env, folder);
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
