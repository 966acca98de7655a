/**
 * How a request failed below HTTP.
 * - `dns`, `refused`, `tls`, `connect-timeout`: it never left; the peer cannot have acted on it.
 * - `stalled`, `broken`: it may have been acted on, the answer did not arrive whole.
 */
export type TransportFailure = 'dns' | 'refused' | 'tls' | 'connect-timeout' | 'stalled' | 'broken';

export class TransportError extends Error {
  readonly kind: TransportFailure;

  constructor(kind: TransportFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'TransportError';
    this.kind = kind;
  }

  /** True when the peer may have received and handled the request. */
  get ambiguous(): boolean {
    return this.kind === 'stalled' || this.kind === 'broken';
  }

  static from(error: unknown, url: URL): TransportError {
    if (error instanceof TransportError) return error;
    const first = error instanceof AggregateError ? error.errors[0] : error;
    const code = String(
      (first as NodeJS.ErrnoException)?.code ?? (error as NodeJS.ErrnoException)?.code ?? '',
    );
    const kind = kindOf(code);
    return new TransportError(kind, describe(kind, code, url, first), error);
  }
}

function kindOf(code: string): TransportFailure {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAI_FAIL') return 'dns';
  if (code === 'ECONNREFUSED' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return 'refused';
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'connect-timeout';
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'stalled';
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code) || code === 'EPROTO') return 'tls';
  return 'broken';
}

function describe(kind: TransportFailure, code: string, url: URL, error: unknown): string {
  switch (kind) {
    case 'dns':
      return `the name ${url.hostname} could not be resolved (${code})`;
    case 'refused':
      return `${url.host} does not accept connections (${code})`;
    case 'tls':
      return `no trusted TLS connection to ${url.host} (${code})`;
    case 'connect-timeout':
      return `no connection to ${url.host} in time (${code})`;
    case 'stalled':
      return `${url.host} stopped answering (${code})`;
    default:
      return `the connection to ${url.host} broke (${code || (error instanceof Error ? error.message : String(error))})`;
  }
}
