import type { IncomingHttpHeaders } from 'node:http';
import type { Environment } from '../context.ts';
import { version } from '../version.ts';
import { decoded } from './content-encoding.ts';
import { hostsWithoutProxy, proxyFor } from './proxy.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Milliseconds without any progress before the request fails; 30 s when absent. */
  readonly idleTimeout?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The whole body, decompressed. */
  readonly body: Buffer;
  /** Says that nobody will read the body any more, so that its memory serves other answers. */
  readonly release?: () => void;
}

/** Sends one request over kept-alive connections; follows no redirect and repeats nothing. */
export interface Transport {
  /** Throws `TransportError`, or the signal's reason when it aborts. */
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Loads what requests to such a URL need, while there is something else to wait for. */
  prepare(url: URL): void;
  /** Ends every connection at once. */
  close(): Promise<void>;
}

/** How a transport reaches its peers. The bodies of answers are still encoded. */
export interface Connections {
  exchange(request: HttpRequest): Promise<HttpResponse>;
  prepare(url: URL): void;
  close(): Promise<void>;
}

export function createTransport(environment: Environment): Transport {
  const routes = new Map<string, Promise<Connections>>();
  const connected = ({ protocol }: URL) => {
    const route = routes.get(protocol) ?? connect(protocol, environment);
    routes.set(protocol, route);
    return route;
  };
  return {
    async send(request) {
      request.signal?.throwIfAborted();
      const headers = { 'user-agent': `hooktrail/${version}`, ...request.headers };
      const response = await (await connected(request.url)).exchange({ ...request, headers });
      const body = await decoded(response.body, response.headers['content-encoding']);
      if (body === response.body) return response;
      const { release, ...rest } = response;
      release?.();
      return { ...rest, body };
    },
    prepare(url) {
      // What goes wrong here goes wrong again when something is sent, and is told then.
      connected(url).then(
        (ready) => ready.prepare(url),
        () => undefined,
      );
    },
    async close() {
      for (const route of routes.values()) await (await route.catch(() => undefined))?.close();
    },
  };
}

async function connect(protocol: string, environment: Environment): Promise<Connections> {
  const proxy = proxyFor(protocol, environment);
  if (!proxy) {
    const { directConnections } = await import('./direct-connections.ts');
    return directConnections();
  }
  const { proxiedConnections } = await import('./proxied-connections.ts');
  return proxiedConnections(proxy, hostsWithoutProxy(environment));
}
