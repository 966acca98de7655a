import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createTransport } from '../../src/http/transport.ts';
import { startProxy } from '../support/proxy.ts';

async function ask(url: URL, environment: Record<string, string>): Promise<string> {
  const transport = createTransport(environment);
  try {
    return (await transport.send({ method: 'GET', url })).body.toString();
  } catch (error) {
    return (error as Error).message;
  } finally {
    await transport.close();
  }
}

const HTTPS = new URL('https://events.invalid/path');

test('HTTP_PROXY is asked for http: addresses by their whole address, but for the hosts of NO_PROXY', async () => {
  await using proxy = await startProxy();
  const server = http.createServer((_, response) => void response.end('direct')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/path?limit(1,2)`);
  expect(await ask(url, { HTTP_PROXY: proxy.url })).toBe('by the proxy');
  expect(await ask(url, { http_proxy: proxy.url.replace('http://', '') })).toBe('by the proxy');
  expect(proxy.asked).toEqual([url.href, url.href]);
  expect(await ask(url, { HTTP_PROXY: proxy.url, NO_PROXY: '127.0.0.1' })).toBe('direct');
  expect(await ask(url, { HTTP_PROXY: proxy.url, no_proxy: '*' })).toBe('direct');
  expect(await ask(url, { HTTPS_PROXY: proxy.url })).toBe('direct');
  // Another machine can neither reach this host nor be told our secrets in the clear.
  expect(await ask(url, { HTTP_PROXY: 'http://proxy.invalid:3128' })).toBe('direct');
  expect(proxy.asked).toHaveLength(2);
  server.closeAllConnections();
  server.close();
});

test('HTTPS_PROXY alone is asked for https: addresses, for a tunnel', async () => {
  await using proxy = await startProxy();
  expect(await ask(HTTPS, { HTTPS_PROXY: proxy.url })).toBe(
    `the proxy ${new URL(proxy.url).host} opened no way to events.invalid (502)`,
  );
  expect(await ask(HTTPS, { HTTP_PROXY: proxy.url })).toBe(
    'the name events.invalid could not be resolved (ENOTFOUND)',
  );
  expect(proxy.asked).toEqual(['CONNECT events.invalid:443']);
});

test('through the tunnel TLS is spoken with the service itself', async () => {
  const tunnel = http.createServer().listen(0, '127.0.0.1');
  const first = new Promise<number | undefined>((resolve) => {
    tunnel.on('connect', (_, client) => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.once('data', (bytes: Buffer) => {
        resolve(bytes[0]);
        client.destroy();
      });
    });
  });
  await once(tunnel, 'listening');
  const proxy = `http://127.0.0.1:${(tunnel.address() as AddressInfo).port}`;
  expect(await ask(HTTPS, { HTTPS_PROXY: proxy })).toMatch(/^the connection to events.invalid broke/);
  // RFC 8446 section 5.1: a handshake record.
  expect(await first).toBe(22);
  tunnel.close();
});

test('a proxy that cannot be reached is named, not the service behind it', async () => {
  const taken = net.createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  taken.close();
  await once(taken, 'close');
  expect(await ask(HTTPS, { HTTPS_PROXY: `http://127.0.0.1:${port}` })).toBe(
    `127.0.0.1:${port} does not accept connections (ECONNREFUSED)`,
  );
  expect(await ask(HTTPS, { HTTPS_PROXY: 'http://proxy.invalid:3128' })).toBe(
    'the name proxy.invalid could not be resolved (ENOTFOUND)',
  );
});

test.each(['http://', 'ftp://proxy:21', 'a b'])('HTTPS_PROXY=%s is refused by its name', async (proxy) => {
  expect(await ask(HTTPS, { HTTPS_PROXY: proxy })).toBe(
    `HTTPS_PROXY: invalid value '${proxy}': must be the address of a proxy, such as http://proxy.example.com:3128`,
  );
});

test('what is said of a proxy leaves out its password', async () => {
  expect(await ask(HTTPS, { https_proxy: 'ftp://user:secret@proxy' })).toBe(
    'https_proxy: invalid value: must be the address of a proxy, such as http://proxy.example.com:3128',
  );
});
