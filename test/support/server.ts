import { once } from 'node:events';
import { type Agent, type IncomingMessage, request } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { text } from 'node:stream/consumers';

export interface LoopbackServer extends AsyncDisposable {
  readonly port: number;
  readonly origin: string;
}

/** Lets a server listen on a free port of a loopback address, or the given one, until it is disposed of. */
export async function onLoopback(server: Server, port = 0, host = '127.0.0.1'): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await once(server.listen(port, host), 'listening');
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

interface PlainRequest {
  readonly method?: string | undefined;
  /** The path and query, sent exactly so; absent: those of the URL. */
  readonly target?: string | undefined;
  /** Undefined ones are left out; `host` replaces that of the URL. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Buffer;
  readonly agent?: Agent | undefined;
}

export interface PlainAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/**
 * Sends one request as it is given, also one that no browser would send. Rejects if the connection breaks
 * first.
 */
export async function ask(
  url: string | URL,
  { method = 'GET', target, headers = {}, body, agent }: PlainRequest = {},
): Promise<PlainAnswer> {
  const { hostname, port, host, pathname, search } = new URL(url);
  const given = Object.entries({ host, ...headers }).filter(([, value]) => value !== undefined);
  const sent = request({
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    method,
    path: target ?? pathname + search,
    headers: Object.fromEntries(given),
    agent: agent ?? false,
  });
  // A connection that breaks behind the head of the answer fails the reading of its body.
  sent.on('error', () => undefined).end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
}
