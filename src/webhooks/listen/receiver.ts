import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Connections } from './connections.ts';
import { BodyError, type Delivery, readDelivery } from './delivery.ts';
import { type Refusal, refusals, refusalText, refuse } from './refusal.ts';
import { readBody } from './request-body.ts';
import { tokenCheck } from './token-check.ts';

export interface ReceiverOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** The expected `Api-Token`. */
  readonly token: string;
  /** Bytes a body may have. */
  readonly maxBody: number;
  /** Milliseconds a sender has for a whole request. */
  readonly requestTimeout: number;
  /** What happens with a delivery; the answer is 200, or what it refuses with. Must not throw. */
  readonly accept: (delivery: Delivery) => Promise<Accepted | Refusal>;
  /** Told of each request at the right path that `accept` did not get to see. */
  readonly onRefusal: (refusal: Refusal) => void;
  /** Told of each answer. */
  readonly onAnswer?: (answer: { method: string; path: string; status: number; ms: number }) => void;
}

export interface Accepted {
  readonly status: 200;
  readonly outcome: 'accepted' | 'duplicate';
}

export interface Receiver {
  readonly port: number;
  /** Requests that wait for their answer. */
  readonly underWay: number;
  /** Takes no more deliveries, gives those under way `grace` milliseconds, and frees the port. */
  stop(grace: number): Promise<void>;
}

/** Time for a request's headers, and for a connection to send its first. */
const HEADERS_TIMEOUT = 10_000;
/** Senders keep connections for their next delivery. */
const KEEP_ALIVE = 60_000;
const CHECK_CONNECTIONS = 1_000;

/** Listens for deliveries. Rejects with the system's error when the port or the host cannot be had. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { maxBody, requestTimeout } = options;
  const server = createServer({
    headersTimeout: Math.min(HEADERS_TIMEOUT, requestTimeout),
    requestTimeout,
    keepAliveTimeout: KEEP_ALIVE,
    connectionsCheckingInterval: Math.min(CHECK_CONNECTIONS, requestTimeout),
  });
  const connections = new Connections(server);
  const isExpected = tokenCheck(options.token);
  let stopping = false;

  const objection = (request: IncomingMessage): Refusal | undefined => {
    const { url = '', headers } = request;
    if (stopping) return refusals.stopping;
    if (url !== options.path && pathOf(url) !== options.path) return refusals.notFound;
    if (request.method !== 'POST') return refusals.method;
    if (!isExpected(headers['api-token'] as string | undefined)) return refusals.token;
    if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) return refusals.encoding;
    return Number(headers['content-length'] ?? 0) > maxBody ? refusals.tooLarge : undefined;
  };

  const handle = (request: IncomingMessage, response: ServerResponse, waits = false): void => {
    connections.begin(response);
    if (options.onAnswer) observe(request, response, options.onAnswer);
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
    // Who asks for another path is no sender of deliveries.
    if (refusal !== refusals.notFound) options.onRefusal(refusal);
    refuse(request, response, refusal);
  };

  const take = async (request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> => {
    let answer: Accepted | Refusal;
    try {
      const contentType = request.headers['content-type'];
      const apiToken = request.headers['api-token'] as string;
      answer = await options.accept(readDelivery(body, { contentType, apiToken }));
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      answer = { status: 400, code: 'body.invalid', message: error.message };
      options.onRefusal(answer);
    }
    const text = 'outcome' in answer ? ACCEPTED[answer.outcome] : refusalText(answer);
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
    response.writeHead(answer.status, stopping ? { ...headers, Connection: 'close' } : headers);
    response.end(text);
  };

  server.on('request', (request, response) => handle(request, response));
  // RFC 9110 section 10.1.1: a sender that asks first is spared sending a body that is refused.
  server.on('checkContinue', (request, response) => handle(request, response, true));
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    get underWay() {
      return connections.underWay;
    },
    stop: async (grace) => {
      stopping = true;
      await connections.stop(grace);
    },
  };
}

const ACCEPTED = { accepted: '{"outcome":"accepted"}', duplicate: '{"outcome":"duplicate"}' } as const;

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

function listen(server: Server, { port, host }: ReceiverOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 4096 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** The path of a request target, which may be a whole URL (RFC 9112 section 3.2.2). */
function pathOf(target: string): string {
  if (!target.startsWith('/') && URL.canParse(target)) return new URL(target).pathname;
  return target.split('?', 1)[0] as string;
}
