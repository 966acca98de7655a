import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { available } from '../support/machine/requirement.ts';
import { freePort } from '../support/ports.ts';
import { hooktrail, startHooktrail } from '../support/program.ts';
import { startGlewlwyd } from './glewlwyd.ts';
import { startNodeOAuthProvider } from './node-oauth-provider.ts';
import { client, type OtherProvider } from './other-provider.ts';

type StartProvider = (redirectUri: string) => Promise<OtherProvider>;

/** A provider, and a home in which nobody has signed in at it. */
async function startAt(startProvider: StartProvider, changed: Record<string, string> = {}) {
  const provider = await startProvider(`http://127.0.0.1:${await freePort()}/callback`);
  const home = await createHome();
  // Login stores the settings and the client secret, so no other command needs them.
  const env = { ...home.env, ...provider.env, ...changed };
  const startLogin = (...flags: string[]) => {
    const open = (url: URL) =>
      provider.visit(url).catch((error) => {
        login.kill('SIGTERM');
        throw error;
      });
    const login = startHooktrail(['login', ...flags], { env, context: { browser: { open } } });
    return login;
  };
  return {
    provider,
    startLogin,
    login: async (...flags: string[]) => await startLogin(...flags).finished,
    run: (...args: string[]) => hooktrail(args, home),
    /** Sends a refresh token to the token endpoint; returns the answer's status. */
    spend: async (refreshToken: string | undefined) => {
      const body = new URLSearchParams({
        client_id: client.id,
        client_secret: client.secret,
        grant_type: 'refresh_token',
        refresh_token: refreshToken ?? '',
      });
      const url = `${provider.env['HOOKTRAIL_AUTH_URL']}/connect/token`;
      return (await fetch(url, { method: 'POST', body })).status;
    },
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const pastExpiry = () => clock.advance(1_801_000);
const signedOut = "signed out of the profile 'default' on this machine; ";

const providers = [
  {
    name: '@node-oauth/oauth2-server',
    isThere: true,
    startProvider: startNodeOAuthProvider,
    flags: ['--issuer', 'none'],
    asClient: [],
    revocation: 'the identity provider offers no way to revoke tokens\n',
  },
  {
    name: 'glewlwyd',
    isThere: available('glewlwyd'),
    startProvider: startGlewlwyd,
    flags: [],
    asClient: ['--scope', 'event_api'],
    revocation: 'its tokens are revoked\n',
  },
];

for (const { name, isThere, startProvider, flags, asClient, revocation } of providers) {
  describe.skipIf(!isThere)(name, () => {
    test('sign in, 40 commands on an expired token, refresh, log out', async () => {
      await using at = await startAt(startProvider);
      const { grants } = at.provider;
      const me = () => at.run('api', '/me');

      expect(await at.login(...flags)).toMatchObject({ code: 0, stdout: '' });
      expect(grants).toEqual(['authorization_code: ok']);
      const first = await at.run('token');
      expect(first).toEqual({ code: 0, stdout: expect.stringMatching(/^\S{40,}\n$/), stderr: '' });
      const answer = await me();
      expect(answer).toEqual({ code: 0, stdout: expect.stringMatching(/^\{"sub":"\w+"\}$/), stderr: '' });

      pastExpiry();
      const answers = await Promise.all(Array.from({ length: 40 }, me));
      expect(answers).toEqual(Array.from({ length: 40 }, () => answer));
      expect(grants).toEqual(['authorization_code: ok', 'refresh_token: ok']);
      expect((await at.run('token')).stdout).not.toBe(first.stdout);

      pastExpiry();
      expect(await me()).toEqual(answer);
      expect(grants).toEqual(['authorization_code: ok', 'refresh_token: ok', 'refresh_token: ok']);
      expect(new Set(at.provider.refreshTokens).size).toBe(3);

      expect(await at.run('logout')).toEqual({ code: 0, stdout: '', stderr: `${signedOut}${revocation}` });
      expect(await me()).toMatchObject({ code: 4, stdout: '' });
    });

    test('the client signs in itself, 40 commands on an expired token, log out', async () => {
      await using at = await startAt(startProvider);
      const { grants } = at.provider;
      const me = () => at.run('api', '/me');
      const login = await at.startLogin('--client-credentials', ...asClient).finished;
      expect(login).toMatchObject({ code: 0, stdout: '' });
      expect(grants).toEqual(['client_credentials: ok']);
      const first = await at.run('token');
      pastExpiry();
      const tokens = await Promise.all(Array.from({ length: 40 }, () => at.run('token')));
      expect(new Set(tokens.map(({ code, stdout, stderr }) => `${code} ${stdout} ${stderr}`)).size).toBe(1);
      expect(tokens[0]).toMatchObject({ code: 0, stderr: '' });
      expect(tokens[0]?.stdout).not.toBe(first.stdout);
      expect(grants).toEqual(['client_credentials: ok', 'client_credentials: ok']);

      expect((await at.run('logout')).code).toBe(0);
      expect(await me()).toMatchObject({ code: 4, stdout: '' });
    });

    test('a refresh token is valid once', async () => {
      await using at = await startAt(startProvider);
      await at.login(...flags);
      pastExpiry();
      expect((await at.run('token')).code).toBe(0);
      expect(await at.spend(at.provider.refreshTokens[0])).toBe(400);
    });
  });
}

test('a provider that names no issuer is an error that says how to sign in there', async () => {
  await using at = await startAt(startNodeOAuthProvider);
  expect(await at.login()).toMatchObject({
    code: 4,
    stdout: '',
    stderr: expect.stringContaining(
      'next: if your provider names none, run the same command with --issuer none',
    ),
  });
  expect(at.provider.grants).toEqual([]);
});

describe.skipIf(!available('glewlwyd'))('glewlwyd', () => {
  const at = forEachTest(() => startAt(startGlewlwyd));

  /** Starts `login --device`; returns the page to sign in at. */
  async function startDevice(at: Awaited<ReturnType<typeof startAt>>) {
    clock.skips = 0;
    const login = at.startLogin('--device', '--timeout', '86400');
    const [, page] = await login.printed('stderr', /The page is\n(\S+)\n.*\n\S+\n/);
    return { login, page: page as string };
  }
  /**
   * Lets the time pass until the program has asked once whether the person has signed in; returns the answer.
   */
  async function firstPoll({ grants }: OtherProvider) {
    const asked = () => {
      clock.advance(1_000);
      return grants.length;
    };
    await expect.poll(asked, { interval: 10 }).toBe(1);
    return grants[0];
  }
  const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code';

  test('a code that is approved on another device signs in', async () => {
    const { login, page } = await startDevice(at);
    await at.provider.visit(page);
    expect(await firstPoll(at.provider)).toBe(`${deviceCode}: ok`);
    expect(await login.finished).toMatchObject({ code: 0, stdout: '' });
    expect((await at.run('api', '/me')).code).toBe(0);
  });

  test('a code that nobody has approved yet is waited for', async () => {
    const { login } = await startDevice(at);
    expect(await firstPoll(at.provider)).toBe(`${deviceCode}: 400 {"error":"authorization_pending"}`);
    login.kill('SIGINT');
    expect(await login.finished).toMatchObject({ code: 130, stdout: '' });
  });

  test('a refresh token that is used twice ends the sign-in, and the program says so', async () => {
    await at.login();
    pastExpiry();
    expect((await at.run('token')).code).toBe(0);
    await at.spend(at.provider.refreshTokens[0]);
    pastExpiry();
    expect(await at.run('token')).toEqual({
      code: 4,
      stdout: '',
      stderr:
        'error: refreshing the sign-in was refused by the identity provider (400)\n' +
        'next: check the client settings, and run `hooktrail login`\n',
    });
  });

  test('the tokens are invalid after logout', async () => {
    await at.login();
    const { stdout } = await at.run('token');
    await at.run('logout');
    const me = await fetch(`${at.provider.env['HOOKTRAIL_BASE_URL']}/me`, {
      headers: { authorization: `Bearer ${stdout.trim()}` },
    });
    expect(me.status).toBe(401);
    expect(await at.spend(at.provider.refreshTokens[0])).toBe(400);
    expect(at.provider.grants).toEqual(['authorization_code: ok', 'refresh_token: 400']);
  });

  test('a scope that it does not grant is named', async () => {
    expect(await at.login('--scope', 'none_such')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(
        '\nerror: the sign-in was refused: invalid_scope\nnext: use --scope with the scopes issued to the client\n',
      ),
    });
    expect(await at.login('--scope', 'event_api none_such')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('\nwarning: not granted: none_such\n'),
    });
  });

  test('a wrong client secret is an error that says what to check', async () => {
    await using at = await startAt(startGlewlwyd, { HOOKTRAIL_CLIENT_SECRET: 'wrong' });
    expect(await at.login()).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(
        '\nerror: the sign-in was refused by the identity provider\n  error: unauthorized_client\n' +
          'next: check --client-id, and run the same command with --client-secret-stdin and the right client secret\n',
      ),
    });
  });
});
