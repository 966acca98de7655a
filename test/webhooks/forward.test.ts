import { expect, test } from 'vitest';
import { createHandler } from '../../src/webhooks/forward.ts';
import { startProxy } from '../support/proxies.ts';

test('a handler on another machine is reached through a tunnel of the proxy', async () => {
  await using proxy = await startProxy();
  const handler = createHandler(new URL('https://hooks.invalid/in'), 5_000, {
    environment: { HTTPS_PROXY: proxy.origin },
  });
  expect(await handler.forward({ body: Buffer.from('{}') })).toEqual({
    failure: `the proxy ${new URL(proxy.origin).host} did not connect to hooks.invalid (502)`,
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
