import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import os from 'node:os';
import { expect, test } from 'vitest';
import { listenForRedirect, receiveRedirect } from '../../src/sign-in/redirect-listener.ts';
import { changed, redirectOf, visit } from '../support/browser.ts';
import { clock } from '../support/clock.ts';
import { freePort } from '../support/ports.ts';
import { ask } from '../support/server.ts';
import { startSigningIn, useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

const turnedAway = 'Only the answer to a sign-in is accepted here.\n';

/** Sends the requests of `stray`, expects them to be rejected, then signs in as if nothing had happened. */
async function survives(
  stray: (redirect: URL) => Promise<{ status: number; body: string }>,
  status: number,
): Promise<string> {
  const { program, authorizeUrl } = await at.login();
  const redirect = await redirectOf(authorizeUrl);
  const answer = await stray(redirect);
  expect(answer).toMatchObject({ status, body: turnedAway });
  expect(at.exchanges()).toBe(0);
  expect((await visit(redirect)).status).toBe(200);
  expect(await program.finished).toMatchObject({ code: 0, stdout: '' });
  expect(at.exchanges()).toBe(1);
  return program.stderr;
}

test('a favicon that is requested first is not found, and the wait continues', async () => {
  await survives((redirect) => ask(new URL('/favicon.ico', redirect)), 404);
});

test.each([
  ['below the redirect path', (path: string) => `${path}/more`],
  ['with a slash after it', (path: string) => `${path}/`],
  ['in other letters', (path: string) => path.toUpperCase()],
  ['percent-encoded', (path: string) => path.replace('c', '%63')],
  ['in absolute form', (path: string) => `http://127.0.0.1${path}`],
])('a good redirect to a path %s is not found', async (_name, path) => {
  await survives((redirect) => ask(redirect, { target: path(redirect.pathname) + redirect.search }), 404);
});

test('a wrong state is rejected, and the right one after it is accepted', async () => {
  await survives((redirect) => ask(changed(redirect, { state: 'x'.repeat(43) })), 400);
});

test('a redirect without state is rejected', async () => {
  await survives((redirect) => ask(changed(redirect, { state: undefined })), 400);
});

test('a forged error without the state does not end the sign-in', async () => {
  const forged = { error: 'access_denied', state: undefined, code: undefined };
  await survives((redirect) => ask(changed(redirect, forged)), 400);
});

/** Sends an answer with the right state and another issuer, and expects it to end the sign-in. */
async function endsWith(iss: string | undefined, more: Record<string, string | undefined> = {}) {
  const { program, authorizeUrl } = await at.login();
  const { status, body } = await visit(changed(await redirectOf(authorizeUrl), { iss, ...more }));
  expect(status).toBe(200);
  expect(body).toContain('<h1>Not signed in</h1>');
  const { code, stdout, stderr } = await program.finished;
  expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
  expect(at.exchanges()).toBe(0);
  return { body, stderr };
}

test('an answer with our state that names another issuer ends the sign-in; page and terminal name it and --issuer', async () => {
  const { body, stderr } = await endsWith('https://evil.example/?<b>&"');
  expect(body).toContain(
    '<p>The answer names another identity provider than expected. If it is yours, give its name with --issuer.</p>\n' +
      '<p>It names the issuer https://evil.example/?&#60;b&#62;&#38;&#34;.</p>\n',
  );
  expect(stderr).toContain(
    `error: the answer to the sign-in names the issuer https://evil.example/?<b>&", not ${at.sandbox.settings.issuer}\n` +
      '  another provider may have answered in place of yours (a mix-up attack, RFC 9207)\n' +
      'next: if that is your provider, give what it names with --issuer; otherwise check --auth-url\n',
  );
});

test("an error of another issuer is not mistaken for our provider's error", async () => {
  const { stderr } = await endsWith('https://evil.example', { error: 'access_denied', code: undefined });
  expect(stderr).not.toContain('access_denied');
});

test('an issuer that differs only by a slash is another issuer', async () => {
  await endsWith(`${at.sandbox.settings.issuer}/`);
});

test('an answer with our state that names no issuer ends the sign-in and names --issuer none', async () => {
  const { body, stderr } = await endsWith(undefined);
  expect(body).toContain('<p>It names no issuer.</p>');
  expect(stderr).toContain(
    `error: the answer to the sign-in names no issuer, not ${at.sandbox.settings.issuer}\n`,
  );
  expect(stderr).toContain('next: if your provider names none, run the same command with --issuer none\n');
});

test.each(['code', 'state', 'iss', 'anything'])('a redirect with two of %s is rejected', async (name) => {
  await survives((redirect) => {
    const twice = new URL(redirect);
    twice.searchParams.append(name, 'x');
    twice.searchParams.append(name, 'x');
    return ask(twice);
  }, 400);
});

test('a redirect without code and error is rejected', async () => {
  await survives((redirect) => ask(changed(redirect, { code: undefined })), 400);
});

test('a redirect with an empty code is rejected', async () => {
  await survives((redirect) => ask(changed(redirect, { code: '' })), 400);
});

test('an answer of the implicit flow is rejected', async () => {
  await survives((redirect) => ask(changed(redirect, { id_token: 'x' })), 400);
});

test.each(['evil.example', 'localhost', '127.0.0.1', '127.0.0.1:1'])(
  'a good redirect with the Host %j is rejected',
  async (host) => {
    await survives((redirect) => ask(redirect, { headers: { host } }), 400);
  },
);

test.each(['POST', 'PUT', 'OPTIONS', 'DELETE'])('a good redirect by %s is rejected', async (method) => {
  await survives((redirect) => ask(redirect, { method }), 405);
});

test('a HEAD request of a good redirect does not use it up', async () => {
  await survives(
    async (redirect) => ({ ...(await ask(redirect, { method: 'HEAD' })), body: turnedAway }),
    405,
  );
});

test('a good redirect that arrives twice is exchanged once, and both requests get the same page', async () => {
  at.sandbox.control.fault('token', { kind: 'slow', ms: 500 });
  const { program, authorizeUrl } = await at.login();
  const redirect = await redirectOf(authorizeUrl);
  const [first, second, other] = await Promise.all([
    visit(redirect),
    visit(redirect),
    visit(changed(redirect, { code: 'another' })),
  ]);
  expect(await program.finished).toMatchObject({ code: 0 });
  expect(at.exchanges()).toBe(1);
  expect(first.body).toContain('<h1>Signed in</h1>');
  expect([second.body, other.body]).toEqual([first.body, first.body]);
});

test('the page is static, is not cached and runs no script', async () => {
  const { program, authorizeUrl } = await at.login();
  const redirect = await redirectOf(authorizeUrl);
  const { status, headers, body } = await visit(redirect);
  expect(status).toBe(200);
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringMatching(
      /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    ),
    connection: 'close',
  });
  for (const value of redirect.searchParams.values()) expect(body).not.toContain(value);
  expect(body).not.toMatch(/<script|https?:/);
  await program.finished;
});

test('the process ends while a browser keeps idle sockets open', async () => {
  const { program, authorizeUrl } = await at.login();
  const { port } = new URL(authorizeUrl.searchParams.get('redirect_uri') ?? '');
  const idle = [1, 2, 3].map(() => connect(Number(port), '127.0.0.1').on('error', () => undefined));
  const half = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  await Promise.all([...idle, half].map((socket) => once(socket, 'connect')));
  half.write('GET /callback?');
  await visit(authorizeUrl);
  // The server's time-out for half a request is 60 s, so the test would time out if the connection were not closed.
  expect(await program.finished).toMatchObject({ code: 0 });
  for (const socket of [...idle, half]) socket.destroy();
});

test('the process ends although the redirect came behind another request on its connection', async () => {
  const { program, authorizeUrl } = await at.login();
  const { pathname, search, host, port } = await redirectOf(authorizeUrl);
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  const stray = `GET /favicon.ico HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  socket.resume().write(`${stray}GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  expect(await program.finished).toMatchObject({ code: 0 });
  socket.destroy();
});

test('the port is free as soon as the program has ended', async () => {
  await using at = await startSigningIn({}, { port: await freePort() });
  await at.run(['login']);
  const server = createServer().listen(Number(new URL(at.redirectUri).port), '127.0.0.1');
  await once(server, 'listening');
  server.close();
});

test('a failed exchange is reported in the browser and on the terminal', async () => {
  at.sandbox.control.fault('token', { kind: 'status', status: 400, body: '{"error":"invalid_grant"}' });
  const { program, authorizeUrl } = await at.login();
  expect((await visit(authorizeUrl)).body).toContain('<h1>Not signed in</h1>');
  const { code, stderr } = await program.finished;
  expect(code).toBe(4);
  expect(stderr).toContain('invalid_grant');
});

test('a refusal of the provider ends the sign-in with its error and description', async () => {
  const { program, authorizeUrl } = await at.login();
  const refused = changed(await redirectOf(authorizeUrl), {
    code: undefined,
    error: 'access_denied',
    error_description: 'the sign-in was cancelled',
  });
  expect((await visit(refused)).body).toContain('The sign-in was refused.');
  const { code, stderr } = await program.finished;
  expect(code).toBe(4);
  expect(stderr).toContain(
    'error: the sign-in was refused: access_denied\n  the sign-in was cancelled\nnext: sign in again and allow the access\n',
  );
  expect(at.exchanges()).toBe(0);
});

test('SIGINT ends the wait with 130, SIGTERM with 143', async () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const { program } = await at.login();
    program.kill(signal);
    expect(await program.finished).toMatchObject({ code, stdout: '' });
  }
});

test.each([
  ['Sec-Purpose', 'prefetch'],
  ['sec-purpose', 'prefetch;prerender'],
  ['Purpose', 'prefetch'],
  ['X-Moz', 'prefetch'],
])('a prefetch of a good redirect (%s: %s) does not use it up', async (name, value) => {
  await survives((redirect) => ask(redirect, { headers: { [name]: value } }), 400);
});

const expected = { state: 'the-state', issuer: 'https://id.example', clientId: 'me' };
const anyPort = { text: 'http://127.0.0.1:0/callback', url: new URL('http://127.0.0.1:0/callback') };
const nobody = () => undefined;
const good = { state: expected.state, iss: expected.issuer, code: 'abc' };

test('a browser is not kept waiting for an exchange that takes too long', async () => {
  const port = await listenForRedirect(anyPort);
  const waited: number[] = [];
  const clock = { sleep: async (milliseconds: number) => void waited.push(milliseconds) };
  const reception = receiveRedirect(port, expected, clock, nobody);
  const { body } = await ask(changed(port.redirectUri.url, good));
  expect(body).toContain('The terminal finishes the sign-in.');
  expect(waited[0]).toBe(10_000);
  expect(await reception.answer).toMatchObject({ kind: 'code' });
  await reception.conclude('signedIn');
  // A reload between the outcome and the end of the program sees the outcome.
  expect((await ask(changed(port.redirectUri.url, good))).body).toContain('<h1>Signed in</h1>');
  port.close();
});

test('the first of two answers counts, whatever the second says', async () => {
  const port = await listenForRedirect(anyPort);
  const reception = receiveRedirect(port, expected, { sleep: async () => undefined }, nobody);
  await ask(changed(port.redirectUri.url, good));
  await ask(changed(port.redirectUri.url, { ...good, code: undefined, error: 'access_denied' }));
  expect(await reception.answer).toMatchObject({ kind: 'code' });
  port.close();
});

test('a tab that was reloaded while the code was exchanged gets the outcome', async () => {
  const port = await listenForRedirect(anyPort);
  clock.skips = 0;
  const reception = receiveRedirect(port, expected, clock, nobody);
  const first = new AbortController();
  const url = changed(port.redirectUri.url, good);
  const left = fetch(url, { signal: first.signal }).catch((error: Error) => error.name);
  await reception.answer;
  // The reload closes the first connection before it opens another.
  first.abort();
  expect(await left).toBe('AbortError');
  // By the time that a later request is answered, the listener has seen that.
  expect((await ask(new URL('/favicon.ico', url))).status).toBe(404);
  const concluded = reception.conclude('signedIn').then(() => port.close());
  expect((await ask(url)).body).toContain('<h1>Signed in</h1>');
  await concluded;
});

const hasIpv6 = Object.values(os.networkInterfaces())
  .flat()
  .some((address) => address?.address === '::1');

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

test.each(['127.0.0.1', '[::1]'])('a redirect URI on localhost is answered on %s', async (address) => {
  if (address === '[::1]' && !hasIpv6) return;
  await using at = await startSigningIn({}, { host: 'localhost' });
  const { program, authorizeUrl } = await at.login();
  const redirect = await redirectOf(authorizeUrl);
  expect((await ask(...through(address, redirect))).status).toBe(200);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('a program on the other address family of localhost counts as a taken port', async ({ skip }) => {
  skip(!hasIpv6, 'this machine has no IPv6');
  await using at = await startSigningIn({}, { host: 'localhost', port: await freePort() });
  const port = Number(new URL(at.redirectUri).port);
  const neighbour = await occupy(port, '::1');
  const { code, stderr } = await at.run(['login', '--no-browser']);
  neighbour.close();
  expect(code).toBe(2);
  expect(stderr).toContain(
    `error: cannot wait for the sign-in on localhost:${port}: port ${port} of localhost is taken by another program\n`,
  );
  expect(stderr).toContain('--redirect-uri');
});

test('a taken port is an error that names --redirect-uri', async () => {
  await using at = await startSigningIn({}, { port: await freePort() });
  const port = Number(new URL(at.redirectUri).port);
  const neighbour = await occupy(port, '127.0.0.1');
  const result = await at.run(['login', '--no-browser']);
  neighbour.close();
  expect(result).toEqual({
    code: 2,
    stdout: '',
    stderr:
      `error: cannot wait for the sign-in on 127.0.0.1:${port}: port ${port} of 127.0.0.1 is taken by another program\n` +
      'next: give another address with --redirect-uri (it has to be registered for the client), or use --paste\n',
  });
});

test('the listener is not reached from outside loopback', async ({ skip }) => {
  const outside = Object.values(os.networkInterfaces())
    .flat()
    .find((address) => address && !address.internal && address.family === 'IPv4')?.address;
  skip(!outside, 'this machine has no address but loopback');
  await using at = await startSigningIn();
  const { program, authorizeUrl } = await at.login();
  const redirect = await redirectOf(authorizeUrl);
  await expect(ask(...through(outside as string, redirect))).rejects.toThrow('ECONNREFUSED');
  program.kill('SIGTERM');
  await program.finished;
});

test('port 0 of the redirect URI becomes a free port', async () => {
  await using at = await startSigningIn();
  const { program, authorizeUrl } = await at.login(['--redirect-uri', 'http://127.0.0.1:0/callback']);
  const redirect = await redirectOf(authorizeUrl);
  expect(Number(redirect.port)).toBeGreaterThan(0);
  expect((await ask(redirect)).status).toBe(200);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test.each([
  'http://127.0.0.1:8976',
  'http://LOCALHOST:8976/x',
  'http://127.0.0.1:80/callback',
  'https://app.example.com',
])('the redirect URI %s is sent as it was typed', async (redirectUri) => {
  await using at = await startSigningIn();
  const { searchParams } = await at.authorizeUrl(['--paste', '--redirect-uri', redirectUri]);
  expect(searchParams.get('redirect_uri')).toBe(redirectUri);
});

test('a redirect URI that does not lead back here needs --paste', async () => {
  await using at = await startSigningIn();
  expect(await at.run(['login', '--redirect-uri', 'https://app.example/callback'])).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'error: --redirect-uri: https://app.example/callback does not lead back to this machine\n' +
      'next: use --paste, and paste the URL that the browser ends up at\n',
  });
});
