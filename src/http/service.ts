import { STATUS_CODES } from 'node:http';
import { type Advice, advise, hooktrail } from '../advice.ts';
import type { Clock, Context } from '../context.ts';
import {
  type ErrorParts,
  fewOf,
  type HooktrailError,
  NotSignedInError,
  ServiceError,
  UnreachableError,
  UsageError,
} from '../errors.ts';
import { KeptList, type ListName } from '../files/kept-list.ts';
import { isObject } from '../items/items.ts';
import { urlText } from '../settings/setting-names.ts';
import type { Settings } from '../settings/settings.ts';
import { redactJson, redactKnown, redactSecrets, secretsInHeaders, secretsInJson } from './redaction.ts';
import {
  type HttpRequest,
  type HttpResponse,
  TEMPORARY,
  type Transport,
  TransportError,
} from './transport.ts';

/** The event service; requests carry the required headers (service description, parts 5 and 9). */
export interface Service {
  readonly baseUrl: URL;
  readonly clock: Clock;
  /** Ends requests that name no signal of their own. */
  readonly signal: AbortSignal;
  readonly keptList: (name: ListName) => KeptList;
  /**
   * Sends the request with token and `Accept`, and repeats GET and HEAD after temporary faults. Returns an
   * answer with any status.
   */
  send(request: ServiceRequest): Promise<HttpResponse>;
}

export type ServiceRequest = Omit<HttpRequest, 'method'> & {
  readonly method?: string;
  readonly onRetry?: OnRetry | undefined;
};

export interface TokenSource {
  /**
   * Returns a token that is valid for at least another minute, refreshed if necessary. Throws
   * `NotSignedInError`.
   */
  accessToken(): Promise<string>;
  /**
   * Returns a replacement for a token that the service has just rejected (401), or undefined if there is
   * none: a token from the environment is never refreshed.
   */
  replace(rejected: string): Promise<string | undefined>;
}

/** Selects major version 1 of the event service (service description, part 9). */
export function mediaType(vendor: string): string {
  return `application/vnd.${vendor}.v1+json`;
}

export function createService(
  { profile, baseUrl, vendor }: Settings<'baseUrl' | 'vendor'>,
  tokens: TokenSource,
  transport: Transport,
  { clock, signal, ...around }: Pick<Context, 'clock' | 'signal' | 'environment' | 'machine'>,
): Service {
  const attempt = async (request: ServiceRequest, token: string): Promise<HttpResponse> => {
    const { method = 'GET', onRetry, headers, ...rest } = request;
    const complete = {
      signal,
      ...rest,
      method,
      headers: { accept: mediaType(vendor), ...headers, authorization: `Bearer ${token}` },
    };
    const repeatable = method === 'GET' || method === 'HEAD';
    const response = await (repeatable
      ? sendWithRetry(transport, complete, { clock, onRetry })
      : transport.send(complete));
    const isDone = response.status >= 200 && response.status < 300;
    const secrets = [token, ...secretsInHeaders({ ...headers }), ...secretsInHeaders(response.headers)];
    return isDone ? response : { ...response, body: without(secrets, response.body) };
  };
  return {
    baseUrl,
    clock,
    signal,
    keptList: (name) => new KeptList(name, { profile, baseUrl }, around),
    async send(request) {
      if (request.url.origin !== baseUrl.origin)
        throw new Error(`refusing to send a token to ${request.url.origin}`);
      const token = await tokens.accessToken();
      try {
        const response = await attempt(request, token);
        if (response.status !== 401) return response;
        const other = await replacement(tokens, token, response);
        return other === undefined ? response : await attempt(request, other);
      } catch (error) {
        throw error instanceof TransportError ? failed(error) : error;
      }
    },
  };
}

/**
 * Errors end up on screens, in logs and in tickets, and some services quote a rejected token, or a new one.
 */
function without(secrets: readonly string[], body: Buffer): Buffer {
  return Buffer.from(redactKnown(body.toString('latin1'), secrets), 'latin1');
}

/**
 * Gets another token after a 401. If that fails, the service's own answer is more useful than the failed
 * refresh.
 */
async function replacement(tokens: TokenSource, rejected: string, response: HttpResponse) {
  try {
    return await tokens.replace(rejected);
  } catch (error) {
    if (!(error instanceof NotSignedInError)) throw error;
    const { details, next, message } = error;
    throw new NotSignedInError(`the service rejected the access token (${response.status}); ${message}`, {
      details,
      next,
      cause: error,
    });
  }
}

function failed(error: TransportError): HooktrailError {
  const { kind, message, isReached, next = isReached ? CHECK_BASE_URL : 'try again later' } = error;
  if (isReached) return new ServiceError(message, { next, cause: error });
  const mayHaveMoved = kind === 'refused' || kind === 'unknown-host';
  return new UnreachableError(`the service could not be reached: ${message}`, {
    next: mayHaveMoved ? advise`${next}; ${SAVE_BASE_URL}` : next,
    cause: error,
  });
}

/**
 * Resolves a path under the base URL. Also accepts a whole URL with the base URL's origin; any other would
 * leak the token, and throws a `UsageError`.
 */
export function apiUrl(baseUrl: URL, path: string): URL {
  if (/^[a-z][a-z0-9+.-]*:/i.test(path) || path.startsWith('//')) {
    const url = URL.canParse(path, baseUrl.href) ? new URL(path, baseUrl.href) : undefined;
    if (url?.origin === baseUrl.origin && !url.username && !url.password) return url;
    throw new UsageError(`'${path}' is not under the event service's address`, {
      next: `give a path, or a URL that starts with ${baseUrl.origin}`,
    });
  }
  const url = new URL(`${urlText(baseUrl)}/${path.replace(/^\//, '')}`);
  url.hash = '';
  return url;
}

const MAX_TEXT = 2000;
const SAVE_BASE_URL = advise`${hooktrail('config set base-url URL')} saves another`;
export const CHECK_BASE_URL = advise`check --base-url (HOOKTRAIL_BASE_URL); ${SAVE_BASE_URL}`;
const SIGN_IN_AGAIN = advise`run ${hooktrail('login')} to sign in again; where HOOKTRAIL_ACCESS_TOKEN is set, put a valid token there`;

export interface ErrorSteps {
  /** After 404, and after 200 from something other than the service. */
  readonly ifNotFound?: Advice | undefined;
  /** After 429, in addition to waiting: such as `or with --concurrency 1`, if the command has that flag. */
  readonly ifTooMany?: string | undefined;
}

/**
 * Explains an unsuccessful answer with the text of its body: the service's Error object (service description,
 * part 2), problem details (RFC 9457), OAuth errors (RFC 6749 section 5.2) or plain text.
 */
export function serviceError(
  response: HttpResponse,
  what: string,
  steps: ErrorSteps = {},
): ServiceError | NotSignedInError {
  const { status } = response;
  const message = `${what}: the service answered ${`${status} ${STATUS_CODES[status] ?? ''}`.trimEnd()}`;
  const parts = { ...describeError(response), status };
  if (status === 401) return new NotSignedInError(message, { ...parts, next: SIGN_IN_AGAIN });
  return new ServiceError(message, {
    ...parts,
    next: nextStep(response, steps),
    retryable: TEMPORARY.has(status),
  });
}

/** Bytes of the longest error body that a program gets whole. */
const MAX_OBJECT_BYTES = 32_768;
/** Lines of an error's body shown to a person: services describe a fault in a few. */
const MAX_LINES = 30;

export function describeError(response: HttpResponse): Pick<ErrorParts, 'details' | 'errorObject'> {
  const details = describeBody(response);
  if (response.body.length > MAX_OBJECT_BYTES) return { details };
  const body = parsed(response.body.toString('utf8'));
  return { details, errorObject: body && withoutSecrets(body, response.headers) };
}

/** Returns lines for a person, without secrets; none if the body is empty. */
export function describeBody({ body, headers }: Pick<HttpResponse, 'body' | 'headers'>): string[] {
  const text = body.toString('utf8').trim();
  if (text === '') return [];
  const errors = errorsIn(withoutSecrets(parsed(text) ?? {}, headers));
  const lines = errors.flatMap((error) =>
    Object.entries(error).flatMap(([name, member]) => describeMember(name, member)),
  );
  if (lines.length > 0) return fewOf(lines, MAX_LINES).map((line) => redactSecrets(line));
  const safe = redactSecrets(text, secretsInHeaders(headers));
  if (/html/i.test(headers['content-type'] ?? '')) {
    const title = titleOf(safe);
    return [title ? `an HTML page: ${limited(title)}` : 'an HTML page'];
  }
  return [safe.length > MAX_TEXT ? `${limited(safe)} (${safe.length} characters)` : safe];
}

function withoutSecrets(body: Readonly<Record<string, unknown>>, headers: HttpResponse['headers']) {
  const known = [...secretsInHeaders(headers), ...secretsInJson(body)];
  return redactJson(body, known) as Record<string, unknown>;
}

function titleOf(page: string): string | undefined {
  const tag = page.search(/<title[\s>]/i);
  const start = tag === -1 ? -1 : page.indexOf('>', tag);
  const end = start === -1 ? -1 : page.indexOf('<', start);
  return end === -1 ? undefined : page.slice(start + 1, end).trim();
}

/** Returns the Error objects: the elements of a list, as some services send, or else the body itself. */
function errorsIn(body: Record<string, unknown>): readonly Record<string, unknown>[] {
  const { errors, ...others } = body;
  if (!Array.isArray(errors) || !errors.every(isObject)) return [body];
  return [others, ...errors];
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function describeMember(name: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object') return [`${name}: ${limited(String(value))}`];
  const lines = Object.entries(value).map(([key, entry]) => {
    const shown = typeof entry === 'string' ? entry : JSON.stringify(entry);
    return `  ${Array.isArray(value) ? '-' : `${key}:`} ${limited(shown)}`;
  });
  return lines.length === 0 ? [] : [`${name}:`, ...lines];
}

function limited(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

function nextStep(
  { status, headers }: HttpResponse,
  { ifNotFound = CHECK_BASE_URL, ifTooMany }: ErrorSteps,
): Advice | undefined {
  if (status === 200 || status === 404) return ifNotFound;
  if (status === 403)
    return advise`check that the sign-in has the scope event_api: ${hooktrail('status')}; where HOOKTRAIL_ACCESS_TOKEN is set, that its token has it`;
  if (status === 406)
    return advise`check --vendor (HOOKTRAIL_VENDOR), which names the media type that is asked for; ${hooktrail('config set vendor NAME')} saves it`;
  const wait = headers['retry-after'];
  const time = wait === undefined ? 'later' : `after ${/^\d+$/.test(wait) ? `${wait} s` : wait}`;
  if (status === 429) return [`try again ${time}`, ifTooMany ?? []].flat().join(', ');
  if (status >= 300 && status < 400) {
    const target = headers.location;
    const moved = target ? `; check --base-url: it redirects to ${redactSecrets(target)}` : '';
    return `redirects are not followed with the token${moved}`;
  }
  return status >= 500 ? `try again ${time}` : undefined;
}

export type OnRetry = (attempt: { reason: string; delay: number; status?: number }) => void;

const TRIES = 5;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 20_000;
const LONGEST_RETRY_AFTER_MS = 60_000;

/**
 * Sends a request that may safely be repeated (GET), up to 5 times: on 408, 429, 500, 502, 503, 504 and on
 * temporary failures of the connection. Delays double, with jitter, and are at least the `Retry-After` (RFC
 * 9110 section 10.2.3), up to 60 s. The last answer is returned whatever its status; the last failure is
 * thrown.
 */
export async function sendWithRetry(
  transport: Transport,
  request: HttpRequest,
  { clock, onRetry }: { readonly clock: Clock; readonly onRetry?: OnRetry | undefined },
): Promise<HttpResponse> {
  for (let attempt = 1; ; attempt++) {
    const usualMs = backoffMs(attempt - 1, FIRST_DELAY_MS, LONGEST_DELAY_MS, clock);
    const outcome = await sendOnce(transport, request, clock, attempt === TRIES);
    if ('body' in outcome) return outcome;
    const { askedMs, ...why } = outcome;
    const delay = Math.max(askedMs, usualMs);
    onRetry?.({ ...why, delay });
    await clock.sleep(delay, request.signal);
  }
}

interface FailedAttempt {
  readonly reason: string;
  readonly status?: number;
  /** Milliseconds of `Retry-After`; 0 without it. */
  readonly askedMs: number;
}

/** Returns a final answer or throws a final failure. `isLast`: all are final. */
async function sendOnce(
  transport: Transport,
  request: HttpRequest,
  clock: Clock,
  isLast: boolean,
): Promise<HttpResponse | FailedAttempt> {
  try {
    const response = await transport.send(request);
    const { status, headers } = response;
    if (isLast || !TEMPORARY.has(status)) return response;
    const { date, 'retry-after': header } = headers;
    // A date is by the service's clock, which may differ from ours.
    const askedMs = retryAfter(header, Date.parse(date ?? '') || clock.now()) ?? 0;
    // `Retry-After` exceeds the longest wait: the answer itself is more useful.
    if (askedMs > LONGEST_RETRY_AFTER_MS) return response;
    return { reason: `status ${status}`, status, askedMs };
  } catch (error) {
    if (isLast || !(error instanceof TransportError) || !error.passing) throw error;
    return { reason: error.message, askedMs: 0 };
  }
}

/**
 * Returns the milliseconds of a `Retry-After` header (seconds or a date); undefined if it is missing or
 * invalid.
 */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000;
  // An HTTP-date starts with a weekday; Date.parse would read '-1' as a year.
  const date = /^\s*[A-Za-z]/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** The pause before another attempt: doubled with each of `tries`, and shortened by up to half at random. */
export function backoffMs(tries: number, firstMs: number, longestMs: number, clock: Clock): number {
  return Math.min(longestMs, firstMs * 2 ** tries) * (0.5 + clock.jitter() / 2);
}

/** `delay`: milliseconds. */
export function waitText({ reason, delay }: { reason: string; delay: number }): string {
  return `${reason}, trying again in ${Math.ceil(delay / 1000)} s`;
}
