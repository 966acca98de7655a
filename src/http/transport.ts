import type { IncomingHttpHeaders } from 'node:http';
import type { RequestLimits } from '../context.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Only so many bytes of the body are kept, as they are sent; the rest is read and dropped. */
  readonly keepBytes?: number;
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
  /** Ends every connection at once. */
  close(): Promise<void>;
}

/** A page of 500 events is a few MiB, which takes minutes on slow networks. */
export const PAGE_LIMITS: RequestLimits = {
  connect: 10_000,
  idle: 30_000,
  total: 5 * 60_000,
  bytes: 256 * 1024 * 1024,
};

/** An answer of the token endpoint is a few KiB, and other processes wait for it. */
export const TOKEN_LIMITS: RequestLimits = { ...PAGE_LIMITS, total: 60_000, bytes: 1024 * 1024 };

/**
 * The kind of a request's failure below HTTP.
 * - `unknown-host`, `dns`, `refused`, `proxy`, `tls`, `untrusted`, `connect-timeout`: the request was not sent; the
 *   peer cannot have acted on it.
 * - `stalled`, `too-slow`, `broken`: it may have been acted on; the answer did not arrive whole.
 * - `too-large`: the peer acted on it; the answer is larger than we accept.
 */
export type TransportFailure =
  | 'unknown-host'
  | 'dns'
  | 'refused'
  | 'proxy'
  | 'tls'
  | 'untrusted'
  | 'connect-timeout'
  | 'stalled'
  | 'too-slow'
  | 'broken'
  | 'too-large';

/** The same request would fail in the same way. */
const LASTING = new Set<TransportFailure>([
  'unknown-host',
  'proxy',
  'tls',
  'untrusted',
  'too-slow',
  'too-large',
]);
const SETUP = new Set<TransportFailure>(['proxy', 'tls', 'untrusted']);
const AMBIGUOUS = new Set<TransportFailure>(['stalled', 'too-slow', 'broken']);

const NEXT: Readonly<Partial<Record<TransportFailure, string>>> = {
  'unknown-host': 'check the URL and the network; behind a proxy set HTTPS_PROXY',
  dns: 'check the URL and the network; behind a proxy set HTTPS_PROXY',
  refused: 'check the URL and that the service runs',
  proxy: 'check HTTPS_PROXY: http://user:password@proxy.example.com:3128',
  tls: "check the URL and this machine's date",
  untrusted:
    "check the URL; if the authority is your company's, set NODE_EXTRA_CA_CERTS to a file with its certificate (PEM)",
  'connect-timeout': 'check the network; behind a proxy set HTTPS_PROXY',
};

export class TransportError extends Error {
  readonly kind: TransportFailure;

  constructor(kind: TransportFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'TransportError';
    this.kind = kind;
  }

  /** True when the peer may have received and handled the request. */
  get ambiguous(): boolean {
    return AMBIGUOUS.has(this.kind);
  }

  /** The user's next step, if known. */
  get next(): string | undefined {
    return NEXT[this.kind];
  }

  /** The user's next step for certificates and proxies, which are set up on this machine. */
  get setupStep(): string | undefined {
    return SETUP.has(this.kind) ? this.next : undefined;
  }

  /** True when trying again may help. */
  get passing(): boolean {
    return !LASTING.has(this.kind);
  }
}

/** The error for a connection that could not be opened; `url` is the peer or the proxy. */
export function connectFailure(error: unknown, url: URL): TransportError {
  if (error instanceof TransportError) return error;
  const code = codeOf(error);
  const reason = code || messageOf(error);
  const failure = (kind: TransportFailure, text: string) => new TransportError(kind, text, error);
  if (code === 'ENOTFOUND')
    return failure('unknown-host', `the name ${url.hostname} could not be resolved (${reason})`);
  if (code === 'EAI_AGAIN' || code === 'EAI_FAIL')
    return failure('dns', `the name ${url.hostname} could not be resolved (${reason})`);
  if (code === 'ECONNREFUSED' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return failure('refused', `${url.host} does not accept connections (${reason})`);
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT' || code === 'UND_ERR_HEADERS_TIMEOUT')
    return failure('connect-timeout', `no connection to ${url.host} in time (${reason})`);
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code) || code === 'EPROTO')
    return failure('tls', `no trusted TLS connection to ${url.host} (${reason})`);
  return failure('broken', `the connection to ${url.host} broke (${reason})`);
}

/** The error for an exchange that failed on an open connection, whatever the error code. */
export function exchangeFailure(error: unknown, url: URL, { bytes, idle }: Limits): TransportError {
  if (error instanceof TransportError) return error;
  switch (codeOf(error)) {
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return new TransportError('stalled', `${url.host} stopped answering (${idle / 1000} s)`, error);
    case 'UND_ERR_RES_EXCEEDED_MAX_SIZE':
      return tooLarge(url, bytes, error);
    case 'UND_ERR_HEADERS_OVERFLOW':
      return new TransportError('too-large', `the headers of the answer of ${url.host} are too large`, error);
  }
  return new TransportError('broken', `the connection to ${url.host} broke (${reasonOf(error)})`, error);
}

interface Limits {
  readonly bytes: number;
  readonly idle: number;
}

export function tooLarge(url: URL, bytes: number, cause?: unknown): TransportError {
  const mebibytes = bytes / 1024 / 1024;
  const size = Number.isInteger(mebibytes) ? `${mebibytes} MiB` : `${bytes} bytes`;
  return new TransportError('too-large', `the answer of ${url.host} is larger than ${size}`, cause);
}

/** If several addresses of one name failed, the first failure represents all. */
function firstOf(error: unknown): unknown {
  return error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error;
}

function codeOf(error: unknown): string {
  const first = firstOf(error) as NodeJS.ErrnoException | undefined;
  return String(first?.code ?? (error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

function messageOf(error: unknown): string {
  const first = firstOf(error);
  return first instanceof Error ? first.message : String(first);
}

/** The system's error code, or the library's message, since the library's own codes mean nothing to a person. */
function reasonOf(error: unknown): string {
  const code = codeOf(error);
  return code === '' || code.startsWith('UND_ERR_') ? messageOf(error) : code;
}
