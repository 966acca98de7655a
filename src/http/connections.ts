import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import type { RequestLimits } from '../context.ts';
import { isUntrusted, systemTrust, trustFailure } from './certificates.ts';
import { connectFailure, TransportError } from './transport.ts';

// The only file that loads undici, by its parts: its full entry point costs as much to load as Node itself.

/**
 * TCP keep-alive probes would begin after a minute without data. Every request has ended by then, and Wine refuses
 * them.
 */
const NO_PROBES = { keepAlive: false };

/**
 * Kept-alive connections, to the peers themselves or through the proxy that `proxyFor` names. Opening one fails with
 * `TransportError`.
 */
export class Connections {
  readonly #limits: RequestLimits;
  readonly #proxyFor: (url: URL) => URL | undefined;
  readonly #agent: Agent;
  readonly #sockets = new Set<Socket>();
  #connector: buildConnector.connector;

  constructor(limits: RequestLimits, proxyFor: (url: URL) => URL | undefined) {
    this.#limits = limits;
    this.#proxyFor = proxyFor;
    this.#connector = buildConnector({ ...NO_PROBES, timeout: limits.connect });
    this.#agent = new Agent({
      connect: (options, callback) => {
        this.#connect(options).then(
          (socket) => callback(null, socket),
          (error) => callback(error, null),
        );
      },
      headersTimeout: limits.idle,
      bodyTimeout: limits.idle,
      maxResponseSize: limits.bytes,
    });
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#agent.dispatch(options, handler);
  }

  /** Closes every connection at once, including those that are still being opened. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.#agent.destroy();
  }

  async #connect(options: buildConnector.Options): Promise<Socket> {
    const url = new URL(`${options.protocol}//${options.host ?? options.hostname}`);
    const proxy = this.#proxyFor(url);
    return await this.#openTrusted(options, url, async () => {
      const httpSocket = proxy && (await this.#throughProxy(proxy, url));
      return httpSocket ? { httpSocket } : {};
    });
  }

  /**
   * Opens a connection to a service or a proxy, for TLS with the operating system's authorities too. `way` opens the
   * tunnel that it goes through. Rejects with `TransportError`, which names a refused certificate.
   */
  async #openTrusted(
    options: buildConnector.Options,
    url: URL,
    way: () => Promise<Pick<buildConnector.Options, 'httpSocket'>> = async () => ({}),
  ): Promise<Socket> {
    const open = async (connector: buildConnector.connector) =>
      await this.#open(connector, { ...options, ...(await way()) });
    try {
      return await open(this.#connector).catch(async (error) => {
        const secureContext = isUntrusted(error) ? await systemTrust() : undefined;
        if (!secureContext) throw error;
        this.#connector = buildConnector({ ...NO_PROBES, timeout: this.#limits.connect, secureContext });
        return await open(this.#connector);
      });
    } catch (error) {
      throw (
        (await trustFailure(error, url, async () => {
          // No data is sent over this connection: it is opened to read the refused certificate.
          const unchecked = {
            ...NO_PROBES,
            timeout: this.#limits.connect,
            rejectUnauthorized: false,
            maxCachedSessions: 0,
          };
          return await open(buildConnector(unchecked));
        })) ?? connectFailure(error, url)
      );
    }
  }

  /** Opens one socket; rejects with the error of the system or of undici. */
  #open(connector: buildConnector.connector, options: buildConnector.Options): Promise<Socket> {
    return new Promise((resolve, reject) => {
      // Its types leave out that it returns the socket that it opens.
      const opening = connector(options, (error, socket) => {
        if (error) reject(error);
        else resolve(socket);
      }) as unknown as Socket;
      this.#sockets.add(opening);
      opening.once('close', () => this.#sockets.delete(opening));
    });
  }

  async #throughProxy(proxy: URL, target: URL): Promise<Socket> {
    try {
      return await this.#throughTunnel(proxy, target);
    } catch (error) {
      throw connectFailure(error, proxy);
    }
  }

  /** A tunnel by `CONNECT` (RFC 9110 section 9.3.6). */
  #throughTunnel(proxy: URL, target: URL): Promise<Socket> {
    const authority = `${target.hostname}:${target.port || 443}`;
    const hasCredentials = proxy.username !== '' || proxy.password !== '';
    const credentials = Buffer.from(`${plain(proxy.username)}:${plain(proxy.password)}`).toString('base64');
    const headers = {
      host: authority,
      ...(hasCredentials ? { 'proxy-authorization': `Basic ${credentials}` } : {}),
    };
    return new Promise((resolve, reject) => {
      const agent = new Agent({
        connect: (options, callback) => {
          // undici takes the name for TLS from the `Host` of `CONNECT`. Without one, it is that of the proxy.
          this.#openTrusted({ ...options, servername: '' }, proxy).then(
            (socket) => callback(null, socket),
            (error) => callback(error, null),
          );
        },
        headersTimeout: this.#limits.connect,
      });
      const options = { origin: proxy.origin, method: 'CONNECT', path: authority, headers } as const;
      agent.dispatch(options, {
        onRequestStart() {},
        onResponseStart() {},
        onResponseEnd() {},
        onRequestUpgrade(_controller, status, _headers, socket) {
          if (status >= 200 && status < 300) return resolve(socket as Socket);
          socket.destroy();
          reject(proxyRefusal(proxy, target, status, hasCredentials));
        },
        onResponseError: (_controller, error) => reject(error),
      });
    });
  }
}

/** User information should be percent-encoded in a URL, but people may type it unencoded. */
function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const PASSING = new Set([408, 429, 500, 502, 503, 504]);

function proxyRefusal(proxy: URL, target: URL, status: number, hasCredentials: boolean): TransportError {
  if (status === 407) {
    const what = hasCredentials
      ? 'does not accept the user name and password'
      : 'requires a user name and a password';
    return new TransportError('proxy', `the proxy ${proxy.host} ${what} (407)`);
  }
  const kind = PASSING.has(status) ? 'refused' : 'proxy';
  return new TransportError(kind, `the proxy ${proxy.host} did not connect to ${target.host} (${status})`);
}
