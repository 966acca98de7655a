import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { accessTokenOf } from '../support/sandbox-client.ts';
import { startRefreshing, useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await at.run(['status', '--json', ...args]);
  return { code, stderr, state: JSON.parse(stdout) };
};

test('status shows who is signed in, where, until when, and where the secrets are', async () => {
  await at.signIn();
  const { authUrl, baseUrl, clientId, vendor } = at.sandbox.settings;
  const { code, stdout, stderr } = await at.run(['status'], { env: at.home.env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n')).toEqual([
    'profile    default',
    'signed in  yes',
    'user       support@example.com',
    'token      30 minutes left, until 2026-11-20T12:30:00.000Z, renewed when needed',
    `provider   ${authUrl}`,
    `service    ${baseUrl}`,
    `client     ${clientId}`,
    `vendor     ${vendor}`,
    'scopes     event_api offline_access',
    expect.stringMatching(/^secrets {4}file: \/.+/),
    '',
  ]);
});

test('status shows the time in the zone of --timezone, but in UTC as JSON', async () => {
  await at.signIn();
  const { stdout } = await at.run(['status', '--timezone', 'Asia/Kolkata'], { env: at.home.env });
  expect(stdout).toContain(
    'token      30 minutes left, until 2026-11-20T18:00:00.000+05:30, renewed when needed\n',
  );
  expect((await json('--timezone', 'Asia/Kolkata')).state.expiresAt).toBe('2026-11-20T12:30:00.000Z');
});

test('status --json has stable keys', async () => {
  await at.signIn();
  const { authUrl, baseUrl, clientId, vendor } = at.sandbox.settings;
  const { code, state } = await json();
  expect(code).toBe(0);
  expect(state).toEqual({
    profile: 'default',
    signedIn: true,
    subject: 'support@example.com',
    source: 'stored',
    authUrl,
    baseUrl,
    clientId,
    vendor,
    scope: 'event_api offline_access',
    expiresAt: '2026-11-20T12:30:00.000Z',
    renewable: true,
    clientAuthentication: 'secret',
    grant: 'refresh_token',
    refusedAt: null,
    refused: null,
    perhapsSpentAt: null,
    store: 'file',
    place: expect.stringMatching(/^\//),
    check: null,
  });
});

test('status without a sign-in is printed and ends with 4', async () => {
  expect(await at.run(['status'], { env: at.home.env })).toEqual({
    code: 4,
    stdout: 'profile    default\nsigned in  no\nscopes     event_api offline_access\n',
    stderr: 'next: run `hooktrail login`\n',
  });
  const { code, state } = await json('--check');
  expect(code).toBe(4);
  expect(state).toMatchObject({ signedIn: false, source: null, expiresAt: null, check: null });
});

test('a token in the environment is distinguished from a stored one', async () => {
  const env = { ...at.env, HOOKTRAIL_ACCESS_TOKEN: await accessTokenOf(at.sandbox) };
  const { code, stdout } = await at.run(['status', '--json', '--check'], { env });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    signedIn: true,
    source: 'environment',
    store: null,
    expiresAt: null,
    check: 'accepted',
  });
  expect((await at.run(['status'], { env })).stdout).toContain(
    'signed in  by the token in HOOKTRAIL_ACCESS_TOKEN\n',
  );
});

test.runIf(process.platform === 'linux')(
  'if nobody ever signed in, a missing keychain is only a detail',
  async () => {
    const { HOOKTRAIL_STORE: _store, ...env } = at.env;
    expect(await at.run(['status'], { env })).toMatchObject({
      code: 4,
      stdout: expect.stringContaining('signed in  no\n'),
    });
    const { code, stdout, stderr } = await at.run(['event-types'], { env });
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toBe(
      'error: not signed in\n  the OS keychain cannot be reached: there is no D-Bus session bus\n' +
        'next: run `hooktrail login`, or `hooktrail login --store file` where there is no keychain\n',
    );
    await at.signIn();
    const signedIn = { ...env, HOOKTRAIL_STORE: 'keychain' };
    expect(await at.run(['event-types'], { env: signedIn })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: the OS keychain cannot be reached/),
    });
  },
);

test('URLs are shown without a slash that nobody typed', async () => {
  const env = {
    ...at.env,
    HOOKTRAIL_AUTH_URL: 'https://id.example',
    HOOKTRAIL_BASE_URL: 'https://events.example',
  };
  const { stdout } = await at.run(['status', '--json'], { env });
  expect(JSON.parse(stdout)).toMatchObject({
    authUrl: 'https://id.example',
    baseUrl: 'https://events.example',
  });
});

test('white space in the environment counts as no token', async () => {
  const env = { ...at.env, HOOKTRAIL_ACCESS_TOKEN: ' \n' };
  const { code, stdout } = await at.run(['status', '--json'], { env });
  expect({ code, state: JSON.parse(stdout) }).toMatchObject({
    code: 4,
    state: { signedIn: false, source: null },
  });
});

test('--check reports a token that the service accepts', async () => {
  await at.signIn();
  expect(await json('--check')).toMatchObject({ code: 0, stderr: '', state: { check: 'accepted' } });
});

test.each<[string, string, number, string, string, Record<string, string>]>([
  [
    'a token that the service rejects',
    'rejected',
    4,
    'the service rejects the token',
    'error: GET event-types: the service answered 401 Unauthorized\n',
    { HOOKTRAIL_ACCESS_TOKEN: 'stale' },
  ],
  [
    'a service that cannot be reached',
    'unreachable',
    5,
    'the service cannot be reached',
    'error: the service could not be reached: 127.0.0.1:9 does not accept connections',
    { HOOKTRAIL_ACCESS_TOKEN: 'stale', HOOKTRAIL_BASE_URL: 'http://127.0.0.1:9' },
  ],
  [
    'a service that answers with an error',
    'failed',
    1,
    'the service answers with an error',
    'error: ',
    { HOOKTRAIL_VENDOR: 'another' },
  ],
])(
  '--check reports %s',
  async (_, check, code, line, error, changed) => {
    await at.signIn();
    const env = { ...at.env, ...changed };
    const told = await at.run(['status', '--check'], { env });
    expect({ ...told, stderr: told.stderr.includes('stale') }).toEqual({
      code,
      stdout: expect.stringContaining(`check      ${line}\n`),
      stderr: false,
    });
    expect(told.stderr).toContain(error);
    expect(JSON.parse((await at.run(['status', '--check', '--json'], { env })).stdout).check).toBe(check);
  },
  90_000,
);

test.each([
  ['a web page', '<!doctype html><title>Acme portal</title>', 'text/html', 'an HTML page: Acme portal'],
  ['another API', '{"status":"up"}', 'application/json', 'status: up'],
])(
  '--check and doctor do not take %s that answers 200 for the event service',
  async (_, body, type, shown) => {
    await at.signIn();
    const page = { kind: 'status', status: 200, body, headers: { 'content-type': type } } as const;
    const message = 'GET event-types is not a collection: the service answered 200 OK';
    const next = 'check --base-url (HOOKTRAIL_BASE_URL); `hooktrail config set base-url URL` saves another';
    at.sandbox.control.fault('event-types', page);
    expect(await at.run(['status', '--check'])).toEqual({
      code: 1,
      stdout: expect.stringContaining('check      the service answers with an error\n'),
      stderr: `error: ${message}\n  ${shown}\nnext: ${next}\n`,
    });
    at.sandbox.control.fault('event-types', page, page);
    const { code, stdout } = await at.run(['doctor', '--json']);
    expect(code).toBe(1);
    const findings: { check: string; message: string }[] = JSON.parse(stdout);
    expect(findings).toContainEqual({
      check: 'sign-in',
      state: 'broken',
      message: `${message}; ${shown}`,
      next,
    });
    expect(findings.find(({ check }) => check === 'service')?.message).toMatch(
      /\(answers without a token\)$/,
    );
  },
);

test('--check distinguishes a refused refresh from a rejected token', async () => {
  await using due = await startRefreshing();
  due.sandbox.control.revokeGrants();
  const { code, stdout, stderr } = await due.run(['status', '--check']);
  expect(code).toBe(4);
  expect(stdout).toContain('check      the identity provider refuses to renew the sign-in\n');
  expect(stderr).toContain(
    'error: the sign-in has ended: the identity provider does not accept the refresh token\n',
  );
  expect(stderr).toContain('next: run `hooktrail login`\n');
  expect(JSON.parse((await due.run(['status', '--check', '--json'])).stdout).check).toBe('refused');
});

test('--check distinguishes a failing identity provider from a failing service', async () => {
  await using due = await startRefreshing();
  due.sandbox.control.fault('token', { kind: 'status', status: 503 });
  const { code, stdout, stderr } = await due.run(['status', '--check']);
  expect(code).toBe(1);
  expect(stdout).toContain('check      the service was not asked: the token could not be renewed\n');
  expect(stderr).toContain('the identity provider answered 503');
});

test('an override of the service finds no stored token', async () => {
  await at.signIn();
  expect(await json('--base-url', 'http://127.0.0.1:9')).toMatchObject({
    code: 4,
    state: { signedIn: false },
  });
});

test('status says that the provider refused to renew the sign-in, and when', async () => {
  await using due = await startRefreshing();
  due.sandbox.control.revokeGrants();
  await due.run(['token']);
  clock.advance(180_000);
  const { code, stdout, stderr } = await due.run(['status']);
  expect({ code, stderr }).toEqual({ code: 4, stderr: 'next: run `hooktrail login`\n' });
  expect(stdout).toContain('signed in  no: the sign-in has ended\n');
  expect(stdout).toMatch(/^token {6}ended 2026-11-20T12:00:\S+Z$/m);
  expect(stdout).toMatch(
    /^renewal {4}refused by the identity provider 3 minutes ago, at 2026-11-20T12:0\S+Z$/m,
  );
  await due.signIn();
  expect((await due.run(['status'])).stdout).toContain('signed in  yes\n');
});

test('status says that the client is refused, until a refresh succeeds', async () => {
  await using due = await startRefreshing();
  const wrong = { env: { ...due.env, HOOKTRAIL_CLIENT_SECRET: 'mistyped' } };
  expect((await due.run(['token'], wrong)).code).toBe(4);
  clock.advance(180_000);
  const { code, stdout, stderr } = await due.run(['status']);
  expect({ code, stderr }).toEqual({
    code: 4,
    stderr:
      'next: check --client-id, and run `hooktrail login --client-secret-stdin` with the right client secret\n',
  });
  expect(stdout).toContain('signed in  no: the client is refused\n');
  expect(stdout).toMatch(
    /^renewal {4}the client id or its secret refused by the identity provider 3 minutes ago, at 2026-11-20T/m,
  );
  expect(JSON.parse((await due.run(['status', '--json'])).stdout)).toMatchObject({
    signedIn: false,
    refused: 'client',
  });
  expect((await due.run(['token'])).code).toBe(0);
  expect((await due.run(['status'])).stdout).not.toContain('renewal');
});

test('after logout, status names no file of secrets', async () => {
  await at.signIn();
  await at.run(['logout']);
  expect((await at.run(['status'])).stdout).not.toContain('secrets');
});

test('after a change of the saved addresses, status and doctor say that the sign-in is for others, and how to go on', async () => {
  await at.signIn();
  const given = { env: at.home.env };
  await at.run(['config', 'set', 'base-url', 'http://127.0.0.1:9'], given);
  const { code, stdout, stderr } = await at.run(['status'], given);
  expect({ code, stdout }).toMatchObject({ code: 4, stdout: expect.stringContaining('signed in  no\n') });
  expect(stderr).toMatch(
    /^error: not signed in to these addresses\n[\s\S]* {2}event service: http:\/\/127\.0\.0\.1:9\/ \(from the profile 'default' \(base-url\)\)\n[\s\S]*the stored sign-in is for other addresses.*\nnext: restore the address that was changed, or run `hooktrail login` to sign in to these\n$/,
  );
  expect((await at.run(['doctor'], given)).stdout).toMatch(/broken +sign-in .*is for other addresses/);
  await at.run(['config', 'set', 'base-url', at.sandbox.settings.baseUrl], given);
  expect(await at.run(['status'], given)).toMatchObject({ code: 0, stderr: '' });
});
