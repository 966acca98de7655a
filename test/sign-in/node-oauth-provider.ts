import OAuth2Server from '@node-oauth/oauth2-server';
import { visit } from '../support/browser.ts';
import { client as expected, type OtherProvider, startFront } from './other-provider.ts';

/** The npm package `@node-oauth/oauth2-server`. It names no issuer, has no metadata, and spends refresh tokens once. */
export async function startNodeOAuthProvider(redirectUri: string): Promise<OtherProvider> {
  const codes = new Map<string, OAuth2Server.AuthorizationCode>();
  const tokens = new Map<string, OAuth2Server.RefreshToken>();
  const client = {
    id: expected.id,
    grants: ['authorization_code', 'refresh_token'],
    redirectUris: [redirectUri],
  };
  const user = { id: 'someone' };

  const model: OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel = {
    // Without a secret, it is the authorization request that looks up the client.
    getClient: async (id, secret) => id === client.id && (!secret || secret === expected.secret) && client,
    saveAuthorizationCode: async (code) => {
      if (!code.codeChallenge) throw new OAuth2Server.InvalidRequestError('PKCE is required');
      const saved = { ...code, client, user };
      codes.set(code.authorizationCode, saved);
      return saved;
    },
    getAuthorizationCode: async (code) => codes.get(code),
    revokeAuthorizationCode: async (code) => codes.delete(code.authorizationCode),
    saveToken: async (token) => {
      const saved = { ...token, client, user };
      if (saved.refreshToken) tokens.set(saved.refreshToken, saved as OAuth2Server.RefreshToken);
      return saved;
    },
    getAccessToken: async (text) =>
      [...tokens.values()].find(({ accessToken }) => accessToken === text) as OAuth2Server.Token | undefined,
    getRefreshToken: async (token) => tokens.get(token),
    revokeToken: async ({ refreshToken }) => tokens.delete(refreshToken),
    validateScope: async (_user, _client, scope) => scope,
  };
  const oauth = new OAuth2Server({ model, authenticateHandler: { handle: () => user } });
  const steps: Readonly<Record<string, (...given: Parameters<typeof oauth.token>) => Promise<unknown>>> = {
    '/connect/authorize': (request, response) => oauth.authorize(request, response),
    '/connect/token': (request, response) => oauth.token(request, response, { accessTokenLifetime: 1800 }),
    '/v1/me': async (request, response) => {
      const token = await oauth.authenticate(request, response);
      response.body = { sub: token.user['id'] };
    },
  };

  const front = await startFront(redirectUri, async ({ method, url, headers, body }) => {
    const step = steps[url.pathname];
    if (!step) return { status: 404, body: '' };
    const request = new OAuth2Server.Request({
      headers,
      method,
      query: Object.fromEntries(url.searchParams),
      body: Object.fromEntries(new URLSearchParams(body)),
    });
    const response = new OAuth2Server.Response({});
    // The response also holds errors of the protocol.
    await step(request, response).catch(() => undefined);
    return {
      status: response.status ?? 200,
      headers: response.headers ?? {},
      body: JSON.stringify(response.body),
    };
  });
  return { ...front, visit: async (url) => void (await visit(url)) };
}
