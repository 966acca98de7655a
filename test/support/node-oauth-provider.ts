import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import OAuth2Server from '@node-oauth/oauth2-server';

/**
 * An identity provider of other people's making, the npm package `@node-oauth/oauth2-server`, behind a front that only
 * maps the paths of the service description to it. It names no issuer, has no metadata, and spends refresh tokens once.
 */
export interface NodeOAuthProvider extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** The outcome of each token request: the grant type, and `ok` or the error. */
  readonly grants: string[];
  /** The challenges that were verified, which are those of codes that were exchanged. */
  readonly challenges: string[];
  /** Seconds that the tokens last that are granted from now on. */
  lifetime: number;
}

export async function startNodeOAuthProvider(redirectUri: string): Promise<NodeOAuthProvider> {
  const codes = new Map<string, OAuth2Server.AuthorizationCode>();
  const tokens = new Map<string, OAuth2Server.RefreshToken>();
  const client = { id: 'acme', grants: ['authorization_code', 'refresh_token'], redirectUris: [redirectUri] };
  const user = { id: 'someone' };
  const grants: string[] = [];
  const challenges: string[] = [];

  const model: OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel = {
    // Without a secret it is the authorization request that asks.
    getClient: async (id, secret) => id === client.id && (!secret || secret === 's3cret & more') && client,
    saveAuthorizationCode: async (code) => {
      const saved = { ...code, client, user };
      codes.set(code.authorizationCode, saved);
      return saved;
    },
    getAuthorizationCode: async (code) => codes.get(code),
    revokeAuthorizationCode: async (code) => {
      challenges.push(code.codeChallenge ?? 'none');
      return codes.delete(code.authorizationCode);
    },
    saveToken: async (token) => {
      const saved = { ...token, client, user };
      if (saved.refreshToken) tokens.set(saved.refreshToken, saved as OAuth2Server.RefreshToken);
      return saved;
    },
    getAccessToken: async () => undefined,
    getRefreshToken: async (token) => tokens.get(token),
    revokeToken: async ({ refreshToken }) => tokens.delete(refreshToken),
    validateScope: async (_user, _client, scope) => scope,
  };
  const oauth = new OAuth2Server({ model, authenticateHandler: { handle: () => user } });

  const provider = { grants, challenges, lifetime: 1800 };
  const server = createServer(async (incoming, outgoing) => {
    const url = new URL(incoming.url ?? '/', 'http://front');
    const body = Object.fromEntries(new URLSearchParams(await textOf(incoming)));
    const request = new OAuth2Server.Request({
      headers: incoming.headers as Record<string, string>,
      method: incoming.method ?? 'GET',
      query: Object.fromEntries(url.searchParams),
      body,
    });
    const response = new OAuth2Server.Response({});
    if (url.pathname === '/connect/authorize') {
      await oauth.authorize(request, response).catch(() => undefined);
    } else if (url.pathname === '/connect/token') {
      const outcome = await oauth
        .token(request, response, { accessTokenLifetime: provider.lifetime })
        .then(() => 'ok')
        .catch((error) => error.name);
      grants.push(`${body['grant_type']}: ${outcome}`);
    } else {
      response.status = 404;
    }
    outgoing.writeHead(response.status ?? 200, response.headers);
    outgoing.end(typeof response.body === 'string' ? response.body : JSON.stringify(response.body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return Object.assign(provider, {
    env: {
      HOOKTRAIL_AUTH_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      HOOKTRAIL_BASE_URL: 'https://events.example.com/v1',
      HOOKTRAIL_VENDOR: 'acme',
      HOOKTRAIL_CLIENT_ID: client.id,
      HOOKTRAIL_CLIENT_SECRET: 's3cret & more',
      HOOKTRAIL_REDIRECT_URI: redirectUri,
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  });
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}
