import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { browserCommand, redirectOf, visit } from '../support/browser.ts';
import { thisMachine } from '../support/context.ts';
import { spawnHooktrail, startProcess } from '../support/process.ts';
import { ask } from '../support/server.ts';
import { useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

test('HOOKTRAIL_BROWSER is run with the URL, and --quiet prints only that URL', async () => {
  const env = { ...at.env, HOOKTRAIL_BROWSER: browserCommand };
  const { code, stdout, stderr } = await at.run(['login', '--quiet'], { env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/identity\/connect\/authorize\?\S+\n$/);
});

test('the browser gets no secrets in its environment', async () => {
  const [browser, seen] = ['browser', 'seen'].map((name) => path.join(at.home.folder, name)) as [
    string,
    string,
  ];
  const script = `#!/usr/bin/env node
require('node:fs').writeFileSync(${JSON.stringify(seen)}, JSON.stringify(process.env));
fetch(process.argv[2]);
`;
  await writeFile(browser, script, { mode: 0o755 });
  const env = {
    ...at.env,
    HOOKTRAIL_BROWSER: browser,
    HOOKTRAIL_ACCESS_TOKEN: 'a-token',
    HOOKTRAIL_API_TOKEN: 'api',
  };
  // Runs as a process, since the secrets are removed from its own environment.
  expect((await spawnHooktrail(['login'], { env })).code).toBe(0);
  const given = JSON.parse(await readFile(seen, 'utf8'));
  expect(given['HOOKTRAIL_AUTH_URL']).toBe(at.sandbox.settings.authUrl);
  for (const name of ['CLIENT_SECRET', 'PASSPHRASE', 'ACCESS_TOKEN', 'API_TOKEN']) {
    expect(given).not.toHaveProperty(`HOOKTRAIL_${name}`);
  }
});

test.each([
  ['a browser that cannot be started', undefined, /.*ENOENT/],
  // As xdg-open does if it finds no browser.
  ['a browser command that ends with a failure', '#!/bin/sh\nexit 3\n', /its command ended with 3\n/],
])('%s is a warning, and the wait continues', async (_name, script, reason) => {
  const browser = path.join(at.home.folder, 'browser');
  if (script) await writeFile(browser, script, { mode: 0o755 });
  const program = startProcess(['login'], { env: { ...at.env, HOOKTRAIL_BROWSER: browser } });
  const warning = new RegExp(`^warning: the browser could not be started: ${reason.source}`, 'm');
  await program.printed('stderr', warning);
  const [url] = await program.printed('stderr', /^http\S+$/m);
  await visit(url);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('$BROWSER is honoured, with its arguments', async () => {
  const browser = path.join(at.home.folder, 'browser');
  const seen = path.join(at.home.folder, 'seen');
  await writeFile(browser, `#!/bin/sh\necho "$@" > '${seen}'\nexec node '${browserCommand}' "$3"\n`, {
    mode: 0o755,
  });
  const env = { ...at.env, BROWSER: `${browser} --new --url %s:/nowhere/other` };
  expect((await spawnHooktrail(['login'], { env })).code).toBe(0);
  expect(await readFile(seen, 'utf8')).toMatch(/^--new --url http:\/\/127\.0\.0\.1:\d+\/\S+\n$/);
});

test('in an SSH session no browser is opened, and login says how to forward the ports, that of a provider on loopback too', async () => {
  const env = { ...at.env, SSH_CONNECTION: '192.0.2.1 50000 192.0.2.2 22' };
  const program = startProcess(['login'], { env });
  const [url] = await program.printed('stderr', /^http\S+$/m);
  const { port } = new URL(new URL(url).searchParams.get('redirect_uri') ?? '');
  const provider = new URL(url).port;
  expect(program.stderr).toMatch(/ your own machine, forward the ports from there first,\n/);
  expect(program.stderr).toMatch(
    new RegExp(
      `^  ssh -N -L ${port}:127\\.0\\.0\\.1:${port} -L ${provider}:127\\.0\\.0\\.1:${provider} \\S+$`,
      'm',
    ),
  );
  expect(program.stderr).toContain('or run the same command with --paste');
  expect(program.stderr).toContain('Sign in in a browser at\n');
  await visit(url);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('on WSL login mentions localhost forwarding', async () => {
  const { program, authorizeUrl } = await at.login([], { env: { ...at.env, WSL_DISTRO_NAME: 'Debian' } });
  await program.printed('stderr', /This is WSL: .*\n.*localhostForwarding=true.*\n.*with --paste/);
  await visit(authorizeUrl);
  expect(await program.finished).toMatchObject({ code: 0 });
});

const paste = 'or run the same command with --paste and paste the URL that the browser ends up at\n';
test.each<[string, Record<string, string>, boolean, string[]]>([
  [
    'a codespace',
    { CODESPACES: 'true' },
    true,
    ['This is a codespace: forward port PORT to your machine in VS Code ("Ports"),'],
  ],
  [
    'a dev container',
    { REMOTE_CONTAINERS: 'true' },
    true,
    ['This is a dev container: forward port PORT to your machine in VS Code ("Ports"),'],
  ],
  [
    'a container',
    {},
    true,
    [
      'This is a container: a browser outside does not reach its port PORT, published',
      'or not; run the container with the network of its host (`--network host`),',
    ],
  ],
  ['a container with a display', { DISPLAY: ':0' }, true, []],
  ['a desktop', {}, false, []],
])('%s gets its own advice', async (_name, variables, isContainer, lines) => {
  const context = { machine: { ...thisMachine(), isContainer } };
  const { program, authorizeUrl } = await at.login([], { env: { ...at.env, ...variables }, context });
  const { port } = new URL(authorizeUrl.searchParams.get('redirect_uri') ?? '');
  const advice =
    lines.map((line) => `${line.replace('PORT', port)}\n`).join('') + (lines.length > 0 ? paste : '');
  expect(program.stderr.startsWith(`${advice}Sign in in a browser at\nhttp`)).toBe(true);
  program.kill('SIGINT');
  await program.finished;
});

test('on a terminal the advice is to paste the URL there', async () => {
  const context = { machine: { ...thisMachine(), isContainer: true } };
  const { program } = await at.login([], { terminal: 100, context, stdin: null });
  expect(program.stderr).toContain('or paste below the URL that the browser ends up at\n');
  program.kill('SIGINT');
  await program.finished;
});

/** The tokens that the token endpoint granted in this test. */
function grants(): Record<string, string>[] {
  const seen: Record<string, string>[] = [];
  const keep = (answer: { body: Buffer }) => {
    seen.push(JSON.parse(answer.body.toString()));
    return answer;
  };
  at.sandbox.control.fault('token', { kind: 'edit', edit: keep as never });
  return seen;
}

/**
 * Returns those of `secrets` that the text contains, and whether it contains the PKCE verifier of that
 * challenge.
 */
function leaked(text: string, secrets: readonly string[], challenge: string): string[] {
  const verifiers = [...text.matchAll(/[\w-]{43,}/g)].filter(
    ([word]) => createHash('sha256').update(word).digest('base64url') === challenge,
  );
  return [...secrets.filter((secret) => text.includes(secret)), ...verifiers.map(() => 'the code verifier')];
}

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

async function signInWith(args: readonly string[]) {
  const granted = grants();
  const { program, authorizeUrl } = await at.login(args);
  const redirect = await redirectOf(authorizeUrl);
  await visit(redirect);
  const result = await program.finished;
  expect(result.code).toBe(0);
  expect(granted).toHaveLength(1);
  const { access_token: access, refresh_token: refresh } = granted[0] as Record<string, string>;
  const code = redirect.searchParams.get('code') as string;
  return {
    result,
    challenge: authorizeUrl.searchParams.get('code_challenge') as string,
    secrets: [at.sandbox.settings.clientSecret, access as string, refresh as string, code],
  };
}

test('--debug shows the requests of a sign-in and no secret', async () => {
  const { result, secrets, challenge } = await signInWith(['--debug']);
  expect(result.stderr).toMatch(/^POST http:\S+\/connect\/token 200 \d+ ms$/m);
  expect(leaked(result.stderr + result.stdout, secrets, challenge)).toEqual([]);
});

test('--debug shows no secret of a sign-in that is refused', async () => {
  at.sandbox.control.fault('token', { kind: 'status', status: 400, body: '{"error":"invalid_grant"}' });
  const { program, authorizeUrl } = await at.login(['--debug']);
  const redirect = await redirectOf(authorizeUrl);
  await ask(redirect);
  const { stderr } = await program.finished;
  const secrets = [at.sandbox.settings.clientSecret, redirect.searchParams.get('code') as string];
  expect(leaked(stderr, secrets, authorizeUrl.searchParams.get('code_challenge') as string)).toEqual([]);
});

test('no file holds a secret in the clear, and nobody else may read them', async () => {
  const { secrets, challenge } = await signInWith([]);
  const files = await filesOf(path.join(at.home.folder, 'config'));
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) {
    expect(leaked(await readFile(file, 'latin1'), secrets, challenge)).toEqual([]);
    expect((await stat(file)).mode & 0o077).toBe(0);
  }
});

test.runIf(process.platform === 'linux')('no process shows a secret in its arguments', async () => {
  // The browser runs until the samples have seen it.
  const [browser, marker] = ['patient-browser', 'seen'].map((name) => path.join(at.home.folder, name)) as [
    string,
    string,
  ];
  const script = `#!/bin/sh\nnode '${browserCommand}' "$1"\nuntil [ -e '${marker}' ]; do sleep 0.05; done\n`;
  await writeFile(browser, script, { mode: 0o755 });
  const ended = new AbortController();
  const sample = async (): Promise<string> => {
    let seen = '';
    while (!ended.signal.aborted) {
      for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
        seen += await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      }
      if (seen.includes('patient-browser')) await writeFile(marker, '');
      await delay(5);
    }
    return seen;
  };
  const sampling = sample();
  const env = { ...at.env, HOOKTRAIL_BROWSER: browser };
  const granted = grants();
  const login = await spawnHooktrail(['login'], { env });
  expect(login.code).toBe(0);
  await spawnHooktrail(['status', '--check'], { env });
  await spawnHooktrail(['token'], { env });
  await expect.poll(() => existsSync(marker)).toBe(true);
  ended.abort();
  const seen = await sampling;
  // The browser's argument is the sign-in URL, which shows that the samples saw these processes.
  expect(seen).toContain('patient-browser');
  const challenge = new URL(login.stderr.match(/^http\S+authorize\S+$/m)?.[0] as string).searchParams;
  const { access_token: access, refresh_token: refresh } = granted[0] as Record<string, string>;
  const secrets = [at.sandbox.settings.clientSecret, access as string, refresh as string];
  expect(leaked(seen, secrets, challenge.get('code_challenge') as string)).toEqual([]);
});

test('files in the working directory have no effect', async () => {
  const folder = path.join(at.home.folder, 'hostile');
  const marker = path.join(folder, 'ran');
  const script = `require('node:fs').writeFileSync(${JSON.stringify(marker)}, 'ran');`;
  const saved = JSON.stringify({
    version: 1,
    profile: 'default',
    profiles: {
      default: { 'auth-url': 'https://evil.example', 'base-url': 'https://evil.example', vendor: 'evil' },
    },
  });
  const variables = 'HOOKTRAIL_AUTH_URL=https://evil.example\nHOOKTRAIL_BASE_URL=https://evil.example\n';
  const files: Record<string, string> = {
    'config.json': saved,
    'hooktrail/config.json': saved,
    '.hooktrail/config.json': saved,
    '.config/hooktrail/config.json': saved,
    'hooktrail.json': saved,
    '.hooktrailrc': saved,
    '.env': variables,
    '.env.local': variables,
    '.npmrc': 'node-options=--require=./evil.cjs\n',
    'package.json': '{"type":"commonjs","hooktrail":{"auth-url":"https://evil.example"}}',
    'evil.cjs': script,
    'node_modules/keytar/index.js': script,
    'node_modules/open/index.js': script,
    'node_modules/commander/index.js': script,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  for (const name of ['xdg-open', 'node', 'stty']) {
    await writeFile(path.join(folder, name), `#!/bin/sh\ntouch '${marker}'\n`);
    await chmod(path.join(folder, name), 0o755);
  }

  const elsewhere = await at.run(['login', '--auth-url', 'https://id.example'], { env: at.home.env });
  const here = await at.run(['login', '--auth-url', 'https://id.example'], { env: at.home.env, cwd: folder });
  expect(here).toEqual(elsewhere);
  expect(here.stderr).toContain('--base-url or HOOKTRAIL_BASE_URL');

  await at.signIn();
  expect((await at.run(['status', '--check'], { env: at.home.env, cwd: folder })).code).toBe(0);
  expect((await at.authorizeUrl([], { cwd: folder })).href).toContain(at.sandbox.settings.authUrl);
  expect(await readdir(folder)).not.toContain('ran');
});
