import { expect, test } from 'vitest';
import { TransportError } from '../../src/http/transport.ts';
import { createTransport } from '../../src/http/undici-client.ts';
import { startTlsServer, startUnusable, type UNUSABLE_SERVERS } from '../support/tls.ts';

/** The kind, the message and the next step of a request that fails, without port and code. */
async function failure(url: URL): Promise<unknown[]> {
  const transport = createTransport({ environment: {} });
  try {
    throw new Error(`answered ${(await transport.send({ method: 'GET', url })).status}`);
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    const message = error.message.replace(url.host, 'HOST').replace(/ \(ERR_\w+\)$/, '');
    return [error.kind, message, error.next, error.passing];
  } finally {
    await transport.close();
  }
}

const HTTP1 = 'ask its operator to offer HTTP/1.1 as well: hooktrail does not speak HTTP/2';

test('a self-signed certificate has its own text and next step', async () => {
  await using server = await startTlsServer('self-signed', (_, response) => response.end());
  expect(await failure(new URL(`https://localhost:${server.port}`))).toEqual([
    'untrusted',
    'the certificate of HOST is not trusted: it is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)',
    'check the URL; if the server is yours, set NODE_EXTRA_CA_CERTS to a file with its certificate (PEM)',
    false,
  ]);
});

test.each<[keyof typeof UNUSABLE_SERVERS, string, string, string, string]>([
  [
    'TLS 1.1 alone',
    'https',
    'tls',
    'HOST offers only TLS 1.1 or older, which is not secure',
    'ask its operator to offer TLS 1.2 or 1.3; a TLS proxy on the way may be what is too old',
  ],
  ['HTTP/2 alone', 'https', 'tls', 'HOST does not offer HTTP/1.1 over TLS', HTTP1],
  ['HTTP/2 alone, without TLS', 'http', 'protocol', 'HOST answers only in HTTP/2', HTTP1],
  [
    'a client certificate in TLS 1.2',
    'https',
    'tls',
    'HOST refuses the TLS handshake',
    'ask its operator what it requires: a client certificate, which hooktrail does not send, or other ciphers',
  ],
  ['no TLS', 'https', 'tls', 'HOST does not speak TLS', 'give the address with http:// in place of https://'],
  [
    'TLS',
    'http',
    'protocol',
    'HOST speaks TLS, not plain HTTP',
    'give the address with https:// in place of http://',
  ],
])('a server with %s that is asked by %s has its own next step', async (kind, scheme, ...expected) => {
  await using server = await startUnusable(kind);
  expect(await failure(new URL(`${scheme}://localhost:${server.port}`))).toEqual([...expected, false]);
});
