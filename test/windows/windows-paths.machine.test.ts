import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { startHandler } from '../support/handler.ts';
import { hasWindows } from '../support/requirement.ts';
import {
  createFolderOnC,
  exportedIds,
  onWindows,
  prepareWindows,
  shareOnWindows,
  startWindowsUser,
  type WindowsUser,
} from '../support/windows.ts';

describe.skipIf(!hasWindows)('a path on Windows', { timeout: 120_000 }, () => {
  beforeAll(prepareWindows, 300_000);

  // The beginnings of the paths: the test's folder, written in different ways.
  test.each([
    [
      'on a share',
      async (home: string) => {
        const share = await shareOnWindows(home);
        return [home, `${share}\\`] as const;
      },
    ],
    [
      'on drive C:',
      async () => {
        const [folder, spelled] = await createFolderOnC();
        return [folder, `${spelled}\\`] as const;
      },
    ],
    ['relative to the folder of a drive', async (home: string) => [home, 'Z:'] as const],
  ])('%s is taken by every flag and variable that takes one', async (_name, place) => {
    await using user = await startWindowsUser({ events: 5 });
    await using handler = await startHandler();
    const [folder, start] = await place(user.home.folder);
    const read = (name: string) => readFile(path.join(folder, name), 'utf8');
    const env = {
      ...user.env,
      HOOKTRAIL_PASSPHRASE: '',
      HOOKTRAIL_PASSPHRASE_FILE: `${start}key`,
      HOOKTRAIL_CONFIG_DIR: `${start}settings`,
      HOOKTRAIL_API_TOKEN: 's3cret',
    };
    const done = async (...words: string[]) => {
      const { code, stderr, stdout } = await user.run(words, { env });
      expect([words, code, stderr]).toEqual([words, 0, expect.any(String)]);
      return stdout;
    };

    await done('keygen', `${start}key`);
    expect(await read('key')).toMatch(/^htk1-/);
    expect((await user.signIn(env)).code).toBe(0);
    expect(await readdir(path.join(folder, 'settings'))).toContain('config.json');

    await done('events', 'export', `${start}out`);
    expect(await exportedIds(path.join(folder, 'out'))).toHaveLength(5);
    const search = ['--from', `${start}out`, '--ndjson', '--output-file', `${start}found.ndjson`];
    await done('events', 'search', ...search);
    expect((await read('found.ndjson')).trim().split('\n')).toHaveLength(5);
    await done('events', 'report', '--from', `${start}found.ndjson`, `${start}report.html`);
    expect(await read('report.html')).toMatch(/^<!doctype html>/i);
    const watch = ['--since', '30d', '--count', '5', '--fields', 'eventId', '--ndjson'];
    const printed = await done('events', 'watch', ...watch, '--state', `${start}state`);
    expect(printed.trim().split('\n')).toHaveLength(5);
    expect(await read('state')).toContain('"');

    const to = ['--forward-to', handler.url];
    const recover = ['--since', '30d', '--journal', `${start}events.journal`, '--new-journal'];
    await done('webhooks', 'recover', ...recover, ...to);
    expect(handler.taken.size).toBe(5);
    expect(await read('events.journal')).toMatch(/^hooktrail-journal-1\n/);
    await writeFile(path.join(folder, 'body.json'), '{"sent":true}');
    await done('webhooks', 'send', '--type', 'invoice.paid', '--body', `${start}body.json`, ...to);
    expect(handler.received.at(-1)?.body.toString()).toContain('"sent":true');
  });

  test.each([
    ['with slashes', (folder: string) => `Z:${folder}/out`],
    ['below the root of the drive', (folder: string) => `${folder.replaceAll('/', '\\')}\\out`],
    ['relative to the folder', () => '.\\a\\..\\out'],
    ['of a device', (folder: string) => `\\\\?\\Z:${folder.replaceAll('/', '\\')}\\out`],
    [
      'of a share as a device',
      async (folder: string) => `\\\\?\\UNC${(await shareOnWindows(folder)).slice(1)}\\out`,
    ],
  ])('%s is taken', async (_name, spelled) => {
    await using user = await startWindowsUser({ events: 3 });
    await user.signIn();
    const { folder } = user.home;
    expect(await user.run(['events', 'export', await spelled(folder)])).toMatchObject({ code: 0 });
    expect(await exportedIds(path.join(folder, 'out'))).toHaveLength(3);
  });

  test('is longer than 260 characters', async () => {
    await using user = await startWindowsUser({ events: 5 });
    await user.signIn();
    const deep = path.join(user.home.folder, ...Array.from({ length: 6 }, (_, at) => `${at}`.repeat(50)));
    await mkdir(deep, { recursive: true });
    const report = path.join(deep, 'report.html');
    expect(report.length).toBeGreaterThan(260);
    expect(await user.run(['events', 'report', onWindows(report)])).toMatchObject({ code: 0 });
    expect(await readFile(report, 'utf8')).toMatch(/^<!doctype html>/i);
    const folder = path.join(deep, 'export');
    expect(await user.run(['events', 'export', onWindows(folder)])).toMatchObject({ code: 0 });
    expect(await exportedIds(folder)).toHaveLength(5);
  });

  describe('in a folder that the user may not write to', () => {
    async function denied(user: WindowsUser): Promise<string> {
      const folder = path.join(user.home.folder, 'denied');
      await mkdir(folder);
      await chmod(folder, 0o500);
      return onWindows(folder);
    }

    test.each([
      [
        'events export',
        (folder: string) => ['events', 'export', folder],
        (folder: string) =>
          `error: the directory ${folder} cannot be written: EPERM: operation not permitted\n` +
          'next: choose another directory, or change its permissions\n',
      ],
      [
        'events report',
        (folder: string) => ['events', 'report', `${folder}\\report.html`],
        (folder: string) => `error: the folder ${folder} cannot be written: EPERM: operation not permitted\n`,
      ],
      [
        'events search',
        (folder: string) => ['events', 'search', '--output-file', `${folder}\\found.csv`],
        (folder: string) =>
          `error: --output-file: ${folder}\\found.csv cannot be written: EPERM: operation not permitted\n` +
          'next: name a file in a folder that exists and can be written\n',
      ],
      [
        'webhooks listen',
        (folder: string) => ['webhooks', 'listen', '--port', '0', '--journal', `${folder}\\journal`],
        (folder: string) =>
          `error: --journal: ${folder}\\journal cannot be used: EPERM: operation not permitted\n` +
          'next: choose a file in a folder that exists and is writable\n',
      ],
      [
        'keygen',
        (folder: string) => ['keygen', `${folder}\\key`],
        (folder: string) =>
          `error: the key cannot be written to ${folder}\\key: EPERM: operation not permitted\n` +
          'next: name a file in a folder that exists and can be written\n',
      ],
    ])('%s does nothing', async (_name, words, message) => {
      await using user = await startWindowsUser({ events: 5 });
      const folder = await denied(user);
      const env = { ...user.env, HOOKTRAIL_ACCESS_TOKEN: 'unused', HOOKTRAIL_API_TOKEN: 's3cret' };
      const { code, stdout, stderr } = await user.run(words(folder), { env });
      // The system's text ends with the call and its path.
      expect([code, stdout, stderr.replace(/, \w+ '.*'$/m, '')]).toEqual([2, '', message(folder)]);
      expect(user.sandbox.log).toEqual([]);
      expect(await readdir(path.join(user.home.folder, 'denied'))).toEqual([]);
    });

    test('settings stay as they are, and doctor says so', async () => {
      await using user = await startWindowsUser();
      const folder = await denied(user);
      const env = { ...user.env, HOOKTRAIL_CONFIG_DIR: folder };
      expect(await user.run(['config', 'set', 'vendor', 'first'], { env })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          `error: the settings cannot be written to ${folder}\\config.json: EPERM`,
        ),
      });
      expect(await user.run(['doctor'], { env })).toMatchObject({
        code: 1,
        stdout: expect.stringContaining(`broken    configuration     ${folder} is not writable (EPERM)\n`),
      });
    });

    test('a refreshed token is stored in the home, and nothing is lost', async () => {
      await using user = await startWindowsUser({ events: 5, tokenLifetimeSeconds: 600 });
      await user.signIn();
      const secrets = path.join(user.home.folder, 'AppData', 'Roaming', 'hooktrail', 'secrets');
      await chmod(secrets, 0o500);
      clock.advance(600_000);
      const counted = { code: 0, stdout: '5\n', stderr: '' };
      expect(await user.run(['events', 'count'])).toEqual(counted);
      await chmod(secrets, 0o700);
      expect(await user.run(['events', 'count'])).toEqual(counted);
      expect(user.refreshes()).toEqual([undefined]);
    });
  });
});
