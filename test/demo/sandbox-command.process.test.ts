import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import type { Environment } from '../../src/context.ts';
import { thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome, type Home } from '../support/home.ts';
import { spawnHooktrail, startProcess } from '../support/process.ts';
import { type CommandOptions, hooktrail, startHooktrail } from '../support/program.ts';
import { accessTokenOf, authorized, rawGet } from '../support/sandbox-client.ts';
import { sampleOf } from '../support/seed.ts';

/**
 * Returns a Node script as a command for the sandbox. In the script, `hooktrail(...)` runs the program and
 * returns its result.
 */
async function script(home: Home, text: string): Promise<string[]> {
  const file = path.join(home.folder, 'command.cjs');
  await writeFile(
    file,
    `const { spawnSync } = require('node:child_process');
const hooktrail = (...args) => spawnSync(process.execPath, [${JSON.stringify(inject('program'))}, ...args], { encoding: 'utf8' });
${text}`,
  );
  return ['--', process.execPath, file];
}

const home = forEachTest(createHome);

describe('hooktrail sandbox -- COMMAND', () => {
  test('runs it signed in to a new sandbox, and ends with its exit code', async () => {
    const command = await script(
      home,
      `const { stdout, stderr, status } = hooktrail('events', 'count', '--exit-code');
process.stdout.write(stdout + stderr);
process.exitCode = status + 30;`,
    );
    expect(await spawnHooktrail(['sandbox', '--events', '10', ...command], home)).toEqual({
      code: 40,
      stdout: '10\n',
      stderr: '',
    });
  });

  test.each(['sandbox', 'demo'])(
    '%s ends with an error where no temporary folder can be made',
    async (command) => {
      const TMPDIR = path.join(home.folder, 'none');
      expect(await spawnHooktrail([command], { env: { ...home.env, TMPDIR } })).toEqual({
        code: 2,
        stdout: '',
        stderr:
          'error: the sandbox needs a temporary folder: no such file or directory (ENOENT)\n' +
          'next: name a folder that can be written in the variable TMPDIR\n',
      });
    },
  );

  test("gives it its own settings and folder, and none of the user's settings", async () => {
    const env = {
      ...home.env,
      HOOKTRAIL_ACCESS_TOKEN: 'real',
      HOOKTRAIL_API_TOKEN: 'real',
      HOOKTRAIL_PROFILE: 'real',
      HOOKTRAIL_BROWSER: 'real',
      HOOKTRAIL_CLIENT_SECRET: 'real',
      HOOKTRAIL_CLIENT_SECRET_FILE: 'real',
      HOOKTRAIL_CLIENT_KEY_FILE: 'real',
      HOOKTRAIL_CLIENT_ASSERTION_COMMAND: 'real',
      HOOKTRAIL_STORE: 'keychain',
    };
    let seen: Environment = {};
    const runProgram = async (words: readonly string[], environment: Environment) => {
      expect(words).toEqual(['npm', 'test', '--fast']);
      seen = environment;
      return 0;
    };
    const result = await hooktrail(['sandbox', '--events', '1', '--', 'npm', 'test', '--fast'], {
      env,
      context: { runProgram },
    });
    expect(result).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(Object.values(seen)).not.toContain('real');
    expect(seen).toMatchObject({
      HOME: home.folder,
      HOOKTRAIL_PROFILE: 'sandbox',
      HOOKTRAIL_CLIENT_ID: 'hooktrail-sandbox',
      HOOKTRAIL_REDIRECT_URI: 'http://127.0.0.1:0/callback',
      HOOKTRAIL_STORE: 'file',
      HOOKTRAIL_PASSPHRASE: expect.stringMatching(/^htk1-[\w-]{43}$/),
    });
    expect(seen['HOOKTRAIL_CONFIG_DIR']).not.toBe(home.env['HOOKTRAIL_CONFIG_DIR']);
    expect(seen['HOOKTRAIL_API_TOKEN']).toBeUndefined();
  });

  test.each(
    sampleOf('Api-Token of the sandbox', 1, [
      ['a flag', ['--api-token', 's3cret'], {}],
      ['a variable', [], { HOOKTRAIL_API_TOKEN: 's3cret' }],
      ['a command', [], { HOOKTRAIL_API_TOKEN_COMMAND: 'echo s3cret' }],
    ] as const),
  )('gives it the Api-Token of the deliveries, from %s', async (_name, words, env) => {
    let token: string | undefined;
    const runProgram = async (_: readonly string[], environment: Environment) => {
      token = environment['HOOKTRAIL_API_TOKEN'];
      return 0;
    };
    const flags = ['--events', '0', '--deliver-to', 'http://127.0.0.1:1/', ...words];
    await hooktrail(['sandbox', ...flags, '--', 'x'], {
      env: { ...home.env, ...env },
      context: { runProgram },
    });
    expect(token).toBe('s3cret');
  });

  test('leaves its sign-ins to a person without --auto-approve, and needs no browser with it', async () => {
    const browsers: (string | undefined)[] = [];
    const approves = async (...flags: string[]) => {
      let status = 0;
      const runProgram = async (_: readonly string[], environment: Environment) => {
        const query = new URLSearchParams({
          client_id: String(environment['HOOKTRAIL_CLIENT_ID']),
          grant_type: 'authorization_code',
          response_type: 'code',
          redirect_uri: 'http://127.0.0.1:1/callback',
          scope: 'event_api',
        });
        const url = `${environment['HOOKTRAIL_AUTH_URL']}/connect/authorize?${query}`;
        const answer = await fetch(url, { redirect: 'manual' });
        const page = new URL(String(answer.headers.get('location')), url);
        const headers = {
          cookie: answer.headers
            .getSetCookie()
            .map((one) => one.split(';')[0])
            .join('; '),
        };
        status = (await fetch(page, { redirect: 'manual', headers })).status;
        browsers.push(environment['HOOKTRAIL_BROWSER']);
        return 0;
      };
      await hooktrail(['sandbox', '--events', '0', ...flags, '--', 'x'], {
        env: home.env,
        context: { runProgram },
      });
      return status;
    };
    expect([await approves(), await approves('--auto-approve')]).toEqual([200, 303]);
    expect(browsers).toEqual([undefined, 'hooktrail']);
  });

  test.each(
    sampleOf('signals of the sandbox', 1, [
      ['SIGTERM', 'SIGTERM', 7],
      ['SIGINT', 'SIGINT', 7],
    ] as const),
  )('forwards %s, and waits for the command', async (signal, name, code) => {
    const command = await script(
      home,
      `process.on('${name}', () => setTimeout(() => { console.log('cleaned up'); process.exit(${code}); }, 50));
setInterval(() => {}, 1000);
console.log('ready');`,
    );
    const program = startProcess(['sandbox', '--events', '0', ...command], home);
    await program.printed('stdout', /^ready\n/);
    program.kill(signal);
    expect(await program.finished).toEqual({ code, stdout: 'ready\ncleaned up\n', stderr: '' });
  });

  test('a program that does not exist is an error', async () => {
    expect(await spawnHooktrail(['sandbox', '--events', '0', '--', 'no-such-program'], home)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("error: cannot run 'no-such-program': there is no such program\n"),
    });
  });

  test('ends with the exit code of a shell if a signal ended the command', async () => {
    const command = await script(home, `process.kill(process.pid, 'SIGKILL');`);
    expect((await spawnHooktrail(['sandbox', '--events', '0', ...command], home)).code).toBe(137);
  });
});

/** Starts a sandbox without events, stops it once its lines are there, and returns what it printed. */
async function linesOf(options: CommandOptions) {
  const program = startHooktrail(['sandbox', '--events', '0'], options);
  await program.printed('stdout', /HOOKTRAIL_ISSUER/);
  if (options.terminal) await program.printed('stderr', /Ctrl-C/);
  program.kill('SIGINT');
  return await program.finished;
}

describe('hooktrail sandbox', () => {
  test('prints lines for the shell, with a separate profile', async () => {
    const { code, stdout } = await linesOf(home);
    expect(code).toBe(130);
    expect(stdout.split('\n')[0]).toBe("export HOOKTRAIL_PROFILE='sandbox'");
    expect(stdout).toMatch(/^(export HOOKTRAIL_\w+='[^']+'\n){12}$/);
  });

  test('its lines put aside what would go before them in a shell that is set up for another service', async () => {
    const { HOOKTRAIL_PASSPHRASE: _, ...others } = home.env;
    const env = {
      ...others,
      HOOKTRAIL_ACCESS_TOKEN: 'a.b.c',
      HOOKTRAIL_CLIENT_SECRET_COMMAND: 'false',
      HOOKTRAIL_PASSPHRASE_FILE: '/nowhere',
    };
    const removed = [...(await linesOf({ env })).stdout.matchAll(/^unset (\w+)$/gm)].map(([, name]) => name);
    expect(removed.sort()).toEqual([
      'HOOKTRAIL_ACCESS_TOKEN',
      'HOOKTRAIL_CLIENT_SECRET_COMMAND',
      'HOOKTRAIL_PASSPHRASE_FILE',
    ]);
  });

  test('prints lines for PowerShell on Windows', async () => {
    const machine = { ...thisMachine(), platform: 'win32' as const };
    expect((await linesOf({ env: home.env, context: { machine } })).stdout).toMatch(
      /^(\$env:HOOKTRAIL_\w+ = '[^']+'\n){12}$/,
    );
  });

  test('with --auto-approve its lines sign in on a machine that has only PATH and HOME', async () => {
    const { PATH, HOME, TMPDIR } = home.env;
    const bare = { PATH, HOME, TMPDIR } as Record<string, string>;
    const program = startHooktrail(['sandbox', '--events', '20', '--auto-approve'], { env: bare });
    await program.printed('stdout', /HOOKTRAIL_BROWSER.*\n/);
    const lines = [...program.stdout.matchAll(/^export (\w+)='(.*)'$/gm)].map(([, name, value]) => [
      name,
      value,
    ]);
    // A port of its own: another test or a sandbox of the developer may have the usual one.
    const redirect = { HOOKTRAIL_REDIRECT_URI: 'http://127.0.0.1:0/callback' };
    const env: Record<string, string> = { ...bare, ...Object.fromEntries(lines), ...redirect };
    const browser = { open: async () => expect.unreachable('a browser was opened') };
    expect(await hooktrail(['login'], { env, context: { browser } })).toMatchObject({ code: 0 });
    expect(await hooktrail(['events', 'count'], { env })).toEqual({ code: 0, stdout: '20\n', stderr: '' });
    expect(existsSync(String(env['HOOKTRAIL_CONFIG_DIR']))).toBe(true);
    program.kill('SIGINT');
    await program.finished;
    expect([
      existsSync(String(env['HOOKTRAIL_CONFIG_DIR'])),
      existsSync(path.join(HOME as string, '.config')),
    ]).toEqual([false, false]);
  });

  test('on a terminal it says what to do with its lines', async () => {
    const env = { ...home.env, SHELL: '/bin/zsh' };
    expect((await linesOf({ env, terminal: 80 })).stderr).toMatch(
      /^\nPaste these lines into another terminal and type `hooktrail login` there\.\nOr stop this sandbox: `hooktrail sandbox -- zsh` is a shell signed in to one\.\n/,
    );
  });

  test.each([
    ['--latency', '10', '10ms'],
    ['--token-lifetime', '90', '2m'],
  ])('%s takes a number or a length of time', async (flag, ...values) => {
    for (const value of values) {
      const runProgram = async () => 0;
      const args = ['sandbox', '--events', '0', flag, value, '--', 'x'];
      expect((await hooktrail(args, { env: home.env, context: { runProgram } })).code).toBe(0);
    }
  });

  test.each(sampleOf('rate of the sandbox', 1, ['200', '2.5']))(
    'adds events at a rate of %s without delivering them',
    async (rate) => {
      const program = startHooktrail(
        ['sandbox', '--events', '0', '--rate', rate, '--json', '--auto-approve'],
        home,
      );
      const [line] = await program.printed('stdout', /^.*\n/);
      const settings = JSON.parse(line);
      const headers = authorized({ settings }, await accessTokenOf({ settings }));
      const count = async () =>
        JSON.parse((await rawGet({ settings }, '/integrator-events?limit(1,1)', headers)).body.toString())
          .count;
      await expect.poll(count).toBeGreaterThan(2);
      program.kill('SIGTERM');
      expect((await program.finished).code).toBe(143);
    },
  );
});
