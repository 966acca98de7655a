import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that opens no tunnel, and records requests: tunnels by their target, others by their URL. */
export async function startProxy() {
  const asked: (string | undefined)[] = [];
  const proxy = http.createServer((request, response) => {
    asked.push(request.url);
    response.end('by the proxy');
  });
  proxy.on('connect', (request, client) => {
    asked.push(`CONNECT ${request.url}`);
    client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    asked,
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}
