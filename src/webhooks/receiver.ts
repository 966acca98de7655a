import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BodyError, type Delivery, readDelivery } from './delivery.ts';
import { type Refusal, refusals, refusalText, refuse } from './refusal.ts';
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
  /** Told of each answer. */
  readonly onAnswer?: (answer: { method: string; path: string; status: number; ms: number }) => void;
}

export interface Accepted {
  readonly status: 200;
  readonly outcome: 'accepted' | 'duplicate';
}

export interface Receiver {
  readonly port: number;
  /** Takes no more deliveries, gives those under way so many milliseconds, and frees the port. */
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
  const isExpected = tokenCheck(options.token);
  let stopping = false;

  const objection = (request: IncomingMessage): Refusal | undefined => {
    const { url = '', headers } = request;
    if (stopping) return refusals.stopping;
    if (url !== options.path && url.split('?', 1)[0] !== options.path) return refusals.notFound;
    if (request.method !== 'POST') return refusals.method;
    if (!isExpected(headers['api-token'] as string | undefined)) return refusals.token;
    if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) return refusals.encoding;
    return Number(headers['content-length'] ?? 0) > maxBody ? refusals.tooLarge : undefined;
  };

  const handle = (request: IncomingMessage, response: ServerResponse, waits = false): void => {
    if (options.onAnswer) observe(request, response, options.onAnswer);
    const refusal = objection(request);
    if (refusal) {
      refuse(request, response, refusal);
      return;
    }
    if (waits) response.writeContinue();
    readBody(request, maxBody, (body) => {
      if (body === undefined) refuse(request, response, refusals.tooLarge);
      else take(request, response, body).catch(() => response.destroy());
    });
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
    stop: async (grace) => {
      stopping = true;
      await close(server, grace);
    },
  };
}

const ACCEPTED = { accepted: '{"outcome":"accepted"}', duplicate: '{"outcome":"duplicate"}' } as const;

/** Calls `done` with the whole body, or with nothing when it is too large; never when the sender goes away before its end. */
function readBody(request: IncomingMessage, limit: number, done: (body: Buffer | undefined) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const onData = (chunk: Buffer) => {
    length += chunk.length;
    if (length <= limit) {
      chunks.push(chunk);
      return;
    }
    request.off('data', onData).off('end', onEnd);
    done(undefined);
  };
  const onEnd = () => done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
  request.on('data', onData).once('end', onEnd);
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

function listen(server: Server, { port, host }: ReceiverOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 4096 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function close(server: Server, grace: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), grace);
  await closed;
  clearTimeout(timer);
}
