import type * as OAuth from 'oauth4webapi';
import type { Clock, Context } from '../context.ts';
import {
  type ErrorParts,
  type HooktrailError,
  NotSignedInError,
  ServiceError,
  UnreachableError,
} from '../errors.ts';
import { redactSecrets, traced } from '../http/redaction.ts';
import { describeBody } from '../http/service.ts';
import { type HttpResponse, TOKEN_LIMITS, type Transport, TransportError } from '../http/transport.ts';
import { createTransport } from '../http/undici-client.ts';
import { isHeaderSafe } from '../secrets/given-secret.ts';
import { isLoopback, type SettingValues, urlText } from '../settings/setting-names.ts';
import type { Settings } from '../settings/settings.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { expectedOf } from './authorization.ts';

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
}

/** The client that asks, and the provider. */
export type Client = Pick<SettingValues, 'authUrl' | 'clientId'>;

/** The parts of the context that a token request uses. */
export interface TokenRequestWorld {
  readonly transport: Transport;
  readonly clock: Pick<Clock, 'now'>;
}

const KEPT = 'run the command again later: the sign-in is kept';
/** The request may have been carried out. In that case the stored refresh token is spent. */
const UNKNOWN = 'run the command again to find out whether the sign-in is kept';
const CHECK_ADDRESS = 'check --auth-url (HOOKTRAIL_AUTH_URL)';

/** Milliseconds and bytes for an answer that the sign-in can do without. */
export const OPTIONAL_LIMITS = { connect: 5_000, idle: 5_000, total: 10_000, bytes: 1024 * 1024 };

/**
 * Runs `work` with connections of its own to the identity provider, which no other part of the command closes, and then
 * closes them.
 */
export async function withProvider<Result>(
  context: Pick<Context, 'environment' | 'requestLimits' | 'clock'>,
  reporter: Reporter,
  work: (world: TokenRequestWorld) => Promise<Result>,
  limits = TOKEN_LIMITS,
): Promise<Result> {
  const transport = traced(createTransport(context, limits), reporter, context.clock);
  try {
    return await work({ transport, clock: context.clock });
  } finally {
    await transport.close();
  }
}

/**
 * Exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5). Throws `NotSignedInError`
 * if the provider refuses, `ServiceError` for other failures, `UnreachableError` if there is no answer.
 */
export async function exchangeCode(
  client: Client,
  clientSecret: string,
  { callbackParameters, redirectUri, codeVerifier }: CodeExchange,
  world: TokenRequestWorld,
): Promise<TokenGrant> {
  const secrets = [callbackParameters.get('code') ?? '', codeVerifier, clientSecret];
  return await requestGrant('the sign-in', client, secrets, world, async ({ oauth, server, id, options }) => {
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      id,
      oauth.ClientSecretPost(clientSecret),
      callbackParameters,
      redirectUri,
      codeVerifier,
      options,
    );
    return await oauth.processAuthorizationCodeResponse(server, id, response);
  });
}

/**
 * Spends a refresh token (RFC 6749 section 6). Throws as `exchangeCode` does; and `InvalidGrantError` for a token that
 * is spent.
 */
export async function refresh(
  client: Client,
  { refreshToken, clientSecret }: { readonly refreshToken: string; readonly clientSecret: string },
  world: TokenRequestWorld,
): Promise<TokenGrant> {
  const secrets = [refreshToken, clientSecret];
  const what = 'refreshing the sign-in';
  return await requestGrant(what, client, secrets, world, async ({ oauth, server, id, options }) => {
    const authentication = oauth.ClientSecretPost(clientSecret);
    const response = await oauth.refreshTokenGrantRequest(server, id, authentication, refreshToken, options);
    return await oauth.processRefreshTokenResponse(server, id, response);
  });
}

/** Asks for a code that a person enters on another device (RFC 8628 section 3.1). Throws as `exchangeCode` does. */
export async function authorizeDevice(
  client: Client & Pick<SettingValues, 'scope'>,
  clientSecret: string,
  endpoint: string,
  { transport }: TokenRequestWorld,
): Promise<OAuth.DeviceAuthorizationResponse> {
  const what = 'the sign-in';
  const { oauth, server, id, options } = await libraryFor(client, transport, (answer) =>
    successOf(answer, what, [clientSecret], answer.body.toString('utf8')),
  );
  const as = { ...server, device_authorization_endpoint: endpoint };
  const authentication = oauth.ClientSecretPost(clientSecret);
  const parameters = { scope: client.scope };
  const response = await oauth.deviceAuthorizationRequest(as, id, authentication, parameters, options);
  try {
    return await oauth.processDeviceAuthorizationResponse(as, id, response);
  } catch (error) {
    throw new ServiceError(unusableText(what, error));
  }
}

/**
 * Exchanges a device code for tokens (RFC 8628 section 3.4). Throws as `exchangeCode` does; `RefusedGrantError` with
 * `authorization_pending` or `slow_down` until the person has signed in.
 */
export async function exchangeDeviceCode(
  client: Client,
  clientSecret: string,
  deviceCode: string,
  world: TokenRequestWorld,
): Promise<TokenGrant> {
  const secrets = [deviceCode, clientSecret];
  return await requestGrant('the sign-in', client, secrets, world, async ({ oauth, server, id, options }) => {
    const authentication = oauth.ClientSecretPost(clientSecret);
    const response = await oauth.deviceCodeGrantRequest(server, id, authentication, deviceCode, options);
    return await oauth.processDeviceCodeResponse(server, id, response);
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
  client: Client,
  { token, hint, clientSecret, endpoint }: Revocation,
  { transport }: TokenRequestWorld,
): Promise<void> {
  const { oauth, server, id, options } = await libraryFor(client, transport, (answer) =>
    successOf(answer, 'the revocation', [token, clientSecret], null),
  );
  const as = { ...server, revocation_endpoint: endpoint };
  const response = await oauth.revocationRequest(as, id, oauth.ClientSecretPost(clientSecret), token, {
    ...options,
    additionalParameters: { token_type_hint: hint },
  });
  await oauth.processRevocationResponse(response);
}

/** The OAuth library, and what each of its functions takes. */
interface Library {
  readonly oauth: typeof OAuth;
  readonly server: OAuth.AuthorizationServer;
  readonly id: OAuth.Client;
  /** Make the library send its requests through our transport. */
  readonly options: OAuth.TokenEndpointRequestOptions;
}

/** Loads the library, which most runs do not need. `receive` turns each answer into one that it accepts, or throws. */
async function libraryFor(
  { authUrl, clientId }: Client,
  transport: Transport,
  receive: (answer: HttpResponse) => Response,
): Promise<Library> {
  const oauth = await import('oauth4webapi');
  const issuer = urlText(authUrl);
  return {
    oauth,
    server: { issuer, token_endpoint: `${issuer}/connect/token` },
    id: { client_id: clientId },
    options: {
      [oauth.allowInsecureRequests]: isLoopback(authUrl),
      [oauth.customFetch]: async (url, { body, headers }) =>
        receive(await post(transport, new URL(url), headers, String(body))),
    },
  };
}

async function requestGrant(
  what: string,
  client: Client,
  secrets: readonly string[],
  { transport, clock }: TokenRequestWorld,
  ask: (library: Library) => Promise<OAuth.TokenEndpointResponse>,
): Promise<TokenGrant> {
  const sentAt = clock.now();
  let successor: string | undefined;
  const library = await libraryFor(client, transport, (answer) => {
    const members = answer.status > 299 ? {} : conformingMembers(answer);
    successor = members.refresh_token;
    return successOf(answer, what, secrets, JSON.stringify(members));
  });
  try {
    const { access_token, expires_in, refresh_token, scope } = await ask(library);
    if (!isHeaderSafe(access_token)) throw new Error('no header can carry its access token');
    const expiresAt = expires_in === undefined ? undefined : sentAt + expires_in * 1000;
    return { accessToken: access_token, expiresAt, refreshToken: refresh_token, scope };
  } catch (error) {
    if (error instanceof NotSignedInError || error instanceof UnreachableError) throw error;
    if (error instanceof ServiceError) throw error;
    const next = successor === undefined ? UNKNOWN : KEPT;
    throw new UnusableGrantError(unusableText(what, error), { next }, successor);
  }
}

/** The error itself is not kept as a cause: it holds the answer with the tokens. */
function unusableText(what: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return `${what} failed: the identity provider's answer cannot be used: ${why}`;
}

/** A successful answer as the library accepts it, with this body. Throws the error of any other answer. */
function successOf(
  answer: HttpResponse,
  what: string,
  secrets: readonly string[],
  body: string | null,
): Response {
  if (answer.status < 200 || answer.status > 299) throw tokenRefusal(answer, what, secrets);
  return new Response(body, { headers: { 'content-type': 'application/json' } });
}

/**
 * The lifetime in the service description, part 8, in seconds: used if the answer gives none and the token can be
 * renewed.
 */
const STATED_LIFETIME_SECONDS = 1800;
/** A hundred years; much later dates cannot be represented. */
const LONGEST_LIFETIME_SECONDS = 3_155_760_000;

interface GrantMembers {
  readonly access_token?: unknown;
  readonly token_type?: unknown;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly expires_in?: number | undefined;
}

/**
 * The members of a grant that the service description has, with what real providers get wrong put right: a lifetime as
 * text, out of range or missing, no token type, and optional members of a wrong type, which are left out.
 */
function conformingMembers({ body }: HttpResponse): GrantMembers {
  const { access_token, token_type = 'Bearer', refresh_token, scope, expires_in } = jsonObject(body);
  const isRenewable = typeof refresh_token === 'string' && refresh_token !== '';
  const isNumber = typeof expires_in === 'string' && /^-?\d+(\.\d+)?$/.test(expires_in);
  const seconds = isNumber ? Number(expires_in) : expires_in;
  const stated = isRenewable ? STATED_LIFETIME_SECONDS : undefined;
  return {
    access_token,
    token_type: token_type ?? 'Bearer',
    refresh_token: isRenewable ? refresh_token : undefined,
    scope: typeof scope === 'string' ? scope : undefined,
    expires_in:
      typeof seconds === 'number' ? Math.min(Math.max(seconds, 0), LONGEST_LIFETIME_SECONDS) : stated,
  };
}

function jsonObject(body: Buffer): Record<string, unknown> {
  try {
    // RFC 8259 section 8.1 allows a reader to ignore a byte order mark.
    const value: unknown = JSON.parse(body.toString('utf8').replace(/^\ufeff/, ''));
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {}
  throw new ServiceError("the identity provider's answer cannot be used: it is not a JSON object", {
    next: CHECK_ADDRESS,
  });
}

async function post(
  transport: Transport,
  url: URL,
  headers: Record<string, string>,
  body: string,
): Promise<HttpResponse> {
  try {
    // The library adds a `charset`, but the media type has no parameters.
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    return await transport.send({ method: 'POST', url, headers: { ...headers, ...type }, body });
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    if (error.kind === 'too-large')
      throw new ServiceError(error.message, { next: CHECK_ADDRESS, cause: error });
    throw providerUnreachable(error, error.ambiguous ? UNKNOWN : KEPT);
  }
}

/** The error for a provider that gave no answer; `then` is what to do when the network and the address are right. */
export function providerUnreachable(error: TransportError, then: string): UnreachableError {
  return new UnreachableError(`the identity provider could not be reached: ${error.message}`, {
    cause: error,
    next: error.setupStep ?? `check the network and --auth-url (HOOKTRAIL_AUTH_URL), then ${then}`,
  });
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

/** True if the same request may be answered otherwise later. */
function isPassingStatus(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
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
      next: CHECK_ADDRESS,
    });
  }
  const details = describeBody(answer).map((line) => redactSecrets(line, secrets));
  const error = errorOf(answer);
  const refused = `${what} was refused by the identity provider`;
  if (error === 'invalid_grant')
    return new InvalidGrantError(refused, { details, next: 'run `hooktrail login`' }, error);
  if (REFUSALS.has(error ?? '') || status === 401) {
    const next =
      'check --client-id, and run `hooktrail login --client-secret-stdin` with the right client secret';
    return new RefusedGrantError(refused, { details, next }, error);
  }
  // The description shows no error answers, so these statuses count as a refusal whatever the body.
  if (status === 400 || status === 403) {
    const parts = { details, next: 'check the client settings, and run `hooktrail login`' };
    return new RefusedGrantError(`${refused} (${status})`, parts, error);
  }
  const isPassing = isPassingStatus(status);
  const next = status >= 500 && status !== 503 ? UNKNOWN : isPassing ? KEPT : undefined;
  return new ServiceError(`${what} failed: the identity provider answered ${status}`, {
    status,
    retryable: isPassing,
    details,
    next: next ?? `${CHECK_ADDRESS} and the client settings`,
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

/** The identity provider's extras, beyond the service description. */
export interface ProviderMetadata {
  /** The endpoint of RFC 8628. */
  readonly deviceAuthorization?: string;
  /** The endpoint of RFC 7009. */
  readonly revocation?: string;
  /** True if it promises to name itself on each redirect (RFC 9207 section 3). */
  readonly namesIssuer: boolean;
}

/**
 * Reads the provider's metadata at both well-known places: OpenID Connect Discovery 1.0 section 4 and RFC 8414 section 3.
 * A document of another issuer counts as none (RFC 8414 section 3.3). Endpoints on another origin than the provider's
 * count as not offered, since the client secret must not be sent elsewhere. Throws if what is `wanted` was not found and
 * a place did not answer, or failed.
 */
export async function readMetadata(
  settings: Settings<'authUrl' | 'clientId'>,
  transport: Transport,
  wanted: keyof ProviderMetadata,
): Promise<ProviderMetadata> {
  const { origin, pathname } = settings.authUrl;
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  const documents: Record<string, unknown>[] = [];
  let failure: unknown;
  const read = async (place: string) => {
    const document = await readDocument(new URL(place), transport).catch((error): Record<string, unknown> => {
      failure = error;
      return {};
    });
    const { issuer, issuerAsTyped } = expectedOf(settings);
    if (['none', document['issuer']].includes(issuer) || document['issuer'] === issuerAsTyped)
      documents.push(document);
  };
  await Promise.all(places.map(read));
  const endpoint = (name: string) =>
    documents
      .map((document) => document[name])
      .find((text) => typeof text === 'string' && URL.canParse(text) && new URL(text).origin === origin) as
      | string
      | undefined;
  const device = endpoint('device_authorization_endpoint');
  const revocation = endpoint('revocation_endpoint');
  const found = {
    ...(device === undefined ? {} : { deviceAuthorization: device }),
    ...(revocation === undefined ? {} : { revocation }),
    namesIssuer: documents.some(
      (document) => document['authorization_response_iss_parameter_supported'] === true,
    ),
  };
  if (failure !== undefined && !found[wanted]) throw failure;
  return found;
}

/** Returns an empty document where there is none. */
async function readDocument(url: URL, transport: Transport): Promise<Record<string, unknown>> {
  const answer = await transport.send({ method: 'GET', url, headers: { accept: 'application/json' } });
  if (isPassingStatus(answer.status))
    throw new ServiceError(
      `the identity provider's metadata could not be read: it answered ${answer.status}`,
      { status: answer.status, retryable: true, next: 'run the command again later' },
    );
  if (answer.status !== 200) return {};
  try {
    return Object(JSON.parse(answer.body.toString('utf8')));
  } catch {
    return {};
  }
}
