import http, { type RequestListener } from 'node:http';
import net, { type Socket } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { RequestLimits } from '../../src/context.ts';
import { PAGE_LIMITS, TOKEN_LIMITS, type Transport, TransportError } from '../../src/http/transport.ts';
import { createTransport } from '../../src/http/undici-client.ts';
import { requireCondition } from '../support/conditions.ts';
import { freePort } from '../support/ports.ts';
import { onLoopback } from '../support/server.ts';

async function serve(listener: RequestListener) {
  const server = await onLoopback(http.createServer(listener));
  return { ...server, url: new URL(`${server.origin}/path?limit(1,2)&eq(a,b)`) };
}

/** A raw server: `answer` writes bytes to each connection as soon as a request arrives. */
async function serveBytes(answer: (socket: Socket) => void) {
  const raw = net.createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => answer(socket));
  });
  const server = await onLoopback(raw);
  return { ...server, url: new URL(server.origin) };
}

function open(requestLimits: Partial<RequestLimits> = {}): Transport & AsyncDisposable {
  const transport = createTransport({ environment: {}, requestLimits });
  return Object.assign(transport, { [Symbol.asyncDispose]: () => transport.close() });
}

/** Returns the kind and the message of a failed GET, without the port. */
async function failure(url: URL, limits: Partial<RequestLimits> = {}): Promise<string[]> {
  await using transport = open(limits);
  try {
    const { status } = await transport.send({ method: 'GET', url });
    throw new Error(`answered ${status}`);
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    return [error.kind, error.message.replaceAll(url.host, 'HOST')];
  }
}

describe('a request without a proxy', () => {
  test('is sent as it is given, and its answer is decompressed', async () => {
    const seen: unknown[] = [];
    await using server = await serve((request, response) => {
      seen.push(request.method, request.url, request.headers['accept-encoding']);
      response.writeHead(202, { 'content-encoding': 'gzip' }).end(gzipSync('text'));
    });
    await using transport = open();
    const { status, body } = await transport.send({ method: 'GET', url: server.url });
    expect([status, body.toString()]).toEqual([202, 'text']);
    expect(seen).toEqual(['GET', '/path?limit(1,2)&eq(a,b)', 'gzip, deflate, br']);
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    // RFC 9110 section 8.4.1.2: some senders leave the zlib wrapper out.
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
  ])('undoes the content encoding %s', async (coding, compress) => {
    await using server = await serve((_, response) => {
      response.writeHead(200, { 'content-encoding': coding }).end(compress('text'));
    });
    await using transport = open();
    expect((await transport.send({ method: 'GET', url: server.url })).body.toString()).toBe('text');
  });

  test('has a User-Agent: some gateways refuse requests without one', async () => {
    await using server = await serve((request, response) => void response.end(request.headers['user-agent']));
    await using transport = open();
    const sent = async (headers: Record<string, string>) =>
      (await transport.send({ method: 'GET', url: server.url, headers })).body.toString();
    expect(await sent({})).toMatch(/^hooktrail\/\d+\.\d+\.\d+$/);
    expect(await sent({ 'user-agent': 'mine' })).toBe('mine');
  });

  test('reuses a connection, and closing ends it at once', async () => {
    const ports = new Set<number | undefined>();
    await using server = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume().on('end', () => response.end('ok'));
    });
    await using transport = open();
    for (const body of [undefined, 'a=b', undefined]) {
      await transport.send({ method: body ? 'POST' : 'GET', url: server.url, body });
    }
    expect(ports.size).toBe(1);
  });

  test('has one value for a header that was sent twice', async () => {
    await using server = await serveBytes((socket) =>
      socket.end(
        'HTTP/1.1 302 Found\r\nlocation: /a\r\nlocation: /b\r\nset-cookie: c\r\ncontent-length: 0\r\n\r\n',
      ),
    );
    await using transport = open();
    const { headers } = await transport.send({ method: 'GET', url: server.url });
    expect(headers).toEqual({ location: '/a, /b', 'set-cookie': 'c', 'content-length': '0' });
  });

  test('may take longer than the idle limit while a kilobyte comes now and then', async () => {
    const timers: NodeJS.Timeout[] = [];
    await using server = await serve((_, response) => {
      let left = 6;
      const more = () => {
        if (left-- > 0) response.write('x'.repeat(1024));
        else response.end();
      };
      timers.push(setInterval(more, 100));
    });
    await using transport = open({ idle: 400 });
    expect((await transport.send({ method: 'GET', url: server.url })).body.length).toBe(6 * 1024);
    for (const timer of timers) clearInterval(timer);
  });

  test('drops an unwanted body, however large', async () => {
    await using server = await serve((_, response) => void response.writeHead(503).end('x'.repeat(5000)));
    await using transport = open();
    const { status, body } = await transport.send({ method: 'POST', url: server.url, keepBytes: 0 });
    expect([status, body.length]).toEqual([503, 0]);
  });

  test.each([500, 404, 302])('of status %i is not held up by a body that stalls', async (status) => {
    await using server = await serveBytes((socket) =>
      socket.write(`HTTP/1.1 ${status} Oops\r\ncontent-length: 500\r\n\r\nbroken`),
    );
    await using transport = open({ idleWhenDecided: 50 });
    for (const keep of [{}, { keepBytes: 2048 }]) {
      const answer = await transport.send({ method: 'GET', url: server.url, ...keep });
      expect([answer.status, answer.body.toString()]).toEqual([status, 'broken']);
    }
  });

  test('ends with the reason of its signal', async () => {
    const abort = new AbortController();
    await using server = await serve(() => abort.abort(new Error('enough')));
    await using transport = open();
    const sent = transport.send({ method: 'GET', url: server.url, signal: abort.signal });
    await expect(sent).rejects.toThrow('enough');
  });

  test('ends with the reason of its signal while the connection is still being opened', async () => {
    const abort = new AbortController();
    // A server without TLS never answers the handshake.
    await using server = await serveBytes(() => abort.abort(new Error('enough')));
    await using transport = open();
    const url = new URL(server.url.href.replace('http:', 'https:'));
    const sent = transport.send({ method: 'GET', url, signal: abort.signal });
    await expect(sent).rejects.toThrow('enough');
  });
});

describe('a request that fails says why', () => {
  test('when nobody listens', async () => {
    const url = new URL(`http://127.0.0.1:${await freePort()}`);
    expect(await failure(url)).toEqual(['refused', 'HOST does not accept connections (ECONNREFUSED)']);
  });

  test('when the host name does not exist', async (context) => {
    await requireCondition(context, 'a resolver, which knows that a name does not exist');
    const text = 'the name nowhere.invalid could not be resolved (ENOTFOUND)';
    expect(await failure(new URL('http://nowhere.invalid'))).toEqual([
      'unknown-host',
      text.replace('nowhere.invalid', 'HOST'),
    ]);
  });

  test('when the answer does not begin, or stops', async () => {
    await using silent = await serve(() => undefined);
    expect(await failure(silent.url, { idle: 200 })).toEqual(['stalled', 'HOST stopped answering (0.2 s)']);
    await using slow = await serve((_, response) => void response.writeHead(200).write('some'));
    expect(await failure(slow.url, { idle: 200 })).toEqual(['stalled', 'HOST sent less than 1 KB in 0.2 s']);
  });

  test('when the answer is cut off, or is not HTTP', async () => {
    await using cut = await serveBytes((socket) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort'),
    );
    expect(await failure(cut.url)).toEqual(['broken', 'the connection to HOST broke (other side closed)']);
    await using other = await serveBytes((socket) => socket.end('SSH-2.0-OpenSSH\r\n'));
    expect((await failure(other.url))[0]).toBe('protocol');
  });

  test('when the peer speaks no TLS', async () => {
    await using server = await serve(() => undefined);
    const url = new URL(server.url.href.replace('http:', 'https:'));
    expect((await failure(url))[0]).toBe('tls');
    await using silent = await serveBytes(() => undefined);
    const mute = new URL(silent.url.href.replace('http:', 'https:'));
    expect(await failure(mute, { connect: 200 })).toEqual([
      'connect-timeout',
      'no connection to HOST in time (ETIMEDOUT)',
    ]);
  });

  test.each(['', 'upgrade: websocket\r\nconnection: upgrade\r\n'])(
    'when it is answered 101 Switching Protocols (%j)',
    async (headers) => {
      await using server = await serveBytes((socket) =>
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`),
      );
      const [kind, text] = await failure(server.url);
      expect(kind).toBe('broken');
      expect(text).toBe(
        headers ? 'the connection to HOST broke (bad upgrade)' : 'HOST answered 101 Switching Protocols',
      );
    },
  );

  test.each([
    ['interim answers without end', '', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['a body a byte at a time', 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n', 'x'],
  ])('when it takes too long: %s', async (_, first, repeated) => {
    const timers: NodeJS.Timeout[] = [];
    await using server = await serveBytes((socket) => {
      socket.write(first);
      timers.push(setInterval(() => socket.write(repeated), 20));
    });
    expect(await failure(server.url, { total: 300 })).toEqual([
      'too-slow',
      'HOST took more than 0.3 s for its answer',
    ]);
    for (const timer of timers) clearInterval(timer);
  });

  test('when it is a trickle, which is no progress', async () => {
    const timers: NodeJS.Timeout[] = [];
    await using server = await serveBytes((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n');
      timers.push(setInterval(() => socket.write('x'), 20));
    });
    expect(await failure(server.url, { idle: 300 })).toEqual([
      'stalled',
      'HOST sent less than 1 KB in 0.3 s',
    ]);
    for (const timer of timers) clearInterval(timer);
  });

  test('when its answer is larger than the limit, plain or compressed', async () => {
    const large = ['too-large', 'the answer of HOST is larger than 1 MiB'];
    const limits = { bytes: 1024 * 1024 };
    await using endless = await serveBytes((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const block = Buffer.alloc(64 * 1024, 'x');
      const more = () => {
        while (!socket.destroyed && socket.write(block));
      };
      socket.on('drain', more);
      more();
    });
    expect(await failure(endless.url, limits)).toEqual(large);
    for (const [coding, compress] of [
      ['gzip', gzipSync],
      ['br', brotliCompressSync],
      ['deflate', deflateSync],
    ] as const) {
      const bomb = compress(Buffer.alloc(1024 * 1024 + 1));
      await using server = await serve((_, response) => {
        response.writeHead(200, { 'content-encoding': coding }).end(bomb);
      });
      expect(await failure(server.url, limits)).toEqual(large);
    }
  });

  test('when its headers are too large', async () => {
    await using server = await serveBytes((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`);
    });
    expect((await failure(server.url))[0]).toBe('too-large');
  });
});

test('the limits are those in the README', () => {
  expect(PAGE_LIMITS).toEqual({ connect: 10_000, idle: 30_000, total: 300_000, bytes: 256 * 1024 ** 2 });
  expect(TOKEN_LIMITS).toEqual({ connect: 10_000, idle: 30_000, total: 60_000, bytes: 1024 ** 2 });
});
