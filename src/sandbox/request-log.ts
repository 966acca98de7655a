import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

/** One request as the sandbox saw it. */
export interface RequestRecord {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** Path and raw query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Undefined while there is no answer, and for good when the connection broke before one. */
  status: number | undefined;
  /** Time until the answer was handed over or the connection broke. */
  ms: number | undefined;
  /** At the token endpoint: what was asked for, and the error it was answered with. */
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
