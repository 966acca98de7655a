import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { visit } from '../support/browser.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

let at: SigningIn;
beforeEach(async () => {
  at = await startSigningIn();
});
afterEach(() => at[Symbol.asyncDispose]());

const configOf = async () =>
  JSON.parse(await readFile(path.join(at.home.folder, 'config', 'config.json'), 'utf8'));

test('the authorization request has the parameters that the service and the standards require', async () => {
  const authorizeUrl = await at.authorizeUrl();
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
  // A provider that decodes only by RFC 3986 would read a plus sign.
  expect(authorizeUrl.search).toContain('&scope=event_api%20offline_access&');
});

test('two sign-ins share neither state nor challenge', async () => {
  const [first, second] = [await at.authorizeUrl(), await at.authorizeUrl()];
  for (const name of ['state', 'code_challenge']) {
    expect(first.searchParams.get(name)).not.toBe(second.searchParams.get(name));
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
  // From here on, only the home's own variables are needed.
  expect((await at.run(['token'], { env: at.home.env })).code).toBe(0);
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

test('a sign-in without a refresh token deletes an earlier one', async () => {
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

test('login points out a token in the environment', async () => {
  const env = { ...at.env, HOOKTRAIL_ACCESS_TOKEN: 'a-token-of-the-environment' };
  const { program, authorizeUrl } = await at.login([], { env });
  await visit(authorizeUrl);
  const { code, stderr } = await program.finished;
  expect(code).toBe(0);
  expect(stderr).toContain(
    'warning: HOOKTRAIL_ACCESS_TOKEN is set: commands use it, not what is signed in to here\n',
  );
  expect(stderr).not.toContain('a-token-of-the-environment');
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

test.each([
  [{ kind: 'reset' }, 5, 'then run `hooktrail login` again\n'],
  [{ kind: 'status', status: 503, body: 'busy' }, 1, 'next: run `hooktrail login` again later\n'],
  // Trying again later does not help in these cases.
  [{ kind: 'status', status: 307, body: '' }, 1, 'next: check --auth-url (HOOKTRAIL_AUTH_URL)\n'],
  [{ kind: 'status', status: 200, body: '<html>' }, 1, 'next: check --auth-url (HOOKTRAIL_AUTH_URL)\n'],
] as const)('an exchange that meets %j ends with %i and the next step', async (fault, expected, next) => {
  at.sandbox.control.fault('token', fault);
  const { program, authorizeUrl } = await at.login();
  await visit(authorizeUrl);
  const { code, stderr } = await program.finished;
  expect(code).toBe(expected);
  expect(stderr).toContain(next);
});
