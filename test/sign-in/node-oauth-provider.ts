import OAuth2Server from '@node-oauth/oauth2-server';
import { visit } from '../support/browser.ts';
import { client as expected, type OtherProvider, startFront } from './other-provider.ts';

/**
 * The npm package `@node-oauth/oauth2-server`. It names no issuer, has no metadata, and spends refresh tokens
 * once.
 */
export async function startNodeOAuthProvider(redirectUri: string): Promise<OtherProvider> {
  const codes = new Map<string, OAuth2Server.AuthorizationCode>();
  const tokens = new Map<string, OAuth2Server.RefreshToken>();
  const client = {
    id: expected.id,
    grants: ['authorization_code', 'refresh_token', 'client_credentials'],
    redirectUris: [redirectUri],
  };
  const user = { id: 'someone' };

  type Model = OAuth2Server.AuthorizationCodeModel &
    OAuth2Server.RefreshTokenModel &
    OAuth2Server.ClientCredentialsModel;
  const model: Model = {
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
      // A token of the client itself has no refresh token.
      tokens.set(saved.refreshToken ?? saved.accessToken, saved as OAuth2Server.RefreshToken);
      return saved;
    },
    getAccessToken: async (text) =>
      [...tokens.values()].find(({ accessToken }) => accessToken === text) as OAuth2Server.Token | undefined,
    getUserFromClient: async () => ({ id: 'machine' }),
    getRefreshToken: async (token) => tokens.get(token),
    revokeToken: async ({ refreshToken }) => tokens.delete(refreshToken),
    // A client that names no scopes gets those that it may have.
    validateScope: async (_user, _client, scope) => scope ?? ['event_api'],
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
