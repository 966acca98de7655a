import type { Agent, IncomingMessage, request } from 'node:http';
import { BodyMemory } from './body-memory.ts';
import type { Connections, HttpRequest, HttpResponse } from './transport.ts';
import { ACCEPT_ENCODING, CONNECT_TIMEOUT, IDLE_TIMEOUT } from './transport-defaults.ts';
import { TransportError } from './transport-error.ts';

interface Client {
  readonly request: typeof request;
  readonly agent: Agent;
}

/**
 * Kept-alive connections to the peer itself, by Node's own client: its parser is native code that is there already,
 * where undici's is WebAssembly that each start compiles anew, for longer than a whole start of Node takes.
 */
export function directConnections(): Connections {
  const clients = new Map<string, Promise<Client>>();
  const memory = new BodyMemory();
  const clientFor = ({ protocol }: URL) => {
    const client = clients.get(protocol) ?? load(protocol);
    clients.set(protocol, client);
    return client;
  };
  return {
    exchange: async (sent) => await exchange(await clientFor(sent.url), sent, memory),
    prepare: (url) => void clientFor(url),
    async close() {
      for (const client of clients.values()) (await client).agent.destroy();
    },
  };
}

async function load(protocol: string): Promise<Client> {
  const { Agent, request } = await (protocol === 'https:' ? import('node:https') : import('node:http'));
  return { request, agent: new Agent({ keepAlive: true }) };
}

function exchange(
  { request, agent }: Client,
  message: HttpRequest,
  memory: BodyMemory,
): Promise<HttpResponse> {
  const { method, url, headers, body, idleTimeout = IDLE_TIMEOUT, signal } = message;
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const fail = (error: unknown) =>
      reject(signal?.aborted ? signal.reason : TransportError.from(error, url, isConnected));
    const sent = request(url, {
      agent,
      method,
      headers: { 'accept-encoding': ACCEPT_ENCODING, ...headers },
      ...(signal ? { signal } : {}),
    });
    const stop = (kind: 'connect-timeout' | 'stalled', milliseconds: number) => {
      const error = TransportError.of(kind, url, `${milliseconds / 1000} s`);
      fail(error);
      sent.destroy(error);
    };
    sent.on('socket', (socket) => {
      isConnected = sent.reusedSocket;
      if (isConnected) return;
      const timer = setTimeout(() => stop('connect-timeout', CONNECT_TIMEOUT), CONNECT_TIMEOUT);
      socket.once('close', () => clearTimeout(timer));
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        isConnected = true;
        clearTimeout(timer);
      });
    });
    sent.setTimeout(idleTimeout, () => stop('stalled', idleTimeout));
    sent.on('error', fail);
    sent.on('response', (response) => {
      response.on('error', fail);
      collect(response, memory, resolve);
    });
    sent.end(body);
  });
}

function collect(
  response: IncomingMessage,
  memory: BodyMemory,
  resolve: (whole: HttpResponse) => void,
): void {
  const { statusCode: status = 0, headers } = response;
  const space = memory.take(Number(headers['content-length']));
  if (space) {
    let length = 0;
    response.on('data', (chunk: Buffer) => {
      length += chunk.copy(space.bytes, length);
    });
    response.on('end', () =>
      resolve({ status, headers, body: space.bytes.subarray(0, length), release: space.release }),
    );
    return;
  }
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => {
    const [only] = chunks;
    const body = chunks.length === 1 && only ? only : Buffer.concat(chunks);
    resolve({ status, headers, body });
  });
}
