import type { IncomingHttpHeaders } from 'node:http';
import module from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Dispatcher } from 'undici';
import type { Context, RequestLimits } from '../context.ts';
import { version } from '../version.ts';
import type { ConnectionContext, Connections } from './connections.ts';
import { PROGRESS_BYTES } from './lifted-limits.ts';
import { proxyFor } from './proxy.ts';
import { SPEAKS_TLS } from './tls-faults.ts';
import {
  exchangeFailure,
  type HttpRequest,
  type HttpResponse,
  PAGE_LIMITS,
  type Transport,
  TransportError,
  tooLarge,
} from './transport.ts';

const ACCEPT_ENCODING = 'gzip, deflate, br';

/** Returns a transport over undici, which is loaded while the caller prepares its first request. */
export function createTransport(
  context: Pick<Context, 'environment' | 'requestLimits'> & ConnectionContext,
  limits: RequestLimits = PAGE_LIMITS,
): Transport {
  const { environment, requestLimits } = context;
  const all = { ...limits, ...requestLimits };
  const open = async () => {
    const { createConnections } = await import('./connections.ts');
    if (!('enableCompileCache' in module)) await stopOptimizingParser();
    return createConnections(all, (url) => proxyFor(url, environment), context);
  };
  const connections = open();
  let mayBeTls = true;
  /** Explains the failure of a request without TLS: a server that speaks TLS often just breaks off. */
  const explained = async (error: unknown, url: URL): Promise<unknown> => {
    if (url.protocol !== 'http:' || !mayBeTls) return error;
    if (!(error instanceof TransportError) || error.kind !== 'broken') return error;
    // Check once: a server may break connections often, for other reasons.
    mayBeTls = false;
    if (!(await (await connections).speaksTls(url))) return error;
    return new TransportError('protocol', `${url.host} ${SPEAKS_TLS.text}`, error, SPEAKS_TLS.next);
  };
  return {
    async send(request) {
      request.signal?.throwIfAborted();
      proxyFor(request.url, environment);
      const answer = await exchange(await connections, request, all).catch(async (error) => {
        throw await explained(error, request.url);
      });
      // undici considers a connection free only a turn of the event loop after the answer: an earlier request
      // would open another one.
      await turn();
      if (request.keepBytes !== undefined) return answer;
      return { ...answer, body: await bodyOf(answer, request.url, all.bytes) };
    },
    async close() {
      await (await connections).close();
    },
  };
}

export function transportOver(connections: Connections, limits: RequestLimits): Transport {
  return {
    send: (request) => exchange(connections, request, limits),
    close: () => connections.close(),
  };
}

/**
 * Node 20 would wait 110 ms at its exit for V8 to optimise the WebAssembly of undici's parser, which is
 * compiled with the first request. From then on V8 rejects cached code, whose key includes its flags, so the
 * Node modules that undici needs are loaded first. Later versions do not wait, and would lose their compile
 * cache.
 */
async function stopOptimizingParser(): Promise<void> {
  const v8 = await import('node:v8');
  v8.setFlagsFromString('--no-wasm-tier-up');
  v8.setFlagsFromString('--no-wasm-dynamic-tiering');
}

/**
 * Milliseconds without progress for bodies that are not needed: a stalling error page must not hold a command
 * as long as a page of events may.
 */
const IDLE_WHEN_DECIDED_MS = 3_000;

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
    let head: Omit<HttpResponse, 'body'> | undefined;
    const chunks: Buffer[] = [];
    let room = keepBytes ?? Number.POSITIVE_INFINITY;
    let controller: Dispatcher.DispatchController | undefined;
    let failure: Error | undefined;
    let stalling: NodeJS.Timeout | undefined;
    let freshBytes = 0;
    const { idleWhenDecided = IDLE_WHEN_DECIDED_MS } = limits;
    const end = () => {
      clearTimeout(timer);
      clearTimeout(stalling);
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: Error) => {
      end();
      failure = error;
      reject(error);
      controller?.abort(error);
    };
    /** Once there is a head, its status decides, unless the body is needed. */
    const failOrAnswer = (error: Error) => {
      if (head && !isBodyNeeded(head.status, keepBytes)) resolve({ ...head, body: Buffer.concat(chunks) });
      fail(error);
    };
    const onAbort = () => fail(signal?.reason);
    const onStall = () => {
      const seconds = limits.idle / 1000;
      const what =
        freshBytes > 0 ? `sent less than 1 KB in ${seconds} s` : `stopped answering (${seconds} s)`;
      failOrAnswer(new TransportError('stalled', `${url.host} ${what}`));
    };
    const noteProgress = () => {
      freshBytes = 0;
      stalling?.refresh();
    };
    const timer = setTimeout(() => {
      failOrAnswer(
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
          else stalling = setTimeout(onStall, limits.idle);
        },
        onResponseStart(_controller, status, received) {
          // An unrequested upgrade: no other answer follows (RFC 9110 section 15.2.2).
          if (status === 101)
            return fail(new TransportError('broken', `${url.host} answered 101 Switching Protocols`));
          const isInterim = status < 200;
          if (isInterim) return;
          clearTimeout(stalling);
          freshBytes = 0;
          const isDecided = !isBodyNeeded(status, keepBytes);
          stalling = setTimeout(onStall, isDecided ? Math.min(limits.idle, idleWhenDecided) : limits.idle);
          head = { status, headers: singleHeaders(received) };
          onHeaders?.(head);
          // The rest of the body is still read, to free the connection for the next request.
          if (keepBytes !== undefined && isSuccess(status)) resolve({ ...head, body: Buffer.alloc(0) });
        },
        onResponseData(_controller, chunk) {
          freshBytes += chunk.length;
          if (freshBytes >= PROGRESS_BYTES) noteProgress();
          if (room > 0) chunks.push(chunk.subarray(0, room));
          room -= chunk.length;
        },
        onResponseEnd() {
          end();
          if (head) resolve({ ...head, body: Buffer.concat(chunks) });
        },
        onResponseError: (_controller, error) => failOrAnswer(exchangeFailure(error, url, limits)),
      },
    );
  });
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** True if an answer is useless without its whole body. 204 has none (RFC 9110 section 15.3.5). */
function isBodyNeeded(status: number, keepBytes: number | undefined): boolean {
  return isSuccess(status) && status !== 204 && keepBytes === undefined;
}

/** Headers of the same name, except `Set-Cookie`, are joined with commas (RFC 9110 section 5.3). */
function singleHeaders(received: IncomingHttpHeaders): IncomingHttpHeaders {
  const entries = Object.entries(received).map(([name, value]) => [
    name,
    Array.isArray(value) && name !== 'set-cookie' ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries);
}

/** Decompresses the body. For an error, a damaged body is dropped, since the status is enough. */
async function bodyOf(answer: HttpResponse, url: URL, limit: number): Promise<Buffer> {
  try {
    return await decoded(answer, url, limit);
  } catch (error) {
    if (isBodyNeeded(answer.status, undefined)) throw error;
    return Buffer.alloc(0);
  }
}

/** Undoes the `Content-Encoding` (RFC 9110 section 8.4), up to `limit` bytes. */
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
      'protocol',
      `the answer of ${url.host} has the content encoding '${coding}', which was not asked for`,
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
