import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { proxyDispatcher, proxyFailure } from './proxy-dispatcher.ts';
import type { Connections, HttpRequest, HttpResponse } from './transport.ts';
import { ACCEPT_ENCODING, IDLE_TIMEOUT } from './transport-defaults.ts';

/** Kept-alive connections through a proxy; `noProxy` lists hosts that are reached without it. */
export function proxiedConnections(proxy: URL, noProxy: string): Connections {
  let dispatcher: Promise<Dispatcher> | undefined;
  const loaded = () => {
    dispatcher ??= proxyDispatcher(proxy, noProxy, IDLE_TIMEOUT);
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
      else reject(signal?.aborted ? signal.reason : proxyFailure(error, url, proxy));
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
