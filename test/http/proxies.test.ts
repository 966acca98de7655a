import http from 'node:http';
import { describe, expect, test } from 'vitest';
import { emptyMemory } from '../../src/context.ts';
import { proxyFor } from '../../src/http/proxy.ts';
import type { TransportError } from '../../src/http/transport.ts';
import { createTransport } from '../../src/http/undici-client.ts';
import { requireCondition } from '../support/conditions.ts';
import { freePort } from '../support/ports.ts';
import { OPENINGS, offers, refuses, startProxy, wantsBasic } from '../support/proxies.ts';
import { onLoopback } from '../support/server.ts';

/** Returns the body of the answer, or what a person reads of the error. */
async function ask(url: URL, environment: Record<string, string>): Promise<string> {
  return (await answerOf(url, environment)).text;
}

async function answerOf(url: URL, environment: Record<string, string>) {
  const transport = createTransport({ environment });
  try {
    return { text: (await transport.send({ method: 'GET', url })).body.toString() };
  } catch (error) {
    return { text: (error as Error).message, next: (error as TransportError).next };
  } finally {
    await transport.close();
  }
}

const HTTPS = new URL('https://events.invalid/path');
const UNRESOLVED = 'the name events.invalid could not be resolved (ENOTFOUND)';

test('HTTPS_PROXY is used for a tunnel, HTTP_PROXY for nothing', async (context) => {
  await requireCondition(context, 'a resolver, which knows that a name does not exist');
  await using proxy = await startProxy();
  expect(await ask(HTTPS, { HTTPS_PROXY: proxy.origin })).toBe(
    `the proxy ${new URL(proxy.origin).host} did not connect to events.invalid (502)`,
  );
  expect(await ask(HTTPS, { https_proxy: proxy.origin.replace('http://', '') })).toBe(
    `the proxy ${new URL(proxy.origin).host} did not connect to events.invalid (502)`,
  );
  expect(await ask(HTTPS, { HTTP_PROXY: proxy.origin })).toBe(UNRESOLVED);
  expect(proxy.asked).toEqual(['CONNECT events.invalid:443', 'CONNECT events.invalid:443']);
});

test('a proxy without TLS that is given with https:// is named, with the address that works', async () => {
  await using proxy = await startProxy();
  const { host } = new URL(proxy.origin);
  expect(await answerOf(HTTPS, { HTTPS_PROXY: `https://${host}` })).toEqual({
    text: expect.stringMatching(
      new RegExp(
        `^the proxy ${host} does not answer as one that speaks TLS does \\((EPROTO|ERR_SSL_\\w+)\\)$`,
      ),
    ),
    next: 'give HTTPS_PROXY with http:// in place of https://, as most proxies take it: what goes through is encrypted all the same',
  });
});

test('loopback never goes to a proxy', async () => {
  await using proxy = await startProxy();
  await using server = await onLoopback(http.createServer((_, response) => void response.end('direct')));
  const url = new URL(`${server.origin}/path?limit(1,2)`);
  const environment = { HTTP_PROXY: proxy.origin, http_proxy: proxy.origin, HTTPS_PROXY: proxy.origin };
  expect(await ask(url, environment)).toBe('direct');
  for (const host of ['127.0.0.1', '127.8.8.8', 'localhost', '[::1]'])
    expect(proxyFor(new URL(`https://${host}:8443/`), environment)).toBeUndefined();
  expect(proxy.asked).toEqual([]);
});

test.each([
  ['events.example.com', true],
  ['EXAMPLE.com', true],
  ['.example.com', true],
  ['*.example.com', true],
  ['a, b example.com', true],
  ['*', true],
  ['events.example.com:443', true],
  ['events.example.com:8443', false],
  ['xample.com', false],
  ['other.example.com', false],
  ['events.example.com.', true],
  ['.example.com.', true],
  ['10.0.0.0/8', false],
  ['', false],
  [',', false],
])('NO_PROXY=%j: events.example.com is reached directly: %s', (NO_PROXY, direct) => {
  const environment = { HTTPS_PROXY: 'http://proxy.example.com:3128', NO_PROXY };
  expect(proxyFor(new URL('https://events.example.com/x'), environment) === undefined).toBe(direct);
});

test.each([
  ['10.1.2.3', '10.0.0.0/8', true],
  ['10.1.2.3', '10.1.2.3', true],
  ['10.1.2.3', '10.1.2.3:443', true],
  ['10.1.2.3', '10.1.2.3:8443', false],
  ['10.1.2.3', '10.1.2.3/32', true],
  ['10.1.2.3', '10.1.2.4/31', false],
  ['10.1.2.3', '0.0.0.0/0', true],
  ['10.1.2.3', '10.0.0.0/33', false],
  ['10.1.2.3', '11.0.0.0/8', false],
  ['10.1.2.3', '2', false],
  ['[2001:db8::1]', '2001:db8::1', true],
  ['[2001:db8::1]', '[2001:db8::1]', true],
  ['[2001:db8::1]', '[2001:DB8:0::1]:443', true],
  ['[2001:db8::1]', '[2001:db8::1]:8443', false],
  ['[2001:db8::1]', '2001:db8::/32', true],
  ['[2001:db8::1]', '[2001:db8::]/32', true],
  ['[2001:db8::1]', '2001:db9::/32', false],
  ['[2001:db8::1]', '10.0.0.0/8', false],
  ['[2001:db8::1]', '2001:db8::2', false],
  ['[2001:db8::1]', '10.0.0.0/8, , \t2001:db8::1 ', true],
  ['10.1.2.3', '/8', false],
  ['10.1.2.3', 'x10.0.0.0/8', false],
  ['10.1.2.3', 'x/10.0.0.0/8', false],
  ['10.1.2.3', '10.0.0.0/8/9', false],
  ['10.1.2.3', '10.0.0.0/8x', false],
  ['10.1.2.3', '::ffff:0:0/96', false],
  ['events.example.com', 'x/8', false],
  ['events.example.com', '', false],
  ['events.example.com..', ' ', false],
  ['events.example.com', ':443', false],
  ['events.example.com', '.', false],
  ['events.example.com', 'a:b:443', false],
  ['events.example.com', 'example.com:x', false],
  ['events.example.com', 'x:example.com', false],
  ['events.example.com.', 'example.com', true],
  ['events.example.com.', '.example.com.', true],
])('%s is reached directly with NO_PROXY=%s: %s', (host, NO_PROXY, direct) => {
  const environment = { HTTPS_PROXY: 'http://proxy.example.com:3128', NO_PROXY };
  expect(proxyFor(new URL(`https://${host}/x`), environment) === undefined).toBe(direct);
});

test.each(['CORP\\jo:pw', 'jo:p/w', 'jo:p#w', 'jo:p?w', 'CORP/jo:pw'])(
  'a proxy of the user %s is refused with the way to write it',
  (user) => {
    const environment = { HTTPS_PROXY: `http://${user}@proxy.example.com:3128` };
    expect(() => proxyFor(HTTPS, environment)).toThrow(
      expect.objectContaining({
        message:
          'HTTPS_PROXY: invalid value: the user name or password holds a character that has to be percent-encoded',
        next: 'write \\ as %5C, / as %2F, # as %23, ? as %3F: http://DOMAIN%5Cuser:password@proxy.example.com:3128',
      }),
    );
  },
);

describe.each(Object.entries(OPENINGS))('a proxy that %s', (_, opening) => {
  test('has a tunnel, and TLS through it is with the service itself', async () => {
    await using proxy = await startProxy(opening);
    const answer = await ask(HTTPS, { HTTPS_PROXY: proxy.origin });
    expect(answer).toMatch(/^the connection to events.invalid broke/);
    // RFC 8446 section 5.1: a handshake record.
    expect(proxy.firstBytes).toEqual([22]);
  });
});

test('a proxy that requires a user is an error, and gets the user in its URL', async () => {
  await using proxy = await startProxy(wantsBasic());
  const { port } = proxy;
  expect(await ask(HTTPS, { HTTPS_PROXY: `http://127.0.0.1:${port}` })).toBe(
    `the proxy 127.0.0.1:${port} requires a user name and a password (407)`,
  );
  expect(await ask(HTTPS, { HTTPS_PROXY: `http://me:p%40ss@127.0.0.1:${port}` })).toBe(
    `the proxy 127.0.0.1:${port} does not accept the user name and password (407)`,
  );
  // Not valid in a URL, but people type it.
  await ask(HTTPS, { HTTPS_PROXY: `http://me:100%@127.0.0.1:${port}` });
  const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;
  expect(proxy.credentials).toEqual([undefined, basic('me:p@ss'), basic('me:100%')]);
});

describe('credentials that a proxy refuses', () => {
  test.each([
    [['Negotiate', 'NTLM'], 'Negotiate and NTLM'],
    [['Negotiate, NTLM'], 'Negotiate and NTLM'],
    [['Digest realm="a, Basic b", nonce="c", qop="auth"'], 'Digest'],
  ])('and which offers %j: the schemes are named', async (challenges, named) => {
    await using proxy = await startProxy(offers(...challenges));
    for (const user of ['', 'me:pw@'])
      expect(await answerOf(HTTPS, { HTTPS_PROXY: `http://${user}127.0.0.1:${proxy.port}` })).toEqual({
        text: `the proxy 127.0.0.1:${proxy.port} offers sign-in only by ${named} (407)`,
        next: expect.stringContaining('such as cntlm or px'),
      });
  });

  test('are sent once in a run, whatever else it asks for', async () => {
    await using proxy = await startProxy(offers('Basic realm="x"', 'NTLM'));
    const environment = { HTTPS_PROXY: `http://me:pw@127.0.0.1:${proxy.port}` };
    const memory = emptyMemory();
    const transports = [1, 2].map(() => createTransport({ environment, memory }));
    const answers = transports.flatMap((transport) =>
      ['https://events.invalid/1', 'https://login.invalid/2'].map((url) =>
        transport.send({ method: 'GET', url: new URL(url) }),
      ),
    );
    for (const answer of answers)
      await expect(answer).rejects.toThrow('does not accept the user name and password (407)');
    expect(proxy.asked.length).toBe(1);
    for (const transport of transports) await transport.close();
  });
});

test('a SOCKS proxy that is given as one for HTTP is named', async () => {
  await using proxy = await startProxy(undefined, { scheme: 'socks' });
  expect(await answerOf(HTTPS, { HTTPS_PROXY: proxy.origin })).toEqual({
    text: `the proxy 127.0.0.1:${proxy.port} does not answer with valid HTTP (Expected HTTP/, RTSP/ or ICE/)`,
    next: 'check HTTPS_PROXY: http://user:password@proxy.example.com:3128',
  });
  expect(proxy.asked).toEqual(['HTTP']);
});

test('a proxy that cannot be reached is named, not the service behind it', async (context) => {
  await requireCondition(context, 'a resolver, which knows that a name does not exist');
  const port = await freePort();
  for (const scheme of ['http', 'https'])
    expect(await answerOf(HTTPS, { HTTPS_PROXY: `${scheme}://127.0.0.1:${port}` })).toEqual({
      text: `the proxy 127.0.0.1:${port} does not accept connections (ECONNREFUSED)`,
      next: 'check HTTPS_PROXY and that the proxy runs',
    });
  expect(await answerOf(HTTPS, { HTTPS_PROXY: 'http://proxy.invalid:3128' })).toEqual({
    text: 'the name proxy.invalid could not be resolved (ENOTFOUND)',
    next: 'check HTTPS_PROXY: http://user:password@proxy.example.com:3128',
  });
});

test.each(['socks5://proxy:1080', 'socks5h://proxy:1080', 'socks://proxy:1080'])(
  'HTTPS_PROXY=%s is refused, since it is no proxy for HTTP',
  async (proxy) => {
    expect(await answerOf(HTTPS, { HTTPS_PROXY: proxy })).toMatchObject({
      text: `HTTPS_PROXY: invalid value '${proxy}': SOCKS proxies are not supported`,
      next: expect.stringContaining('the address at which the proxy takes HTTP'),
    });
  },
);

test.each([
  ['302 Found', 'open any page in a browser on this network'],
  ['403 Forbidden', 'ask those who run the proxy to allow the host and port'],
  ['404 Not Found', 'check HTTPS_PROXY: '],
  ['511 Network Authentication Required', 'open any page in a browser on this network'],
])('a proxy that refuses a tunnel with %s: the next step goes by the status', async (status, next) => {
  await using proxy = await startProxy(refuses(status));
  expect(await answerOf(HTTPS, { HTTPS_PROXY: proxy.origin })).toEqual({
    text: `the proxy 127.0.0.1:${proxy.port} did not connect to events.invalid (${status.slice(0, 3)})`,
    next: expect.stringContaining(next),
  });
});

test.each(['http://', 'ftp://proxy:21', 'a b'])('HTTPS_PROXY=%s is refused by its name', async (proxy) => {
  expect(await ask(HTTPS, { HTTPS_PROXY: proxy })).toBe(
    `HTTPS_PROXY: invalid value '${proxy}': must be the address of a proxy, such as http://proxy.example.com:3128`,
  );
});

test('messages about a proxy do not contain its password', async () => {
  expect(await ask(HTTPS, { https_proxy: 'ftp://user:secret@proxy' })).toBe(
    'https_proxy: invalid value: must be the address of a proxy, such as http://proxy.example.com:3128',
  );
});
