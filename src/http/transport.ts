import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Environment } from '../context.ts';
import { decoded } from './content-encoding.ts';
import { TransportError } from './transport-error.ts';

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
}

/** Sends one request over kept-alive connections; follows no redirect and repeats nothing. */
export interface Transport {
  /** Throws `TransportError`, or the signal's reason when it aborts. */
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Ends every connection at once. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT = 10_000;
const IDLE_TIMEOUT = 30_000;

export function createTransport(environment: Environment): Transport {
  let dispatcher: Promise<Dispatcher> | undefined;
  return {
    async send(request) {
      request.signal?.throwIfAborted();
      dispatcher ??= createDispatcher(environment);
      const response = await dispatch(await dispatcher, request);
      return { ...response, body: await decoded(response.body, response.headers['content-encoding']) };
    },
    async close() {
      await (await dispatcher)?.destroy();
    },
  };
}

/** Loads undici's dispatchers by their own files: its full entry point costs as much to load as Node itself. */
async function createDispatcher(environment: Environment): Promise<Dispatcher> {
  const options = {
    connect: { timeout: CONNECT_TIMEOUT },
    headersTimeout: IDLE_TIMEOUT,
    bodyTimeout: IDLE_TIMEOUT,
  };
  const variable = (name: string) => environment[name.toLowerCase()] || environment[name] || '';
  const proxies = { httpProxy: variable('HTTP_PROXY'), httpsProxy: variable('HTTPS_PROXY') };
  if (proxies.httpProxy || proxies.httpsProxy) {
    const { default: EnvHttpProxyAgent } = await import('undici/lib/dispatcher/env-http-proxy-agent.js');
    return new EnvHttpProxyAgent({ ...options, ...proxies, noProxy: variable('NO_PROXY') });
  }
  const { default: Agent } = await import('undici/lib/dispatcher/agent.js');
  return new Agent(options);
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
      if (error === undefined) resolve({ status, headers: received, body: joined(chunks) });
      else reject(signal?.aborted ? signal.reason : TransportError.from(error, url));
    };
    dispatcher.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: method as Dispatcher.HttpMethod,
        headers: { 'accept-encoding': 'gzip, deflate, br', ...headers },
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

function joined(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only ? only : Buffer.concat(chunks);
}
