import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { forEachTest } from '../support/each-test.ts';
import { keychainOf } from '../support/program.ts';
import type { SandboxOptions } from '../support/sandbox.ts';
import { startSigningIn } from '../support/signing-in.ts';

/** A sandbox and a home where nobody has signed in; nobody could, since there is no browser. */
async function startMachine(options: SandboxOptions = {}) {
  const at = await startSigningIn(options);
  const { HOOKTRAIL_SCOPE: _scope, ...env } = at.env as Record<string, string>;
  const noBrowser = {
    open: async () => {
      throw new Error('a browser was opened');
    },
  };
  const run = (args: readonly string[], changed: Record<string, string | undefined> = {}) =>
    at.run(args, { env: { ...env, ...changed }, context: { browser: noBrowser } });
  /** The bodies of token requests, in order. */
  const requests = () =>
    at.sandbox.log
      .filter(({ url }) => url.includes('/connect/token'))
      .map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
  return {
    ...at,
    env,
    run,
    requests,
    login: (...flags: string[]) => run(['login', '--client-credentials', ...flags]),
    status: async () => JSON.parse((await run(['status', '--json'])).stdout),
    [Symbol.asyncDispose]: at[Symbol.asyncDispose],
  };
}

const at = forEachTest(startMachine);

/** Past the end of a token, or as near to it as to need another. */
const pastExpiry = () => clock.advance(1_800_000);

test('a machine signs in without a browser by three parameters, and the service takes its token', async () => {
  const { code, stdout, stderr } = await at.login();
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  const { authUrl, baseUrl, clientId, clientSecret } = at.sandbox.settings;
  expect(stderr).toContain(
    `Signed in at ${authUrl}\n  profile   default\n  service   ${baseUrl}\n  token     for 30 minutes, renewed when needed\n  secrets   `,
  );
  expect(stderr).not.toContain('not granted');
  expect(at.requests()).toEqual([
    { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials' },
  ]);
  expect(at.sandbox.log.filter(({ url }) => url.includes('/connect/authorize'))).toEqual([]);
  // Neither the addresses nor the secret are needed again.
  expect((await at.run(['events', 'count'], at.home.env)).stdout).toBe('10\n');
});

test('when a token ends another is asked for, once for 40 commands at once', {
  timeout: 120_000,
}, async () => {
  await at.login();
  const first = await at.run(['token']);
  pastExpiry();
  const results = await Promise.all(Array.from({ length: 40 }, () => at.run(['token'], at.home.env)));
  expect(new Set(results.map(({ code, stderr }) => `${code} ${stderr}`))).toEqual(new Set(['0 ']));
  expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
  expect(results[0]?.stdout).not.toBe(first.stdout);
  expect(at.requests().length).toBe(2);
  pastExpiry();
  expect((await at.run(['event-types'])).code).toBe(0);
  expect(at.requests().length).toBe(3);
});

test('a token that the service rejects is replaced once', async () => {
  await at.login();
  at.sandbox.control.revokeAccessTokens();
  expect(await at.run(['events', 'count'])).toEqual({ code: 0, stdout: '10\n', stderr: '' });
  expect(at.requests().length).toBe(2);
});

test('scopes are asked for if somebody set them, also later', async () => {
  await at.login('--scope', 'event_api');
  pastExpiry();
  expect((await at.run(['token'], { HOOKTRAIL_SCOPE: undefined })).code).toBe(0);
  expect(at.requests().map(({ scope }) => scope)).toEqual(['event_api', 'event_api']);
});

test('offline_access, which is for people, is not asked for', async () => {
  expect((await at.login('--scope', 'event_api offline_access')).stderr).not.toContain('warning');
  await at.login('--scope', 'offline_access');
  expect(at.requests().map(({ scope }) => scope)).toEqual(['event_api', undefined]);
});

test('scopes that are not granted are a warning', async () => {
  const body = JSON.stringify({
    access_token: 'a',
    expires_in: 60,
    token_type: 'Bearer',
    scope: 'event_api',
  });
  at.sandbox.control.fault('token', { kind: 'status', status: 200, body });
  expect((await at.login('--scope', 'event_api other')).stderr).toContain('warning: not granted: other\n');
  expect(at.requests().at(-1)).toMatchObject({ scope: 'event_api other' });
});

test('a refresh token that comes with the answer is not kept, and a missing lifetime is the stated one', async () => {
  const body = JSON.stringify({ access_token: 'a', refresh_token: 'r', token_type: 'Bearer' });
  at.sandbox.control.fault('token', { kind: 'status', status: 200, body });
  await at.login();
  expect(await at.status()).toMatchObject({
    grant: 'client_credentials',
    renewable: true,
    expiresAt: new Date(clock.now() + 1_800_000).toISOString(),
  });
  pastExpiry();
  await at.run(['token']);
  expect(at.requests().map(({ grant_type }) => grant_type)).toEqual([
    'client_credentials',
    'client_credentials',
  ]);
});

test('status says that the client is signed in, before and after the end of a token', async () => {
  await at.login();
  pastExpiry();
  expect(await at.status()).toMatchObject({ signedIn: true, renewable: true, grant: 'client_credentials' });
  const { stdout } = await at.run(['status', '--check']);
  expect(stdout).toContain('signed in  yes, as the client (client_credentials)\n');
  expect(stdout).toContain('check      the service accepts the token\n');
});

test('logout forgets the token, and revokes it where the provider does that', async () => {
  const signedOut = "signed out of the profile 'default' on this machine; ";
  const outcomes = [
    // The library behind the sandbox revokes no JSON Web Tokens (RFC 7009 section 2.2.1).
    [[], `${signedOut}the identity provider revokes no access tokens, so its token lasts to its end\n`],
    [[{ kind: 'status', status: 200 }], `${signedOut}its tokens are revoked\n`],
  ] as const;
  for (const [faults, stderr] of outcomes) {
    await at.login();
    at.sandbox.control.fault('revocation', ...faults);
    expect(await at.run(['logout'])).toEqual({ code: 0, stdout: '', stderr });
    expect((await at.run(['event-types'])).code).toBe(4);
    expect((await readdir(path.join(at.env['HOOKTRAIL_CONFIG_DIR'] as string, 'secrets'))).length).toBe(0);
  }
});

test('a person may sign in with the same profile later', async () => {
  await at.login();
  expect((await at.run(['login', '--paste'])).code).not.toBe(0);
  await at.signIn();
  expect(await at.status()).toMatchObject({ grant: 'refresh_token' });
  await at.login();
  expect(await at.status()).toMatchObject({ grant: 'client_credentials' });
});

test('two profiles side by side keep their own grants', async () => {
  await at.login('--profile', 'nightly');
  expect((await at.start(['login', '--profile', 'default']).finished).code).toBe(0);
  pastExpiry();
  expect((await at.run(['token', '--profile', 'nightly'])).code).toBe(0);
  expect((await at.run(['token', '--profile', 'default'])).code).toBe(0);
  expect(at.requests().map(({ grant_type }) => grant_type)).toEqual([
    'client_credentials',
    'authorization_code',
    'client_credentials',
    'refresh_token',
  ]);
});

test('the keychain keeps it too, and a lost cache costs one request', async () => {
  const machine = { ...(await import('../support/context.ts')).thisMachine(), platform: 'darwin' as const };
  const env = { ...at.env, HOOKTRAIL_STORE: 'keychain' };
  const given = { env, context: { machine } };
  const { run } = await startSigningInOf(at, given);
  expect((await run(['login', '--client-credentials'])).code).toBe(0);
  expect(keychainOf(env)).toBeDefined();
  const folder = path.join(at.env['HOOKTRAIL_CONFIG_DIR'] as string, 'secrets');
  const [cache = ''] = (await readdir(folder)).filter((name) => name.endsWith('.access'));
  await writeFile(path.join(folder, cache), 'damaged');
  expect((await run(['token'])).code).toBe(0);
  expect(at.requests().length).toBe(2);
});

/** Runs commands with what is given in place of the defaults. */
async function startSigningInOf(
  { start }: Awaited<ReturnType<typeof startMachine>>,
  given: Parameters<typeof start>[1],
) {
  return { run: (args: readonly string[]) => start(args, given).finished };
}

describe('refusals and faults', () => {
  const refused = (error: string, status = 400) =>
    at.sandbox.control.fault('token', { kind: 'status', status, body: JSON.stringify({ error }) });

  test.each(['unauthorized_client', 'unsupported_grant_type'])(
    'a provider without the grant (%s) is exit 4 with a next step',
    async (error) => {
      refused(error);
      expect(await at.login()).toEqual({
        code: 4,
        stdout: '',
        stderr: `error: the sign-in as the client was refused by the identity provider\n  error: ${error}\nnext: ask whoever issued the client to allow it the grant client_credentials, or sign in as a person with \`hooktrail login\`\n`,
      });
      expect(await at.status()).toMatchObject({ signedIn: false });
    },
  );

  test('a provider that has to be told the scopes is exit 4 with that next step', async () => {
    refused('invalid_scope');
    const { code, stderr } = await at.login();
    expect([code, stderr]).toEqual([
      4,
      expect.stringContaining('next: use --scope with the scopes issued to the client\n'),
    ]);
  });

  test('a wrong secret is exit 4, later too, and nothing is forgotten', async () => {
    await at.login();
    pastExpiry();
    const { code, stderr } = await at.run(['token'], { HOOKTRAIL_CLIENT_SECRET: 'wrong-secret' });
    expect(code).toBe(4);
    expect(stderr).toContain(
      'next: check --client-id, and run `hooktrail login --client-credentials --client-secret-stdin` with the right client secret\n',
    );
    expect(stderr).not.toContain('wrong-secret');
    expect(await at.status()).toMatchObject({ signedIn: false, refused: 'client' });
    expect((await at.run(['token'])).code).toBe(0);
    expect(await at.status()).toMatchObject({ signedIn: true, refused: null });
  });

  test('a lost answer, and one that says to come back, are asked for again once', async () => {
    for (const fault of [{ kind: 'reset' }, { kind: 'status', status: 503 }] as const) {
      at.sandbox.control.fault('token', fault);
      expect((await at.login()).code).toBe(0);
    }
    at.sandbox.control.fault('token', { kind: 'status', status: 503 }, { kind: 'status', status: 503 });
    expect((await at.login()).code).toBe(1);
  });

  test('a stored secret goes to no other provider', async () => {
    await at.login();
    pastExpiry();
    const before = at.sandbox.log.length;
    const elsewhere = at.sandbox.settings.authUrl.replace('127.0.0.1', 'localhost');
    expect(await at.run(['token'], { HOOKTRAIL_AUTH_URL: elsewhere })).toMatchObject({ code: 4 });
    expect(at.sandbox.log.length).toBe(before);
  });

  test('--client-credentials goes with neither --device nor --paste', async () => {
    for (const flag of ['--device', '--paste']) expect((await at.login(flag)).code).toBe(2);
  });

  test('no secret and no token is in a trace or in a file', async () => {
    const { stderr } = await at.login('--debug');
    const { stdout } = await at.run(['token']);
    const { clientSecret } = at.sandbox.settings;
    for (const secret of [clientSecret, stdout.trim()]) expect(stderr).not.toContain(secret);
    const folder = at.env['HOOKTRAIL_CONFIG_DIR'] as string;
    for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const text = await readFile(path.join(file.parentPath, file.name), 'latin1');
      for (const secret of [clientSecret, stdout.trim()]) expect(text).not.toContain(secret);
    }
  });
});
