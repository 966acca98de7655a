import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Connections, HttpRequest, HttpResponse } from './transport.ts';
import { ACCEPT_ENCODING, CONNECT_TIMEOUT, IDLE_TIMEOUT } from './transport-defaults.ts';
import { TransportError } from './transport-error.ts';

/**
 * Kept-alive connections through a proxy, by undici, which knows tunnels, proxy credentials and `NO_PROXY` (`noProxy`: hosts
 * that are reached without).
 */
export function proxiedConnections(proxy: URL, noProxy: string): Connections {
  let dispatcher: Promise<Dispatcher> | undefined;
  const loaded = () => {
    dispatcher ??= createDispatcher(proxy, noProxy);
    return dispatcher;
  };
  return {
    exchange: async (request) => await dispatch(await loaded(), request, proxy),
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
async function createDispatcher(proxy: URL, noProxy: string): Promise<Dispatcher> {
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
    httpProxy: proxy.href,
    httpsProxy: proxy.href,
    noProxy,
    // Without TLS there is nothing to keep from the proxy, and not every one opens tunnels to other ports than 443.
    proxyTunnel: false,
  });
}

function dispatch(dispatcher: Dispatcher, request: HttpRequest, proxy: URL): Promise<HttpResponse> {
  const { method, url, headers = {}, body = null, idleTimeout = IDLE_TIMEOUT, signal } = request;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let status = 0;
    let received: IncomingHttpHeaders = {};
    let abort: (() => void) | undefined;
    const settle = (error?: unknown) => {
      if (abort) signal?.removeEventListener('abort', abort);
      if (error === undefined) resolve({ status, headers: received, body: Buffer.concat(chunks) });
      else reject(signal?.aborted ? signal.reason : failure(error, url, proxy));
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

/** The failure of a request, told of the proxy where it never came further. */
function failure(error: unknown, url: URL, proxy: URL): TransportError {
  const { message = '', hostname, port } = error as { message?: string; hostname?: string; port?: number };
  const refusal = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (refusal)
    return new TransportError(
      'refused',
      `the proxy ${proxy.host} opened no way to ${url.host} (${refusal})`,
      error,
    );
  const ofProxy = hostname === proxy.hostname || (port !== undefined && String(port) === proxy.port);
  return TransportError.from(error, ofProxy ? proxy : url);
}
