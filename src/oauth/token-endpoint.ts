import type { Settings } from '../config/settings.ts';
import type { Context } from '../context.ts';
import type { Transport } from '../http/transport.ts';
import type { Reporter } from '../output/reporter.ts';

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

export interface Refresh {
  readonly refreshToken: string;
  readonly clientSecret: string;
}

/** What a token request needs of the world. */
export interface TokenRequestWorld {
  readonly transport: Transport;
  readonly reporter: Pick<Reporter, 'trace'>;
  readonly clock: Pick<Context['clock'], 'now'>;
}

/**
 * Exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5).
 * Throws `NotSignedInError` when it is refused, `ServiceError` for other answers, `UnreachableError` without one.
 */
export async function exchangeCode(
  _settings: Settings,
  _exchange: CodeExchange,
  _world: TokenRequestWorld,
): Promise<TokenGrant> {
  throw new Error('not built yet');
}

/** Spends a refresh token (RFC 6749 section 6). Throws as `exchangeCode` does. */
export async function refresh(
  _settings: Settings,
  _refresh: Refresh,
  _world: TokenRequestWorld,
): Promise<TokenGrant> {
  throw new Error('not built yet');
}
