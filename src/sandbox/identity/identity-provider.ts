import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Configuration, JWK, KoaContextWithOIDC } from 'oidc-provider';
import type { RequestLog } from '../request-handler.ts';
import type { Behaviour, SandboxSettings } from '../sandbox-options.ts';
import { splitTarget } from '../service/event-service.ts';
import { AccessTokens, IdentityMemory } from './identity-memory.ts';
import { configuration, paths } from './provider-configuration.ts';
import { createDeviceApproval, createSignIn } from './sign-in-pages.ts';

/** The `interval` of device sign-in (RFC 8628 section 3.2). */
const DEVICE_POLL_SECONDS = 5;

export interface IdentityProvider {
  readonly tokens: AccessTokens;
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Forgets all sign-ins: refresh tokens, codes and access tokens are refused from now on. */
  revokeGrants(): void;
}

/** The endpoints of the identity provider (service description, parts 4 and 5), implemented by a certified library. */
export async function createIdentityProvider(
  settings: SandboxSettings,
  behaviour: Behaviour,
  clock: () => number,
  log: RequestLog,
): Promise<IdentityProvider> {
  const { Provider, errors } = await loadProvider();
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const tokens = new AccessTokens(publicKey, settings.issuer, settings.baseUrl, clock);
  const memory = new IdentityMemory(clock, (grantId) => {
    memory.revoke(grantId);
    tokens.revokeGrant(grantId);
    return new errors.InvalidGrant('already used');
  });
  const key = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' } as JWK;
  const setup: Configuration = configuration({ settings, behaviour, clock, tokens, memory, key, errors });
  const provider = new Provider(settings.issuer, setup);
  // Without this Koa would print errors.
  provider.silent = true;
  provider.on('grant.revoked', (_ctx: unknown, grantId: string) => tokens.revokeGrant(grantId));
  provider.on('authorization.success', (ctx: KoaContextWithOIDC, out: Record<string, unknown> = {}) => {
    const granted = ctx.oidc.entities.AuthorizationCode?.scopes;
    const requested = String(ctx.oidc.params?.['scope']).split(' ');
    out['scope'] = requested.filter((scope) => granted?.has(scope)).join(' ');
  });
  provider.on('grant.success', (ctx: KoaContextWithOIDC) => {
    const body = ctx.body as { refresh_token?: string; scope?: string };
    // The library leaves out `offline_access`, which is not a scope of the API; the service includes it.
    if (body.refresh_token) body.scope = [body.scope, 'offline_access'].filter(Boolean).join(' ');
    note(ctx);
  });
  provider.on('grant.error', (ctx: KoaContextWithOIDC, error: { error?: string }) => note(ctx, error.error));

  provider.on('device_authorization.success', (ctx: KoaContextWithOIDC, body: Record<string, unknown>) => {
    body['interval'] = DEVICE_POLL_SECONDS;
    const code = ctx.oidc.entities.DeviceCode;
    if (behaviour.autoApprove && code) void approval.approve(code);
  });

  function note(ctx: KoaContextWithOIDC, error?: string): void {
    const record = log.of(ctx.req);
    if (!record) return;
    const grantType = ctx.oidc.params?.['grant_type'];
    if (typeof grantType === 'string') record.grantType = grantType;
    if (error !== undefined) record.error = error;
  }

  const callback = provider.callback();
  const signIn = createSignIn(provider, behaviour, settings.baseUrl);
  const approval = createDeviceApproval(provider, settings.baseUrl);
  const mount = new URL(settings.issuer).pathname;

  return {
    tokens,
    revokeGrants() {
      for (const kind of ['Grant', 'RefreshToken', 'AuthorizationCode']) memory.clear(kind);
      tokens.revokeAll();
    },
    async handle(request, response) {
      const [path, query] = splitTarget(request.url ?? '');
      const route = path.slice(mount.length);
      const uid = /^\/(?:sign-in|connect\/authorize)\/([\w-]+)$/.exec(route)?.[1];
      setCookies(request, behaviour.autoApprove ? uid : undefined);
      if (route.startsWith('/sign-in/')) return signIn(request, response);
      if (route === paths.device) return approval.page(new URLSearchParams(query), response);
      const target = route === paths.authorization ? withConsent(query) : query;
      const url = route + (target && `?${target}`);
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

type Library = typeof import('oidc-provider');

let loading: Promise<Library> | undefined;

/**
 * Loads `oidc-provider` on every Node version that this program supports, without a warning on standard error. The
 * library is made for Node 22 and warns on older versions, where only `URL.parse` is missing.
 */
function loadProvider(): Promise<Library> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Library> {
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
