import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

/** One request that the sandbox received. */
export interface RequestRecord {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** Path and raw query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Undefined until there is an answer, and if the connection broke before one. */
  status: number | undefined;
  /** Time until the answer was sent or the connection broke. */
  ms: number | undefined;
  /** Token requests only: the grant type, and the error that was answered. */
  grantType?: string;
  error?: string;
}

const KEPT = 100_000;

/** The latest requests, oldest first. */
export class RequestLog {
  readonly records: RequestRecord[] = [];
  readonly #byRequest = new WeakMap<IncomingMessage, RequestRecord>();

  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  add(request: IncomingMessage, response: ServerResponse): RequestRecord {
    const started = performance.now();
    const record: RequestRecord = {
      at: this.#clock(),
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      status: undefined,
      ms: undefined,
    };
    response.once('close', () => {
      if (response.headersSent) record.status = response.statusCode;
      record.ms = performance.now() - started;
    });
    if (this.records.length >= KEPT * 1.1) this.records.splice(0, KEPT * 0.1);
    this.records.push(record);
    this.#byRequest.set(request, record);
    return record;
  }

  of(request: IncomingMessage): RequestRecord | undefined {
    return this.#byRequest.get(request);
  }
}
