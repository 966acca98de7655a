import type * as OAuth from 'oauth4webapi';
import type { Clock, Context } from '../context.ts';
import { type ErrorParts, HooktrailError, ServiceError, UnreachableError } from '../errors.ts';
import { traced } from '../http/redaction.ts';
import {
  type HttpRequest,
  type HttpResponse,
  TOKEN_LIMITS,
  type Transport,
  TransportError,
} from '../http/transport.ts';
import { createTransport } from '../http/undici-client.ts';
import { isHeaderSafe } from '../secrets/given-secret.ts';
import type { AccessToken } from '../secrets/vault.ts';
import { isLoopback, urlText } from '../settings/setting-names.ts';
import type { Settings } from '../settings/settings.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { AuthorizationRequest } from './authorization.ts';
import { type ClientProof, libraryProof, refusedStep } from './client-authentication.ts';
import { CHECK_ADDRESS, type ProviderAdvice, type Refusal, refusalOf, STORED } from './provider-failure.ts';

export interface Provider {
  readonly settings: Settings<'authUrl' | 'clientId'>;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly advice: ProviderAdvice;
}

/** Milliseconds and bytes for an optional answer. */
export const OPTIONAL_LIMITS = { connect: 5_000, idle: 5_000, total: 10_000, bytes: 1024 * 1024 };

/**
 * Runs `work` with separate connections to the identity provider, which no other part of the command closes,
 * and then closes them.
 */
export async function withProvider<Result>(
  settings: Provider['settings'],
  { context, reporter }: { readonly context: Context; readonly reporter: Reporter },
  work: (provider: Provider) => Promise<Result>,
  { limits = TOKEN_LIMITS, advice = STORED } = {},
): Promise<Result> {
  const { clock } = context;
  const transport = traced(createTransport(context, limits), reporter, clock);
  try {
    return await work({ settings, transport, clock, advice });
  } finally {
    await transport.close();
  }
}

/** A grant of the token endpoint (service description, part 5). */
export interface Grant {
  readonly access: AccessToken;
  readonly refreshToken: string | undefined;
}

export class UnusableGrantError extends ServiceError {
  /** The spent token's successor, which cannot be requested again. */
  readonly refreshToken: string | undefined;

  constructor(message: string, parts: ErrorParts, refreshToken: string | undefined) {
    super(message, parts);
    this.refreshToken = refreshToken;
  }
}

/**
 * Exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5). `callback`: the
 * result of `validateAuthResponse` of oauth4webapi, which checked `state` and `iss`. Throws
 * `NotSignedInError` if the provider refuses, `ServiceError` for other failures, `UnreachableError` if there
 * is no answer.
 */
export async function exchangeCode(
  provider: Provider,
  proof: ClientProof,
  callback: URLSearchParams,
  { redirectUri: { text }, codeVerifier }: Pick<AuthorizationRequest, 'redirectUri' | 'codeVerifier'>,
): Promise<Grant> {
  return await requestGrant('the sign-in', provider, proof, ({ oauth, parties, options }) =>
    oauth.authorizationCodeGrantRequest(...parties, callback, text, codeVerifier, options),
  );
}

/** Spends a refresh token (RFC 6749 section 6). Throws as `exchangeCode` does. */
export async function refresh(provider: Provider, proof: ClientProof, token: string): Promise<Grant> {
  return await requestGrant('refreshing the sign-in', provider, proof, ({ oauth, parties, options }) =>
    oauth.refreshTokenGrantRequest(...parties, token, options),
  );
}

/**
 * Asks for a code that a person enters on another device (RFC 8628 section 3.1). Throws as `exchangeCode`
 * does.
 */
export async function authorizeDevice(
  provider: Provider,
  proof: ClientProof,
  endpoint: string,
  scope: string,
): Promise<OAuth.DeviceAuthorizationResponse> {
  const what = 'the sign-in';
  const read = (answer: HttpResponse) => conformingDevice(jsonObject(answer, provider));
  const { oauth, parties, options } = await loadLibrary(what, provider, proof, read);
  const [issuer, ...client] = parties;
  const server = { ...issuer, device_authorization_endpoint: endpoint };
  const response = await oauth.deviceAuthorizationRequest(server, ...client, { scope }, options);
  return await usable(what, oauth.processDeviceAuthorizationResponse(server, client[0], response));
}

/**
 * Exchanges a device code for tokens (RFC 8628 section 3.4). Throws as `exchangeCode` does;
 * `RefusedGrantError` with `authorization_pending` or `slow_down` until the person has signed in.
 */
export async function exchangeDeviceCode(
  provider: Provider,
  proof: ClientProof,
  deviceCode: string,
): Promise<Grant> {
  return await requestGrant('the sign-in', provider, proof, ({ oauth, parties, options }) =>
    oauth.deviceCodeGrantRequest(...parties, deviceCode, options),
  );
}

/**
 * Revokes a token, and with a refresh token its whole grant (RFC 7009 section 2.1). Throws as `exchangeCode`
 * does.
 */
export async function revoke(
  provider: Provider,
  proof: ClientProof,
  endpoint: string,
  token: string,
  hint: 'access_token' | 'refresh_token',
): Promise<void> {
  // The body of a successful answer is irrelevant.
  const ignore = () => ({});
  const { oauth, parties, options } = await loadLibrary('the revocation', provider, proof, ignore);
  const [issuer, ...client] = parties;
  const server = { ...issuer, revocation_endpoint: endpoint };
  const hinted = { ...options, additionalParameters: { token_type_hint: hint } };
  await oauth.processRevocationResponse(await oauth.revocationRequest(server, ...client, token, hinted));
}

/**
 * Pushes an authorization request (RFC 9126 section 2). Its lifetime is 0 if the answer gives none. Throws as
 * `exchangeCode` does.
 */
export async function pushAuthorizationRequest(
  provider: Provider,
  proof: ClientProof,
  endpoint: string,
  parameters: URLSearchParams,
): Promise<OAuth.PushedAuthorizationResponse> {
  const what = 'announcing the sign-in';
  const read = (answer: HttpResponse) => {
    const { request_uri, expires_in } = jsonObject(answer, provider);
    return { request_uri, expires_in: secondsIn(expires_in) ?? 0 };
  };
  const { oauth, parties, options } = await loadLibrary(what, provider, proof, read, 201);
  const [issuer, ...client] = parties;
  const server = { ...issuer, pushed_authorization_request_endpoint: endpoint };
  const response = await oauth.pushedAuthorizationRequest(server, ...client, parameters, options);
  return await usable(what, oauth.processPushedAuthorizationResponse(server, client[0], response));
}

async function usable<Answer>(what: string, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw new ServiceError(unusableText(what, error));
  }
}

/**
 * Loads the library, which most runs do not need, with the arguments of its requests. It gets only successful
 * answers, with the JSON made by `read` and the expected status; all others are thrown as our errors.
 */
async function loadLibrary(
  what: string,
  provider: Provider,
  proof: ClientProof,
  read: (answer: HttpResponse) => object,
  status = 200,
) {
  const oauth = await import('oauth4webapi');
  const { authUrl, clientId } = provider.settings;
  const issuer = urlText(authUrl);
  const server: OAuth.AuthorizationServer = { issuer, token_endpoint: `${issuer}/connect/token` };
  const client: OAuth.Client = { client_id: clientId };
  const refused = refusedStep(proof.method, provider.advice.refused);
  const advice = { ...provider.advice, refused };
  // The library sends its requests through our transport.
  const options: OAuth.TokenEndpointRequestOptions = {
    [oauth.allowInsecureRequests]: isLoopback(authUrl),
    [oauth.customFetch]: async (url, { body, headers: given }) => {
      // The library adds a `charset`, but the media type has no parameters.
      const headers = { ...given, 'content-type': 'application/x-www-form-urlencoded' };
      const form = String(body);
      const answer = await send(provider, { method: 'POST', url: new URL(url), headers, body: form });
      const refusal = refusalIn(answer);
      if (refusal) throw refusalOf(refusal, what, advice, form);
      return Response.json(read(answer), { status });
    },
  };
  const authentication = libraryProof(proof, oauth, provider.clock.now());
  return { oauth, parties: [server, client, authentication] as const, options };
}

/**
 * Sends one request for tokens, and reads the answer. `isRenewable`: the same tokens can be had again without
 * a refresh token. Throws as `exchangeCode` does.
 */
export async function requestGrant(
  what: string,
  provider: Provider,
  proof: ClientProof,
  ask: (library: Awaited<ReturnType<typeof loadLibrary>>) => Promise<Response>,
  { isRenewable = false } = {},
): Promise<Grant> {
  const { clock, advice } = provider;
  const sentAt = clock.now();
  let successor: string | undefined;
  const library = await loadLibrary(what, provider, proof, (answer) => {
    const members = conformingMembers(jsonObject(answer, provider), isRenewable);
    successor = members.refresh_token;
    return members;
  });
  try {
    const [server, client] = library.parties;
    const response = await ask(library);
    const answer = await library.oauth.processGenericTokenEndpointResponse(server, client, response);
    return grantOf(answer, sentAt);
  } catch (error) {
    if (error instanceof HooktrailError) throw error;
    const next = (successor === undefined && advice.unknown) || advice.again;
    throw new UnusableGrantError(unusableText(what, error), { next }, successor);
  }
}

function grantOf(answer: OAuth.TokenEndpointResponse, sentAt: number): Grant {
  const { access_token: token, token_type: type, expires_in: seconds } = answer;
  if (type !== 'bearer')
    throw new Error(`its token is of the type ${type}, and hooktrail sends bearer tokens`);
  if (!isHeaderSafe(token)) throw new Error('no header can carry its access token');
  const expiresAt = seconds === undefined ? undefined : sentAt + seconds * 1000;
  return { access: { token, expiresAt, scope: answer.scope }, refreshToken: answer.refresh_token };
}

/** Does not keep the error as a cause: it holds the answer with the tokens. */
function unusableText(what: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return `${what} failed: the identity provider's answer cannot be used: ${why}`;
}

/**
 * Seconds of the lifetime in the service description, part 8, for a renewable token whose answer gives none.
 */
const STATED_LIFETIME_SECONDS = 1800;
/** A hundred years in seconds; much later dates cannot be represented. */
const LONGEST_LIFETIME_SECONDS = 3_155_760_000;

/**
 * Returns the members of a grant, with common mistakes of providers corrected: a lifetime as text, out of
 * range or missing, no token type, scopes as a list or with commas, and optional members of a wrong type,
 * which are dropped.
 */
function conformingMembers(
  { access_token, token_type, refresh_token, scope, expires_in }: JsonObject,
  isRenewable: boolean,
) {
  const refreshToken = textIn(refresh_token);
  const stated = isRenewable || refreshToken !== undefined ? STATED_LIFETIME_SECONDS : undefined;
  return {
    access_token,
    token_type: token_type ?? 'Bearer',
    refresh_token: refreshToken,
    scope: scopesIn(Array.isArray(scope) ? scope.join(' ') : String(scope ?? '')).join(' ') || undefined,
    expires_in: secondsIn(expires_in) ?? stated,
  };
}

/**
 * Returns the members of a device authorization answer (RFC 8628 section 3.2), with common mistakes of
 * providers corrected: the draft's `verification_url`, numbers as text, a code as a number, no lifetime.
 * Without a lifetime the code lasts until the provider reports its expiry.
 */
function conformingDevice({ device_code, user_code, expires_in, interval, ...page }: JsonObject) {
  const pauseSeconds = secondsIn(interval);
  return {
    device_code,
    user_code: typeof user_code === 'number' ? String(user_code) : user_code,
    verification_uri: textIn(page['verification_uri']) ?? page['verification_url'],
    verification_uri_complete:
      textIn(page['verification_uri_complete']) ?? textIn(page['verification_url_complete']),
    expires_in: secondsIn(expires_in) ?? LONGEST_LIFETIME_SECONDS,
    // The library rejects 0, and the interval is at least a second anyway.
    interval: pauseSeconds === undefined ? undefined : Math.max(1, pauseSeconds),
  };
}

/** Splits a list at spaces (RFC 6749 section 3.3), or at commas, which some providers use. */
export function scopesIn(list: string): string[] {
  return list.split(/[\s,]+/).filter(Boolean);
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function secondsIn(value: unknown): number | undefined {
  const seconds = Number.parseFloat(String(value));
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), LONGEST_LIFETIME_SECONDS);
}

/** Parses a successful answer. An invalid body is not shown, since it may hold tokens. */
function jsonObject(
  { status, headers, body }: HttpResponse,
  { advice }: Pick<Provider, 'advice'>,
): JsonObject {
  const value = parseObject(body);
  if (value !== undefined) return value;
  const message = "the identity provider's answer cannot be used: it is not a JSON object";
  const type = headers['content-type'] ?? 'no content type';
  throw new ServiceError(message, {
    details: [`it has the status ${status}, ${type}, and ${body.length.toLocaleString('en-US')} bytes`],
    next: advice.unknown ? `${advice.unknown}; if this comes again, ${CHECK_ADDRESS}` : CHECK_ADDRESS,
  });
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function parseObject(body: Buffer): JsonObject | undefined {
  try {
    // RFC 8259 section 8.1 allows a reader to ignore a byte order mark.
    const value: unknown = JSON.parse(body.toString('utf8').replace(/^\ufeff/, ''));
    const isObject = value !== null && typeof value === 'object' && !Array.isArray(value);
    return isObject ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns undefined if the answer grants something. Some providers answer 200 with an error, although RFC
 * 6749 section 5.2 requires 400 or 401.
 */
function refusalIn(answer: HttpResponse): Refusal | undefined {
  const { error, error_description: description, access_token: token } = parseObject(answer.body) ?? {};
  const code = textIn(error);
  const isError = code !== undefined || (typeof error === 'object' && error !== null);
  const isSuccess = answer.status >= 200 && answer.status <= 299;
  if (isSuccess && (!isError || typeof token === 'string')) return undefined;
  const hasPassingStatus = isPassingStatus(answer.status);
  return { answer, code, description: textIn(description), hasPassingStatus };
}

/** True for a status after which the same request may succeed later. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

export async function send({ transport, advice }: Provider, request: HttpRequest): Promise<HttpResponse> {
  try {
    return await transport.send(request);
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    const { message, isReached, ambiguous, setupStep } = error;
    if (isReached) throw new ServiceError(error.message, { next: setupStep ?? CHECK_ADDRESS, cause: error });
    const then = (ambiguous && advice.unknown) || advice.again;
    throw new UnreachableError(`the identity provider could not be reached: ${message}`, {
      cause: error,
      next: setupStep ?? `check the network and --auth-url (HOOKTRAIL_AUTH_URL), then ${then}`,
    });
  }
}
