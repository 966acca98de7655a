import type { Configuration, errors, JWK, KoaContextWithOIDC } from 'oidc-provider';
import type { Behaviour, SandboxSettings } from '../sandbox-options.ts';
import type { IdentityMemory } from './identity-memory.ts';
import { errorPage, pageHeaders } from './sign-in-pages.ts';

const DAY_SECONDS = 86_400;

/** The provider's endpoints, below its issuer. The service description names the first two; the others have their usual names. */
export const paths = {
  authorization: '/connect/authorize',
  token: '/connect/token',
  deviceAuthorization: '/connect/deviceauthorization',
  /** The page at which a person enters the code that a device shows. */
  device: '/device',
  revocation: '/connect/revocation',
  metadata: '/.well-known/openid-configuration',
} as const;

interface Parts {
  readonly settings: SandboxSettings;
  readonly behaviour: Readonly<Behaviour>;
  readonly clock: () => number;
  readonly memory: IdentityMemory;
  readonly key: JWK;
  readonly errors: typeof errors;
}

/**
 * Configures the library to behave as the service description says. Each function also replaces a default that would
 * print a notice.
 */
export function configuration({ settings, behaviour, clock, memory, key, errors }: Parts): Configuration {
  return {
    adapter: (kind: string) => memory.adapter(kind),
    jwks: { keys: [key] },
    clients: [
      {
        client_id: settings.clientId,
        client_secret: settings.clientSecret,
        // A native application's loopback redirect URIs match with any port (RFC 8252 section 7.3).
        application_type: 'native',
        redirect_uris: redirectUris(settings.redirectUri),
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    routes: {
      authorization: paths.authorization,
      token: paths.token,
      device_authorization: paths.deviceAuthorization,
      code_verification: paths.device,
      revocation: paths.revocation,
    },
    scopes: ['offline_access'],
    // The service requires `grant_type` at the authorization endpoint, where OAuth does not have it.
    extraParams: {
      grant_type: (ctx, value) => {
        if (value !== 'authorization_code' && ctx.oidc.route === 'authorization') {
          const error = new errors.InvalidRequest("the parameter grant_type must be 'authorization_code'");
          // It is shown, and not sent back to the client.
          throw Object.assign(error, { allow_redirect: false });
        }
        checkScopes(String(ctx.oidc.params?.['scope'] ?? ''), settings.scope, errors);
      },
    },
    pkce: { required: () => false },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client, code) =>
      client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
    expiresWithSession: async () => false,
    // The library uses the machine's clock for tokens.
    formats: {
      customizers: {
        jwt: async (_ctx, _token, { payload }) => {
          const issued = Math.floor(clock() / 1000);
          Object.assign(payload, { iat: issued, exp: issued + behaviour.tokenLifetimeSeconds });
        },
      },
    },
    ttl: {
      AccessToken: () => behaviour.tokenLifetimeSeconds,
      AuthorizationCode: 60,
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
      // The sandbox has its own pages: see sign-in-pages.ts.
      deviceFlow: { enabled: true },
      revocation: {
        enabled: true,
        allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
      },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: async () => settings.baseUrl,
        useGrantedResource: async () => true,
        getResourceServerInfo: async () => ({
          scope: 'event_api',
          audience: settings.baseUrl,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
}

/** The service requires `scope` and issues only the client's own scopes; the library would ignore the others. */
function checkScopes(
  requested: string,
  issued: string,
  { InvalidRequest, InvalidScope }: typeof errors,
): void {
  if (requested === '') throw new InvalidRequest("missing required parameter 'scope'");
  const unknown = requested.split(' ').find((scope) => !issued.split(' ').includes(scope));
  if (unknown !== undefined) throw new InvalidScope('the client has no such scope', unknown);
}

/** Returns the redirect URI, and the same URI on the other loopback hosts. */
function redirectUris(redirectUri: string): string[] {
  const { protocol, hostname, pathname, search } = new URL(redirectUri);
  const loopbacks = ['127.0.0.1', 'localhost', '[::1]'];
  if (protocol !== 'http:' || !loopbacks.includes(hostname)) return [redirectUri];
  return [...new Set([redirectUri, ...loopbacks.map((host) => `http://${host}${pathname}${search}`)])];
}
