import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from './random.ts';
import type { Behaviour, Intercept, SandboxSettings } from './sandbox-options.ts';
import { splitTarget } from './service/event-service.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface RequestHandlerParts {
  readonly settings: SandboxSettings;
  readonly behaviour: Behaviour;
  readonly log: RequestLog;
  readonly intercept: Intercept | undefined;
  /** The service's clock. */
  readonly clock: () => number;
  readonly random: Random;
  readonly identity: Handler;
  readonly service: Handler;
}

/** Returns the handler that passes each request to its part of the sandbox, or makes it fail. */
export function createRequestHandler(parts: RequestHandlerParts) {
  const { behaviour } = parts;
  const identityPath = new URL(parts.settings.authUrl).pathname;
  const servicePath = new URL(parts.settings.baseUrl).pathname;
  const rateLimit = new RateLimit();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = splitTarget(request.url ?? '');
    const isService = path.startsWith(`${servicePath}/`);
    response.setHeader('Date', new Date(parts.clock()).toUTCString());
    if (parts.intercept && !(await parts.intercept(request, response))) return;
    if (isService) {
      if (behaviour.latencyMs > 0) await sleep(behaviour.latencyMs);
      const wait = rateLimit.take(behaviour.rateLimit, parts.clock());
      if (wait > 0) return tooManyRequests(response, wait);
      if (!failAtRandom(parts.random, behaviour.faultRate, request, response)) return;
    }
    if (isService) await parts.service(request, response);
    else if (path.startsWith(`${identityPath}/`)) await parts.identity(request, response);
    else notFound(response);
  }

  function tooManyRequests(response: ServerResponse, seconds: number): void {
    response.statusCode = 429;
    response.setHeader('Retry-After', seconds);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.end(JSON.stringify({ code: 'request.rate_limited', message: 'too many requests per second' }));
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
    parts.log.add(request, response);
    handle(request, response).catch((error: unknown) => {
      // An error in the sandbox itself must be visible to tests. A broken connection is not one.
      if (response.headersSent || response.destroyed) return void request.socket.destroy();
      response.writeHead(500, { 'Content-Type': 'application/json; charset=utf-8' });
      response.end(JSON.stringify({ code: 'sandbox.defect', message: String(error) }));
    });
  };
}

function notFound(response: ServerResponse): void {
  response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' });
  response.end('There is nothing here.\n');
}

/** Counts requests in windows of one second. */
class RateLimit {
  #window = 0;
  #taken = 0;

  /** Returns the seconds to wait if this request exceeds the limit, or else 0. */
  take(perSecond: number, now: number): number {
    if (perSecond <= 0) return 0;
    if (now - this.#window >= 1000) {
      this.#window = now;
      this.#taken = 0;
    }
    return ++this.#taken > perSecond ? 1 : 0;
  }
}

const statuses = [500, 502, 503, 504];

/**
 * Makes a share of the requests fail at random: with a status, a connection that breaks before the answer, or one that breaks
 * in its middle. Returns false for a request that must not be carried out.
 */
export function failAtRandom(
  random: Random,
  rate: number,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (rate <= 0 || random.float() >= rate) return true;
  const draw = random.below(statuses.length + 2);
  const status = statuses[draw];
  if (status !== undefined) {
    request.resume();
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ code: 'service.unavailable', message: 'a random fault' }));
    return false;
  }
  if (draw === statuses.length) {
    request.socket.resetAndDestroy();
    return false;
  }
  response.end = ((body: string | Buffer) => {
    // Announces the whole length and sends less, as a service does that fails in the middle.
    const bytes = Buffer.from(body as Buffer);
    response.setHeader('Content-Length', bytes.length);
    response.flushHeaders();
    response.write(bytes.subarray(0, bytes.length >> 1), () =>
      setTimeout(() => request.socket.resetAndDestroy(), 20),
    );
    return response;
  }) as typeof response.end;
  return true;
}

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
