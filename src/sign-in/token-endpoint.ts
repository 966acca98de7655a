import type * as OAuth from 'oauth4webapi';
import type { Clock } from '../context.ts';
import { ServiceError, UnreachableError } from '../errors.ts';
import type { HttpResponse, Transport } from '../http/transport.ts';
import { TransportError } from '../http/transport-error.ts';
import { isLoopback, type SettingValues, urlText } from '../settings/setting-values.ts';
import { type Granted, grantedIn, isHeaderSafe, tokenRefusal, UnusableGrantError } from './token-answer.ts';

/** What the token endpoint grants (the service description, part 5). */
export interface TokenGrant {
  readonly accessToken: string;
  /** Milliseconds since the epoch, counted from before the request left; undefined where the answer had no `expires_in`. */
  readonly expiresAt?: number | undefined;
  readonly refreshToken?: string | undefined;
  readonly scope?: string | undefined;
}

export interface CodeExchange {
  /** The redirect's parameters as `validateAuthResponse` of oauth4webapi returned them: it vouches for `state` and `iss`. */
  readonly callbackParameters: URLSearchParams;
  /** Exactly as in the authorization request. */
  readonly redirectUri: string;
  readonly codeVerifier: string;
  readonly clientSecret: string;
}

/** Who asks, and which provider. */
export type Client = Pick<SettingValues, 'authUrl' | 'clientId'>;

export interface Refresh {
  readonly refreshToken: string;
  readonly clientSecret: string;
}

/** What a token request needs of the world. */
export interface TokenRequestWorld {
  readonly transport: Transport;
  readonly clock: Pick<Clock, 'now'>;
}

const LATER = { next: 'run the command again later: the sign-in is kept' };

/**
 * Exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5).
 * Throws `NotSignedInError` when it is refused, `ServiceError` for other answers, `UnreachableError` without one.
 */
export async function exchangeCode(
  settings: Client,
  { callbackParameters, redirectUri, codeVerifier, clientSecret }: CodeExchange,
  world: TokenRequestWorld,
): Promise<TokenGrant> {
  const secrets = [callbackParameters.get('code') ?? '', codeVerifier, clientSecret];
  return await request(settings, clientSecret, secrets, world, {
    what: 'the sign-in',
    send: (oauth, as, client, authentication, options) =>
      oauth.authorizationCodeGrantRequest(
        as,
        client,
        authentication,
        callbackParameters,
        redirectUri,
        codeVerifier,
        options,
      ),
    process: (oauth, as, client, response) => oauth.processAuthorizationCodeResponse(as, client, response),
  });
}

/** Spends a refresh token (RFC 6749 section 6). Throws as `exchangeCode` does; `InvalidGrantError` for a token that is spent. */
export async function refresh(
  settings: Client,
  { refreshToken, clientSecret }: Refresh,
  world: TokenRequestWorld,
): Promise<TokenGrant> {
  return await request(settings, clientSecret, [refreshToken, clientSecret], world, {
    what: 'refreshing the sign-in',
    send: (oauth, as, client, authentication, options) =>
      oauth.refreshTokenGrantRequest(as, client, authentication, refreshToken, options),
    process: (oauth, as, client, response) => oauth.processRefreshTokenResponse(as, client, response),
  });
}

interface Grant {
  /** For messages: what fails when this fails. */
  readonly what: string;
  send(
    oauth: typeof OAuth,
    as: OAuth.AuthorizationServer,
    client: OAuth.Client,
    authentication: OAuth.ClientAuth,
    options: OAuth.TokenEndpointRequestOptions,
  ): Promise<Response>;
  process(
    oauth: typeof OAuth,
    as: OAuth.AuthorizationServer,
    client: OAuth.Client,
    response: Response,
  ): Promise<OAuth.TokenEndpointResponse>;
}

async function request(
  { authUrl, clientId }: Client,
  clientSecret: string,
  secrets: readonly string[],
  { transport, clock }: TokenRequestWorld,
  grant: Grant,
): Promise<TokenGrant> {
  const oauth = await import('oauth4webapi');
  const issuer = urlText(authUrl);
  const as = { issuer, token_endpoint: `${issuer}/connect/token` };
  const client = { client_id: clientId };
  const sentAt = clock.now();
  let received: Granted | undefined;
  const response = await grant.send(oauth, as, client, oauth.ClientSecretPost(clientSecret), {
    [oauth.allowInsecureRequests]: isLoopback(authUrl),
    [oauth.customFetch]: async (url, { body, headers, method }) => {
      const answer = await post(transport, new URL(url), method, headers, String(body));
      if (answer.status < 200 || answer.status > 299) throw tokenRefusal(answer, grant.what, secrets);
      received = grantedIn(answer);
      return received.response;
    },
  });
  let granted: OAuth.TokenEndpointResponse;
  try {
    granted = await grant.process(oauth, as, client, response);
    if (!isHeaderSafe(granted.access_token)) throw new Error('no header can carry its access token');
  } catch (error) {
    // Not kept as the cause: it carries the answer with the tokens.
    const why = error instanceof Error ? error.message : String(error);
    const message = `${grant.what} failed: the identity provider's answer cannot be used: ${why}`;
    throw new UnusableGrantError(message, LATER, received?.refreshToken);
  }
  return {
    accessToken: granted.access_token,
    expiresAt: granted.expires_in === undefined ? undefined : sentAt + granted.expires_in * 1000,
    refreshToken: granted.refresh_token,
    scope: granted.scope,
  };
}

async function post(
  transport: Transport,
  url: URL,
  method: string,
  headers: Record<string, string>,
  body: string,
): Promise<HttpResponse> {
  try {
    return await transport.send({
      method,
      url,
      // Without the `charset` that the library adds: the media type takes no parameter.
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      body,
    });
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    if (error.kind === 'too-large')
      throw new ServiceError(error.message, { next: 'check --auth-url (HOOKTRAIL_AUTH_URL)', cause: error });
    const isOurs = error.kind === 'untrusted' || error.kind === 'proxy';
    throw new UnreachableError(`the identity provider could not be reached: ${error.message}`, {
      cause: error,
      next: isOurs
        ? error.next
        : 'check the network and --auth-url (HOOKTRAIL_AUTH_URL), then run the command again: the sign-in is kept',
    });
  }
}
