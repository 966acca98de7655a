import { redirectOf } from './browser.ts';
import type { Sandbox as WholeSandbox } from './sandbox.ts';
import { ask, type PlainAnswer } from './server.ts';

type Sandbox = Pick<WholeSandbox, 'settings'>;

/** A plain client of the sandbox, independent of the program's own, that shows what is on the wire. */

export interface TokenAnswer {
  readonly access_token: string;
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly scope: string;
  readonly token_type: string;
  readonly error?: string;
}

export const loopback = 'http://127.0.0.1:49152/callback';

export function authorizeUrl(sandbox: Sandbox, changes: Record<string, string | undefined> = {}): string {
  const { authUrl, clientId, scope } = sandbox.settings;
  const parameters = {
    client_id: clientId,
    grant_type: 'authorization_code',
    response_type: 'code',
    redirect_uri: loopback,
    scope,
    state: 'a-state',
    ...changes,
  };
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return `${authUrl}/connect/authorize?${new URLSearchParams(given)}`;
}

export async function tokenRequest(
  sandbox: Sandbox,
  parameters: Record<string, string>,
): Promise<{ status: number; body: TokenAnswer }> {
  const { authUrl, clientId, clientSecret } = sandbox.settings;
  const form = { client_id: clientId, client_secret: clientSecret, ...parameters };
  const answer = await fetch(`${authUrl}/connect/token`, { method: 'POST', body: new URLSearchParams(form) });
  return { status: answer.status, body: (await answer.json()) as TokenAnswer };
}

export async function signIn(sandbox: Sandbox, changes: Record<string, string> = {}): Promise<TokenAnswer> {
  const redirect = await redirectOf(authorizeUrl(sandbox, changes));
  const code = redirect.searchParams.get('code') ?? '';
  const parameters = { grant_type: 'authorization_code', code, redirect_uri: loopback };
  return (await tokenRequest(sandbox, parameters)).body;
}

/** Signs in to a sandbox that approves by itself, and returns the access token. */
export async function accessTokenOf(sandbox: Sandbox): Promise<string> {
  const { access_token: token, error } = await signIn(sandbox);
  if (!token) throw new Error(`no access token: ${error}`);
  return token;
}

export function refresh(sandbox: Sandbox, refreshToken: string) {
  return tokenRequest(sandbox, { grant_type: 'refresh_token', refresh_token: refreshToken });
}

/** Sends one request to the event service, with path and query exactly as given. */
export function rawGet(
  { settings: { baseUrl } }: Sandbox,
  pathAndQuery: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<PlainAnswer> {
  return ask(baseUrl, { method, target: new URL(baseUrl).pathname + pathAndQuery, headers });
}

export function authorized(sandbox: Sandbox, token: string): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    accept: `application/vnd.${sandbox.settings.vendor}.v1+json`,
  };
}
