import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientMetadata, Configuration, JWK, KoaContextWithOIDC } from 'oidc-provider';
import type { Behaviour, SandboxOptions, SandboxSettings } from '../sandbox-options.ts';
import { createIdentityMemory } from './identity-memory.ts';
import { createDeviceApproval, createSignIn, errorPage, pageHeaders } from './sign-in-pages.ts';

// Paths relative to the issuer. The service description names the first; the others are customary.
const AUTHORIZE_PATH = '/connect/authorize';
const DEVICE_PATH = '/device';
/** Seconds between polls: the `interval` of device sign-in (RFC 8628 section 3.2). */
const DEVICE_POLL_SECONDS = 5;
const DAY_SECONDS = 86_400;
/** The scope of the client itself: a request of `client_credentials` names none. */
const API_SCOPE = 'event_api';

export type IdentityProvider = Awaited<ReturnType<typeof createIdentityProvider>>;

/**
 * The endpoints of the identity provider (service description, parts 4 and 5), implemented by a certified
 * library.
 */
export async function createIdentityProvider(
  settings: SandboxSettings,
  behaviour: Readonly<Behaviour>,
  clock: () => number,
  options: ClientOptions = {},
) {
  const library = await loadProvider();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const memory = createIdentityMemory(clock, () => new library.errors.InvalidGrant('already used'));
  const key = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' } as JWK;
  const provider = new library.Provider(settings.issuer, {
    ...configurationOf(settings, behaviour, clock, options, library),
    adapter: (kind: string) => memory.adapter(kind),
    jwks: { keys: [key] },
  });
  // Otherwise Koa would print errors.
  provider.silent = true;
  provider.on('authorization.success', (ctx: KoaContextWithOIDC, out: Record<string, unknown> = {}) => {
    const granted = ctx.oidc.entities.AuthorizationCode?.scopes;
    const requested = String(ctx.oidc.params?.['scope']).split(' ');
    out['scope'] = requested.filter((scope) => granted?.has(scope)).join(' ');
  });
  const accessTokens = memory.adapter('AccessToken');
  provider.on('grant.success', (ctx: KoaContextWithOIDC) => {
    const body = ctx.body as Record<'access_token' | 'refresh_token' | 'scope', string>;
    if (ctx.oidc.entities.ClientCredentials) body.scope ||= API_SCOPE;
    const grantId = ctx.oidc.entities.Grant?.jti;
    const issued = { ...(grantId === undefined ? {} : { grantId }), scope: body.scope };
    // Rejected if a concurrent request has ended the grant: the token then stays unknown.
    accessTokens.upsert(body.access_token, issued, behaviour.tokenLifetimeSeconds).catch(() => undefined);
    // The library leaves out `offline_access`, which is not a scope of the API; the service includes it.
    if (body.refresh_token) body.scope = [body.scope, 'offline_access'].filter(Boolean).join(' ');
  });
  const approval = createDeviceApproval(provider, settings.baseUrl);
  provider.on('device_authorization.success', (ctx: KoaContextWithOIDC, body: Record<string, unknown>) => {
    body['interval'] = DEVICE_POLL_SECONDS;
    const code = ctx.oidc.entities.DeviceCode;
    if (behaviour.autoApprove && code) void approval.approve(code);
  });
  const callback = provider.callback();
  const signIn = createSignIn(provider, behaviour, settings.baseUrl);
  const mount = new URL(settings.issuer).pathname;

  return {
    memory,
    /** Returns the scopes of an access token; undefined if it is unknown, expired or revoked. */
    async verify(token: string): Promise<readonly string[] | undefined> {
      const issued = await accessTokens.find(token);
      return issued ? String(issued.scope ?? '').split(' ') : undefined;
    },
    async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const [path = '', query = ''] = (request.url ?? '').slice(mount.length).split(/\?(.*)/s);
      const uid = /^\/(?:sign-in|connect\/authorize)\/([\w-]+)$/.exec(path)?.[1];
      setCookies(request, behaviour.autoApprove ? uid : undefined);
      if (path.startsWith('/sign-in/')) return signIn(request, response);
      if (path === DEVICE_PATH) return approval.page(new URLSearchParams(query), response);
      // OpenID Connect requires `prompt=consent` for `offline_access`; the service does not. The sign-in page
      // asks in any case.
      const lacksConsent = path === AUTHORIZE_PATH && !/(?:^|&)(?:prompt|request_uri)=/.test(query);
      const target = lacksConsent ? `${query}${query && '&'}prompt=consent` : query;
      const url = path + (target && `?${target}`);
      // The library compares these two to find its mount path.
      Object.assign(request, { originalUrl: mount + url, url });
      await callback(request, response);
    },
  };
}

type Library = typeof import('oidc-provider');

/**
 * Configures the library as the service description requires. Each function also replaces a default that
 * would print a notice.
 */
function configurationOf(
  settings: SandboxSettings,
  behaviour: Readonly<Behaviour>,
  clock: () => number,
  options: ClientOptions,
  { errors }: Library,
): Configuration {
  return {
    clients: clientsOf(settings, options),
    // The description shows the first method; providers of this kind usually offer the others as well.
    clientAuthMethods: ['client_secret_post', 'private_key_jwt', 'none'],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    routes: {
      authorization: AUTHORIZE_PATH,
      token: '/connect/token',
      device_authorization: '/connect/deviceauthorization',
      pushed_authorization_request: '/connect/par',
      code_verification: DEVICE_PATH,
      revocation: '/connect/revocation',
    },
    scopes: ['offline_access'],
    // The service requires `grant_type` at the authorization endpoint, unlike OAuth.
    extraParams: {
      grant_type: (ctx, value) => {
        if (value !== 'authorization_code' && ctx.oidc.route === 'authorization') {
          const error = new errors.InvalidRequest("the parameter grant_type must be 'authorization_code'");
          // Shown on a page instead of being sent back to the client.
          throw Object.assign(error, { allow_redirect: false });
        }
        checkScopes(String(ctx.oidc.params?.['scope'] ?? ''), settings.scope, errors);
        // The library has dropped `offline_access` from a pushed request, since it came without `prompt`.
        const { route, params = {}, body } = ctx.oidc;
        if (route === 'pushed_authorization_request')
          Object.assign(params, { prompt: 'consent', scope: body?.['scope'] });
      },
    },
    pkce: { required: () => false },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client, code) =>
      client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
    expiresWithSession: async () => false,
    // The library would use the machine's clock for tokens.
    formats: {
      customizers: {
        jwt: async (_ctx, token, { payload }) => {
          const issued = Math.floor(clock() / 1000);
          if (token.kind === 'ClientCredentials') payload['scope'] ??= API_SCOPE;
          Object.assign(payload, { iat: issued, exp: issued + behaviour.tokenLifetimeSeconds });
        },
      },
    },
    ttl: {
      AccessToken: () => behaviour.tokenLifetimeSeconds,
      AuthorizationCode: 60,
      ClientCredentials: () => behaviour.tokenLifetimeSeconds,
      DeviceCode: 600,
      Grant: 90 * DAY_SECONDS,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: 90 * DAY_SECONDS,
      Session: DAY_SECONDS,
    },
    findAccount: async (_ctx, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
    clientBasedCORS: () => false,
    renderError: async (ctx: KoaContextWithOIDC, out) => {
      ctx.set(pageHeaders);
      ctx.body = errorPage(out.error, out.error_description ?? 'The request was refused.');
    },
    interactions: { url: (_ctx, { uid }) => `${new URL(settings.issuer).pathname}/sign-in/${uid}` },
    features: {
      devInteractions: { enabled: false },
      // The pages are in sign-in-pages.ts.
      deviceFlow: { enabled: true },
      clientCredentials: { enabled: true },
      revocation: {
        enabled: true,
        allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
      },
      pushedAuthorizationRequests: {
        enabled: true,
        requirePushedAuthorizationRequests: options.requirePushedRequests ?? false,
      },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: async () => settings.baseUrl,
        useGrantedResource: async () => true,
        getResourceServerInfo: async () => ({
          scope: API_SCOPE,
          audience: settings.baseUrl,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
}

type ClientOptions = Pick<SandboxOptions, 'clientKey' | 'requirePushedRequests'>;

function clientsOf(settings: SandboxSettings, { clientKey }: ClientOptions): ClientMetadata[] {
  const grants = ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'];
  const client: Omit<ClientMetadata, 'client_id'> = {
    // A native application's loopback redirect URIs match with any port (RFC 8252 section 7.3).
    application_type: 'native',
    redirect_uris: redirectUris(settings.redirectUri),
    grant_types: [...grants, 'client_credentials'],
    response_types: ['code'],
  };
  const bySecret: ClientMetadata = {
    ...client,
    client_id: settings.clientId,
    client_secret: settings.clientSecret,
    token_endpoint_auth_method: 'client_secret_post',
  };
  const withoutSecret: ClientMetadata = {
    ...client,
    client_id: `${settings.clientId}-public`,
    grant_types: grants,
    token_endpoint_auth_method: 'none',
  };
  if (!clientKey) return [bySecret, withoutSecret];
  const byKey: ClientMetadata = {
    ...client,
    client_id: `${settings.clientId}-key`,
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [clientKey] },
  };
  return [bySecret, withoutSecret, byKey];
}

/** The service requires `scope` and rejects unknown scopes; the library would ignore them. */
function checkScopes(
  requested: string,
  issued: string,
  { InvalidRequest, InvalidScope }: Library['errors'],
): void {
  if (requested === '') throw new InvalidRequest("missing required parameter 'scope'");
  const unknown = requested.split(' ').find((scope) => !issued.split(' ').includes(scope));
  if (unknown !== undefined) throw new InvalidScope('the client has no such scope', unknown);
}

function redirectUris(redirectUri: string): string[] {
  const { protocol, hostname, pathname, search } = new URL(redirectUri);
  const loopbacks = ['127.0.0.1', 'localhost', '[::1]'];
  if (protocol !== 'http:' || !loopbacks.includes(hostname)) return [redirectUri];
  return [...new Set([redirectUri, ...loopbacks.map((host) => `http://${host}${pathname}${search}`)])];
}

/**
 * Drops the browser's session, so that each sign-in asks for the user. With automatic approval, also adds the
 * sign-in's cookies, so that any HTTP client that follows redirects can act as the browser.
 */
function setCookies(request: IncomingMessage, uid: string | undefined): void {
  const kept = (request.headers.cookie ?? '').split(/; */).filter((cookie) => !/^_session[.=]/.test(cookie));
  if (uid !== undefined) kept.push(`_interaction=${uid}`, `_interaction_resume=${uid}`);
  request.headers.cookie = kept.filter(Boolean).join('; ');
}

/**
 * Loads `oidc-provider` on every supported Node version without its warning. The library targets Node 22 and
 * warns on older versions, where only `URL.parse` is missing.
 */
async function loadProvider(): Promise<Library> {
  const urls = URL as unknown as { parse?: (url: string, base?: string) => URL | null };
  urls.parse ??= (url, base) => (URL.canParse(url, base) ? new URL(url, base) : null);
  const { warn } = console;
  console.warn = (...values: unknown[]) => {
    if (!String(values[0]).includes('oidc-provider WARNING: Unsupported runtime')) warn(...values);
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
}
