import { execFile } from 'node:child_process';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { createTransport } from '../../src/http/undici-client.ts';
import { createHome } from '../support/home.ts';
import { nodeOf } from '../support/machine/node-versions.ts';
import { available } from '../support/machine/requirement.ts';
import { opens, startProxy } from '../support/proxies.ts';
import { authorityFile, type Certificate, startTlsServer } from '../support/tls.ts';

/** A server with one of the certificates; `asked` counts the requests that reached it. */
async function serveWith(certificate: Certificate) {
  let asked = 0;
  const server = await startTlsServer(certificate, (_, response) => {
    asked++;
    response.end('{}');
  });
  return Object.assign(server, { url: new URL(`https://localhost:${server.port}/`), asked: () => asked });
}

async function failure(url: URL, environment: Record<string, string> = {}): Promise<string> {
  const transport = createTransport({ environment });
  try {
    return String((await transport.send({ method: 'GET', url })).status);
  } catch (error) {
    return (error as Error).message.replaceAll(url.host, 'HOST');
  } finally {
    await transport.close();
  }
}

const UNTRUSTED =
  "the certificate of HOST is not trusted: its authority is 'Example Private CA' (UNABLE_TO_VERIFY_LEAF_SIGNATURE)";

describe('a certificate', () => {
  test('that is refused behind a proxy is named too', async () => {
    await using server = await serveWith('localhost');
    await using proxy = await startProxy(opens, { leadsTo: server.port });
    const url = new URL('https://events.example.com/');
    expect(await failure(url, { HTTPS_PROXY: proxy.origin })).toBe(UNTRUSTED);
    expect(server.asked()).toBe(0);
  });

  test('of the proxy itself is named with its authority', async () => {
    await using proxy = await serveWith('localhost');
    const message = await failure(new URL('https://events.invalid/'), { HTTPS_PROXY: proxy.url.href });
    expect(message.replaceAll(proxy.url.host, 'HOST')).toBe(UNTRUSTED);
    expect(proxy.asked()).toBe(0);
  });
});

/** Returns what the program prints if the authority is trusted by `variable`. */
async function asked(url: URL, variable?: string, proxy?: string, node = process.execPath) {
  await using home = await createHome();
  const env = {
    ...home.env,
    HOOKTRAIL_BASE_URL: url.href,
    HOOKTRAIL_VENDOR: 'example',
    HOOKTRAIL_ACCESS_TOKEN: 'a-token',
    ...(variable ? { [variable]: authorityFile } : {}),
    ...(proxy ? { HTTPS_PROXY: proxy } : {}),
  };
  const called = promisify(execFile)(node, [inject('program'), 'api', '/event-types'], { env });
  return (await called).stdout;
}

describe('with its authority trusted, a certificate', () => {
  test.each(['NODE_EXTRA_CA_CERTS', ...('getCACertificates' in tls ? ['SSL_CERT_FILE'] : [])])(
    'is accepted behind an https: proxy, and from the proxy itself (%s)',
    async (variable) => {
      await using server = await serveWith('elsewhere');
      await using proxy = await startProxy(opens, { scheme: 'https', leadsTo: server.port });
      const url = `https://localhost:${proxy.port}`;
      expect(await asked(new URL('https://events.invalid/'), variable, url)).toBe('{}');
    },
  );

  test.skipIf(!available("Node 22.15, which knows the system's certificates"))(
    'is accepted if the operating system trusts it',
    async () => {
      await using server = await serveWith('localhost');
      const node = 'getCACertificates' in tls ? process.execPath : await nodeOf(22);
      expect(await asked(server.url, 'SSL_CERT_FILE', undefined, node)).toBe('{}');
    },
    180_000,
  );
});
