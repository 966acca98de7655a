import type { IncomingHttpHeaders } from 'node:http';
import module from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Dispatcher } from 'undici';
import type { Context, RequestLimits } from '../context.ts';
import { version } from '../version.ts';
import type { Connections } from './connections.ts';
import { proxyFor } from './proxy.ts';
import {
  exchangeFailure,
  type HttpRequest,
  type HttpResponse,
  PAGE_LIMITS,
  type Transport,
  TransportError,
  tooLarge,
} from './transport.ts';

/** The codings that `decoded` undoes. */
const ACCEPT_ENCODING = 'gzip, deflate, br';

/** Returns a transport over undici, which is loaded while the caller prepares its first request. */
export function createTransport(
  { environment, requestLimits }: Pick<Context, 'environment' | 'requestLimits'>,
  limits: RequestLimits = PAGE_LIMITS,
): Transport {
  const all = { ...limits, ...requestLimits };
  const open = async (): Promise<Connections> => {
    const { createConnections } = await import('./connections.ts');
    if (!('enableCompileCache' in module)) await stopOptimizingParser();
    return createConnections(all, (url) => proxyFor(url, environment));
  };
  const connections = open();
  return {
    async send(request) {
      request.signal?.throwIfAborted();
      // The error for an invalid proxy variable is passed on unchanged.
      proxyFor(request.url, environment);
      const answer = await exchange(await connections, request, all);
      // undici considers a connection free only a turn of the event loop after the answer: an earlier request
      // would open another one.
      await turn();
      if (request.keepBytes !== undefined) return answer;
      return { ...answer, body: await decoded(answer, request.url, all.bytes) };
    },
    async close() {
      await (await connections).close();
    },
  };
}

/** The same over connections that its caller opens. */
export function transportOver(connections: Connections, limits: RequestLimits): Transport {
  return {
    send: (request) => exchange(connections, request, limits),
    close: () => connections.close(),
  };
}

/**
 * Node 20 would wait 110 ms at its exit for V8 to optimise the WebAssembly of undici's parser, which is
 * compiled with the first request. From then on V8 rejects cached code, whose key includes its flags: Node's
 * own modules that undici needs are loaded before. Later versions do not wait, and would lose their compile
 * cache.
 */
async function stopOptimizingParser(): Promise<void> {
  const v8 = await import('node:v8');
  v8.setFlagsFromString('--no-wasm-tier-up');
  v8.setFlagsFromString('--no-wasm-dynamic-tiering');
}

/**
 * Settles when the exchange has ended, however it ends. The promise of an aborted request does not wait for
 * its connection.
 */
function exchange(
  connections: Connections,
  { method, url, headers: asked, body, signal, keepBytes, onHeaders }: HttpRequest,
  limits: RequestLimits,
): Promise<HttpResponse> {
  return new Promise<HttpResponse>((resolve, reject) => {
    let status = 0;
    let headers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    let room = keepBytes ?? Number.POSITIVE_INFINITY;
    let controller: Dispatcher.DispatchController | undefined;
    let failure: Error | undefined;
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: Error) => {
      end();
      failure = error;
      reject(error);
      controller?.abort(error);
    };
    const onAbort = () => fail(signal?.reason);
    const timer = setTimeout(() => {
      fail(
        new TransportError('too-slow', `${url.host} took more than ${limits.total / 1000} s for its answer`),
      );
    }, limits.total);
    signal?.addEventListener('abort', onAbort, { once: true });
    connections.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: method as Dispatcher.HttpMethod,
        headers: {
          'user-agent': `hooktrail/${version}`,
          ...(keepBytes === undefined ? { 'accept-encoding': ACCEPT_ENCODING } : {}),
          ...asked,
        },
        body: body ?? null,
      },
      {
        onRequestStart(started) {
          controller = started;
          if (failure) started.abort(failure);
        },
        onResponseStart(_controller, statusCode, received) {
          // An unrequested upgrade: no other answer follows (RFC 9110 section 15.2.2).
          if (statusCode === 101)
            fail(new TransportError('broken', `${url.host} answered 101 Switching Protocols`));
          status = statusCode;
          headers = singleHeaders(received);
          onHeaders?.({ status, headers });
        },
        onResponseData(_controller, chunk) {
          if (room > 0) chunks.push(chunk.subarray(0, room));
          room -= chunk.length;
        },
        onResponseEnd() {
          end();
          resolve({ status, headers, body: Buffer.concat(chunks) });
        },
        onResponseError: (_controller, error) => fail(exchangeFailure(error, url, limits)),
      },
    );
  });
}

/** Headers of the same name, except `Set-Cookie`, are joined with commas (RFC 9110 section 5.3). */
function singleHeaders(received: IncomingHttpHeaders): IncomingHttpHeaders {
  const entries = Object.entries(received).map(([name, value]) => [
    name,
    Array.isArray(value) && name !== 'set-cookie' ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries);
}

/** The body with its `Content-Encoding` undone (RFC 9110 section 8.4), `limit` bytes at most. */
async function decoded({ body, headers }: HttpResponse, url: URL, limit: number): Promise<Buffer> {
  const coding = (headers['content-encoding'] || 'identity').trim().toLowerCase();
  if (coding === 'identity' || body.length === 0) return body;
  const zlib = await import('node:zlib');
  // Some senders omit the zlib wrapper (RFC 9110 section 8.4.1.2), whose first half byte is 8 (RFC 1950
  // section 2.2).
  const isBare = ((body[0] as number) & 0x0f) !== 8;
  const decoder = new Map([
    ['gzip', zlib.gunzip],
    ['x-gzip', zlib.gunzip],
    ['deflate', isBare ? zlib.inflateRaw : zlib.inflate],
    ['br', zlib.brotliDecompress],
  ]).get(coding);
  if (!decoder)
    throw new TransportError(
      'broken',
      `the answer has the content encoding '${coding}', which was not asked for`,
    );
  try {
    return await promisify<Buffer, { maxOutputLength: number }, Buffer>(decoder)(body, {
      maxOutputLength: limit,
    });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(url, limit, cause);
    throw new TransportError('broken', `the ${coding} body of the answer is cut or damaged`, cause);
  }
}
