import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../support/sandbox.ts';
import { authorized, rawGet, refresh, signIn, tokenRequest } from '../support/sandbox-client.ts';

let sandbox: Sandbox;
let now: number;

beforeEach(async () => {
  now = Date.UTC(2026, 10, 20, 12);
  sandbox = await startSandbox({ events: 3, now: () => now });
});
afterEach(() => sandbox.close());

const metadataOf = () => fetch(`${sandbox.settings.authUrl}/.well-known/openid-configuration`);
const metadata = async () => (await (await metadataOf()).json()) as Record<string, string>;

async function post(url: string, changes: Record<string, string>): Promise<Response> {
  const { clientId, clientSecret } = sandbox.settings;
  const body = new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...changes });
  return fetch(url, { method: 'POST', body });
}

interface DeviceAuthorization {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

async function authorizeDevice(scope = sandbox.settings.scope): Promise<DeviceAuthorization> {
  const url = (await metadata())['device_authorization_endpoint'] as string;
  return (await (await post(url, { scope })).json()) as DeviceAuthorization;
}

const poll = (code: string) =>
  tokenRequest(sandbox, { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code });

describe('device sign-in', () => {
  test('waits for a person, who approves with a link', async () => {
    const device = await authorizeDevice();
    const { authUrl } = sandbox.settings;
    expect(device).toMatchObject({
      user_code: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/),
      verification_uri: `${authUrl}/device`,
      verification_uri_complete: `${authUrl}/device?user_code=${device.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    expect((await poll(device.device_code)).body.error).toBe('authorization_pending');
    const page = await (await fetch(device.verification_uri_complete)).text();
    expect(page).toContain(`<input type="hidden" name="user_code" value="${device.user_code}">`);
    expect((await poll(device.device_code)).body.error).toBe('authorization_pending');
    const done = await fetch(`${device.verification_uri_complete}&decision=approve`);
    expect([done.status, await done.text()]).toEqual([200, expect.stringContaining('You are signed in')]);
    const { status, body } = await poll(device.device_code);
    expect([status, body.scope]).toEqual([200, 'event_api offline_access']);
    const headers = authorized(sandbox, body.access_token);
    expect((await rawGet(sandbox, '/event-types', headers)).status).toBe(200);
    expect((await refresh(sandbox, body.refresh_token)).status).toBe(200);
    expect((await poll(device.device_code)).body.error).toBe('invalid_grant');
  });

  test('accepts the code as people type it, once', async () => {
    const { user_code: code, verification_uri: url } = await authorizeDevice();
    expect(await (await fetch(url)).text()).toContain('name="user_code"');
    const typed = encodeURIComponent(code.toLowerCase().replace('-', ' '));
    expect((await fetch(`${url}?user_code=${typed}&decision=approve`)).status).toBe(200);
    expect((await fetch(`${url}?user_code=${typed}`)).status).toBe(400);
    expect((await fetch(`${url}?user_code=BCDF-GHJK`)).status).toBe(400);
  });

  test('ends when the code expires', async () => {
    const device = await authorizeDevice();
    now += 600_000;
    expect((await poll(device.device_code)).body.error).toBe('expired_token');
  });

  test('grants no scope that the client does not have', async () => {
    expect(await authorizeDevice('event_api admin')).toMatchObject({ error: 'invalid_scope' });
  });
});

describe('revocation', () => {
  test('of a refresh token ends it and the access tokens that came with it', async () => {
    sandbox.control.behaviour.autoApprove = true;
    const tokens = await signIn(sandbox);
    const headers = authorized(sandbox, tokens.access_token);
    expect((await rawGet(sandbox, '/event-types', headers)).status).toBe(200);
    const url = (await metadata())['revocation_endpoint'] as string;
    expect((await post(url, { token: tokens.refresh_token, token_type_hint: 'refresh_token' })).status).toBe(
      200,
    );
    expect((await refresh(sandbox, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await rawGet(sandbox, '/event-types', headers)).status).toBe(401);
  });

  test('of an unknown token succeeds', async () => {
    const url = `${sandbox.settings.authUrl}/connect/revocation`;
    expect((await post(url, { token: 'unknown' })).status).toBe(200);
    expect((await post(url, { token: 'unknown', client_secret: 'wrong' })).status).toBe(401);
  });
});
