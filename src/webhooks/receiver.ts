import { hash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { BodyError, type Delivery, readDelivery } from './delivery.ts';
import type { HandlerAnswer } from './forward.ts';

/** An answer to a sender, in the shape of the service's own Error object (service description, part 2). */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ReceiverOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** The expected `Api-Token`. */
  readonly token: string;
  /** The maximum size of a body in bytes. */
  readonly maxBody: number;
  /** Milliseconds that a sender has for a whole request. */
  readonly requestTimeout: number;
  /** Handles a delivery and returns the answer to the sender. Must not throw. */
  readonly accept: (delivery: Delivery) => Promise<Accepted | Refused>;
  /** Called for each request at the right path that did not reach `accept`. */
  readonly onRejected: (refusal: Refusal) => void;
  /** Called for each answer. */
  readonly onAnswer?: (answer: { method: string; path: string; status: number; ms: number }) => void;
  /** A GET of this path returns the report as JSON. */
  readonly health?: { readonly path: string; report(): object } | undefined;
}

export interface Accepted {
  readonly status: 200;
  readonly outcome: 'accepted' | 'duplicate';
}

export interface Refused extends Refusal {
  /** The handler's answer; undefined if it was not asked. */
  readonly answer?: HandlerAnswer | undefined;
}

export interface Receiver {
  readonly port: number;
  /** Requests that wait for their answer. */
  readonly underWay: number;
  /** Stops accepting deliveries, and resolves when those in progress have ended. */
  stop(): Promise<void>;
  /** Ends every connection at once. */
  destroy(): void;
}

/** Milliseconds for a request's headers, and for a new connection's first request. */
const HEADERS_MS = 10_000;
/** Senders keep connections open for their next delivery. */
const KEEP_ALIVE_MS = 60_000;
const CHECK_INTERVAL_MS = 1_000;
const JSON_TYPE = 'application/json';
const ACCEPTED = { accepted: '{"outcome":"accepted"}', duplicate: '{"outcome":"duplicate"}' } as const;

/** Listens for deliveries. Rejects with the system's error if it cannot bind the host and port. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { maxBody, requestTimeout, health } = options;
  const server = createServer({
    headersTimeout: Math.min(HEADERS_MS, requestTimeout),
    requestTimeout,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, requestTimeout),
  });
  const connections = new Connections(server);
  const isExpected = tokenCheck(options.token);
  let stopping = false;

  const objection = (request: IncomingMessage): Refusal | undefined => {
    const { url = '', headers } = request;
    if (stopping) return refusals.stopping;
    if (pathOf(url) !== options.path) return refusals.notFound;
    if (request.method !== 'POST') return refusals.method;
    if (!isExpected(headers['api-token'] as string | undefined)) return refusals.token;
    if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) return refusals.encoding;
    return Number(headers['content-length'] ?? 0) > maxBody ? refusals.tooLarge : undefined;
  };

  const handle = (request: IncomingMessage, response: ServerResponse, waits = false): void => {
    connections.begin(response);
    if (options.onAnswer) observe(request, response, options.onAnswer);
    if (health && pathOf(request.url ?? '') === health.path && isRead(request)) {
      request.resume();
      send(response, 200, JSON.stringify(health.report()));
      return;
    }
    const refusal = objection(request);
    if (refusal) {
      turnAway(request, response, refusal);
      return;
    }
    if (waits) response.writeContinue();
    readBody(request, maxBody, (body) => {
      if (body === undefined) turnAway(request, response, refusals.tooLarge);
      else take(request, response, body).catch(() => response.destroy());
    });
  };

  const turnAway = (request: IncomingMessage, response: ServerResponse, refusal: Refusal): void => {
    // A request for another path is not from a sender of deliveries.
    if (refusal !== refusals.notFound) options.onRejected(refusal);
    refuse(request, response, refusal);
  };

  const take = async (request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> => {
    let answer: Accepted | Refused;
    try {
      const contentType = request.headers['content-type'];
      answer = await options.accept(readDelivery(body, { contentType, apiToken: options.token }));
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      answer = { status: 400, code: 'body.invalid', message: error.message };
      options.onRejected(answer);
    }
    if ('outcome' in answer) send(response, 200, ACCEPTED[answer.outcome]);
    else send(response, answer.status, refusalText(answer));
  };

  const send = (response: ServerResponse, status: number, text: string): void => {
    const headers = { 'Content-Type': JSON_TYPE, 'Content-Length': Buffer.byteLength(text) };
    response.writeHead(status, stopping ? { ...headers, Connection: 'close' } : headers);
    response.end(text);
  };

  server.on('request', (request, response) => handle(request, response));
  // RFC 9110 section 10.1.1: a sender that asks first need not send a body that would be refused.
  server.on('checkContinue', (request, response) => handle(request, response, true));
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    get underWay() {
      return connections.underWay;
    },
    stop: async () => {
      stopping = true;
      await connections.stop();
    },
    destroy: () => server.closeAllConnections(),
  };
}

function listen(server: Server, { port, host }: ReceiverOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 4096 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Returns the path of a request target, which may be a whole URL (RFC 9112 section 3.2.2). */
function pathOf(target: string): string {
  if (!target.startsWith('/') && URL.canParse(target)) return new URL(target).pathname;
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

function observe(
  request: IncomingMessage,
  response: ServerResponse,
  report: NonNullable<ReceiverOptions['onAnswer']>,
): void {
  const began = performance.now();
  response.once('finish', () => {
    const { method = '', url = '' } = request;
    report({ method, path: url, status: response.statusCode, ms: Math.round(performance.now() - began) });
  });
}

/**
 * Compares an `Api-Token` header with the expected one (service description, part 5). Hashes are compared, so that the
 * duration reveals neither how much of the token is right nor how long it is.
 */
function tokenCheck(expected: string): (given: string | undefined) => boolean {
  const digest = (token: string) => hash('sha256', token, 'buffer');
  const right = digest(expected);
  return (given) => given !== undefined && timingSafeEqual(digest(given), right);
}

const refusals = {
  notFound: { status: 404, code: 'path.not_found', message: 'there is nothing at this path' },
  method: {
    status: 405,
    code: 'method.not_allowed',
    message: 'deliveries are sent with POST',
    headers: { Allow: 'POST' },
  },
  token: {
    status: 401,
    code: 'api_token.invalid',
    message: 'the Api-Token header is missing or is not the expected one',
  },
  encoding: { status: 415, code: 'body.encoded', message: 'compressed bodies are not accepted' },
  tooLarge: { status: 413, code: 'body.too_large', message: 'the body is larger than this receiver accepts' },
  stopping: { status: 503, code: 'receiver.stopping', message: 'the receiver is being stopped' },
} satisfies Record<string, Refusal>;

/**
 * Limits for reading a refused body, in milliseconds and bytes: a sender that is still writing would lose the answer if
 * the connection were reset.
 */
const LINGER_MS = 2_000;
const LINGER_BYTES = 64 * 1024 * 1024;

function refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  const text = refusalText(refusal);
  response.writeHead(refusal.status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
    ...refusal.headers,
  });
  response.write(text);
  let read = 0;
  const finish = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(finish, LINGER_MS);
  timer.unref();
  request.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read > LINGER_BYTES) finish();
  });
  request.once('end', finish).once('close', finish);
  if (request.complete) finish();
}

function refusalText({ code, message }: Refusal): string {
  return JSON.stringify({ code, message });
}

/** Each chunk costs a hundred bytes in addition to its content, so this many are joined at a time. */
const MANY = 1024;

/**
 * Calls `done` with the whole body, or with nothing if it has more than `limit` bytes. Never calls it if the sender
 * disconnects before the end.
 */
function readBody(request: IncomingMessage, limit: number, done: (body: Buffer | undefined) => void): void {
  const whole: Buffer[] = [];
  let chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer) => {
    length += chunk.length;
    if (length > limit) {
      request.off('data', onData).off('end', onEnd);
      done(undefined);
      return;
    }
    chunks.push(chunk);
    if (chunks.length < MANY) return;
    whole.push(Buffer.concat(chunks));
    chunks = [];
  };
  const onEnd = () => {
    const [only] = chunks;
    if (only && chunks.length === 1 && whole.length === 0) done(only);
    else done(Buffer.concat([...whole, ...chunks], length));
  };
  request.on('data', onData).once('end', onEnd);
}

/**
 * Milliseconds that a sender gets to finish its body when the server stops. After that it has to send the delivery
 * again.
 */
const HALF_SENT_MS = 1_000;

/** Tracks which connections of a server carry a request. Node only knows which have never sent one. */
class Connections {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #underWay = new Set<ServerResponse>();

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
  }

  /** Requests that wait for their answer. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /** Tracks a request until its answer has been sent. */
  begin(response: ServerResponse): void {
    this.#underWay.add(response);
    response.once('close', () => this.#underWay.delete(response));
  }

  /** Stops accepting connections, and resolves when all requests that arrived in full are answered. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const busy = new Set(Array.from(this.#underWay, ({ req }) => req.socket));
    for (const socket of this.#open) if (!busy.has(socket)) socket.destroy();
    const timer = setTimeout(() => {
      for (const { req } of this.#underWay) if (!req.complete) req.destroy();
    }, HALF_SENT_MS);
    await closed;
    clearTimeout(timer);
  }
}
