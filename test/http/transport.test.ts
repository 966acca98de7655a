import { once } from 'node:events';
import http, { type RequestListener } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createTransport } from '../../src/http/transport.ts';
import { freePort } from '../support/ports.ts';

async function serve(listener: RequestListener) {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/path?limit(1,2)&eq(a,b)`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function serveBytes(text: string) {
  const server = net.createServer((socket) => socket.end(text)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

describe('a request without a proxy', () => {
  test('is sent as it is given, and its answer is decompressed', async () => {
    const seen: unknown[] = [];
    await using server = await serve((request, response) => {
      seen.push(request.method, request.url, request.headers['accept-encoding']);
      response.writeHead(202, { 'content-encoding': 'gzip' }).end(gzipSync('text'));
    });
    const transport = createTransport({});
    const { status, body } = await transport.send({ method: 'GET', url: server.url });
    expect([status, body.toString()]).toEqual([202, 'text']);
    expect(seen).toEqual(['GET', '/path?limit(1,2)&eq(a,b)', 'gzip, deflate, br']);
    await transport.close();
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
    const transport = createTransport({});
    expect((await transport.send({ method: 'GET', url: server.url })).body.toString()).toBe('text');
    await transport.close();
  });

  test('says who asks: some guards in front of services refuse what does not', async () => {
    await using server = await serve((request, response) => void response.end(request.headers['user-agent']));
    const transport = createTransport({});
    const sent = async (headers: Record<string, string>) =>
      (await transport.send({ method: 'GET', url: server.url, headers })).body.toString();
    expect(await sent({})).toMatch(/^hooktrail\/\d+\.\d+\.\d+$/);
    expect(await sent({ 'user-agent': 'mine' })).toBe('mine');
    await transport.close();
  });

  test('uses a connection again, and closing ends it at once', async () => {
    const ports = new Set<number | undefined>();
    await using server = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume().on('end', () => response.end('ok'));
    });
    const transport = createTransport({});
    for (const body of [undefined, 'a=b', undefined]) {
      await transport.send({ method: body ? 'POST' : 'GET', url: server.url, body });
    }
    expect(ports.size).toBe(1);
    await transport.close();
  });

  test('says what went wrong', async () => {
    const failure = (url: URL) =>
      createTransport({})
        .send({ method: 'GET', url, idleTimeout: 200 })
        .catch(({ kind, ambiguous }) => ({ kind, ambiguous }));
    const nobody = new URL(`http://127.0.0.1:${await freePort()}`);
    expect(await failure(nobody)).toEqual({ kind: 'refused', ambiguous: false });
    expect(await failure(new URL('http://nowhere.invalid'))).toEqual({ kind: 'dns', ambiguous: false });
    await using silent = await serve(() => undefined);
    expect(await failure(silent.url)).toEqual({ kind: 'stalled', ambiguous: true });
    await using slow = await serve((_, response) => void response.writeHead(200).write('some'));
    expect(await failure(slow.url)).toEqual({ kind: 'stalled', ambiguous: true });
    await using cut = await serveBytes('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort');
    expect(await failure(cut.url)).toEqual({ kind: 'broken', ambiguous: true });
    await using other = await serveBytes('SSH-2.0-OpenSSH\r\n');
    expect(await failure(other.url)).toEqual({ kind: 'broken', ambiguous: true });
    const plain = new URL(silent.url.href.replace('http:', 'https:'));
    expect(await failure(plain)).toMatchObject({ kind: 'tls' });
  });

  test('ends with the reason of its signal', async () => {
    await using server = await serve(() => undefined);
    const abort = new AbortController();
    const sent = createTransport({}).send({ method: 'GET', url: server.url, signal: abort.signal });
    setTimeout(() => abort.abort(new Error('enough')), 50);
    await expect(sent).rejects.toThrow('enough');
  });
});
