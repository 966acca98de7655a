import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { browserCommand, visit } from '../support/browser.ts';
import { thisMachine } from '../support/context.ts';
import { spawnHooktrail, startProcess } from '../support/process.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

let at: SigningIn;
beforeEach(async () => {
  at = await startSigningIn();
});
afterEach(() => at[Symbol.asyncDispose]());

test('HOOKTRAIL_BROWSER is run with the URL, and --quiet prints only that URL', async () => {
  const env = { ...at.env, HOOKTRAIL_BROWSER: browserCommand };
  const { code, stdout, stderr } = await at.run(['login', '--quiet'], { env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/identity\/connect\/authorize\?\S+\n$/);
});

test.runIf(process.platform !== 'win32')('the browser gets no secrets in its environment', async () => {
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

test('a browser that cannot be started is a warning, and the wait continues', async () => {
  const env = { ...at.env, HOOKTRAIL_BROWSER: '/nowhere/browser' };
  const program = startProcess(['login'], { env });
  await program.printed('stderr', /^warning: the browser could not be started: .*ENOENT/m);
  const [url] = await program.printed('stderr', /^http\S+$/m);
  await visit(url);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test.runIf(process.platform !== 'win32')('$BROWSER is honoured, with its arguments', async () => {
  const browser = path.join(at.home.folder, 'browser');
  const seen = path.join(at.home.folder, 'seen');
  await writeFile(browser, `#!/bin/sh\necho "$@" > '${seen}'\nexec node '${browserCommand}' "$3"\n`, {
    mode: 0o755,
  });
  const env = { ...at.env, BROWSER: `${browser} --new --url %s:/nowhere/other` };
  expect((await spawnHooktrail(['login'], { env })).code).toBe(0);
  expect(await readFile(seen, 'utf8')).toMatch(/^--new --url http:\/\/127\.0\.0\.1:\d+\/\S+\n$/);
});

test.runIf(process.platform !== 'win32')(
  'a browser command that ends with a failure is a warning',
  async () => {
    const browser = path.join(at.home.folder, 'browser');
    // As xdg-open does if it finds no browser.
    await writeFile(browser, '#!/bin/sh\nexit 3\n', { mode: 0o755 });
    const program = startProcess(['login'], { env: { ...at.env, HOOKTRAIL_BROWSER: browser } });
    await program.printed(
      'stderr',
      /^warning: the browser could not be started: its command ended with 3\n/m,
    );
    const [url] = await program.printed('stderr', /^http\S+$/m);
    await visit(url);
    expect(await program.finished).toMatchObject({ code: 0 });
  },
);

test('if nobody signs in, the wait ends with 4', async () => {
  expect(await at.run(['login', '--no-browser', '--timeout', '1'])).toMatchObject({
    code: 4,
    stdout: '',
    stderr: expect.stringContaining('error: nobody signed in within 1 s\nnext: '),
  });
});

test('in an SSH session no browser is opened, and login says how to forward the port', async () => {
  const env = { ...at.env, SSH_CONNECTION: '192.0.2.1 50000 192.0.2.2 22' };
  const program = startProcess(['login'], { env });
  const [url] = await program.printed('stderr', /^http\S+$/m);
  const { port } = new URL(at.redirectUri);
  expect(program.stderr).toContain(`  ssh -N -L ${port}:127.0.0.1:${port} `);
  expect(program.stderr).toContain('hooktrail login --paste');
  expect(program.stderr).toContain('Sign in in a browser at\n');
  await visit(url);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('on WSL login mentions localhost forwarding', async () => {
  const { program, authorizeUrl } = await at.login([], { env: { ...at.env, WSL_DISTRO_NAME: 'Debian' } });
  await program.printed('stderr', /This is WSL: .*\n.*localhostForwarding=true.*\n.*login --paste/);
  await visit(authorizeUrl);
  expect(await program.finished).toMatchObject({ code: 0 });
});

const paste = 'or run `hooktrail login --paste` and paste the URL that the browser ends up at\n';
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
  const { program } = await at.login([], { env: { ...at.env, ...variables }, context });
  const { port } = new URL(at.redirectUri);
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
