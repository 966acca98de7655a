import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserCommand } from '../support/browser.ts';
import { describeAll } from '../support/command-lines.ts';
import { freePort } from '../support/ports.ts';
import { spawnHooktrail, startProcess } from '../support/process.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

/**
 * The command line for each command; `interrupt`: the command runs until it is interrupted, once it has connected or
 * printed a line.
 */
const calls: Readonly<Record<string, { args?: readonly string[]; interrupt?: 'connected' | 'printed' }>> = {
  login: {},
  status: { args: ['--check'] },
  token: {},
  'event-types': {},
  'events search': { args: ['--all'] },
  'events get': { args: ['00000000-0000-4000-8000-000000000000'] },
  'events count': {},
  'events stats': {},
  'events watch': { args: ['--interval', '1s'], interrupt: 'connected' },
  'events export': { args: ['exported'] },
  'events report': { args: ['report.html'] },
  'events browse': {},
  'webhooks listen': { args: ['--port', '0', '--journal', 'journal'], interrupt: 'printed' },
  'webhooks recover': {
    args: ['--after', '1h', '--new-journal', '--journal', 'recovered', '--forward-to', 'HANDLER'],
    interrupt: 'connected',
  },
  'webhooks replay': { args: ['--since', '1h', '--forward-to', 'HANDLER'], interrupt: 'connected' },
  'webhooks send': { args: ['--type', 'document.created', '--forward-to', 'HANDLER'] },
  doctor: {},
  keygen: {},
  mcp: {},
  api: { args: ['/event-types'] },
  'profiles list': {},
  'profiles use': { args: ['default'] },
  'config list': {},
  'config get': { args: ['base-url'] },
  'config set': { args: ['scope', 'event_api'] },
  'config unset': { args: ['scope'] },
  'config path': {},
  sandbox: { args: ['--events', '10'], interrupt: 'printed' },
  demo: { args: [] },
  completion: { args: ['bash'] },
  help: { args: ['filters'] },
  'profiles delete': { args: ['default'] },
  logout: {},
};

/** These start their own service on their own ports. */
const selfContained = new Set(['demo', 'sandbox']);

describe('the hosts that the program connects to', () => {
  let signingIn: SigningIn;
  let log: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    signingIn = await startSigningIn();
    log = path.join(signingIn.home.folder, 'sockets.log');
    const watcher = path.resolve(import.meta.dirname, '../support/watch-sockets.mjs');
    env = {
      ...signingIn.env,
      HOOKTRAIL_API_TOKEN: 'a token of the webhook',
      HOOKTRAIL_BROWSER: browserCommand,
      NODE_OPTIONS: `${signingIn.env['NODE_OPTIONS']} --import=${pathToFileURL(watcher)}`,
      SOCKET_LOG: log,
    };
  });
  afterAll(() => signingIn[Symbol.asyncDispose]());

  test('every command of the tree is watched', async () => {
    const { commands } = await describeAll();
    const paths = commands.map(({ command }) => {
      const words: string[] = [];
      for (let at = command; at.parent; at = at.parent) words.unshift(at.name());
      return words.join(' ');
    });
    expect(paths.filter((words) => !(words in calls))).toEqual([]);
  });

  test('the watcher sees connections and names', async () => {
    await writeFile(log, '');
    const elsewhere = { ...env, HOOKTRAIL_BASE_URL: 'https://nowhere.invalid', HOOKTRAIL_ACCESS_TOKEN: 't' };
    const { pid, kill, finished } = startProcess(['api', '/'], { env: elsewhere });
    expect(pid).toBeGreaterThan(0);
    await expect.poll(() => readFile(log, 'utf8'), { timeout: 20_000 }).not.toBe('');
    kill('SIGINT');
    await finished;
    expect(await readFile(log, 'utf8')).toContain('name nowhere.invalid\n');
  });

  test.each(Object.entries(calls))(
    '%s: the configured service and provider, and nobody else',
    async (name, call) => {
      const handler = `http://127.0.0.1:${await freePort()}`;
      const args = [
        ...name.split(' '),
        ...(call.args ?? []).map((arg) => (arg === 'HANDLER' ? handler : arg)),
      ];
      // Some of the other commands sign out.
      await signingIn.signIn();
      await writeFile(log, '');
      if (call.interrupt) {
        const program = startProcess(args, { env });
        if (call.interrupt === 'connected')
          await expect.poll(() => readFile(log, 'utf8'), { timeout: 20_000 }).toContain('connect ');
        else await Promise.race([program.printed('stderr', /\n/), program.printed('stdout', /\n/)]);
        program.kill('SIGINT');
        await program.finished;
      } else {
        await spawnHooktrail(args, { env });
      }
      const seen = [...new Set((await readFile(log, 'utf8')).split('\n').filter((line) => line !== ''))];
      const origins = [signingIn.env['HOOKTRAIL_BASE_URL'], signingIn.redirectUri, handler];
      const allowed = origins.map((url) => `connect ${new URL(url as string).host}`);
      const foreign = seen.filter((line) =>
        selfContained.has(name) ? !/^connect (127\.0\.0\.1|::1):\d+$/.test(line) : !allowed.includes(line),
      );
      expect(foreign).toEqual([]);
    },
  );
});
