import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../context.ts';
import { HEADER_LIMIT_BYTES, listenOnHost } from '../../http/local-server.ts';
import { terminalSafeLine } from '../../terminal/terminal-text.ts';
import { BodyError, type Delivery, readDelivery } from '../delivery.ts';
import type { Acceptance } from '../journal.ts';

interface Answer {
  readonly status: number;
  readonly content: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ReceiverOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly token: () => string;
  /** Compares with the latest `Api-Token` saved. */
  readonly isExpected: (token: string) => Promise<boolean>;
  /** Bytes of the largest body accepted. */
  readonly maxBody: number;
  /** Milliseconds that a sender has for a whole request. */
  readonly requestTimeout: number;
  readonly accept: (delivery: Delivery) => Promise<Acceptance>;
  /** Called for each rejected request to the right path, or to another path with the right `Api-Token`. */
  readonly onRejected: (status: number, message: string) => void;
  readonly onAnswer: (line: string) => void;
  readonly clock: Clock;
  readonly health?: string;
  readonly report: () => object;
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** Milliseconds for a request's headers, and for a new connection's first request. */
const HEADERS_MS = 10_000;
/** Milliseconds that an idle connection stays open for the sender's next delivery. */
const KEEP_ALIVE_MS = 60_000;
const CHECK_INTERVAL_MS = 1_000;
/** Characters shown of an unexpected path. */
const LONGEST_SHOWN_PATH_CHARACTERS = 100;
/**
 * Milliseconds that senders get to finish a request when the server stops. After that they have to send it
 * again.
 */
const HALF_SENT_MS = 1_000;

/** Listens for deliveries. Rejects with the system's error if it cannot bind the host and port. */
export async function startReceiver(options: ReceiverOptions) {
  const { host, port, requestTimeout } = options;
  const sockets = new Set<Socket>();
  const underWay = new Set<ServerResponse>();
  let stopping = false;

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const began = options.clock.elapsed();
    underWay.add(response);
    response.once('close', () => underWay.delete(response));
    const { status, content, headers } = await answerTo(request, options, stopping);
    const text = JSON.stringify(content);
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
      ...headers,
      ...(stopping ? { Connection: 'close' } : {}),
    });
    response.end(text);
    // Read the rest: a sender that is still writing would lose the answer.
    request.resume();
    options.onAnswer(
      `${request.method} ${request.url} ${status} ${Math.round(options.clock.elapsed() - began)}`,
    );
  };

  const create = () => {
    const server = createServer({
      maxHeaderSize: HEADER_LIMIT_BYTES,
      headersTimeout: Math.min(HEADERS_MS, requestTimeout),
      requestTimeout,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, requestTimeout),
    });
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    // A sender that disconnects during its body gets no answer.
    return server.on('request', (request, response) =>
      handle(request, response).catch(() => response.destroy()),
    );
  };
  const { servers, port: bound } = await listenOnHost({ host, port, backlog: 4096 }, create);
  return {
    port: bound,
    get underWay(): number {
      return underWay.size;
    },
    stop: async (): Promise<void> => {
      stopping = true;
      const closed = Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      const cancel = options.clock.startTimer(HALF_SENT_MS, () => {
        const whole = Array.from(underWay, ({ req }) => req).filter(({ complete }) => complete);
        const answered = new Set(whole.map(({ socket }) => socket));
        for (const socket of sockets) if (!answered.has(socket)) socket.destroy();
      });
      await closed;
      cancel();
    },
    destroy: (): void => {
      for (const server of servers) server.closeAllConnections();
    },
  };
}

async function answerTo(
  request: IncomingMessage,
  options: ReceiverOptions,
  stopping: boolean,
): Promise<Answer> {
  if (asksForHealth(request, options)) return { status: 200, content: options.report() };
  const delivery = stopping ? refusals.stopping : await deliveryIn(request, options);
  if ('status' in delivery) {
    // A stranger's request to another path is not meant as a delivery.
    if (delivery !== refusals.notFound) options.onRejected(delivery.status, delivery.report);
    return delivery;
  }
  const { outcome, error } = await options.accept(delivery);
  if (outcome === 'refused') return error ? refusals.notAccepted : refusals.handler;
  return { status: 200, content: { outcome } };
}

function asksForHealth({ method = '', url = '' }: IncomingMessage, { health }: ReceiverOptions): boolean {
  return ['GET', 'HEAD'].includes(method) && pathOf(url) === health;
}

async function deliveryIn(request: IncomingMessage, options: ReceiverOptions): Promise<Delivery | Refusal> {
  const objection = await objectionTo(request, options);
  if (objection) return objection;
  const body = await readBody(request, options.maxBody);
  if (body === undefined) return refusals.tooLarge;
  const contentType = request.headers['content-type'];
  try {
    return readDelivery(body, { contentType, apiToken: options.token() });
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    return refuse(400, 'body.invalid', error.message);
  }
}

/** Returns a fault that shows before the body. */
async function objectionTo(
  { url = '', method, headers }: IncomingMessage,
  { path, isExpected, maxBody }: ReceiverOptions,
): Promise<Refusal | undefined> {
  const isFromSender = () => isExpected(String(headers['api-token'] ?? ''));
  if (pathOf(url) !== path) return (await isFromSender()) ? elsewhere(pathOf(url), path) : refusals.notFound;
  if (method !== 'POST') return refusals.method;
  if (!(await isFromSender())) return refusals.token;
  if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) return refusals.encoding;
  return Number(headers['content-length'] ?? 0) > maxBody ? refusals.tooLarge : undefined;
}

/** Returns the path of a request target, which may be a whole URL (RFC 9112 section 3.2.2). */
function pathOf(target: string): string {
  if (URL.canParse(target)) return new URL(target).pathname;
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

type Refusal = ReturnType<typeof refuse>;

/** Formats a refusal as the service's own Error object (service description, part 2). */
function refuse(status: number, code: string, message: string, headers: Answer['headers'] = {}) {
  return { status, content: { code, message }, headers, report: message };
}

function elsewhere(path: string, expected: string): Refusal {
  const shown = terminalSafeLine(
    path.length > LONGEST_SHOWN_PATH_CHARACTERS ? `${path.slice(0, LONGEST_SHOWN_PATH_CHARACTERS)}…` : path,
  );
  const report = `a delivery with the right Api-Token came to ${shown}, and is expected at ${expected} (--path)`;
  return { ...refuse(404, 'path.not_found', refusals.notFound.content.message), report };
}

const refusals = {
  notFound: refuse(404, 'path.not_found', 'there is nothing at this path'),
  method: refuse(405, 'method.not_allowed', 'deliveries are sent with POST', { Allow: 'POST' }),
  token: refuse(401, 'api_token.invalid', 'the Api-Token header is missing or is not the expected one'),
  encoding: refuse(415, 'body.encoded', 'compressed bodies are not accepted'),
  tooLarge: refuse(413, 'body.too_large', 'the body is larger than this receiver accepts'),
  handler: refuse(502, 'handler.failed', 'the handler did not accept the delivery'),
  notAccepted: refuse(502, 'delivery.not_accepted', 'the delivery could not be accepted'),
  stopping: refuse(503, 'receiver.stopping', 'the receiver is being stopped'),
};

/**
 * Reads the whole body; undefined if it exceeds `limit` bytes. Throws if the sender disconnects before the
 * end.
 */
async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
