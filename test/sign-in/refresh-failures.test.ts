import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { forEachTest } from '../support/each-test.ts';
import type { Fault } from '../support/sandbox.ts';
import { onLoopback } from '../support/server.ts';
import { type Refreshing, startRefreshing } from '../support/signing-in.ts';

const token = (at: Refreshing, ...args: string[]) => at.run(['token', ...args]);

const at = forEachTest(startRefreshing);

test('503 is an error that keeps the sign-in and is not repeated', async () => {
  at.sandbox.control.fault('token', { kind: 'status', status: 503, body: 'down for maintenance' });
  expect(await token(at)).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: refreshing the sign-in failed: the identity provider answered 503\n  down for maintenance\n' +
      'next: run the command again later: the sign-in is kept\n',
  });
  expect(at.sandbox.log.filter(({ method, status }) => method === 'POST' && status === 503)).toHaveLength(1);
  expect((await token(at)).code).toBe(0);
});

test('an answer that is no JSON says what came, not its text, and that the sign-in may be kept', async () => {
  const body = '<!doctype html><title>Portal</title>';
  at.sandbox.control.fault('token', {
    kind: 'status',
    status: 200,
    body,
    headers: { 'content-type': 'text/html' },
  });
  expect(await token(at)).toEqual({
    code: 1,
    stdout: '',
    stderr:
      "error: the identity provider's answer cannot be used: it is not a JSON object\n" +
      '  it has the status 200, text/html, and 36 bytes\n' +
      'next: run the command again to find out whether the sign-in is kept; if this comes again, check --auth-url (HOOKTRAIL_AUTH_URL)\n',
  });
});

test('after a broken connection the refresh is tried only once more', async () => {
  at.sandbox.control.fault('token', { kind: 'reset' }, { kind: 'reset' }, { kind: 'reset' });
  expect(await token(at)).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringContaining('the sign-in is kept'),
  });
  expect(at.sandbox.control.pendingFaults).toBe(1);
});

test('a provider that does not answer is asked once more', async () => {
  const silent: Fault = { kind: 'run', run: () => new Promise(() => undefined) };
  at.sandbox.control.fault('token', silent);
  const context = { requestLimits: { idle: 500 } };
  expect(await at.run(['token'], { context })).toMatchObject({ code: 0, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});

test('a lost answer ends the sign-in, says so, and deletes nothing', async () => {
  const before = await at.stored();
  at.sandbox.control.fault('token', { kind: 'answer-lost' });
  const { code, stderr } = await token(at);
  expect({ code, stderr }).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(
      /^error: the sign-in has ended: the identity provider does not accept the refresh token\n(?:.|\n)*the answer to the previous request was lost(?:.|\n)*\nnext: run `hooktrail login`\n$/,
    ),
  });
  expect(at.refreshes()).toEqual(['ok', 'invalid_grant']);
  expect(await at.stored()).toEqual(before);
});

test('a provider that cannot be reached and one that refuses have different errors', async () => {
  const before = await at.stored();
  await at.sandbox.close();
  expect(await token(at)).toMatchObject({ code: 5, stderr: expect.stringContaining('ECONNREFUSED') });
  expect(await at.stored()).toEqual(before);
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) of the token endpoint sends nothing on',
  async (status) => {
    let reached = 0;
    const foreign = createServer((_request, response) => {
      reached++;
      response.end();
    });
    await using elsewhere = await onLoopback(foreign);
    const location = `${elsewhere.origin}/connect/token`;
    at.sandbox.control.fault('token', { kind: 'status', status, headers: { location } });
    expect(await token(at)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`redirect (${status})`),
    });
    expect(reached).toBe(0);
    expect((await token(at)).code).toBe(0);
  },
);

test('parts of the request that a provider repeats are not shown, even with --debug', async () => {
  let sent = new URLSearchParams();
  at.sandbox.control.fault('token', {
    kind: 'run',
    run: async (request) => {
      sent = new URLSearchParams(await text(request));
      const description = `bad ${sent} or ${sent.get('refresh_token')} with ${sent.get('client_secret')}`;
      at.sandbox.control.fault('token', {
        kind: 'status',
        status: 400,
        body: JSON.stringify({ error: 'invalid_request', error_description: description }),
      });
      request.socket.destroy();
    },
  });
  const { code, stderr } = await token(at, '--debug');
  expect(code).toBe(4);
  expect(stderr).toContain('invalid_request');
  for (const name of ['refresh_token', 'client_secret']) {
    expect(sent.get(name)?.length).toBeGreaterThan(20);
    expect(stderr).not.toContain(sent.get(name));
  }
});

test.each([
  ['text', 'not json'],
  ['an array', '[]'],
])('an answer of %s is an error that does not show it', async (_name, body) => {
  at.sandbox.control.fault('token', { kind: 'status', status: 200, body });
  const { code, stderr } = await token(at);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('identity provider') });
  expect((await token(at)).code).toBe(0);
});

test.each(['invalid_grant', 'bad_refresh_token'])(
  'a refresh that is answered 200 with %s ends the sign-in, and status says so',
  async (error) => {
    const body = JSON.stringify({ error, error_description: 'Grant revoked.' });
    at.sandbox.control.fault('token', { kind: 'status', status: 200, body });
    expect(await token(at)).toEqual({
      code: 4,
      stdout: '',
      stderr:
        'error: the sign-in has ended: the identity provider does not accept the refresh token\n' +
        `  error: ${error}\n  error_description: Grant revoked.\n` +
        'next: run `hooktrail login`\n',
    });
    clock.advance(60_000);
    expect(await at.run(['status'])).toMatchObject({
      code: 4,
      stdout: expect.stringContaining('signed in  no: the sign-in has ended\n'),
      stderr: 'next: run `hooktrail login`\n',
    });
  },
);

test.each([
  [200, 4, 'invalid_client', 'check --client-id, and run `hooktrail login --client-secret-stdin`'],
  [200, 4, 'something_else', 'check the client settings, and run `hooktrail login`'],
  [200, 1, 'temporarily_unavailable', 'run the command again later: the sign-in is kept'],
  [400, 1, 'server_error', 'run the command again later: the sign-in is kept'],
])('%i with an error is that error: exit code %i for %s', async (status, exitCode, error, next) => {
  const body = JSON.stringify({ error, error_description: 'Because of this.' });
  at.sandbox.control.fault('token', { kind: 'status', status, body });
  const { code, stderr } = await token(at);
  expect({ code, stderr }).toEqual({
    code: exitCode,
    stderr: expect.stringContaining(
      `  error: ${error}\n  error_description: Because of this.\nnext: ${next}`,
    ),
  });
  expect((await token(at)).code).toBe(0);
});

test.each([
  [400, 'no'],
  [200, '{"error":{"message":"Bad token","code":190}}'],
  [400, '{"error":"unsupported_grant_type"}'],
  [401, ''],
  [403, '<title>Forbidden</title>'],
])('%i with the body %j is a refusal, which keeps what is stored', async (status, body) => {
  const before = await at.stored();
  at.sandbox.control.fault('token', { kind: 'status', status, body });
  const { code, stderr } = await token(at);
  expect({ code, stderr }).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/^error: refreshing the sign-in was refused by the identity provider/),
  });
  expect(await at.stored()).toEqual(before);
  expect((await token(at)).code).toBe(0);
});

test('a byte order mark before the answer does no harm', async () => {
  const body = `\ufeff${JSON.stringify({ access_token: 'new', token_type: 'Bearer', refresh_token: 'r', expires_in: 1800 })}`;
  at.sandbox.control.fault('token', { kind: 'status', status: 200, body });
  expect(await token(at)).toEqual({ code: 0, stdout: 'new\n', stderr: '' });
});

test.each([
  ['none', undefined, 1800],
  ['no number', 'soon', 1800],
  ['a number as text', '600', 600],
  ['less than nothing', -5, 0],
  ['more than dates can hold', 1e300, 3_155_760_000],
])('a lifetime of %s is interpreted as far as possible', async (_name, expires_in, seconds) => {
  const grant = { access_token: 'new', token_type: 'Bearer', refresh_token: 'r', expires_in };
  at.sandbox.control.fault('token', { kind: 'status', status: 200, body: JSON.stringify(grant) });
  expect(await token(at)).toMatchObject({ code: 0, stdout: 'new\n' });
  const { code, stdout } = await at.run(['status', '--json']);
  expect(code).toBe(0);
  expect(Date.parse(JSON.parse(stdout).expiresAt)).toBe(clock.now() + seconds * 1000);
});

test.each([
  ['no access token', { access_token: undefined }],
  ['an empty access token', { access_token: '' }],
  ['an access token that is not a string', { access_token: 42 }],
  ['an access token for no header', { access_token: 'a\nb' }],
  ['a token type that is not known', { token_type: 'mac' }],
  ['a token type that needs a proof of possession', { token_type: 'DPoP' }],
  ['a token type that is not a string', { token_type: 1 }],
])('%s fails the command, but does not lose the new refresh token', async (_name, change) => {
  const newest = { refresh_token: 'the-new-one', access_token: 'unusable', token_type: 'Bearer', ...change };
  at.sandbox.control.fault('token', { kind: 'status', status: 200, body: JSON.stringify(newest) });
  const { code, stdout, stderr } = await token(at);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^error: refreshing the sign-in failed: the identity provider's answer cannot be used: /,
  );
  expect(stderr).toContain('next: run the command again later: the sign-in is kept\n');
  expect(stderr).not.toContain('the-new-one');
  let spent: string | null = null;
  at.sandbox.control.fault('token', {
    kind: 'run',
    run: async (request) => {
      spent = new URLSearchParams(await text(request)).get('refresh_token');
      request.socket.destroy();
    },
  });
  await token(at);
  expect(spent).toBe('the-new-one');
});

test('the error for a wrong client secret says to check it', async () => {
  const result = await at.run(['token'], { env: { ...at.env, HOOKTRAIL_CLIENT_SECRET: 'wrong-secret' } });
  expect(result).toMatchObject({ code: 4, stderr: expect.stringContaining('the right client secret') });
  expect(result.stderr).not.toContain('wrong-secret');
});

test('after invalid_grant ten parallel commands send the dead token once, and it is tried again after a minute', async () => {
  at.sandbox.control.revokeGrants();
  const ends = await Promise.all(Array.from({ length: 10 }, () => at.run(['token'])));
  expect(new Set(ends.map(({ stderr }) => stderr)).size).toBe(1);
  expect(ends[0]).toMatchObject({ code: 4, stderr: expect.stringContaining('invalid_grant') });
  expect(at.refreshes()).toEqual(['invalid_grant']);
  clock.advance(61_000);
  expect((await at.run(['token'])).code).toBe(4);
  expect(at.refreshes()).toEqual(['invalid_grant', 'invalid_grant']);
  await at.signIn();
  expect((await at.run(['token'])).code).toBe(0);
});
