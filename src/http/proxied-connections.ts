import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Connections, HttpRequest, HttpResponse } from './transport.ts';
import { ACCEPT_ENCODING, CONNECT_TIMEOUT, IDLE_TIMEOUT } from './transport-defaults.ts';
import { TransportError } from './transport-error.ts';

export interface Proxies {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  /** Hosts that are reached without a proxy, as in `NO_PROXY`. */
  readonly noProxy: string;
}

/** Kept-alive connections through proxies, by undici, which knows tunnels, proxy credentials and `NO_PROXY`. */
export function proxiedConnections(proxies: Proxies): Connections {
  let dispatcher: Promise<Dispatcher> | undefined;
  const loaded = () => {
    dispatcher ??= createDispatcher(proxies);
    return dispatcher;
  };
  return {
    exchange: async (request) => await dispatch(await loaded(), request),
    prepare: () => void loaded().catch(() => undefined),
    async close() {
      await (await dispatcher)?.destroy();
    },
  };
}

/**
 * Loads undici by its parts: its full entry point costs as much to load as Node itself, and is also what gives the
 * dispatchers the method that opens tunnels.
 */
async function createDispatcher(proxies: Proxies): Promise<Dispatcher> {
  const [{ default: EnvHttpProxyAgent }, { default: Base }, { default: connect }] = await Promise.all([
    import('undici/lib/dispatcher/env-http-proxy-agent.js'),
    import('undici/lib/dispatcher/dispatcher.js'),
    import('undici/lib/api/api-connect.js'),
  ]);
  Base.prototype.connect = connect;
  return new EnvHttpProxyAgent({
    connect: { timeout: CONNECT_TIMEOUT },
    headersTimeout: IDLE_TIMEOUT,
    bodyTimeout: IDLE_TIMEOUT,
    ...proxies,
  });
}

function dispatch(dispatcher: Dispatcher, request: HttpRequest): Promise<HttpResponse> {
  const { method, url, headers = {}, body = null, idleTimeout = IDLE_TIMEOUT, signal } = request;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let status = 0;
    let received: IncomingHttpHeaders = {};
    let abort: (() => void) | undefined;
    const settle = (error?: unknown) => {
      if (abort) signal?.removeEventListener('abort', abort);
      if (error === undefined) resolve({ status, headers: received, body: Buffer.concat(chunks) });
      else reject(signal?.aborted ? signal.reason : TransportError.from(error, url));
    };
    dispatcher.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: method as Dispatcher.HttpMethod,
        headers: { 'accept-encoding': ACCEPT_ENCODING, ...headers },
        body,
        headersTimeout: idleTimeout,
        bodyTimeout: idleTimeout,
      },
      {
        onRequestStart(controller) {
          abort = () => controller.abort(new Error('aborted'));
          if (signal?.aborted) abort();
          else signal?.addEventListener('abort', abort, { once: true });
        },
        onResponseStart(_controller, statusCode, responseHeaders) {
          status = statusCode;
          received = responseHeaders;
        },
        onResponseData(_controller, chunk) {
          chunks.push(chunk);
        },
        onResponseEnd: () => settle(),
        onResponseError: (_controller, error) => settle(error),
      },
    );
  });
}
