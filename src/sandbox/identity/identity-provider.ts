import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JWK, KoaContextWithOIDC } from 'oidc-provider';
import type { Behaviour, SandboxSettings } from '../sandbox-options.ts';
import { IdentityMemory } from './identity-memory.ts';
import { configuration, paths } from './provider-configuration.ts';
import { createDeviceApproval, createSignIn } from './sign-in-pages.ts';

/** The `interval` of device sign-in (RFC 8628 section 3.2). */
const DEVICE_POLL_SECONDS = 5;

export interface IdentityProvider {
  readonly memory: IdentityMemory;
  /** Returns the scopes of an access token; undefined if it is unknown, expired or revoked. */
  verify(token: string): Promise<readonly string[] | undefined>;
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** The endpoints of the identity provider (service description, parts 4 and 5), implemented by a certified library. */
export async function createIdentityProvider(
  settings: SandboxSettings,
  behaviour: Readonly<Behaviour>,
  clock: () => number,
): Promise<IdentityProvider> {
  const { Provider, errors } = await loadProvider();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const memory = new IdentityMemory(clock, () => new errors.InvalidGrant('already used'));
  const key = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' } as JWK;
  const provider = new Provider(
    settings.issuer,
    configuration({ settings, behaviour, clock, memory, key, errors }),
  );
  // Without this Koa would print errors.
  provider.silent = true;
  provider.on('authorization.success', (ctx: KoaContextWithOIDC, out: Record<string, unknown> = {}) => {
    const granted = ctx.oidc.entities.AuthorizationCode?.scopes;
    const requested = String(ctx.oidc.params?.['scope']).split(' ');
    out['scope'] = requested.filter((scope) => granted?.has(scope)).join(' ');
  });
  const accessTokens = memory.adapter('AccessToken');
  provider.on('grant.success', (ctx: KoaContextWithOIDC) => {
    const body = ctx.body as Record<'access_token' | 'refresh_token' | 'scope', string>;
    const grantId = String(ctx.oidc.entities.Grant?.jti);
    void accessTokens.upsert(
      body.access_token,
      { grantId, scope: body.scope },
      behaviour.tokenLifetimeSeconds,
    );
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
    async verify(token) {
      const issued = await accessTokens.find(token);
      return issued ? String(issued.scope ?? '').split(' ') : undefined;
    },
    async handle(request, response) {
      const [path = '', query = ''] = (request.url ?? '').slice(mount.length).split(/\?(.*)/s);
      const uid = /^\/(?:sign-in|connect\/authorize)\/([\w-]+)$/.exec(path)?.[1];
      setCookies(request, behaviour.autoApprove ? uid : undefined);
      if (path.startsWith('/sign-in/')) return signIn(request, response);
      if (path === paths.device) return approval.page(new URLSearchParams(query), response);
      const target = path === paths.authorization ? withConsent(query) : query;
      const url = path + (target && `?${target}`);
      // The library compares these two to find out where it is mounted.
      Object.assign(request, { originalUrl: mount + url, url });
      await callback(request, response);
    },
  };
}

/**
 * Drops the browser's session, so that each sign-in asks for the user. If sign-ins are approved without a click, it
 * also adds their cookies, so that any HTTP client that follows redirects can act as the browser.
 */
function setCookies(request: IncomingMessage, uid: string | undefined): void {
  const kept = (request.headers.cookie ?? '').split(/; */).filter((cookie) => !/^_session[.=]/.test(cookie));
  if (uid !== undefined) kept.push(`_interaction=${uid}`, `_interaction_resume=${uid}`);
  request.headers.cookie = kept.filter(Boolean).join('; ');
}

/**
 * OpenID Connect requires `prompt=consent` for `offline_access`; the service does not. The sign-in page asks in any
 * case.
 */
function withConsent(query: string): string {
  return /(?:^|&)prompt=/.test(query) ? query : `${query}${query && '&'}prompt=consent`;
}

/**
 * Loads `oidc-provider` on every Node version that this program supports, without a warning on standard error. The
 * library is made for Node 22 and warns on older versions, where only `URL.parse` is missing.
 */
async function loadProvider(): Promise<typeof import('oidc-provider')> {
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
