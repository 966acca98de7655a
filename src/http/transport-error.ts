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

  /** `reason` is a code, or how long the wait was. */
  static of(kind: TransportFailure, url: URL, reason: string, cause?: unknown): TransportError {
    return new TransportError(kind, describe(kind, reason, url), cause);
  }

  /** The error for what a library throws. `isConnected`: the request may have left, whatever the code says. */
  static from(error: unknown, url: URL, isConnected = false): TransportError {
    if (error instanceof TransportError) return error;
    const first = error instanceof AggregateError ? error.errors[0] : error;
    const code = String(
      (first as NodeJS.ErrnoException)?.code ?? (error as NodeJS.ErrnoException)?.code ?? '',
    );
    const kind = kindOf(code);
    const reason = code || (first instanceof Error ? first.message : String(first));
    // A connection that was there and is lost can end with the code of one that never was.
    return TransportError.of(isConnected && kind !== 'tls' ? 'broken' : kind, url, reason, error);
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

function describe(kind: TransportFailure, reason: string, url: URL): string {
  switch (kind) {
    case 'dns':
      return `the name ${url.hostname} could not be resolved (${reason})`;
    case 'refused':
      return `${url.host} does not accept connections (${reason})`;
    case 'tls':
      return `no trusted TLS connection to ${url.host} (${reason})`;
    case 'connect-timeout':
      return `no connection to ${url.host} in time (${reason})`;
    case 'stalled':
      return `${url.host} stopped answering (${reason})`;
    default:
      return `the connection to ${url.host} broke (${reason})`;
  }
}
