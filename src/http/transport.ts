import type { IncomingHttpHeaders } from 'node:http';
import type { RequestLimits } from '../context.ts';
import { lacksWebAssembly, VIRTUAL_MEMORY_STEP } from '../errors.ts';
import { isLackOfCertificate, isPlainPeer, otherProtocol, tlsFault } from './tls-faults.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Keeps at most this many bytes of the body, not decoded; the rest is read and dropped. A successful answer
   * is returned after its head, without a body.
   */
  readonly keepBytes?: number;
  /** Called before the body, so headers are known even if the body never ends. */
  readonly onHeaders?: (head: Omit<HttpResponse, 'body'>) => void;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The whole body, decompressed; its beginning, if `keepBytes` was given. */
  readonly body: Buffer;
}

/** Sends one request over kept-alive connections; follows no redirect and repeats nothing. */
export interface Transport {
  /** Throws `TransportError`, or the signal's reason when it aborts. */
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

/** Statuses that a later attempt may avoid. */
export const TEMPORARY = new Set([408, 429, 500, 502, 503, 504]);

/** A page of 500 events is a few MiB, which takes minutes on slow networks. */
export const PAGE_LIMITS: RequestLimits = {
  connect: 10_000,
  idle: 30_000,
  total: 5 * 60_000,
  bytes: 256 * 1024 * 1024,
};

/** An answer of the token endpoint is a few KiB, and other processes wait for it. */
export const TOKEN_LIMITS: RequestLimits = { ...PAGE_LIMITS, total: 60_000, bytes: 1024 * 1024 };

const CHECK_SERVER = 'check the URL; its server, or a proxy before it, has to answer with valid HTTP/1.1';
export const TRUST_AUTHORITY =
  "check the URL; if the authority is your company's, set NODE_EXTRA_CA_CERTS to a file with its certificate (PEM)";
const CHECK_PROXY = 'check HTTPS_PROXY: http://user:password@proxy.example.com:3128';
const CHECK_NETWORK = 'check the URL and the network; behind a proxy set HTTPS_PROXY';

/**
 * Failures of a request below HTTP. Only `ambiguous` ones and `too-large` can occur after the request was
 * sent.
 */
const FAILURES = {
  'unknown-host': { isLasting: true, next: CHECK_NETWORK },
  dns: { next: CHECK_NETWORK },
  refused: { next: 'check the URL and that the service runs' },
  proxy: { isLasting: true, isSetup: true, next: CHECK_PROXY },
  /** Never repeated, since that can lock the account. */
  'proxy-sign-in': { isLasting: true, isSetup: true, next: CHECK_PROXY },
  'proxy-plain': {
    isLasting: true,
    isSetup: true,
    next: 'give HTTPS_PROXY with http:// in place of https://, as most proxies take it: what goes through is encrypted all the same',
  },
  'proxy-down': { isSetup: true, next: 'check HTTPS_PROXY and that the proxy runs' },
  tls: { isLasting: true, isSetup: true, next: "check the URL and this machine's date" },
  untrusted: { isLasting: true, isSetup: true, next: TRUST_AUTHORITY },
  'connect-timeout': { next: 'check the network; behind a proxy set HTTPS_PROXY' },
  stalled: { ambiguous: true },
  'too-slow': { isLasting: true, ambiguous: true },
  broken: { ambiguous: true },
  'too-large': { isLasting: true, isReached: true },
  protocol: { isLasting: true, isReached: true, ambiguous: true, next: CHECK_SERVER },
  'no-memory': { isLasting: true, isReached: true, isSetup: true, next: VIRTUAL_MEMORY_STEP },
} as const satisfies Record<string, FailureTraits>;

interface FailureTraits {
  readonly isLasting?: boolean;
  readonly isSetup?: boolean;
  /** True if the peer was reached: its answer is at fault, or this machine. */
  readonly isReached?: boolean;
  readonly ambiguous?: boolean;
  readonly next?: string;
}

export type TransportFailure = keyof typeof FAILURES;

export class TransportError extends Error {
  readonly kind: TransportFailure;
  /** True if the peer may have received and handled the request. */
  readonly ambiguous: boolean;
  readonly passing: boolean;
  readonly next: string | undefined;
  readonly isReached: boolean;
  /** The user's next step if a change in the setup of this machine or of the peer fixes the failure. */
  readonly setupStep: string | undefined;

  /** `step`: replaces the usual next step of the kind. */
  constructor(kind: TransportFailure, message: string, cause?: unknown, step?: string) {
    super(message, { cause });
    this.name = 'TransportError';
    this.kind = kind;
    const {
      isLasting = false,
      isSetup,
      isReached = false,
      ambiguous = false,
      next,
    }: FailureTraits = FAILURES[kind];
    this.ambiguous = ambiguous;
    this.passing = !isLasting;
    this.isReached = isReached;
    this.next = step ?? next;
    this.setupStep = isSetup || step !== undefined ? this.next : undefined;
  }
}

export function connectFailure(error: unknown, url: URL, isProxy = false): TransportError {
  if (error instanceof TransportError) return error;
  const peer = isProxy ? `the proxy ${url.host}` : url.host;
  const { code, message } = causeOf(error);
  const failure = (kind: TransportFailure, text: string) =>
    new TransportError(kind, `${text} (${code || message})`, error);
  const unresolved = `the name ${url.hostname} could not be resolved`;
  if (code === 'ENOTFOUND') return failure(isProxy ? 'proxy' : 'unknown-host', unresolved);
  if (/^EAI_(AGAIN|FAIL)$/.test(code)) return failure('dns', unresolved);
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/.test(code))
    return failure(isProxy ? 'proxy-down' : 'refused', `${peer} does not accept connections`);
  if (/^(ETIMEDOUT|UND_ERR_HEADERS_TIMEOUT)$/.test(code))
    return failure(isProxy ? 'proxy-down' : 'connect-timeout', `no connection to ${peer} in time`);
  return (
    parserFailure(error, url, peer, isProxy ? 'proxy' : 'protocol') ??
    tlsFailure(error, url, peer, isProxy) ??
    failure('broken', `the connection to ${peer} broke`)
  );
}

function parserFailure(
  error: unknown,
  url: URL,
  peer = url.host,
  kind: 'proxy' | 'protocol' = 'protocol',
): TransportError | undefined {
  if (lacksWebAssembly(error)) {
    const text = 'WebAssembly cannot start: this shell limits virtual memory';
    return new TransportError('no-memory', text, error);
  }
  const refusal = parserRefusal(error);
  if (!refusal || refusal.reason === CUT_OFF) return undefined;
  const { text, next } = otherProtocol(refusal.data, url) ?? {
    text: `does not answer with valid HTTP (${refusal.reason})`,
    next: undefined,
  };
  return new TransportError(kind, `${peer} ${text}`, error, next);
}

function tlsFailure(error: unknown, url: URL, peer: string, isProxy: boolean): TransportError | undefined {
  const { code } = causeOf(error);
  if (isProxy && isPlainPeer(code)) {
    const text = `${peer} does not answer as one that speaks TLS does (${code})`;
    return new TransportError('proxy-plain', text, error);
  }
  const fault = tlsFault(code, url);
  return fault && new TransportError('tls', `${peer} ${fault.text} (${code})`, error, fault.next);
}

/** llhttp's reason for refusing an answer that ends too early. */
const CUT_OFF = 'Invalid EOF state';

/**
 * Returns llhttp's reason for refusing an answer, and the bytes from there on; undefined for other errors.
 */
function parserRefusal(error: unknown): { readonly reason: string; readonly data: string } | undefined {
  const { name, message, data = '' } = error as Error & { data?: string };
  if (name !== 'HTTPParserError') return undefined;
  return { reason: /\((.*)\)$/s.exec(message)?.[1] ?? message, data };
}

export function exchangeFailure(
  error: unknown,
  url: URL,
  { bytes }: Pick<RequestLimits, 'bytes'>,
): TransportError {
  if (error instanceof TransportError) return error;
  const { code, message } = causeOf(error);
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return tooLarge(url, bytes, error);
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return new TransportError('too-large', `the headers of the answer of ${url.host} are too large`, error);
  const parsing = parserFailure(error, url);
  if (parsing) return parsing;
  // In TLS 1.3 a client's handshake ends before the server notices the missing client certificate.
  if (isLackOfCertificate(code)) return connectFailure(error, url);
  if (parserRefusal(error))
    return new TransportError('broken', `the answer of ${url.host} was cut off`, error);
  // The library's own codes mean nothing to a person.
  const reason = code === '' || code.startsWith('UND_ERR_') ? message : code;
  return new TransportError('broken', `the connection to ${url.host} broke (${reason})`, error);
}

export function tooLarge(url: URL, bytes: number, cause?: unknown): TransportError {
  const mebibytes = bytes / 1024 / 1024;
  const size = Number.isInteger(mebibytes) ? `${mebibytes} MiB` : `${bytes} bytes`;
  return new TransportError('too-large', `the answer of ${url.host} is larger than ${size}`, cause);
}

/** Returns the system's or the library's code and message; for several addresses those of the first. */
function causeOf(error: unknown): { code: string; message: string } {
  const first = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const { code = '', message } = first as NodeJS.ErrnoException;
  return { code: String(code), message };
}
