import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { finished } from 'node:stream';
import { BodyError, type Delivery, readDelivery } from './delivery.ts';
import type { HandlerAnswer } from './forward.ts';
import type { Outcome } from './journal.ts';

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
  /** Handles a delivery. Never rejects. */
  readonly accept: (delivery: Delivery) => Promise<Acceptance>;
  /** Called for each request at the right path that did not reach `accept`. */
  readonly onRejected: (refusal: Refusal) => void;
  /** Called for each answer with a line about it. */
  readonly onAnswer: (line: string) => void;
  /** The path whose GET returns the report as JSON. */
  readonly health?: string;
  readonly report: () => object;
}

/** The outcome of a delivery, or of a recovered event. */
export interface Acceptance {
  readonly outcome: Outcome;
  /** The handler's answer; undefined if it was not asked. */
  readonly answer?: HandlerAnswer | undefined;
  /** The failure that kept the event from being printed and journaled. */
  readonly error?: Error | undefined;
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
/**
 * Milliseconds that a sender gets to finish its body when the server stops. After that it has to send the delivery
 * again.
 */
const HALF_SENT_MS = 1_000;

/** Listens for deliveries. Rejects with the system's error if it cannot bind the host and port. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { host, port, maxBody, requestTimeout, health } = options;
  const server = createServer({
    headersTimeout: Math.min(HEADERS_MS, requestTimeout),
    requestTimeout,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, requestTimeout),
  });
  const isExpected = tokenCheck(options.token);
  const sockets = new Set<Socket>();
  const underWay = new Set<ServerResponse>();
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
    const { method = '', url = '' } = request;
    const began = performance.now();
    underWay.add(response);
    response.once('close', () => underWay.delete(response));
    response.once('finish', () => {
      const ms = Math.round(performance.now() - began);
      options.onAnswer(`${method} ${url} ${response.statusCode} ${ms}`);
    });
    if (health !== undefined && pathOf(url) === health && (method === 'GET' || method === 'HEAD')) {
      request.resume();
      send(response, 200, options.report());
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
    let delivery: Delivery;
    try {
      const contentType = request.headers['content-type'];
      delivery = readDelivery(body, { contentType, apiToken: options.token });
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      return turnAway(request, response, { status: 400, code: 'body.invalid', message: error.message });
    }
    const { outcome, error } = await options.accept(delivery);
    const { status, code, message } = error ? refusals.notAccepted : refusals.handler;
    if (outcome === 'refused') send(response, status, { code, message });
    else send(response, 200, { outcome });
  };

  const send = (response: ServerResponse, status: number, content: object): void => {
    const text = JSON.stringify(content);
    response.writeHead(status, { ...bodyHeaders(text), ...(stopping ? { Connection: 'close' } : {}) });
    response.end(text);
  };

  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response) => handle(request, response));
  // RFC 9110 section 10.1.1: a sender that asks first need not send a body that would be refused.
  server.on('checkContinue', (request, response) => handle(request, response, true));
  server.listen({ port, host, backlog: 4096 });
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get underWay() {
      return underWay.size;
    },
    stop: async () => {
      stopping = true;
      const closed = new Promise((resolve) => server.close(resolve));
      const busy = new Set(Array.from(underWay, ({ req }) => req.socket));
      for (const socket of sockets) if (!busy.has(socket)) socket.destroy();
      const timer = setTimeout(() => {
        for (const { req } of underWay) if (!req.complete) req.destroy();
      }, HALF_SENT_MS);
      await closed;
      clearTimeout(timer);
    },
    destroy: () => server.closeAllConnections(),
  };
}

/** Returns the path of a request target, which may be a whole URL (RFC 9112 section 3.2.2). */
function pathOf(target: string): string {
  if (!target.startsWith('/') && URL.canParse(target)) return new URL(target).pathname;
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
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
  handler: { status: 502, code: 'handler.failed', message: 'the handler did not accept the delivery' },
  notAccepted: {
    status: 502,
    code: 'delivery.not_accepted',
    message: 'the delivery could not be accepted',
  },
  stopping: { status: 503, code: 'receiver.stopping', message: 'the receiver is being stopped' },
} satisfies Record<string, Refusal>;

/** Milliseconds to read on after a refusal: a sender that is still writing would lose the answer if the connection were reset. */
const LINGER_MS = 2_000;

function refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  const { status, code, message, headers } = refusal;
  const text = JSON.stringify({ code, message });
  response.writeHead(status, { ...bodyHeaders(text), Connection: 'close', ...headers });
  response.write(text);
  const timer = setTimeout(() => response.end(), LINGER_MS).unref();
  finished(request.resume(), () => {
    clearTimeout(timer);
    response.end();
  });
}

function bodyHeaders(text: string) {
  return { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
}

/**
 * Calls `done` with the whole body, or with nothing if it has more than `limit` bytes. Never calls it if the sender
 * disconnects before the end.
 */
function readBody(request: IncomingMessage, limit: number, done: (body: Buffer | undefined) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer) => {
    length += chunk.length;
    chunks.push(chunk);
    if (length <= limit) return;
    request.off('data', onData).off('end', onEnd);
    done(undefined);
  };
  const onEnd = () => done(Buffer.concat(chunks, length));
  request.on('data', onData).once('end', onEnd);
}
