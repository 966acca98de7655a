import type * as OAuth from 'oauth4webapi';
import type { Clock } from '../context.ts';
import {
  type ErrorParts,
  type HooktrailError,
  NotSignedInError,
  ServiceError,
  UnreachableError,
} from '../errors.ts';
import { describeBody } from '../http/service-error.ts';
import type { HttpResponse, Transport } from '../http/transport.ts';
import { TransportError } from '../http/transport-error.ts';
import { isHeaderSafe } from '../secrets/given-secret.ts';
import { isLoopback, type SettingValues, urlText } from '../settings/setting-values.ts';
import { expectedOf } from './authorization.ts';
import type { BoundSettings } from './bound-settings.ts';

/** A grant of the token endpoint (the service description, part 5). */
export interface TokenGrant {
  readonly accessToken: string;
  /**
   * Milliseconds since the epoch, counted from before the request was sent; undefined if the answer had no
   * `expires_in`.
   */
  readonly expiresAt?: number | undefined;
  readonly refreshToken?: string | undefined;
  readonly scope?: string | undefined;
}

export interface CodeExchange {
  /**
   * The redirect's parameters as `validateAuthResponse` of oauth4webapi returned them, which checked `state` and `iss`.
   */
  readonly callbackParameters: URLSearchParams;
  /** Exactly as in the authorization request. */
  readonly redirectUri: string;
  readonly codeVerifier: string;
  readonly clientSecret: string;
}

/** The client that asks, and the provider. */
export type Client = Pick<SettingValues, 'authUrl' | 'clientId'>;

export interface Refresh {
  readonly refreshToken: string;
  readonly clientSecret: string;
}

/** The parts of the context that a token request uses. */
export interface TokenRequestWorld {
  readonly transport: Transport;
  readonly clock: Pick<Clock, 'now'>;
}

const KEPT = 'run the command again later: the sign-in is kept';
/** The request may have been carried out. In that case the stored refresh token is spent. */
const UNKNOWN = 'run the command again to find out whether the sign-in is kept';

/**
 * Exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5). Throws `NotSignedInError`
 * if the provider refuses, `ServiceError` for other failures, `UnreachableError` if there is no answer.
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

/**
 * Spends a refresh token (RFC 6749 section 6). Throws as `exchangeCode` does; and `InvalidGrantError` for a token that
 * is spent.
 */
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

/** Asks for a code that a person enters on another device (RFC 8628 section 3.1). Throws as `exchangeCode` does. */
export async function authorizeDevice(
  settings: Client & Pick<SettingValues, 'scope'>,
  clientSecret: string,
  endpoint: string,
  { transport }: TokenRequestWorld,
): Promise<OAuth.DeviceAuthorizationResponse> {
  const oauth = await import('oauth4webapi');
  const as = { ...serverOf(settings), device_authorization_endpoint: endpoint };
  const client = { client_id: settings.clientId };
  const what = 'the sign-in';
  const response = await oauth.deviceAuthorizationRequest(
    as,
    client,
    oauth.ClientSecretPost(clientSecret),
    { scope: settings.scope },
    sending(oauth, settings, transport, (answer) => {
      if (!isSuccess(answer)) throw tokenRefusal(answer, what, [clientSecret]);
      return new Response(answer.body.toString('utf8'), { headers: { 'content-type': 'application/json' } });
    }),
  );
  try {
    return await oauth.processDeviceAuthorizationResponse(as, client, response);
  } catch (error) {
    throw unusable(what, error);
  }
}

/**
 * Exchanges a device code for tokens (RFC 8628 section 3.4). Throws as `exchangeCode` does; `RefusedGrantError` with
 * `authorization_pending` or `slow_down` until the person has signed in.
 */
export async function exchangeDeviceCode(
  settings: Client,
  clientSecret: string,
  deviceCode: string,
  world: TokenRequestWorld,
): Promise<TokenGrant> {
  return await request(settings, clientSecret, [deviceCode, clientSecret], world, {
    what: 'the sign-in',
    send: (oauth, as, client, authentication, options) =>
      oauth.deviceCodeGrantRequest(as, client, authentication, deviceCode, options),
    process: (oauth, as, client, response) => oauth.processDeviceCodeResponse(as, client, response),
  });
}

export interface Revocation {
  readonly token: string;
  readonly hint: 'access_token' | 'refresh_token';
  readonly clientSecret: string;
  readonly endpoint: string;
}

/** Revokes a token, and with a refresh token its whole grant (RFC 7009 section 2.1). Throws as `exchangeCode` does. */
export async function revoke(
  settings: Client,
  { token, hint, clientSecret, endpoint }: Revocation,
  { transport }: TokenRequestWorld,
): Promise<void> {
  const oauth = await import('oauth4webapi');
  const as = { ...serverOf(settings), revocation_endpoint: endpoint };
  const client = { client_id: settings.clientId };
  await oauth.revocationRequest(as, client, oauth.ClientSecretPost(clientSecret), token, {
    additionalParameters: { token_type_hint: hint },
    ...sending(oauth, settings, transport, (answer) => {
      if (!isSuccess(answer)) throw tokenRefusal(answer, 'the revocation', [token, clientSecret]);
      return new Response(null, { status: 200 });
    }),
  });
}

function serverOf({ authUrl }: Client): OAuth.AuthorizationServer & { issuer: string } {
  const issuer = urlText(authUrl);
  return { issuer, token_endpoint: `${issuer}/connect/token` };
}

/**
 * Options that make the library send its requests through our transport. `receive` turns an answer into the library's
 * response.
 */
function sending(
  oauth: typeof OAuth,
  { authUrl }: Client,
  transport: Transport,
  receive: (answer: HttpResponse) => Response,
) {
  return {
    [oauth.allowInsecureRequests]: isLoopback(authUrl),
    [oauth.customFetch]: async (
      url: string,
      { body, headers, method }: { body: unknown; headers: Record<string, string>; method: string },
    ) => receive(await post(transport, new URL(url), method, headers, String(body))),
  };
}

function isSuccess({ status }: HttpResponse): boolean {
  return status >= 200 && status <= 299;
}

function unusable(what: string, error: unknown): ServiceError {
  // The error is not kept as the cause: it holds the answer with the tokens.
  const why = error instanceof Error ? error.message : String(error);
  return new ServiceError(`${what} failed: the identity provider's answer cannot be used: ${why}`);
}

interface Grant {
  /** The name of the step for error messages. */
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
  settings: Client,
  clientSecret: string,
  secrets: readonly string[],
  { transport, clock }: TokenRequestWorld,
  grant: Grant,
): Promise<TokenGrant> {
  const oauth = await import('oauth4webapi');
  const as = serverOf(settings);
  const client = { client_id: settings.clientId };
  const sentAt = clock.now();
  let received: Granted | undefined;
  const options = sending(oauth, settings, transport, (answer) => {
    if (!isSuccess(answer)) throw tokenRefusal(answer, grant.what, secrets);
    received = grantedIn(answer);
    return received.response;
  });
  const response = await grant.send(oauth, as, client, oauth.ClientSecretPost(clientSecret), options);
  let granted: OAuth.TokenEndpointResponse;
  try {
    granted = await grant.process(oauth, as, client, response);
    if (!isHeaderSafe(granted.access_token)) throw new Error('no header can carry its access token');
  } catch (error) {
    const { message } = unusable(grant.what, error);
    const next = received?.refreshToken === undefined ? UNKNOWN : KEPT;
    throw new UnusableGrantError(message, { next }, received?.refreshToken);
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
      // The library adds a `charset`, but the media type has no parameters.
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      body,
    });
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    if (error.kind === 'too-large')
      throw new ServiceError(error.message, { next: 'check --auth-url (HOOKTRAIL_AUTH_URL)', cause: error });
    throw new UnreachableError(`the identity provider could not be reached: ${error.message}`, {
      cause: error,
      next:
        error.setupStep ??
        `check the network and --auth-url (HOOKTRAIL_AUTH_URL), then ${error.ambiguous ? UNKNOWN : KEPT}`,
    });
  }
}

/** An unusable answer to a grant request, although the token that was sent is spent. */
export class UnusableGrantError extends ServiceError {
  /** The spent token's successor, which cannot be requested again. */
  readonly refreshToken: string | undefined;

  constructor(message: string, parts: ErrorParts, refreshToken: string | undefined) {
    super(message, parts);
    this.refreshToken = refreshToken;
  }
}

/** A success of the token endpoint. */
interface Granted {
  readonly refreshToken: string | undefined;
  /**
   * The answer in the form that the OAuth library requires, with only the members in the service description. An
   * optional member of the wrong type is left out.
   */
  readonly response: Response;
}

/**
 * The lifetime in the service description, part 8, in seconds: used if the answer gives none and the token can be
 * renewed.
 */
const STATED_LIFETIME = 1800;
/** A hundred years in seconds; much later dates cannot be represented. */
const LONGEST_LIFETIME = 3_155_760_000;

function grantedIn({ body }: Pick<HttpResponse, 'body'>): Granted {
  const answer = parsed(body.toString('utf8'));
  const { access_token, token_type, refresh_token, scope, expires_in } = answer;
  const refreshToken = typeof refresh_token === 'string' && refresh_token !== '' ? refresh_token : undefined;
  const kept = {
    access_token,
    token_type: token_type ?? 'Bearer',
    refresh_token: refreshToken,
    ...(typeof scope === 'string' ? { scope } : {}),
    expires_in: lifetimeOf(expires_in) ?? (refreshToken === undefined ? undefined : STATED_LIFETIME),
  };
  const response = new Response(JSON.stringify(kept), { headers: { 'content-type': 'application/json' } });
  return { refreshToken, response };
}

function lifetimeOf(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof seconds === 'number' ? Math.min(Math.max(seconds, 0), LONGEST_LIFETIME) : undefined;
}

function parsed(text: string): Record<string, unknown> {
  try {
    // RFC 8259 section 8.1 allows a reader to ignore a byte order mark.
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {}
  throw new ServiceError("the identity provider's answer cannot be used: it is not a JSON object", {
    next: 'check --auth-url (HOOKTRAIL_AUTH_URL)',
  });
}

/** The provider refused; holds the error code of RFC 6749 section 5.2 if it gave one. */
export class RefusedGrantError extends NotSignedInError {
  readonly error: string | undefined;

  constructor(message: string, parts: ErrorParts, error: string | undefined) {
    super(message, parts);
    this.error = error;
  }
}

/** The code or refresh token is spent, expired or revoked (RFC 6749 section 5.2, `invalid_grant`). */
export class InvalidGrantError extends RefusedGrantError {}

/** Other error codes that mean a refusal of this client, this secret or this user. */
const REFUSALS = new Set(['invalid_client', 'unauthorized_client', 'access_denied']);

/**
 * The error for an answer of the token endpoint that grants nothing; `secrets` that the answer repeats are redacted.
 */
function tokenRefusal(answer: HttpResponse, what: string, secrets: readonly string[]): HooktrailError {
  const { status } = answer;
  if (status >= 300 && status < 400) {
    return new ServiceError(`${what} failed: the identity provider answered with a redirect (${status})`, {
      details: [
        'redirects of the token endpoint are not followed: they would carry the client secret elsewhere',
      ],
      next: 'check --auth-url (HOOKTRAIL_AUTH_URL)',
    });
  }
  const details = describeBody(answer).map((line) => withoutSecrets(line, secrets));
  const error = errorOf(answer);
  if (error === 'invalid_grant') {
    const parts = { details, next: 'run `hooktrail login`' };
    return new InvalidGrantError(`${what} was refused by the identity provider`, parts, error);
  }
  if (REFUSALS.has(error ?? '') || status === 401) {
    const next =
      'check --client-id, and run `hooktrail login --client-secret-stdin` with the right client secret';
    return new RefusedGrantError(`${what} was refused by the identity provider`, { details, next }, error);
  }
  // The description shows no error answers, so these statuses count as a refusal whatever the body.
  if (status === 400 || status === 403) {
    const parts = { details, next: 'check the client settings, and run `hooktrail login`' };
    return new RefusedGrantError(`${what} was refused by the identity provider (${status})`, parts, error);
  }
  return new ServiceError(`${what} failed: the identity provider answered ${status}`, {
    status,
    details,
    next:
      status === 503 || status === 429 || status === 408
        ? KEPT
        : status >= 500
          ? UNKNOWN
          : 'check --auth-url (HOOKTRAIL_AUTH_URL) and the client settings',
  });
}

function errorOf({ body }: HttpResponse): string | undefined {
  try {
    const { error } = JSON.parse(body.toString('utf8'));
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Providers repeat parameters in their explanations, and nothing that looks like a token belongs on a terminal or in a log. */
function withoutSecrets(line: string, secrets: readonly string[]): string {
  let text = line;
  for (const secret of secrets.filter((secret) => secret.length > 3)) {
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])) {
      text = text.replaceAll(form, '[redacted]');
    }
  }
  return text
    .replace(/\beyJ[\w-]{8,}(\.[\w-]*)*/g, '[redacted]')
    .replace(
      /\b((?:access|refresh|id)_token|client_secret|code_verifier)(["']?\s*[:=]\s*)["']?[^\s"',&]+/gi,
      '$1$2[redacted]',
    );
}

/** Endpoints that the identity provider offers besides those in the service description. */
export interface ProviderMetadata {
  /** RFC 8628. */
  readonly deviceAuthorization?: string;
  /** RFC 7009. */
  readonly revocation?: string;
}

/** Milliseconds and bytes for an optional answer. */
export const METADATA_LIMITS = { connect: 5_000, idle: 5_000, total: 10_000, bytes: 1024 * 1024 };

/**
 * Reads the endpoints that the provider's metadata offers (RFC 8414 section 3, at the place of OpenID Connect Discovery
 * 1.0 section 4). Returns none if there is no metadata, or if it names another issuer (RFC 8414 section 3.3). Endpoints
 * on another origin than the provider's count as not offered, since the client secret must not be sent elsewhere.
 * Throws if the provider does not answer, or fails.
 */
export async function readMetadata(settings: BoundSettings, transport: Transport): Promise<ProviderMetadata> {
  const url = new URL(`${urlText(settings.authUrl)}/.well-known/openid-configuration`);
  const answer = await transport.send({ method: 'GET', url, headers: { accept: 'application/json' } });
  if (answer.status === 429 || answer.status >= 500)
    throw new ServiceError(
      `the identity provider's metadata could not be read: it answered ${answer.status}`,
      { next: 'run the command again later' },
    );
  if (answer.status !== 200) return {};
  let metadata: Record<string, unknown>;
  try {
    metadata = Object(JSON.parse(answer.body.toString('utf8')));
  } catch {
    return {};
  }
  const { issuer, issuerAsTyped } = expectedOf(settings);
  if (issuer !== 'none' && metadata['issuer'] !== issuer && metadata['issuer'] !== issuerAsTyped) return {};
  const endpoint = (name: string) => {
    const text = metadata[name];
    if (typeof text !== 'string' || !URL.canParse(text)) return undefined;
    return new URL(text).origin === settings.authUrl.origin ? text : undefined;
  };
  const [device, revocation] = [endpoint('device_authorization_endpoint'), endpoint('revocation_endpoint')];
  return {
    ...(device === undefined ? {} : { deviceAuthorization: device }),
    ...(revocation === undefined ? {} : { revocation }),
  };
}
