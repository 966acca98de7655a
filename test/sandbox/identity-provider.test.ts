import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redirectOf } from '../support/browser.ts';
import { type Sandbox, startSandbox } from '../support/sandbox.ts';
import {
  authorized,
  authorizeUrl,
  loopback,
  rawGet,
  refresh,
  signIn,
  tokenRequest,
} from '../support/sandbox-client.ts';

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ events: 10, autoApprove: true });
});
afterAll(() => sandbox.close());

const claims = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

async function serviceStatus(token: string): Promise<number> {
  return (await rawGet(sandbox, '/event-types', authorized(sandbox, token))).status;
}

describe('authorization request', () => {
  test('ends at the redirect URI with code, scope, iss and state', async () => {
    const redirect = await redirectOf(authorizeUrl(sandbox));
    expect(redirect.origin + redirect.pathname).toBe(loopback);
    expect(Object.fromEntries(redirect.searchParams)).toEqual({
      code: expect.stringMatching(/^[\w-]{20,}$/),
      scope: 'event_api offline_access',
      iss: sandbox.settings.issuer,
      state: 'a-state',
    });
  });

  test.each([undefined, 'refresh_token', ''])('shows an error when grant_type is %s', async (grantType) => {
    const answer = await fetch(authorizeUrl(sandbox, { grant_type: grantType }), { redirect: 'manual' });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('location')).toBeNull();
    expect(await answer.text()).toContain('grant_type must be &#39;authorization_code&#39;');
  });

  test.each([
    ['another client', { client_id: 'somebody-else' }],
    ['a redirect URI of another host', { redirect_uri: 'https://evil.example/callback' }],
    ['a redirect URI of another path', { redirect_uri: 'http://127.0.0.1:49152/elsewhere' }],
    ['no redirect URI', { redirect_uri: undefined }],
    ['no client', { client_id: undefined }],
  ])('shows an error, and redirects nowhere, with %s', async (_, changes) => {
    const answer = await fetch(authorizeUrl(sandbox, changes), { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  });

  test.each([
    ['a scope of no client', { scope: 'event_api admin' }, 'invalid_scope'],
    ['no scope', { scope: undefined }, 'invalid_request'],
    ['half a PKCE', { code_challenge_method: 'S256' }, 'invalid_request'],
  ])('sends the error back with %s', async (_, changes, error) => {
    const redirect = await redirectOf(authorizeUrl(sandbox, changes));
    expect(redirect.searchParams.get('error')).toBe(error);
    expect(redirect.searchParams.get('state')).toBe('a-state');
    expect(redirect.searchParams.get('iss')).toBe(sandbox.settings.issuer);
  });

  test.each(['http://127.0.0.1:1/callback', 'http://localhost:65535/callback', 'http://[::1]:8080/callback'])(
    'takes the loopback redirect URI %s',
    async (redirectUri) => {
      const answer = await fetch(authorizeUrl(sandbox, { redirect_uri: redirectUri }), {
        redirect: 'manual',
      });
      expect(answer.status).toBe(303);
      expect(answer.headers.get('location')).toContain('/identity/sign-in/');
    },
  );
});

describe('token request', () => {
  test('exchanges a code for tokens as the service description shows them', async () => {
    const answer = await signIn(sandbox);
    expect(answer).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expires_in: 1800,
      token_type: 'Bearer',
      refresh_token: expect.any(String),
      scope: 'event_api offline_access',
    });
    expect(claims(answer.access_token)).toMatchObject({
      iss: sandbox.settings.issuer,
      aud: sandbox.settings.baseUrl,
      scope: 'event_api',
      client_id: sandbox.settings.clientId,
    });
    expect(await serviceStatus(answer.access_token)).toBe(200);
  });

  test('gives no refresh token without offline_access', async () => {
    const answer = await signIn(sandbox, { scope: 'event_api' });
    expect(answer.scope).toBe('event_api');
    expect(answer).not.toHaveProperty('refresh_token');
  });

  test('accepts a code once, and revokes its tokens if it is used again', async () => {
    const code = (await redirectOf(authorizeUrl(sandbox))).searchParams.get('code') ?? '';
    const parameters = { grant_type: 'authorization_code', code, redirect_uri: loopback };
    const first = await tokenRequest(sandbox, parameters);
    const second = await tokenRequest(sandbox, parameters);
    expect([first.status, second.status, second.body.error]).toEqual([200, 400, 'invalid_grant']);
    expect(await serviceStatus(first.body.access_token)).toBe(401);
  });

  test('requires the redirect URI of the authorization request', async () => {
    const code = (await redirectOf(authorizeUrl(sandbox))).searchParams.get('code') ?? '';
    const redirect_uri = 'http://127.0.0.1:49153/callback';
    const { body } = await tokenRequest(sandbox, { grant_type: 'authorization_code', code, redirect_uri });
    expect(body.error).toBe('invalid_grant');
  });

  test.each([{ client_secret: 'wrong' }, { client_secret: '' }])('requires the secret: %j', async (wrong) => {
    const { refresh_token } = await signIn(sandbox);
    const { status, body } = await tokenRequest(sandbox, {
      grant_type: 'refresh_token',
      refresh_token,
      ...wrong,
    });
    expect([status, body.error]).toEqual([401, 'invalid_client']);
    expect((await refresh(sandbox, refresh_token)).status).toBe(200);
  });

  test('checks the PKCE verifier if a challenge was sent', async () => {
    const verifier = randomBytes(32).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const exchange = async (given: Record<string, string>) => {
      const url = authorizeUrl(sandbox, { code_challenge: challenge, code_challenge_method: 'S256' });
      const code = (await redirectOf(url)).searchParams.get('code') ?? '';
      const parameters = { grant_type: 'authorization_code', code, redirect_uri: loopback, ...given };
      return (await tokenRequest(sandbox, parameters)).status;
    };
    expect(await exchange({ code_verifier: verifier })).toBe(200);
    expect(await exchange({ code_verifier: randomBytes(32).toString('base64url') })).toBe(400);
    expect(await exchange({})).toBe(400);
  });
});

describe('refresh tokens', () => {
  test('are spent by a request whose answer is lost', async () => {
    const { refresh_token } = await signIn(sandbox);
    sandbox.control.fault('token', { kind: 'answer-lost' });
    await expect(refresh(sandbox, refresh_token)).rejects.toThrow('fetch failed');
    expect((await refresh(sandbox, refresh_token)).body.error).toBe('invalid_grant');
  });

  test('end the whole session when one is used again', async () => {
    const first = await signIn(sandbox);
    const second = (await refresh(sandbox, first.refresh_token)).body;
    expect(await serviceStatus(second.access_token)).toBe(200);
    expect((await refresh(sandbox, first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refresh(sandbox, second.refresh_token)).body.error).toBe('invalid_grant');
    expect(await serviceStatus(first.access_token)).toBe(401);
    expect(await serviceStatus(second.access_token)).toBe(401);
  });

  test('are spent once however many requests race, and the race ends the session', async () => {
    const { refresh_token } = await signIn(sandbox);
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(sandbox, refresh_token)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBeLessThanOrEqual(1);
    expect(answers.filter(({ body }) => body.error === 'invalid_grant')).toHaveLength(20 - good.length);
    for (const { body } of good) {
      expect((await refresh(sandbox, body.refresh_token)).body.error).toBe('invalid_grant');
      expect(await serviceStatus(body.access_token)).toBe(401);
    }
  });

  test('do not affect other sessions', async () => {
    const [one, other] = [await signIn(sandbox), await signIn(sandbox)];
    await refresh(sandbox, one.refresh_token);
    await refresh(sandbox, one.refresh_token);
    expect(await serviceStatus(other.access_token)).toBe(200);
    expect((await refresh(sandbox, other.refresh_token)).status).toBe(200);
  });
});
