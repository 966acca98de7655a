import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserCommand } from '../support/browser.ts';
import { describeAll } from '../support/command-lines.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/process.ts';
import { sampleOf } from '../support/seed.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

interface Row {
  readonly args?: readonly string[];
  /** 0 when absent. */
  readonly code?: number;
  /** The command runs until it is interrupted, once it has connected. */
  readonly isInterrupted?: boolean;
}

/** The command line for each command that sends requests. */
const calls: Readonly<Record<string, Row>> = {
  login: {},
  status: { args: ['--check'] },
  'event-types': {},
  'events search': { args: ['--all'] },
  'events get': { args: ['00000000-0000-4000-8000-000000000000'], code: 3 },
  'events count': {},
  'events about': { args: ['archive'] },
  'events find': { args: ['4711'] },
  'events stats': {},
  'events explain': {},
  'events health': { args: ['--by', 'eventType'] },
  'events watch': { args: ['--interval', '1s'], isInterrupted: true },
  'events export': { args: ['exported'] },
  'events report': { args: ['report.html'] },
  'webhooks recover': {
    args: ['--after', '1d', '--new-journal', '--journal', 'recovered', '--forward-to', 'HANDLER'],
    isInterrupted: true,
  },
  'webhooks reconcile': { args: ['--received', 'IDS', '--since', '1d'] },
  'webhooks replay': { args: ['--since', '1d', '--forward-to', 'HANDLER'], code: 1 },
  'webhooks send': { args: ['--type', 'document.created', '--forward-to', 'HANDLER'], code: 1 },
  doctor: {},
  api: { args: ['/event-types'] },
  'subscriptions list': {},
  'subscriptions get': { args: ['archive'] },
  // A part of no address: it asks the service alone.
  'subscriptions check': { args: ['nowhere.example', '--yes'], code: 2 },
  'subscriptions create': {
    args: [
      ...['--url', 'https://hooks.example.com/in', '--type', 'document.created'],
      ...['--marketplace', '2001', '--dry-run'],
    ],
  },
  'subscriptions renew': { args: ['archive', '--dry-run'] },
  'subscriptions token': { args: ['archive'], code: 2 },
  'subscriptions update': { args: ['archive', '--add-marketplace', '1', '--dry-run'] },
  'subscriptions enable': { args: ['archive', '--dry-run'] },
  'subscriptions disable': { args: ['archive', '--dry-run'] },
  logout: {},
};

/** These send no request with the arguments that a test can give them, or to their own ports alone. */
const offline = new Set([
  // Its token is ready.
  'token',
  ...['events browse', 'webhooks listen', 'keygen', 'mcp', 'sandbox', 'demo', 'completion', 'help'],
  ...['profiles list', 'profiles use', 'profiles delete'],
  ...['config list', 'config get', 'config set', 'config unset', 'config path'],
]);

describe('the hosts that the program connects to', () => {
  let signingIn: SigningIn;
  let log: string;
  let env: Record<string, string>;
  let isSignedIn = false;
  beforeAll(async () => {
    signingIn = await startSigningIn({}, { port: await freePort() });
    log = path.join(signingIn.home.folder, 'sockets.log');
    const watcher = path.resolve(import.meta.dirname, 'watch-sockets.mjs');
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
    expect(paths.filter((words) => !(words in calls || offline.has(words)))).toEqual([]);
  });

  test('the watcher sees connections and names', async () => {
    await writeFile(log, '');
    const elsewhere = { ...env, HOOKTRAIL_BASE_URL: 'https://nowhere.invalid', HOOKTRAIL_ACCESS_TOKEN: 't' };
    const { pid, kill, finished } = startProcess(['api', '/'], { env: elsewhere });
    expect(pid).toBeGreaterThan(0);
    await expect.poll(() => readFile(log, 'utf8')).not.toBe('');
    kill('SIGINT');
    await finished;
    expect(await readFile(log, 'utf8')).toContain('name nowhere.invalid\n');
  });

  test.each(sampleOf('calls', 8, Object.entries(calls)))(
    '%s: the configured service and provider, and nobody else',
    async (name, call) => {
      const handler = `http://127.0.0.1:${await freePort()}`;
      const ids = path.join(signingIn.home.folder, 'ids.txt');
      await writeFile(ids, '0f8fad5b-d9cb-469f-a165-70867728950e\n');
      const args = [
        ...name.split(' '),
        ...(call.args ?? []).map((arg) => ({ HANDLER: handler, IDS: ids })[arg] ?? arg),
      ];
      if (!isSignedIn) await signingIn.signIn();
      isSignedIn = name !== 'logout';
      await writeFile(log, '');
      const program = startProcess(args, { env });
      if (call.isInterrupted) {
        await expect.poll(() => readFile(log, 'utf8')).toContain('connect ');
        program.kill('SIGINT');
      }
      const result = await program.finished;
      expect(result, result.stderr).toMatchObject({ code: call.isInterrupted ? 130 : (call.code ?? 0) });
      const seen = [...new Set((await readFile(log, 'utf8')).split('\n').filter((line) => line !== ''))];
      const origins = [signingIn.env['HOOKTRAIL_BASE_URL'], signingIn.redirectUri, handler];
      const allowed = origins.map((url) => `connect ${new URL(url as string).host}`);
      expect(seen.filter((line) => !allowed.includes(line))).toEqual([]);
      expect(seen).not.toEqual([]);
    },
  );
});
