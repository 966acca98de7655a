import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { createHandler } from '../../src/webhooks/forward.ts';
import { startProxy } from '../support/proxy.ts';

test('a handler on another machine is reached through a tunnel of the proxy', async () => {
  await using proxy = await startProxy();
  const handler = createHandler(new URL('https://hooks.invalid/in'), 5_000, {
    environment: { HTTPS_PROXY: proxy.url },
  });
  expect(await handler.forward({ body: Buffer.from('{}') })).toEqual({
    failure: `the proxy ${new URL(proxy.url).host} did not connect to hooks.invalid (502)`,
  });
  await handler.close();
  expect(proxy.asked).toEqual(['CONNECT hooks.invalid:443']);
});

test('an invalid proxy is refused before anything is received', async () => {
  const environment = { https_proxy: 'ftp://proxy' };
  expect(() => createHandler(new URL('https://hooks.invalid/in'), 5_000, { environment })).toThrow(
    "https_proxy: invalid value 'ftp://proxy': must be the address of a proxy",
  );
});

test('a handler that keeps sending interim answers does not block its delivery', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 10);
    socket.once('close', () => clearInterval(timer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/in`);
  const handler = createHandler(url, 300, { environment: {} });
  const failure = `${url.host} took more than 0.3 s for its answer`;
  expect(await handler.forward({ body: Buffer.from('{}') })).toEqual({ failure });
  await handler.close();
  server.close();
});
