import { afterEach, beforeEach, expect, test } from 'vitest';
import { resolveSettings } from '../../src/settings/settings.ts';
import { checkResponse, expectedOf } from '../../src/sign-in/authorization.ts';
import { changed, redirectOf, visit } from '../support/browser.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

let at: SigningIn;
beforeEach(async () => {
  at = await startSigningIn();
});
afterEach(() => at[Symbol.asyncDispose]());

test.each([
  ['https://id.example/', 'https://id.example/'],
  ['https://id.example/', 'https://id.example'],
  ['https://id.example:443', 'https://id.example:443'],
  ['https://id.example/tenant/', 'https://id.example/tenant/'],
])('with the auth URL %s the issuer may be %s', async (authUrl, iss) => {
  const config = { version: 1, profiles: {} } as const;
  const settings = resolveSettings({ authUrl, clientId: 'me' }, {}, config, ['authUrl', 'clientId']);
  const parameters = new URLSearchParams({ state: 'the-state', iss, error: 'access_denied' });
  const expected = { state: 'the-state', ...expectedOf(settings) };
  expect(await checkResponse(parameters, expected)).toMatchObject({
    kind: 'refused',
    error: 'access_denied',
  });
});

test('everything that is missing is named at once', async () => {
  expect(await at.run(['login'], { env: at.home.env })).toEqual({
    code: 2,
    stdout: '',
    stderr: [
      'error: settings are missing',
      '  --auth-url or HOOKTRAIL_AUTH_URL: identity provider',
      '  --base-url or HOOKTRAIL_BASE_URL: event service',
      '  --client-id or HOOKTRAIL_CLIENT_ID: client id',
      '  --vendor or HOOKTRAIL_VENDOR: vendor of the media type',
      '  --client-secret-stdin or HOOKTRAIL_CLIENT_SECRET: client secret',
      'next: give them as flags or variables, or run `hooktrail login` on a terminal and be asked',
      '',
    ].join('\n'),
  });
});

test('if only the client secret is missing, it is named', async () => {
  const env = { ...at.env, HOOKTRAIL_CLIENT_SECRET: undefined };
  expect(await at.run(['login'], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'error: a setting is missing\n  --client-secret-stdin or HOOKTRAIL_CLIENT_SECRET: client secret\n',
    ),
  });
});

test('the client secret comes from the first line of standard input', async () => {
  const env = { ...at.env, HOOKTRAIL_CLIENT_SECRET: 'wrong' };
  const stdin = `${at.sandbox.settings.clientSecret}\nmore\n`;
  const { program, authorizeUrl } = await at.login(['--client-secret-stdin'], { env, stdin });
  await visit(authorizeUrl);
  expect(await program.finished).toMatchObject({ code: 0 });
});

test('an empty first line is not a client secret', async () => {
  expect(await at.run(['login', '--client-secret-stdin'], { stdin: '\n' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'error: --client-secret-stdin: the first line of standard input is empty\n',
    ),
  });
});

test('--issuer none accepts any issuer, another value only that one', async () => {
  const foreign = { iss: 'https://issuer.example' };
  for (const issuer of ['none', 'https://issuer.example']) {
    const { program, authorizeUrl } = await at.login(['--issuer', issuer]);
    expect((await visit(changed(await redirectOf(authorizeUrl), foreign))).status).toBe(200);
    expect(await program.finished).toMatchObject({ code: 0 });
    expect((await at.run(['config', 'get', 'issuer'])).stdout).toBe(`${issuer}\n`);
  }
});

test.each([
  [
    ['--timeout', '0'],
    "error: --timeout: invalid value '0': must be a length of time such as 15s, 2m or 1h, from 1s to 1d\n",
  ],
  [['--timeout', 'soon'], "error: --timeout: invalid value 'soon'"],
  [
    ['--auth-url', 'http://id.example'],
    "error: --auth-url: invalid value 'http://id.example': must be an https: URL",
  ],
  [['--redirect-uri', 'callback'], "error: --redirect-uri: invalid value 'callback'"],
  [['--issuer', 'me'], "error: --issuer: invalid value 'me'"],
  [['--scope', ''], "error: --scope: invalid value ''"],
  [['--store', 'keychian'], 'next: hooktrail login --store keychain'],
  [['--profile', '../x'], "error: --profile: invalid value '../x'"],
  [['--client-secret', 'x'], '--client-secret: a secret is never an argument'],
  [['--no-browsre'], 'next: hooktrail login --no-browser'],
])('%j is a usage error', async (args, message) => {
  const result = await at.run(['login', ...args]);
  expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
});

test('a wrong client secret is named as the cause, with how to give another', async () => {
  const { program, authorizeUrl } = await at.login([], {
    env: { ...at.env, HOOKTRAIL_CLIENT_SECRET: 'wrong' },
  });
  await visit(authorizeUrl);
  const { code, stderr } = await program.finished;
  expect(code).toBe(4);
  expect(stderr).toContain('invalid_client');
  expect(stderr).toContain('login --client-secret-stdin');
  expect(stderr).not.toContain('wrong');
});
