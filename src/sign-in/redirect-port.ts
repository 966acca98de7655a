import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UsageError } from '../errors.ts';
import { isLoopback, type RedirectUri } from '../settings/setting-values.ts';

/** Sockets on this machine alone that take the browser's redirect (RFC 8252 sections 7.3 and 8.3). */
export interface LoopbackPort {
  /** As given; port 0 became the port that was free. */
  readonly redirectUri: RedirectUri;
  /** Call once; what comes earlier gets no answer. */
  onRequest(listener: RequestListener): void;
  /** Frees the port at once, whatever sockets a browser keeps open. */
  close(): void;
}

/** Binds every address that the redirect URI's host stands for. Throws `UsageError` naming `--redirect-uri`. */
export async function openLoopbackPort(redirectUri: RedirectUri): Promise<LoopbackPort> {
  const { text, url } = redirectUri;
  if (url.protocol !== 'http:' || !isLoopback(url)) {
    throw new UsageError(`--redirect-uri: ${text} does not lead back to this machine`, {
      next: 'run it with --paste and paste the URL the browser ends up at',
    });
  }
  const bound = new URL(url);
  const servers: Server[] = [];
  const close = () => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  };
  try {
    for (const host of addressesOf(url)) {
      const server = await listen(host, Number(bound.port || 80)).catch((error) => {
        // `localhost` on a machine without IPv6: nobody else can listen there either.
        if (servers.length > 0 && isAbsent(error)) return undefined;
        throw explained(error, bound);
      });
      if (!server) continue;
      servers.push(server);
      bound.port = String((server.address() as AddressInfo).port);
    }
  } catch (error) {
    close();
    throw error;
  }
  return {
    redirectUri: url.port === '0' ? { text: bound.href, url: bound } : redirectUri,
    close,
    onRequest: (listener) => {
      for (const server of servers) server.on('request', listener);
    },
  };
}

/** `localhost` may resolve to either family, and a neighbour that holds the other one would get the code. */
function addressesOf({ hostname }: URL): string[] {
  if (hostname === '[::1]') return ['::1'];
  return hostname.endsWith('localhost') ? ['127.0.0.1', '::1'] : [hostname];
}

async function listen(host: string, port: number): Promise<Server> {
  const server = createServer({ keepAlive: false });
  server.listen({ host, port, ipv6Only: host === '::1' });
  // Rejects on 'error', which comes instead.
  await once(server, 'listening');
  return server;
}

function isAbsent(error: unknown): boolean {
  return ['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function explained(error: unknown, { host, hostname, port }: URL): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!code) return error;
  const what =
    code === 'EADDRINUSE' ? `port ${port || 80} of ${hostname} is taken by another program` : message;
  return new UsageError(`cannot wait for the sign-in on ${host}: ${what}`, {
    next: 'give another address with --redirect-uri (it has to be registered for the client), or use --paste',
    cause: error,
  });
}
