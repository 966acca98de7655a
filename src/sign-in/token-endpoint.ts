import type * as OAuth from 'oauth4webapi';
import { type Advice, advise, hooktrail } from '../advice.ts';
import type { Clock, Context } from '../context.ts';
import {
  type ErrorParts,
  HooktrailError,
  NotSignedInError,
  ServiceError,
  UnreachableError,
} from '../errors.ts';
import { redactSecrets, traced } from '../http/redaction.ts';
import { describeBody } from '../http/service.ts';
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
import { type AuthorizationRequest, expectedOf } from './authorization.ts';
import { type ClientProof, libraryProof, refusedStep } from './client-authentication.ts';

/** The identity provider of one client. */
export interface Provider {
  readonly settings: Settings<'authUrl' | 'clientId'>;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly advice: ProviderAdvice;
}

/** The next steps after a failure that may pass. */
export interface ProviderAdvice {
  /** If there was no answer; follows "check the network, then". */
  readonly again: string;
  /** If the client or its secret is refused. */
  readonly refused: Advice;
  /** If the client may not use this grant. */
  readonly notAllowed?: Advice;
  /** If the request is refused, and no code says why. */
  readonly badRequest?: Advice;
  /** Instead of both, if the request may have been carried out. */
  readonly unknown?: string;
}

export const NEW_SIGN_IN: ProviderAdvice = {
  again: 'run the same command again',
  refused:
    'check --client-id, and run the same command with --client-secret-stdin and the right client secret',
};

export const STORED: ProviderAdvice = {
  again: 'run the command again later: the sign-in is kept',
  refused: advise`check --client-id, and run ${hooktrail('login --client-secret-stdin')} with the right client secret`,
  // If the request was carried out, the stored refresh token is spent.
  unknown: 'run the command again to find out whether the sign-in is kept',
};

const CHECK_ADDRESS = 'check --auth-url (HOOKTRAIL_AUTH_URL)';

/** Milliseconds and bytes for an answer that the sign-in can do without. */
export const OPTIONAL_LIMITS = { connect: 5_000, idle: 5_000, total: 10_000, bytes: 1024 * 1024 };

/**
 * Runs `work` with connections of its own to the identity provider, which no other part of the command
 * closes, and then closes them.
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

/** A grant of the token endpoint (the service description, part 5). */
export interface Grant {
  readonly access: AccessToken;
  readonly refreshToken: string | undefined;
}

/**
 * Exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5). `callback` is
 * what `validateAuthResponse` of oauth4webapi returned, which checked `state` and `iss`. Throws
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
  const read = (answer: HttpResponse) => jsonObject(answer, provider);
  const { oauth, parties, options } = await loadLibrary(what, provider, proof, read);
  const [issuer, ...client] = parties;
  const server = { ...issuer, device_authorization_endpoint: endpoint };
  const response = await oauth.deviceAuthorizationRequest(server, ...client, { scope }, options);
  try {
    return await oauth.processDeviceAuthorizationResponse(server, client[0], response);
  } catch (error) {
    throw new ServiceError(unusableText(what, error));
  }
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
  // The body of a success says nothing.
  const ignore = () => ({});
  const { oauth, parties, options } = await loadLibrary('the revocation', provider, proof, ignore);
  const [issuer, ...client] = parties;
  const server = { ...issuer, revocation_endpoint: endpoint };
  const hinted = { ...options, additionalParameters: { token_type_hint: hint } };
  await oauth.processRevocationResponse(await oauth.revocationRequest(server, ...client, token, hinted));
}

/**
 * Loads the library, which most runs do not need. It gets successful answers alone, with the JSON that `read`
 * makes of them; others are thrown as our errors.
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
      const request = { method: 'POST', url: new URL(url), headers, body: String(body) };
      const answer = await send(provider, request);
      if (answer.status < 200 || answer.status > 299) throw refusalOf(answer, what, advice, request.body);
      return Response.json(read(answer), { status });
    },
  };
  return {
    oauth,
    parties: [server, client, libraryProof(proof, oauth, provider.clock.now())] as const,
    options,
  };
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
    const grant = await library.oauth.processGenericTokenEndpointResponse(server, client, await ask(library));
    const { access_token: token, expires_in, refresh_token: refreshToken, scope } = grant;
    if (grant.token_type !== 'bearer')
      throw new Error(`its token is of the type ${grant.token_type}, and hooktrail sends bearer tokens`);
    if (!isHeaderSafe(token)) throw new Error('no header can carry its access token');
    const expiresAt = expires_in === undefined ? undefined : sentAt + expires_in * 1000;
    return { access: { token, expiresAt, scope }, refreshToken };
  } catch (error) {
    if (error instanceof HooktrailError) throw error;
    const next = (successor === undefined && advice.unknown) || advice.again;
    throw new UnusableGrantError(unusableText(what, error), { next }, successor);
  }
}

/** The error itself is not kept as a cause: it holds the answer with the tokens. */
function unusableText(what: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return `${what} failed: the identity provider's answer cannot be used: ${why}`;
}

/**
 * The lifetime in the service description, part 8, in seconds: used if the answer gives none and the token
 * can be renewed.
 */
const STATED_LIFETIME_SECONDS = 1800;
/** A hundred years; much later dates cannot be represented. */
const LONGEST_LIFETIME_SECONDS = 3_155_760_000;

/**
 * The members of a grant that the service description has, with what real providers get wrong put right: a
 * lifetime as text, out of range or missing, no token type, and optional members of a wrong type, which are
 * left out.
 */
function conformingMembers(
  { access_token, token_type, refresh_token, scope, expires_in }: JsonObject,
  isRenewable: boolean,
) {
  const refreshToken = typeof refresh_token === 'string' && refresh_token !== '' ? refresh_token : undefined;
  const seconds = Number.parseFloat(String(expires_in));
  const stated = isRenewable || refreshToken !== undefined ? STATED_LIFETIME_SECONDS : undefined;
  return {
    access_token,
    token_type: token_type ?? 'Bearer',
    refresh_token: refreshToken,
    scope: typeof scope === 'string' ? scope : undefined,
    expires_in: Number.isNaN(seconds) ? stated : Math.min(Math.max(seconds, 0), LONGEST_LIFETIME_SECONDS),
  };
}

type JsonObject = Readonly<Record<string, unknown>>;

/** The object in a successful answer. The body of another is not shown, since it may hold tokens. */
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

function parseObject(body: Buffer): JsonObject | undefined {
  try {
    // RFC 8259 section 8.1 allows a reader to ignore a byte order mark.
    const value: unknown = JSON.parse(body.toString('utf8').replace(/^\ufeff/, ''));
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Sends a request to the provider. Throws `UnreachableError` if there is no answer. */
export async function send({ transport, advice }: Provider, request: HttpRequest): Promise<HttpResponse> {
  try {
    return await transport.send(request);
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    const { message, kind, ambiguous, setupStep } = error;
    if (kind === 'too-large') throw new ServiceError(error.message, { next: CHECK_ADDRESS, cause: error });
    const then = (ambiguous && advice.unknown) || advice.again;
    throw new UnreachableError(`the identity provider could not be reached: ${message}`, {
      cause: error,
      next: setupStep ?? `check the network and --auth-url (HOOKTRAIL_AUTH_URL), then ${then}`,
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

/** The provider refused; holds the error code of RFC 6749 section 5.2 if it gave one. */
export class RefusedGrantError extends NotSignedInError {
  readonly error: string | undefined;

  constructor(message: string, parts: ErrorParts, error: string | undefined) {
    super(message, parts);
    this.error = error;
  }
}

/** Other error codes that mean a refusal of this client, this secret or this user. */
const REFUSALS = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'access_denied'];

/** Error codes that mean a refusal of the grant, not of the client. */
const NOT_ALLOWED = ['unauthorized_client', 'unsupported_grant_type'];

/** The parameters of a request that an answer may repeat, and that must not be shown. */
const SECRET_PARAMETERS = [
  'client_secret',
  'client_assertion',
  'code',
  'code_verifier',
  'refresh_token',
  'device_code',
  'token',
];

/** The error for an answer that grants nothing; secrets of the request that it repeats are redacted. */
function refusalOf(answer: HttpResponse, what: string, advice: ProviderAdvice, form: string): HooktrailError {
  const { status } = answer;
  if (status >= 300 && status < 400) return redirected(what, status);
  const sent = new URLSearchParams(form);
  const secrets = SECRET_PARAMETERS.flatMap((name) => sent.get(name) ?? []);
  const details = describeBody(answer).map((line) => redactSecrets(line, secrets));
  const { error: code } = parseObject(answer.body) ?? {};
  const error = typeof code === 'string' ? code : undefined;
  const refused = `${what} was refused by the identity provider`;
  const isOfClient = REFUSALS.includes(error ?? '') || status === 401;
  if (error === 'invalid_grant' || isOfClient)
    return new RefusedGrantError(refused, { details, next: stepAfter(error, advice) }, error);
  // The description shows no error answers, so these statuses count as a refusal whatever the body.
  if (status === 400 || status === 403)
    return new RefusedGrantError(
      `${refused} (${status})`,
      { details, next: stepAfterBadRequest(error, advice) },
      error,
    );
  const retryable = isPassingStatus(status);
  const mayBeDone = status >= 500 && status !== 503;
  const passing = (mayBeDone && advice.unknown) || advice.again;
  const next = retryable ? passing : `${CHECK_ADDRESS} and the client settings`;
  const message = `${what} failed: the identity provider answered ${status}`;
  return new ServiceError(message, { status, retryable, details, next });
}

function redirected(what: string, status: number): ServiceError {
  return new ServiceError(`${what} failed: the identity provider answered with a redirect (${status})`, {
    details: [
      'redirects of the token endpoint are not followed: they would carry the client secret elsewhere',
    ],
    next: CHECK_ADDRESS,
  });
}

/** The next step after a refusal of the sign-in or of the client. */
function stepAfter(error: string | undefined, { notAllowed, refused }: ProviderAdvice): Advice {
  if (error === 'invalid_grant') return advise`run ${hooktrail('login')}`;
  return NOT_ALLOWED.includes(error ?? '') ? (notAllowed ?? refused) : refused;
}

/** The next step after a refusal that does not say what is refused. */
function stepAfterBadRequest(error: string | undefined, { badRequest }: ProviderAdvice): Advice {
  if (error === 'invalid_scope') return 'name with --scope the scopes issued to the client';
  return badRequest ?? advise`check the client settings, and run ${hooktrail('login')}`;
}

/** True if the same request may be answered otherwise later. */
export function mayPass(error: unknown): boolean {
  if (error instanceof ServiceError) return error.retryable === true;
  return error instanceof UnreachableError && error.cause instanceof TransportError && error.cause.passing;
}

/** True if a request with such an answer may be answered otherwise later. */
function isPassingStatus(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

/**
 * Returns an endpoint that the provider's metadata names. One on another origin than the provider's counts as
 * not offered, since the client secret must not be sent elsewhere. Throws as `findInMetadata` does.
 */
export async function findEndpoint(
  provider: Provider,
  name: 'device_authorization_endpoint' | 'revocation_endpoint' | 'pushed_authorization_request_endpoint',
): Promise<string | undefined> {
  const { origin } = provider.settings.authUrl;
  return await findInMetadata(provider, ({ [name]: text }) =>
    typeof text === 'string' && URL.canParse(text) && new URL(text).origin === origin ? text : undefined,
  );
}

/**
 * Returns where the provider's metadata requires that authorization requests are pushed to (RFC 9126 section
 * 5); undefined if it does not require it, or cannot be read; `none` if it names no endpoint on the
 * provider's own origin.
 */
export async function requiredPushEndpoint(provider: Provider): Promise<string | undefined> {
  const isRequired = await findInMetadata(
    provider,
    ({ require_pushed_authorization_requests: value }) => value === true || undefined,
  ).catch(() => undefined);
  if (!isRequired) return undefined;
  return (await findEndpoint(provider, 'pushed_authorization_request_endpoint')) ?? 'none';
}

/** Pushes an authorization request (RFC 9126 section 2). Throws as `exchangeCode` does. */
export async function pushAuthorizationRequest(
  provider: Provider,
  proof: ClientProof,
  endpoint: string,
  parameters: URLSearchParams,
): Promise<OAuth.PushedAuthorizationResponse> {
  const what = 'announcing the sign-in';
  const read = (answer: HttpResponse) => jsonObject(answer, provider);
  const { oauth, parties, options } = await loadLibrary(what, provider, proof, read, 201);
  const [issuer, ...client] = parties;
  const server = { ...issuer, pushed_authorization_request_endpoint: endpoint };
  const response = await oauth.pushedAuthorizationRequest(server, ...client, parameters, options);
  try {
    return await oauth.processPushedAuthorizationResponse(server, client[0], response);
  } catch (error) {
    throw new ServiceError(unusableText(what, error));
  }
}

/** Returns whether the provider promises to name itself on each redirect (RFC 9207 section 3). */
export async function promisesIssuer(provider: Provider): Promise<boolean> {
  const promise = 'authorization_response_iss_parameter_supported';
  return (
    (await findInMetadata(provider, ({ [promise]: value }) => (value === true ? true : undefined))) ?? false
  );
}

/**
 * Looks for something in the provider's metadata at both well-known places: OpenID Connect Discovery 1.0
 * section 4 and RFC 8414 section 3. A document of another issuer counts as none (RFC 8414 section 3.3).
 * Throws if it was not found and a place did not answer, or failed.
 */
async function findInMetadata<Value>(
  provider: Provider,
  find: (document: JsonObject) => Value | undefined,
): Promise<Value | undefined> {
  const { origin, pathname } = provider.settings.authUrl;
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  const documents = await Promise.allSettled(places.map((place) => readDocument(new URL(place), provider)));
  let failure: unknown;
  for (const document of documents) {
    if (document.status === 'rejected') failure = document.reason;
    const value = document.status === 'fulfilled' ? find(document.value) : undefined;
    if (value !== undefined) return value;
  }
  if (failure !== undefined) throw failure;
  return undefined;
}

/** Returns an empty document where there is none of this provider. */
async function readDocument(url: URL, provider: Provider): Promise<JsonObject> {
  const { status, body } = await send(provider, {
    method: 'GET',
    url,
    headers: { accept: 'application/json' },
  });
  if (isPassingStatus(status))
    throw new ServiceError(`the identity provider's metadata could not be read: it answered ${status}`, {
      status,
      retryable: true,
      next: 'run the command again later',
    });
  const document = (status === 200 && parseObject(body)) || {};
  const { issuer, issuerAsTyped } = expectedOf(provider.settings);
  return ['none', document['issuer']].includes(issuer) || document['issuer'] === issuerAsTyped
    ? document
    : {};
}
