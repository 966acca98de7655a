import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import symbols from 'undici/lib/core/symbols.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import type { Context, RequestLimits, RunMemory } from '../context.ts';
import { isUntrusted, systemTrust, trustFailure } from './certificates.ts';
import { addressesOf, bareHost, connectToFirst, portOf, within } from './host-connection.ts';
import { type AnswerParser, liftParserLimits, NO_IDLE_LIMITS } from './lifted-limits.ts';
import { ProxySignIn, proxySignInRefusal } from './proxy-sign-in.ts';
import { connectFailure, TEMPORARY, TransportError } from './transport.ts';

// The only file that loads undici, by its parts: its full entry point costs as much to load as Node itself.

export interface ConnectionContext extends Pick<Context, 'resolveHost'> {
  readonly memory?: Pick<RunMemory, 'proxySignIn'>;
}

export interface Connections {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean;
  close(): Promise<void>;
}

/**
 * Opens connections when requests need them, through the proxy from `proxyFor`, and keeps them alive. Fails
 * with `TransportError`.
 */
export function createConnections(
  limits: RequestLimits,
  proxyFor: (url: URL) => URL | undefined,
  { resolveHost, memory = {} }: ConnectionContext = {},
) {
  const sockets = new Set<Socket>();
  const closing = new AbortController();
  // Every connection being opened listens to it.
  setMaxListeners(0, closing.signal);
  const connectorWith = (tls: buildConnector.BuildOptions = {}) =>
    // `within` limits the time. TCP keep-alive probes would begin after a minute without data. Every request
    // has ended by then, and Wine refuses them.
    buildConnector({ keepAlive: false, timeout: 0, ...tls });
  let connector = connectorWith();

  const kept = <Opened extends Socket>(socket: Opened): Opened => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };

  /** Adds TLS to a connection and verifies the certificate. Rejects with Node's error. */
  const secure = (
    connect: buildConnector.connector,
    options: buildConnector.Options,
    httpSocket: Socket,
    signal: AbortSignal,
  ) =>
    new Promise<Socket>((resolve, reject) => {
      // Its types omit the returned socket.
      const opening = connect({ ...options, httpSocket }, (error, socket) => {
        if (error) reject(error);
        else resolve(socket);
      }) as unknown as Socket;
      kept(opening);
      signal.addEventListener('abort', () => opening.destroy(), { once: true });
    });

  /**
   * Opens a connection to a service or a proxy; for TLS, also accepts the operating system's authorities.
   * Rejects with `TransportError`, which names a refused certificate.
   */
  const openTrusted = async (options: buildConnector.Options, url: URL, isProxy: boolean, proxy?: URL) => {
    const open = async (connect: buildConnector.connector) => {
      const tunnel = proxy && (await openTunnel(proxy, url));
      return await within(limits.connect, closing.signal, async (signal) => {
        const socket =
          tunnel ?? kept(await connectToFirst(await addressesOf(url, resolveHost), portOf(url), signal));
        return options.protocol === 'https:' ? await secure(connect, options, socket, signal) : socket;
      });
    };
    try {
      return await open(connector).catch(async (error) => {
        const secureContext = isUntrusted(error) ? await systemTrust() : undefined;
        if (!secureContext) throw error;
        connector = connectorWith({ secureContext });
        return await open(connector);
      });
    } catch (error) {
      // Only opened to read the refused certificate: no data is sent.
      const unchecked = () => open(connectorWith({ rejectUnauthorized: false, maxCachedSessions: 0 }));
      throw (await trustFailure(error, url, unchecked)) ?? connectFailure(error, url, isProxy);
    }
  };

  /** RFC 9110 section 9.3.6. */
  const openTunnel = async (proxy: URL, target: URL): Promise<Socket> => {
    const path = `${target.hostname}:${target.port || 443}`;
    const user = [proxy.username, proxy.password].map(unencoded).join(':');
    if (user === ':') return await connectThrough(proxy, target, path);
    const credentials = `Basic ${Buffer.from(user).toString('base64')}`;
    memory.proxySignIn ??= new ProxySignIn();
    return await memory.proxySignIn.open(() => connectThrough(proxy, target, path, credentials));
  };

  const connectThrough = async (proxy: URL, target: URL, path: string, credentials?: string) => {
    const headers = { host: path, ...(credentials ? { 'proxy-authorization': credentials } : {}) };
    // undici takes the name for TLS from the `Host` of `CONNECT`. Without one, it uses that of the proxy.
    const agent = agentOver(
      (options) => openTrusted({ ...options, servername: '' }, proxy, true),
      { headersTimeout: limits.connect },
      true,
    );
    return await new Promise<Socket>((resolve, reject) => {
      agent.dispatch(
        { origin: proxy.origin, method: 'CONNECT', path, headers },
        {
          onRequestStart() {},
          onRequestUpgrade(_controller, status, headers, socket) {
            if (status >= 200 && status < 300) return resolve(socket as Socket);
            socket.destroy();
            reject(
              status === 407
                ? proxySignInRefusal(proxy, headers['proxy-authenticate'], credentials !== undefined)
                : proxyRefusal(proxy, target, status),
            );
          },
          onResponseError: (_controller, error) => reject(connectFailure(error, proxy, true)),
        },
      );
    });
  };

  const agent = agentOver(
    async (options) => {
      const url = new URL(`${options.protocol}//${options.host ?? options.hostname}`);
      return await openTrusted(options, url, false, proxyFor(url));
    },
    { ...NO_IDLE_LIMITS, maxResponseSize: limits.bytes },
  );
  /** True if a server that broke off a connection without TLS speaks TLS. Nothing is sent to it. */
  const speaksTls = async (url: URL): Promise<boolean> => {
    const options = { protocol: 'https:', hostname: bareHost(url), host: url.host, port: url.port };
    const connect = connectorWith({ rejectUnauthorized: false, maxCachedSessions: 0 });
    try {
      const socket = await within(limits.connect, closing.signal, async (signal) => {
        const addresses = await addressesOf(url, resolveHost);
        return await secure(
          connect,
          options,
          kept(await connectToFirst(addresses, portOf(url), signal)),
          signal,
        );
      });
      socket.destroy();
      return true;
    } catch {
      return false;
    }
  };

  return {
    openTunnel,
    speaksTls,
    dispatch: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) =>
      agent.dispatch(options, handler),
    /** Closes every connection at once, including those still being opened. */
    async close() {
      closing.abort(new Error('the connections were closed'));
      // TLS over a tunnel never closes if the tunnel, which was opened first, is destroyed before it.
      for (const socket of [...sockets].reverse()) socket.destroy();
      await agent.destroy();
    },
  };
}

export function connectionsOver(open: () => Promise<Socket>): Connections {
  const agent = agentOver(open, NO_IDLE_LIMITS);
  return {
    dispatch: (options, handler) => agent.dispatch(options, handler),
    close: () => agent.destroy(),
  };
}

type OpenClient = Dispatcher & { [symbols.kSocket]?: Socket & { [symbols.kParser]?: AnswerParser } };

function agentOver(
  open: (options: buildConnector.Options) => Promise<Socket>,
  options: Agent.Options,
  isForTunnel = false,
) {
  const agent = new Agent({
    ...options,
    connect: (options, callback) => {
      open(options).then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      );
    },
  });
  agent.on('connect', (_origin, targets: readonly Dispatcher[]) => {
    const client = targets.at(-1) as OpenClient;
    const socket = client[symbols.kSocket];
    const parser = socket?.[symbols.kParser];
    if (parser) liftParserLimits(parser, isForTunnel);
    // An alert after the handshake, such as for a client certificate in TLS 1.3, does not end the socket by
    // itself: undici would report only the end that follows.
    socket?.on('error', (error) => socket.destroy(error));
  });
  return agent;
}

/** User information should be percent-encoded in a URL, but people may type it unencoded. */
function unencoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function proxyRefusal(proxy: URL, target: URL, status: number): TransportError {
  const kind = TEMPORARY.has(status) ? 'refused' : 'proxy';
  const text = `the proxy ${proxy.host} did not connect to ${target.host} (${status})`;
  return new TransportError(kind, text, undefined, PROXY_STEPS[status]);
}

/** Next steps by the status of a proxy that refuses a tunnel, other than checking its address. */
const PROXY_STEPS: Readonly<Record<number, string>> = {
  302: 'open any page in a browser on this network, which may want you to sign in first',
  403: 'ask those who run the proxy to allow the host and port, or name the host in NO_PROXY if it can be reached directly',
  511: 'open any page in a browser on this network, which wants you to sign in first',
};
