import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { expect, test } from 'vitest';
import {
  listenForRedirect,
  type PageName,
  type RefusedRequest,
  receiveRedirect,
} from '../../src/sign-in/redirect-listener.ts';
import { changed } from '../support/browser.ts';
import { clock } from '../support/clock.ts';
import { addressBesidesLoopback, hasIpv6, requireCondition } from '../support/conditions.ts';
import { freePort } from '../support/ports.ts';
import { ask } from '../support/server.ts';

const expected = { state: 'the-state', issuer: 'https://id.example', clientId: 'me' };
const good = { state: expected.state, iss: expected.issuer, code: 'abc' };
const uri = (text: string) => ({ text, url: new URL(text) });

/**
 * A listener on a free port, whose browsers do not wait for the outcome unless the clock stands still.
 * `redirect` is the good redirect.
 */
async function listening(text = 'http://127.0.0.1:0/callback') {
  clock.skips = 10_000;
  const port = await listenForRedirect(uri(text));
  const refused: RefusedRequest[] = [];
  const reception = receiveRedirect(port, expected, clock, (request) => void refused.push(request));
  const redirect = changed(port.redirectUri.url, good);
  return { ...reception, port, redirect, refused, [Symbol.asyncDispose]: async () => port.close() };
}

/** The parts in which a rejected request differs from the good redirect. */
interface Stray {
  readonly path?: string;
  readonly parameters?: Readonly<Record<string, string | undefined>>;
  readonly more?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

test.each<[string, Stray, number, string]>([
  ['a request for the favicon', { path: '/favicon.ico' }, 404, 'its path is not /callback (--redirect-uri)'],
  [
    'a path below the redirect path',
    { path: '/callback/more' },
    404,
    'its path is not /callback (--redirect-uri)',
  ],
  ['a path with a slash after it', { path: '/callback/' }, 404, 'its path is not /callback (--redirect-uri)'],
  ['a path in other letters', { path: '/CALLBACK' }, 404, 'its path is not /callback (--redirect-uri)'],
  ['a percent-encoded path', { path: '/%63allback' }, 404, 'its path is not /callback (--redirect-uri)'],
  [
    'a path in absolute form',
    { path: 'http://127.0.0.1/callback' },
    404,
    'its path is not /callback (--redirect-uri)',
  ],
  [
    'a Host with another name',
    { headers: { host: 'evil.example' } },
    400,
    'its host is not HOST (--redirect-uri)',
  ],
  [
    'a Host with the name localhost',
    { headers: { host: 'localhost' } },
    400,
    'its host is not HOST (--redirect-uri)',
  ],
  [
    'a Host without the port',
    { headers: { host: '127.0.0.1' } },
    400,
    'its host is not HOST (--redirect-uri)',
  ],
  [
    'a Host with another port',
    { headers: { host: '127.0.0.1:1' } },
    400,
    'its host is not HOST (--redirect-uri)',
  ],
  ['a POST request', { method: 'POST' }, 405, 'the answer has to be a GET (response_mode=query)'],
  ['a PUT request', { method: 'PUT' }, 405, 'the answer has to be a GET (response_mode=query)'],
  ['an OPTIONS request', { method: 'OPTIONS' }, 405, 'the answer has to be a GET (response_mode=query)'],
  ['a DELETE request', { method: 'DELETE' }, 405, 'the answer has to be a GET (response_mode=query)'],
  // It comes from link previews and virus scanners.
  ['a HEAD request', { method: 'HEAD' }, 405, 'the answer has to be a GET (response_mode=query)'],
  ['a prefetch', { headers: { 'Sec-Purpose': 'prefetch' } }, 400, 'a prefetch is not the answer'],
  ['a prerender', { headers: { 'sec-purpose': 'x;prerender' } }, 400, 'a prefetch is not the answer'],
  [
    'a prefetch of an older browser',
    { headers: { Purpose: 'Prefetch' } },
    400,
    'a prefetch is not the answer',
  ],
  ['a preview', { headers: { 'X-Purpose': 'preview' } }, 400, 'a prefetch is not the answer'],
  ['a prefetch of Firefox', { headers: { 'X-Moz': 'prefetch' } }, 400, 'a prefetch is not the answer'],
  [
    'an answer with a wrong state',
    { parameters: { state: 'x'.repeat(43) } },
    400,
    'its state does not match this sign-in (an old tab?)',
  ],
  ['an answer without state', { parameters: { state: undefined } }, 400, 'it has no state'],
  [
    'a forged error without the state',
    { parameters: { error: 'access_denied', state: undefined, code: undefined } },
    400,
    'it has no state',
  ],
  ['an answer with two codes', { more: '&code=x' }, 400, 'a parameter appears more than once'],
  ['an answer with two states', { more: '&state=x' }, 400, 'a parameter appears more than once'],
  ['an answer with two issuers', { more: '&iss=x' }, 400, 'a parameter appears more than once'],
  ['an answer with two of anything', { more: '&any=x&any=x' }, 400, 'a parameter appears more than once'],
  [
    'an answer with neither code nor error',
    { parameters: { code: undefined } },
    400,
    'it has neither code nor error',
  ],
  ['an answer with an empty code', { parameters: { code: '' } }, 400, 'it has neither code nor error'],
  [
    'an answer of the implicit flow',
    { parameters: { id_token: 'x' } },
    400,
    'it is not the answer to a code request',
  ],
])('%s is rejected, and the redirect after it is accepted', async (_name, stray, status, reason) => {
  await using at = await listening();
  const { path = '/callback', parameters = {}, more = '', method = 'GET', headers = {} } = stray;
  const target = `${path}${changed(at.redirect, parameters).search}${more}`;
  const rejected = await ask(at.redirect, { target, method, headers });
  const body = 'Only the answer to a sign-in is accepted here.\n';
  expect(rejected).toMatchObject({ status, body: method === 'HEAD' ? '' : body });
  expect(rejected.headers).toEqual({
    ...pageHeaders,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(body.length),
    ...(status === 405 ? { allow: 'GET' } : {}),
    date: expect.any(String),
  });
  const { host } = at.redirect;
  const came = `a ${method} of ${headers['host'] ?? host}${path}${parameters['error'] ? ' with the error access_denied' : ''}`;
  expect(at.refused).toEqual([{ came, reason: reason.replace('HOST', host), isRedirect: true }]);
  expect((await ask(at.redirect)).status).toBe(200);
  expect(await at.answer).toMatchObject({ kind: 'code' });
  await ask(at.redirect, { method: 'HEAD' });
  expect(at.refused).toHaveLength(1);
});

test.each([
  ['/favicon.ico', false],
  ['/favicon.ico?codes=1', false],
  ['/callback', true],
  ['/callback?x=1', true],
  ['/other?code=1', true],
  ['/other?error=1', true],
  ['/other?state=1', true],
])('%s may have been meant as the redirect: %s', async (target, isRedirect) => {
  await using at = await listening();
  await ask(at.redirect, { target });
  expect(at.refused).toMatchObject([{ isRedirect }]);
});

test('of a long address the beginning is shown', async () => {
  await using at = await listening();
  await ask(at.redirect, { target: `/${'x'.repeat(200)}` });
  const [{ came = '' } = {}] = at.refused;
  expect(came).toBe(`a GET of ${at.redirect.host}/xx`.padEnd('a GET of '.length + 100, 'x'));
});

test('64 KB of cookies of other services do no harm', async () => {
  await using at = await listening();
  const cookies = (bytes: number) => ({ headers: { cookie: 'x'.repeat(bytes) } });
  expect((await ask(at.redirect, cookies(65_536))).status).toBe(431);
  expect(at.refused).toEqual([
    {
      came: 'a request with more than 64 KB of headers',
      reason: 'delete the cookies that the browser has for 127.0.0.1',
      isRedirect: true,
    },
  ]);
  expect((await ask(at.redirect, cookies(63_000))).status).toBe(200);
  expect(await at.answer).toMatchObject({ kind: 'code' });
});

const pageHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': expect.stringMatching(
    /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  ),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

const marks = { good: 'M7 12.5l3.4 3.4L17 9', bad: 'M8 8l8 8M16 8l-8 8' };

test.each<[PageName, 'good' | 'bad', string, string, string?]>([
  ['signedIn', 'good', 'Signed in', 'You can close this tab and go back to the terminal.'],
  ['failed', 'bad', 'Not signed in', 'Something went wrong. The terminal says what.'],
  ['refused', 'bad', 'Not signed in', 'The sign-in was refused. The terminal says why.'],
  [
    'foreign',
    'bad',
    'Not signed in',
    'The answer names another identity provider than expected. If it is yours, give its name with --issuer.</p>\n' +
      '<p>It names the issuer &#60;b&#62;&#38;&#34;&#39;.',
    `the issuer <b>&"'`,
  ],
])(
  'the page %s is not cached, runs no script and shows nothing of the request',
  async (name, mood, title, text, issuer) => {
    await using at = await listening();
    await at.conclude(name, issuer);
    const { status, headers, body } = await ask(at.redirect);
    expect(status).toBe(200);
    expect(headers).toEqual({
      ...pageHeaders,
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      date: expect.any(String),
    });
    expect(body).toContain(`<title>${title} – hooktrail</title>\n`);
    const [, style = ''] = /<style>([^<]+)<\/style>/.exec(body) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers['content-security-policy']).toContain(`'sha256-${hash}'`);
    expect(body.slice(body.indexOf('<main'))).toBe(
      `<main class="${mood}">\n` +
        `<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10"/><path d="${marks[mood]}"/></svg>\n` +
        `<h1>${title}</h1>\n<p>${text}</p>\n<small>hooktrail</small>\n</main>\n</html>\n`,
    );
    expect(body).not.toMatch(/<script|https?:/);
  },
);

test('a browser waits ten seconds for the outcome, and sees it when it loads the page again', async () => {
  await using at = await listening();
  clock.skips = 0;
  const asked = ask(at.redirect);
  expect(await Promise.race([asked, clock.asleep()])).toBe(10_000);
  clock.advance(10_000);
  expect((await asked).body).toContain(
    '<h1>Almost there</h1>\n<p>The terminal finishes the sign-in. You can close this tab.</p>\n',
  );
  expect((await asked).body).toMatch(/<main class="busy">[\s\S]*<path d="M12 7v5.2l3.2 2"\/>/);
  await at.conclude('signedIn');
  expect((await ask(at.redirect)).body).toContain('<h1>Signed in</h1>');
});

test('the first of two answers counts, whatever the second says', async () => {
  await using at = await listening();
  const first = await ask(at.redirect);
  const second = await ask(changed(at.redirect, { code: undefined, error: 'access_denied' }));
  expect(await at.answer).toMatchObject({ kind: 'code' });
  expect(second.body).toBe(first.body);
});

test('a code with a question mark is read whole', async () => {
  await using at = await listening();
  await ask(at.redirect, { target: `${at.redirect.pathname}${at.redirect.search}?&z=` });
  const { parameters } = (await at.answer) as { parameters: URLSearchParams };
  expect(parameters.get('code')).toBe('abc?');
});

test('a browser that waits gets the outcome, and nothing waits after that', async () => {
  await using at = await listening();
  clock.skips = 0;
  const asked = ask(at.redirect);
  await Promise.race([at.answer, asked]);
  const concluded = at.conclude('signedIn');
  expect((await asked).body).toContain('<h1>Signed in</h1>');
  await concluded;
});

/** Requests the good redirect, and closes the connection before the answer. */
async function leave({ redirect, answer }: Awaited<ReturnType<typeof listening>>): Promise<void> {
  clock.skips = 0;
  const browser = new AbortController();
  const left = fetch(redirect, { signal: browser.signal }).catch((error: Error) => error.name);
  await Promise.race([answer, left]);
  browser.abort();
  expect(await left).toBe('AbortError');
  // By the time that a later request is answered, the listener has seen that.
  expect((await ask(new URL('/favicon.ico', redirect))).status).toBe(404);
}

test('a tab that was reloaded while the code was exchanged gets the outcome', async () => {
  await using at = await listening();
  await leave(at);
  const concluded = at.conclude('signedIn').then(() => at.port.close());
  expect((await ask(at.redirect)).body).toContain('<h1>Signed in</h1>');
  await concluded;
});

test('a browser that left has two seconds to load the outcome; if none came, nothing waits', async () => {
  await using never = await listening();
  clock.skips = 0;
  expect(await Promise.race([never.conclude('signedIn'), clock.asleep()])).toBe(undefined);
  await using at = await listening();
  await leave(at);
  const concluded = at.conclude('signedIn');
  expect(await Promise.race([concluded, clock.asleep()])).toBe(2_000);
  clock.advance(2_000);
  await concluded;
});

async function occupy(port: number, host: string): Promise<Server> {
  const server = createServer().listen({ port, host, ipv6Only: true });
  await once(server, 'listening');
  return server;
}

/** The same redirect, sent to an address instead of to the name. */
function through(address: string, redirect: URL): [URL, { headers: { host: string } }] {
  const url = new URL(redirect);
  url.hostname = address;
  return [url, { headers: { host: redirect.host } }];
}

test.for([
  ['localhost', '127.0.0.1', ['127.0.0.1', '::1']],
  ['localhost', '[::1]', ['127.0.0.1', '::1']],
  ['[::1]', '[::1]', ['::1']],
  ['127.0.0.2', '127.0.0.2', ['127.0.0.2']],
] as const)(
  'a redirect URI on %s is answered on %s, and port 0 becomes a free port',
  async ([host, address, all], context) => {
    if (address === '[::1]') await requireCondition(context, 'IPv6');
    await using at = await listening(`http://${host}:0/callback`);
    const { port } = at.redirect;
    expect(at.port.redirectUri.text).toBe(`http://${host}:${port}/callback`);
    const bound = at.port.servers.map((server) => (server.address() as AddressInfo).address);
    expect(bound).toEqual(all.filter((one) => hasIpv6 || one !== '::1'));
    const [url, { headers }] = through(address, at.redirect);
    expect((await ask(url, { headers: { host: headers.host.toUpperCase() } })).status).toBe(200);
  },
);

test.each(['https://127.0.0.1:0/callback', 'http://app.example/callback'])(
  'the redirect URI %s does not lead back here',
  async (text) => {
    await expect(listenForRedirect(uri(text))).rejects.toMatchObject({
      exitCode: 2,
      message: `--redirect-uri: ${text} does not lead back to this machine`,
      next: 'use --paste, and paste the URL that the browser ends up at',
    });
  },
);

test('a socket that a browser keeps open is closed with the port', async () => {
  const port = await listenForRedirect(uri('http://127.0.0.1:0/callback'));
  const socket = connect(Number(port.redirectUri.url.port), '127.0.0.1').on('error', () => undefined);
  await once(port.servers[0] as Server, 'connection');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  port.close();
  await closed;
});

test('a redirect URI with a port is sent as it was typed', async () => {
  const given = uri(`http://LOCALHOST:${await freePort()}/x`);
  const port = await listenForRedirect(given);
  port.close();
  expect(port.redirectUri).toBe(given);
});

test.each(['127.0.0.1', '127.0.0.1:80'])('for a redirect URI on port 80 the Host may be %s', async (host) => {
  clock.skips = 10_000;
  const port = await listenForRedirect(uri('http://127.0.0.1:0/callback'));
  const typed = { ...port, redirectUri: uri('http://127.0.0.1/callback') };
  receiveRedirect(typed, expected, clock, () => undefined);
  expect((await ask(changed(port.redirectUri.url, good), { headers: { host } })).status).toBe(200);
  port.close();
});

test('a program on the other address family of localhost counts as a taken port', async (context) => {
  await requireCondition(context, 'IPv6');
  const port = await freePort();
  const neighbour = await occupy(port, '::1');
  await expect(listenForRedirect(uri(`http://localhost:${port}/callback`))).rejects.toMatchObject({
    exitCode: 2,
    message: `cannot wait for the sign-in on localhost:${port}: port ${port} of localhost is taken by another program, such as a \`hooktrail login\` that still waits`,
    next: 'give another address with --redirect-uri (it has to be registered for the client), or use --paste',
  });
  neighbour.close();
  // The address that was free is so again.
  (await occupy(port, '127.0.0.1')).close();
});

test('the listener is not reached from outside loopback', async (context) => {
  await requireCondition(context, 'an address besides loopback');
  const outside = addressBesidesLoopback();
  await using at = await listening();
  await expect(ask(...through(outside as string, at.redirect))).rejects.toThrow('ECONNREFUSED');
});
