import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { changed, redirectOf, visit } from '../support/browser.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

let at: SigningIn;
beforeEach(async () => {
  at = await startSigningIn();
});
afterEach(() => at[Symbol.asyncDispose]());

const configOf = async () =>
  JSON.parse(await readFile(path.join(at.home.folder, 'config', 'config.json'), 'utf8'));

test('the authorization request carries what the service and the standards ask for', async () => {
  const { program, authorizeUrl } = await at.login();
  const { authUrl, clientId } = at.sandbox.settings;
  expect(authorizeUrl.origin + authorizeUrl.pathname).toBe(`${authUrl}/connect/authorize`);
  expect([...authorizeUrl.searchParams]).toEqual([
    ['client_id', clientId],
    ['grant_type', 'authorization_code'],
    ['response_type', 'code'],
    ['redirect_uri', at.redirectUri],
    ['scope', 'event_api offline_access'],
    // 256 bits in base64url.
    ['state', expect.stringMatching(/^[\w-]{43}$/)],
    ['code_challenge', expect.stringMatching(/^[\w-]{43}$/)],
    ['code_challenge_method', 'S256'],
  ]);
  // A provider that decodes by RFC 3986 alone would read a plus sign.
  expect(authorizeUrl.search).toContain('&scope=event_api%20offline_access&');
  program.kill('SIGTERM');
  await program.finished;
});

test('two sign-ins share neither state nor challenge', async () => {
  const first = JSON.parse((await at.run(['login', '--start'])).stdout).authorizeUrl;
  const second = JSON.parse((await at.run(['login', '--start'])).stdout).authorizeUrl;
  for (const name of ['state', 'code_challenge']) {
    expect(new URL(first).searchParams.get(name)).not.toBe(new URL(second).searchParams.get(name));
  }
});

test('signing in saves the profile and leaves standard output empty', async () => {
  const { program, authorizeUrl } = await at.login();
  await visit(authorizeUrl);
  const { code, stdout, stderr } = await program.finished;
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  const { authUrl, baseUrl, clientId, vendor } = at.sandbox.settings;
  expect(stderr).toContain(
    `Signed in at ${authUrl}\n  profile   default\n  service   ${baseUrl}\n  token     for 30 minutes, renewed when needed\n  secrets   `,
  );
  expect(await configOf()).toEqual({
    version: 1,
    profile: 'default',
    profiles: {
      default: {
        'auth-url': authUrl,
        'base-url': baseUrl,
        'client-id': clientId,
        vendor,
        'redirect-uri': at.redirectUri,
        store: 'file',
      },
    },
  });
  // Nothing but the home's own variables is needed from here on.
  expect((await at.run(['token'], { env: at.home.env })).code).toBe(0);
});

test('HOOKTRAIL_BROWSER is run with the URL, and --quiet prints that URL alone', async () => {
  const browser = path.resolve(import.meta.dirname, '../support/browser-command.mjs');
  const env = { ...at.env, HOOKTRAIL_BROWSER: browser };
  const { code, stdout, stderr } = await at.run(['login', '--quiet'], { env });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/identity\/connect\/authorize\?\S+\n$/);
});

test.runIf(process.platform !== 'win32')('a browser is given no secret in its environment', async () => {
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
  expect((await at.run(['login'], { env })).code).toBe(0);
  const given = JSON.parse(await readFile(seen, 'utf8'));
  expect(given['HOOKTRAIL_AUTH_URL']).toBe(at.sandbox.settings.authUrl);
  for (const name of ['CLIENT_SECRET', 'PASSPHRASE', 'ACCESS_TOKEN', 'API_TOKEN']) {
    expect(given).not.toHaveProperty(`HOOKTRAIL_${name}`);
  }
});

test.each([
  ['https://id.example/', 'https://id.example/'],
  ['https://id.example/', 'https://id.example'],
  ['https://id.example:443', 'https://id.example:443'],
  ['https://id.example/tenant/', 'https://id.example/tenant/'],
])('with the auth URL %s the issuer may be %s', async (authUrl, iss) => {
  const { stdout } = await at.run(['login', '--start', '--auth-url', authUrl]);
  const { searchParams } = new URL(JSON.parse(stdout).authorizeUrl);
  const redirect = changed(new URL(at.redirectUri), {
    state: searchParams.get('state') as string,
    iss,
    error: 'access_denied',
  });
  const { stderr } = await at.run(['login', '--complete', '-'], { stdin: `${redirect}\n` });
  expect(stderr).toContain('error: the sign-in was refused: access_denied\n');
});

test('a browser that cannot be started is a warning, and the wait goes on', async () => {
  const env = { ...at.env, HOOKTRAIL_BROWSER: '/nowhere/browser' };
  const { start } = await import('../support/program.ts');
  const program = start(['login'], { env });
  await program.printed('stderr', /^warning: the browser could not be started: .*ENOENT/m);
  const [url] = await program.printed('stderr', /^http\S+$/m);
  await visit(url);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('nobody who signs in ends the wait with 4', async () => {
  expect(await at.run(['login', '--no-browser', '--timeout', '1'])).toMatchObject({
    code: 4,
    stdout: '',
    stderr: expect.stringContaining('error: nobody signed in within 1 s\nnext: '),
  });
});

test('everything that is missing is named at once', async () => {
  expect(await at.run(['login'], { env: at.home.env })).toEqual({
    code: 2,
    stdout: '',
    stderr: [
      'error: settings are missing',
      '  --auth-url or HOOKTRAIL_AUTH_URL: identity provider',
      '  --base-url or HOOKTRAIL_BASE_URL: event service',
      '  --client-id or HOOKTRAIL_CLIENT_ID: client id',
      '  --vendor or HOOKTRAIL_VENDOR: vendor of the media type',
      '  --client-secret-stdin or HOOKTRAIL_CLIENT_SECRET: client secret',
      'next: give them as flags or variables, or run `hooktrail login` on a terminal and be asked',
      '',
    ].join('\n'),
  });
});

test('a client secret alone that is missing is named', async () => {
  const env = { ...at.env, HOOKTRAIL_CLIENT_SECRET: undefined };
  expect(await at.run(['login'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'error: a setting is missing\n  --client-secret-stdin or HOOKTRAIL_CLIENT_SECRET: client secret\n',
    ),
  });
});

test('the client secret comes from the first line of standard input', async () => {
  const env = { ...at.env, HOOKTRAIL_CLIENT_SECRET: 'wrong' };
  const stdin = `${at.sandbox.settings.clientSecret}\nmore\n`;
  const { program, authorizeUrl } = await at.login(['--client-secret-stdin'], { env, stdin });
  await visit(authorizeUrl);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('an empty first line is no client secret', async () => {
  expect(await at.run(['login', '--client-secret-stdin'], { stdin: '\n' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'error: --client-secret-stdin: the first line of standard input is empty\n',
    ),
  });
});

test('signing in again uses the stored client secret and settings', async () => {
  await at.signIn();
  const { program, authorizeUrl } = await at.login([], { env: at.home.env });
  await visit(authorizeUrl);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('signing in again replaces the stored tokens', async () => {
  await at.signIn();
  const first = await at.run(['token']);
  await at.signIn();
  expect((await at.run(['token'])).stdout).not.toBe(first.stdout);
});

test('a sign-in without refresh token leaves none of an earlier one', async () => {
  await at.signIn();
  at.sandbox.control.behaviour.refreshTokens = false;
  const { program, authorizeUrl } = await at.login();
  await visit(authorizeUrl);
  expect((await program.finished).stderr).toContain('then sign in again (no refresh token was granted)');
  expect(JSON.parse((await at.run(['status', '--json'])).stdout)).toMatchObject({
    signedIn: true,
    renewable: false,
  });
});

test('a token in the environment is pointed out', async () => {
  const env = { ...at.env, HOOKTRAIL_ACCESS_TOKEN: 'abc' };
  const { program, authorizeUrl } = await at.login([], { env });
  await visit(authorizeUrl);
  const { code, stderr } = await program.finished;
  expect(code).toBe(0);
  expect(stderr).toContain(
    'warning: HOOKTRAIL_ACCESS_TOKEN is set: commands use it, not what is signed in to here\n',
  );
  expect(stderr).not.toContain('abc');
});

test('--issuer none takes any issuer, another value only that one', async () => {
  const foreign = { iss: 'https://issuer.example' };
  for (const issuer of ['none', 'https://issuer.example']) {
    const { program, authorizeUrl } = await at.login(['--issuer', issuer]);
    expect((await visit(changed(await redirectOf(authorizeUrl), foreign))).status).toBe(200);
    expect(await program.finished).toMatchObject({ code: 0 });
    expect((await configOf()).profiles.default.issuer).toBe(issuer);
  }
});

test('an SSH session opens no browser and tells how to forward the port', async () => {
  const env = { ...at.env, SSH_CONNECTION: '192.0.2.1 50000 192.0.2.2 22' };
  const { start } = await import('../support/program.ts');
  const program = start(['login'], { env });
  const [url] = await program.printed('stderr', /^http\S+$/m);
  const { port } = new URL(at.redirectUri);
  expect(program.stderr).toContain(`  ssh -N -L ${port}:127.0.0.1:${port} `);
  expect(program.stderr).toContain('hooktrail login --paste');
  expect(program.stderr).toContain('Sign in in a browser at\n');
  await visit(url);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('WSL is told about localhost forwarding', async () => {
  const { program, authorizeUrl } = await at.login([], { env: { ...at.env, WSL_DISTRO_NAME: 'Debian' } });
  await program.printed('stderr', /This is WSL: .*\n.*localhostForwarding=true.*\n.*login --paste/);
  await visit(authorizeUrl);
  await program.finished;
});

test.each([
  [['--timeout', '0'], "error: --timeout: '0' is not accepted: a whole number from 1 to 86400\n"],
  [['--timeout', 'soon'], "error: --timeout: 'soon' is not accepted"],
  [
    ['--auth-url', 'http://id.example'],
    "error: --auth-url: 'http://id.example' is not accepted: an https: URL",
  ],
  [['--redirect-uri', 'callback'], "error: --redirect-uri: 'callback' is not accepted"],
  [['--issuer', 'me'], "error: --issuer: 'me' is not accepted"],
  [['--scope', ''], "error: --scope: '' is not accepted"],
  [['--store', 'keychian'], 'did you mean keychain?'],
  [['--profile', '../x'], "error: --profile: '../x' is not accepted"],
  [['--client-secret', 'x'], "unknown option '--client-secret'"],
  [['--no-browsre'], 'next: did you mean --no-browser?'],
])('%j is a usage error', async (args, message) => {
  const result = await at.run(['login', ...args]);
  expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
});

test('nothing is stored when the sign-in fails', async () => {
  at.sandbox.control.fault('token', { kind: 'status', status: 400, body: '{"error":"invalid_grant"}' });
  const { program, authorizeUrl } = await at.login();
  await visit(authorizeUrl);
  expect(await program.finished).toMatchObject({ code: 4 });
  expect(await readdir(path.join(at.home.folder, 'config')).catch(() => [])).not.toContain('config.json');
  expect((await at.run(['status'])).code).toBe(4);
});

test('a second profile does not become the default', async () => {
  await at.signIn();
  const { program, authorizeUrl } = await at.login(['--profile', 'staging']);
  await visit(authorizeUrl);
  await program.finished;
  expect(await configOf()).toMatchObject({ profile: 'default', profiles: { staging: { store: 'file' } } });
});

test('a wrong client secret is named as the cause, with the way to give another', async () => {
  const { program, authorizeUrl } = await at.login([], {
    env: { ...at.env, HOOKTRAIL_CLIENT_SECRET: 'wrong' },
  });
  await visit(authorizeUrl);
  const { code, stderr } = await program.finished;
  expect(code).toBe(4);
  expect(stderr).toContain('invalid_client');
  expect(stderr).toContain('login --client-secret-stdin');
  expect(stderr).not.toContain('wrong');
});

test.each([
  [{ kind: 'reset' }, 5, 'then run `hooktrail login` again\n'],
  [{ kind: 'status', status: 503, body: 'busy' }, 1, 'next: run `hooktrail login` again later\n'],
] as const)('an exchange that meets %j ends with %i and the next step', async (fault, expected, next) => {
  at.sandbox.control.fault('token', fault);
  const { program, authorizeUrl } = await at.login();
  await visit(authorizeUrl);
  const { code, stderr } = await program.finished;
  expect(code).toBe(expected);
  expect(stderr).toContain(next);
});
