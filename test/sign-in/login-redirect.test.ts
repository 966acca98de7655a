import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { changed, redirectOf, visit } from '../support/browser.ts';
import { freePort } from '../support/ports.ts';
import { ask } from '../support/server.ts';
import { startSigningIn, useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

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

test("the provider's error is shown with its description even if the answer names no issuer", async () => {
  const { program, authorizeUrl } = await at.login();
  const error = { error: 'access_denied', error_description: 'No access for you.', code: undefined };
  await visit(changed(await redirectOf(authorizeUrl), { iss: undefined, ...error }));
  expect(await program.finished).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(
      'error: the sign-in was refused: access_denied\n  No access for you.\nnext: sign in again and allow the access\n',
    ),
  });
});

test('what is refused at the redirect is reported once for each kind, and the wait goes on', async () => {
  const { program, authorizeUrl } = await at.login();
  const redirect = await redirectOf(authorizeUrl);
  const { host } = redirect;
  const error = { error: 'invalid_scope', error_description: 'Unknown\nscope.', code: undefined };
  const send = (parameters: Record<string, string | undefined>, request = {}) =>
    ask(changed(redirect, parameters), request);
  for (let round = 0; round < 2; round++) {
    await send({ ...error, state: undefined });
    await send({ state: 'of another tab' });
    await send({}, { method: 'POST' });
    await send({}, { target: `${redirect.pathname}${redirect.search}&code=two` });
    await send({}, { headers: { host: `localhost:${redirect.port}` } });
    await send({}, { target: `${redirect.pathname}/${redirect.search}` });
    await send({}, { target: '/favicon.ico' });
    await send({}, { headers: { cookie: 'x'.repeat(70_000) } });
  }
  await visit(redirect);
  const { code, stderr } = await program.finished;
  expect({ code, warnings: stderr.split('\n').filter((line) => line.startsWith('warning')) }).toEqual({
    code: 0,
    warnings: [
      `a GET of ${host}/callback with the error invalid_scope (Unknown\\u000ascope.): it has no state`,
      `a GET of ${host}/callback: its state does not match this sign-in (an old tab?)`,
      `a POST of ${host}/callback: the answer has to be a GET (response_mode=query)`,
      `a GET of ${host}/callback: a parameter appears more than once`,
      `a GET of localhost:${redirect.port}/callback: its host is not ${host} (--redirect-uri)`,
      `a GET of ${host}/callback/: its path is not /callback (--redirect-uri)`,
      'a request with more than 64 KB of headers: delete the cookies that the browser has for 127.0.0.1',
    ].map((line) => `warning: refused ${line}; login still waits`),
  });
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

test('the process ends while a browser keeps idle sockets open', async () => {
  const { program, authorizeUrl } = await at.login();
  const { port } = new URL(authorizeUrl.searchParams.get('redirect_uri') ?? '');
  const idle = [1, 2, 3].map(() => connect(Number(port), '127.0.0.1').on('error', () => undefined));
  const half = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  await Promise.all([...idle, half].map((socket) => once(socket, 'connect')));
  half.write('GET /callback?');
  await visit(authorizeUrl);
  // The server's time-out for half a request is 60 s, so the test would time out if the connection were not
  // closed.
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

test('a taken port is an error that names --redirect-uri', async () => {
  await using at = await startSigningIn({}, { port: await freePort() });
  const port = Number(new URL(at.redirectUri).port);
  const neighbour = createServer().listen(port, '127.0.0.1');
  await once(neighbour, 'listening');
  const result = await at.run(['login', '--no-browser']);
  neighbour.close();
  expect(result).toEqual({
    code: 2,
    stdout: '',
    stderr:
      `error: cannot wait for the sign-in on 127.0.0.1:${port}: port ${port} of 127.0.0.1 is taken by another program, such as a \`hooktrail login\` that still waits\n` +
      'next: give another address with --redirect-uri (it has to be registered for the client), or use --paste\n',
  });
});

test.each(['http://127.0.0.1:8976', 'http://127.0.0.1:80/callback', 'https://app.example.com'])(
  'the redirect URI %s is sent as it was typed',
  async (redirectUri) => {
    const { searchParams } = await at.authorizeUrl(['--paste', '--redirect-uri', redirectUri]);
    expect(searchParams.get('redirect_uri')).toBe(redirectUri);
  },
);
