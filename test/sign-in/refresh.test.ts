import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { type Refreshing, startRefreshing, startSigningIn } from '../support/signing-in.ts';

const token = (at: Refreshing, extra: Record<string, string | undefined> = {}) =>
  at.run(['token'], { env: { ...at.env, ...extra } });

const at = forEachTest(startRefreshing);

test('a token that ends within a minute is refreshed, and the new one serves without another refresh', async () => {
  const first = await token(at);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(await token(at)).toEqual(first);
  expect(at.refreshes()).toEqual(['ok']);
});

test('40 commands at once make one refresh', { timeout: 120_000 }, async () => {
  const results = await Promise.all(Array.from({ length: 40 }, () => token(at)));
  expect(new Set(results.map(({ code, stderr }) => `${code} ${stderr}`))).toEqual(new Set(['0 ']));
  expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
  expect(at.refreshes()).toEqual(['ok']);
});

test('commands with other homes, XDG folders, temporary folders and working directories share the lock', async () => {
  const results = await Promise.all(
    ['a', 'b', 'c', 'd', 'e', 'f'].map(async (name) => {
      const folder = path.join(at.home.folder, name);
      await mkdir(folder);
      const moved = {
        HOME: folder,
        XDG_CONFIG_HOME: folder,
        XDG_RUNTIME_DIR: folder,
        XDG_STATE_HOME: folder,
        TMPDIR: folder,
      };
      return await at.run(['token'], { env: { ...at.env, ...moved }, cwd: folder });
    }),
  );
  expect(new Set(results.map(({ code }) => code))).toEqual(new Set([0]));
  expect(at.refreshes()).toEqual(['ok']);
});

test('commands with other homes in the user database, as in containers that share a volume, share the lock', async () => {
  at.sandbox.control.fault('token', { kind: 'slow', ms: 300 });
  const results = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async (name) => {
      const folder = path.join(at.home.folder, name);
      await mkdir(folder);
      return await token(at, { HOOKTRAIL_TEST_HOME: folder });
    }),
  );
  expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(Array(4).fill([0, '']));
  expect(at.refreshes()).toEqual(['ok']);
});

test('many commands make one refresh even if every new token is due at once', async () => {
  at.sandbox.control.behaviour.tokenLifetimeSeconds = 30;
  at.sandbox.control.fault('token', { kind: 'slow', ms: 1500 });
  const results = await Promise.all(Array.from({ length: 6 }, () => token(at)));
  expect(new Set(results.map(({ code }) => code))).toEqual(new Set([0]));
  expect(at.refreshes()).toEqual(['ok']);
});

test('each refresh uses the token of the one before', async () => {
  at.sandbox.control.behaviour.tokenLifetimeSeconds = 30;
  for (let i = 0; i < 3; i++) expect((await token(at)).code).toBe(0);
  expect(at.refreshes()).toEqual(['ok', 'ok', 'ok']);
});

test('an answer without a refresh token keeps the old one', async () => {
  const body = JSON.stringify({ access_token: 'short-lived', expires_in: 5, token_type: 'Bearer' });
  at.sandbox.control.fault('token', { kind: 'status', status: 200, body });
  expect(await token(at)).toEqual({ code: 0, stdout: 'short-lived\n', stderr: '' });
  expect((await token(at)).code).toBe(0);
  expect(at.refreshes()).toEqual(['ok']);
});

test.each([
  ['the lifetime as text', { expires_in: '1800', token_type: 'Bearer' }],
  ['the type in another case', { expires_in: 1800, token_type: 'bEARER' }],
  ['no lifetime', { token_type: 'Bearer' }],
  ['members of other types', { expires_in: null, token_type: 'Bearer', scope: ['event_api'], id_token: 7 }],
])('an answer with %s is accepted', async (_name, members) => {
  const body = JSON.stringify({ access_token: 'granted', refresh_token: 'next', ...members });
  at.sandbox.control.fault('token', { kind: 'status', status: 200, body });
  const taken = { code: 0, stdout: 'granted\n', stderr: '' };
  expect(await token(at)).toEqual(taken);
  expect(await token(at)).toEqual(taken);
});

test('HOOKTRAIL_ACCESS_TOKEN wins over the stored token, is used unchanged, and nothing is requested or stored', async () => {
  const before = await at.stored();
  expect(await token(at, { HOOKTRAIL_ACCESS_TOKEN: 'given' })).toEqual({
    code: 0,
    stdout: 'given\n',
    stderr: '',
  });
  const refused = await token(at, { HOOKTRAIL_ACCESS_TOKEN: 'sec ret\nx: y' });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('HOOKTRAIL_ACCESS_TOKEN') });
  expect(refused.stderr).not.toContain('sec ret');
  expect(at.refreshes()).toEqual([]);
  expect(await at.stored()).toEqual(before);
});

test('another service, provider or client gets no stored token', async () => {
  for (const [name, value] of [
    ['HOOKTRAIL_BASE_URL', 'https://127.0.0.1:9/elsewhere'],
    ['HOOKTRAIL_AUTH_URL', 'https://127.0.0.1:9/elsewhere'],
    ['HOOKTRAIL_CLIENT_ID', 'somebody-else'],
  ] as const) {
    const { code, stdout, stderr } = await token(at, { [name]: value });
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain(`${value} (from ${name})`);
  }
  expect(at.refreshes()).toEqual([]);
});

test('a token that cannot be renewed is used to its end', async () => {
  await using at = await startSigningIn({ tokenLifetimeSeconds: 30 });
  const env = { ...at.env, HOOKTRAIL_SCOPE: 'event_api' };
  expect((await at.run(['login'], { env })).code).toBe(0);
  expect(await at.run(['event-types', '--json'])).toMatchObject({ code: 0, stderr: '' });
  expect((await at.run(['token'])).code).toBe(0);
});
