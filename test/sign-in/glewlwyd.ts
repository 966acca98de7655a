import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { visit } from '../support/browser.ts';
import { startTool } from '../support/machine/foreground-tool.ts';
import { freePort } from '../support/ports.ts';
import { client, type OtherProvider, startFront } from './other-provider.ts';

const admin = { username: 'admin', password: 'password' };
const someone = { username: 'someone', password: 'of their own' };
const scopes = ['event_api', 'offline_access'];

/**
 * Debian's glewlwyd with a new database, as an OpenID provider: it names its issuer, has metadata, offers
 * device sign-in and revocation, and ends the sign-in if a refresh token is used twice. It uses the machine's
 * clock.
 */
export async function startGlewlwyd(redirectUri: string): Promise<OtherProvider> {
  const port = await freePort();
  const inside = `http://127.0.0.1:${port}`;
  const paths: Readonly<Record<string, string>> = {
    '/connect/authorize': '/api/oidc/auth',
    '/connect/token': '/api/oidc/token',
    '/.well-known/openid-configuration': '/api/oidc/.well-known/openid-configuration',
    '/v1/me': '/api/oidc/userinfo',
  };
  const front = await startFront(redirectUri, async ({ method, url, headers, body }) => {
    const { 'content-length': _, connection: __, ...rest } = headers;
    const answer = await fetch(`${inside}${paths[url.pathname] ?? url.pathname}${url.search}`, {
      method,
      headers: rest,
      redirect: 'manual',
      ...(method === 'GET' ? {} : { body }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: headersOf(answer), body: text };
  });
  const service = await startService(port, front.url).catch(async (error) => {
    await front[Symbol.asyncDispose]();
    throw error;
  });
  const provider = {
    ...front,
    visit: (url: string | URL) => signIn(front.url, url),
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]();
      await service.stop();
    },
  };
  await configure(inside, front.url, redirectUri).catch(async (error) => {
    await provider[Symbol.asyncDispose]();
    throw error;
  });
  return provider;
}

function headersOf(answer: Response): Record<string, string> {
  const kept = ['content-type', 'location', 'set-cookie', 'www-authenticate'];
  return Object.fromEntries([...answer.headers].filter(([name]) => kept.includes(name)));
}

/** Starts the service in the foreground, and waits until it listens. */
async function startService(port: number, externalUrl: string): Promise<{ stop(): Promise<void> }> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'glewlwyd-'));
  const [database, config] = [path.join(folder, 'database'), path.join(folder, 'glewlwyd.conf')];
  const tables = await readFile('/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3', 'utf8');
  execFileSync('sqlite3', [database], { input: `PRAGMA synchronous = OFF; BEGIN; ${tables} COMMIT;` });
  await writeFile(config, configuration(port, externalUrl, database));
  // Its log says that it listens before it actually does.
  const ready = () => isListening(port);
  const tool = await startTool('/usr/bin/glewlwyd', [`--config-file=${config}`], { ready });
  return {
    async stop() {
      await tool.end();
      await rm(folder, { recursive: true });
    },
  };
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function configuration(port: number, externalUrl: string, database: string): string {
  return `
    port = ${port}
    bind_address = "127.0.0.1"
    external_url = "${externalUrl}"
    login_url = "login.html"
    api_prefix = "api"
    log_mode = "console"
    log_level = "ERROR"
    cookie_secure = 0
    session_key = "session"
    admin_scope = "g_admin"
    profile_scope = "g_profile"
    user_module_path = "/usr/lib/glewlwyd/user"
    client_module_path = "/usr/lib/glewlwyd/client"
    user_auth_scheme_module_path = "/usr/lib/glewlwyd/scheme"
    plugin_module_path = "/usr/lib/glewlwyd/plugin"
    hash_algorithm = "SHA512"
    database = { type = "sqlite3" path = "${database}" };
  `;
}

/** Adds what an administrator would add in the browser: the provider, a scope, a user and the client. */
async function configure(inside: string, issuer: string, redirectUri: string): Promise<void> {
  const cookie = await sessionOf(inside, admin);
  const add = (kind: string, what: object) => call(inside, 'POST', `/api/${kind}/`, what, cookie);
  await add('mod/plugin', {
    module: 'oidc',
    name: 'oidc',
    display_name: 'OpenID Connect',
    enabled: true,
    parameters: {
      iss: issuer,
      'jwt-type': 'sha',
      'jwt-key-size': '256',
      key: 'the key that signs its tokens',
      'code-duration': 600,
      'access-token-duration': 1800,
      'refresh-token-duration': 1_209_600,
      'refresh-token-rolling': false,
      'refresh-token-one-use': 'always',
      'allow-non-oidc': true,
      'auth-type-code-enabled': true,
      'auth-type-refresh-enabled': true,
      'auth-type-client-enabled': true,
      'auth-type-device-enabled': true,
      'device-authorization-expiration': 600,
      'device-authorization-interval': 1,
      'pkce-allowed': true,
      'pkce-required': true,
      'oauth-as-iss-id': true,
      'introspection-revocation-allowed': true,
      'introspection-revocation-allow-target-client': true,
    },
  });
  for (const name of scopes)
    await add('scope', { name, display_name: name, description: name, password_required: true, scheme: {} });
  await add('user', { ...someone, enabled: true, scope: ['g_profile', ...scopes] });
  await add('client', {
    client_id: client.id,
    client_secret: client.secret,
    name: client.id,
    enabled: true,
    confidential: true,
    redirect_uri: [redirectUri],
    authorization_type: ['code', 'refresh_token', 'device_authorization', 'client_credentials'],
    token_endpoint_auth_method: ['client_secret_post'],
    scope: ['event_api'],
  });
}

/** Does what its login page does: signs the person in, grants the scopes, and follows the way back. */
async function signIn(front: string, url: string | URL): Promise<void> {
  const page = await locationOf(url);
  const { callback_url, client_id, scope } = Object.fromEntries(page.searchParams) as Record<string, string>;
  const cookie = await sessionOf(front, someone);
  const granted = scope
    ?.split(' ')
    .filter((name) => scopes.includes(name))
    .join(' ');
  await call(front, 'PUT', `/api/auth/grant/${client_id}`, { scope: granted }, cookie);
  const next = await locationOf(`${callback_url}&g_continue`, cookie);
  // After a device sign-in this is a page that says so.
  if (next.origin !== front) await visit(next);
}

async function locationOf(url: string | URL, cookie = ''): Promise<URL> {
  const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
  const location = answer.headers.get('location');
  if (!location) throw new Error(`no redirect from ${url}: ${answer.status} ${await answer.text()}`);
  return new URL(location);
}

/** Signs in, and returns the cookie of the session. */
async function sessionOf(server: string, user: { username: string; password: string }): Promise<string> {
  const { headers } = await call(server, 'POST', '/api/auth', user);
  return headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

async function call(server: string, method: string, target: string, body: object, cookie = '') {
  const headers = { 'content-type': 'application/json', cookie };
  const answer = await fetch(`${server}${target}`, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${await answer.text()}`);
  return answer;
}
