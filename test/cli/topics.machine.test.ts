import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { topics, topicText } from '../../src/cli/topics.ts';
import { settingNames } from '../../src/settings/setting-names.ts';
import { callsIn, commandFor } from '../support/command-lines.ts';
import { createHome } from '../support/home.ts';
import { available, toolEnv } from '../support/machine/requirement.ts';
import { fakeOutput } from '../support/outputs.ts';
import { hooktrail } from '../support/program.ts';

describe('hooktrail help', () => {
  test('explains each topic, and the root help names them', async () => {
    await using home = await createHome();
    const root = await hooktrail(['--help'], { env: home.env });
    for (const topic of topics) {
      const { code, stdout, stderr } = await hooktrail(['help', topic.name], { env: home.env });
      expect([code, stdout, stderr]).toEqual([0, topicText(topic.name), '']);
      expect(root.stdout).toContain(topic.name);
    }
  });

  test('fits the terminal also through a pager, when only standard error is one', async () => {
    await using home = await createHome();
    const { stdout } = await hooktrail(['--help'], { env: home.env, context: { stderr: fakeOutput(60) } });
    const widths = stdout.split('\n').map((line) => line.length);
    expect([Math.max(...widths) <= 60, Math.max(...widths) > 50]).toEqual([true, true]);
    const piped = await hooktrail(['--help'], { env: home.env });
    expect(Math.max(...piped.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test('begins with the commands to type first', async () => {
    await using home = await createHome();
    const { stdout } = await hooktrail(['--help'], { env: home.env });
    const commands = callsIn(stdout.slice(stdout.indexOf('Examples:'))).map(commandFor);
    expect(await Promise.all(commands)).toEqual([
      'hooktrail demo',
      'hooktrail login',
      'hooktrail events search',
    ]);
  });

  test('lists the commands of a group by their names', async () => {
    await using home = await createHome();
    const { stdout } = await hooktrail(['profiles', '--help'], { env: home.env });
    expect(stdout).toMatch(
      /\nCommands:\n {2}list {2,}\w.*\n {2}use {2,}\w.*\n {2}delete {2,}\w.*\n {2}help {2,}\w.*\n\nGlobal: --profile /,
    );
  });

  test('names the variable and the flag of every setting', () => {
    const page = topicText('environment').replaceAll(/\s+/g, ' ');
    for (const { key, variable, flag, meaning } of Object.values(settingNames)) {
      // Both are set once: no command has a flag for it.
      const named = key === 'name-field' || key === 'passphrase-file' ? '' : `(flag ${flag}) `;
      expect(page).toContain(` ${variable} ${meaning} ${named}`);
    }
  });
});

test.skipIf(!available('man') || !available('groff'))(
  'the manual page renders without a warning and holds every command',
  async () => {
    const page = path.resolve(path.dirname(inject('program')), '../dist/hooktrail.1');
    const execute = promisify(execFile);
    const { stderr } = await execute('groff', ['-man', '-ww', '-Tutf8', '-z', page]);
    expect(stderr).toBe('');
    const { stdout } = await execute('man', ['-l', page], {
      env: { ...toolEnv, MANWIDTH: '80', LC_ALL: 'C.UTF-8' },
    });
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    for (const text of [
      'hooktrail events search',
      '--failed',
      '$ hooktrail webhooks listen',
      'EXIT STATUS',
    ]) {
      expect(stdout).toContain(text);
    }
  },
);
