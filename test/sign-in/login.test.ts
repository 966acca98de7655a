import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { resolveSettings } from '../../src/settings/settings.ts';
import { checkResponse, expectedOf } from '../../src/sign-in/authorization.ts';
import { changed, redirectOf, visit } from '../support/browser.ts';
import { clock } from '../support/clock.ts';
import { thisMachine } from '../support/context.ts';
import { startHooktrail } from '../support/program.ts';
import { editJson } from '../support/sandbox.ts';
import { sampleOf } from '../support/seed.ts';
import { startRefreshing, useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

const configOf = async () =>
  JSON.parse(await readFile(path.join(at.home.folder, 'config', 'config.json'), 'utf8'));

test('the authorization request has the parameters that the service and the standards require', async () => {
  const authorizeUrl = await at.authorizeUrl();
  const { authUrl, clientId } = at.sandbox.settings;
  expect(authorizeUrl.origin + authorizeUrl.pathname).toBe(`${authUrl}/connect/authorize`);
  expect([...authorizeUrl.searchParams]).toEqual([
    ['client_id', clientId],
    ['grant_type', 'authorization_code'],
    ['response_type', 'code'],
    ['redirect_uri', expect.stringMatching(/^http:\/\/127\.0\.0\.1:[1-9]\d*\/callback$/)],
    ['scope', 'event_api offline_access'],
    // 256 bits in base64url.
    ['state', expect.stringMatching(/^[\w-]{43}$/)],
    ['code_challenge', expect.stringMatching(/^[\w-]{43}$/)],
    ['code_challenge_method', 'S256'],
  ]);
  // A provider that decodes only by RFC 3986 would read a plus sign.
  expect(authorizeUrl.search).toContain('&scope=event_api%20offline_access&');
});

test('two sign-ins share neither state nor challenge', async () => {
  const [first, second] = [await at.authorizeUrl(), await at.authorizeUrl()];
  for (const name of ['state', 'code_challenge']) {
    expect(first.searchParams.get(name)).not.toBe(second.searchParams.get(name));
  }
});

test('signing in saves the profile and leaves standard output empty', async () => {
  const { code, stdout, stderr } = await at.run(['login']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  const { authUrl, baseUrl, clientId, vendor } = at.sandbox.settings;
  expect(stderr).toContain(
    `Signed in at ${authUrl}\n  profile   default\n  service   ${baseUrl}\n  token     for 30 minutes, renewed when needed\n  secrets   `,
  );
  expect(await configOf()).toEqual({
    version: 1,
    profile: 'default',
    profiles: {
      default: {
        'auth-url': authUrl,
        'base-url': baseUrl,
        'client-id': clientId,
        vendor,
        'redirect-uri': at.redirectUri,
        store: 'file',
      },
    },
  });
  // From here on, only the home's own variables are needed.
  expect((await at.run(['token'], { env: at.home.env })).code).toBe(0);
});

test('the first profile becomes the one of commands without --profile, and that is said', async () => {
  const { stderr } = await at.run(['login', '--profile', 'staging']);
  expect(stderr).toContain('  profile   staging, which commands without --profile use from now on\n');
  expect((await at.run(['login', '--profile', 'other'])).stderr).toContain('  profile   other\n');
});

test('signing in again uses the stored client secret and settings', async () => {
  await at.signIn();
  expect(await at.run(['login'], { env: at.home.env })).toMatchObject({ code: 0 });
});

test('the next step after a stored client secret that has been replaced is a login that takes the new one', async () => {
  await at.signIn();
  at.sandbox.control.fault('token', { kind: 'status', status: 401, body: '{"error":"invalid_client"}' });
  const { stderr } = await at.run(['login'], { env: at.home.env });
  const [, flag = ''] =
    / and run the same command with (\S+) and the right client secret\n$/.exec(stderr) ?? [];
  const { clientSecret } = at.sandbox.settings;
  expect(await at.run(['login', flag], { env: at.home.env, stdin: `${clientSecret}\n` })).toMatchObject({
    code: 0,
  });
});

test('signing in again replaces the stored tokens', async () => {
  await at.signIn();
  const first = await at.run(['token']);
  await at.signIn();
  expect((await at.run(['token'])).stdout).not.toBe(first.stdout);
});

test('a sign-in without a refresh token deletes an earlier one', async () => {
  await at.signIn();
  at.sandbox.control.behaviour.refreshTokens = false;
  expect((await at.run(['login'])).stderr).toContain('then sign in again (no refresh token was granted)');
  const { stderr } = await at.run(['login', '--scope', 'event_api']);
  expect(stderr).toContain('then sign in again (no refresh token was asked for by --scope)');
  expect(JSON.parse((await at.run(['status', '--json'])).stdout)).toMatchObject({
    signedIn: true,
    renewable: false,
  });
});

test('login points out a token in the environment', async () => {
  const env = { ...at.env, HOOKTRAIL_ACCESS_TOKEN: 'a-token-of-the-environment' };
  const { code, stderr } = await at.run(['login'], { env });
  expect(code).toBe(0);
  expect(stderr).toContain(
    'warning: HOOKTRAIL_ACCESS_TOKEN is set: commands use it instead of this sign-in\n',
  );
  expect(stderr).not.toContain('a-token-of-the-environment');
});

test('nothing is stored when the sign-in fails', async () => {
  at.sandbox.control.fault('token', { kind: 'status', status: 400, body: '{"error":"invalid_grant"}' });
  expect(await at.run(['login'])).toMatchObject({ code: 4 });
  expect(await readdir(path.join(at.home.folder, 'config')).catch(() => [])).not.toContain('config.json');
  expect((await at.run(['status'])).code).toBe(4);
});

test('a second profile does not become the default', async () => {
  await at.signIn();
  await at.run(['login', '--profile', 'staging']);
  expect(await configOf()).toMatchObject({ profile: 'default', profiles: { staging: { store: 'file' } } });
});

test('signing in again keeps the other settings of the profile', async () => {
  await at.signIn();
  await at.run(['config', 'set', 'timezone', 'Europe/Berlin']);
  await at.signIn();
  expect(await configOf()).toMatchObject({ profiles: { default: { timezone: 'Europe/Berlin' } } });
});

test('the store is saved even if it is the default', async () => {
  const { HOOKTRAIL_STORE: _, ...env } = at.env;
  const machine = { ...thisMachine(), platform: 'darwin' as const };
  expect((await at.run(['login'], { env, context: { machine } })).code).toBe(0);
  expect(await configOf()).toMatchObject({ profiles: { default: { store: 'keychain' } } });
});

test('an interrupt waits until the tokens are stored', async () => {
  await using due = await startRefreshing();
  let login: ReturnType<typeof due.start> | undefined;
  due.control.fault('token', {
    kind: 'run',
    run: async () => {
      login = due.start(['login']);
      await expect.poll(() => due.exchanges()).toBe(2);
      // It keeps checking the lock that the refresh holds.
      await clock.slept(20);
      login.kill('SIGINT');
    },
  });
  await due.run(['token']);
  const result = await login?.finished;
  expect(result?.stderr).toContain('Signed in at');
  expect([due.exchanges(), result?.code]).toEqual([2, 130]);
});

test('a new sign-in forgets that an earlier one could not be renewed', async () => {
  await using due = await startRefreshing();
  due.control.fault('token', { kind: 'status', status: 400, body: '{"error":"invalid_grant"}' });
  expect((await due.run(['token'])).code).toBe(4);
  const profile = async () => JSON.parse((await due.run(['profiles', '--json'])).stdout)[0];
  expect(await profile()).toMatchObject({ signedIn: false });
  await due.signIn();
  expect(await profile()).toMatchObject({ signedIn: true });
});

test('an exchange whose connection breaks cannot be repeated: one signs in again', async () => {
  at.sandbox.control.fault('token', { kind: 'reset' });
  expect(await at.run(['login'])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('then run the same command again\n'),
  });
});

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

test('the client secret comes from the first line of standard input', async () => {
  const env = { ...at.env, HOOKTRAIL_CLIENT_SECRET: 'wrong' };
  const stdin = `${at.sandbox.settings.clientSecret}\nmore\n`;
  expect(await at.run(['login', '--client-secret-stdin'], { env, stdin })).toMatchObject({ code: 0 });
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

const elsewhere = 'https://events.example/v2';
const saved = async () => (await configOf()).profiles;

test('without a terminal, the addresses of a profile that is signed in change only with --replace', async () => {
  await at.signIn();
  const { baseUrl } = at.sandbox.settings;
  expect(await at.run(['login', '--base-url', elsewhere])).toEqual({
    code: 2,
    stdout: '',
    stderr:
      "error: the profile 'default' is signed in elsewhere\n" +
      `  event service: ${baseUrl}, would become ${elsewhere}\n` +
      'next: choose another profile with --profile NAME, or replace this one with --replace\n',
  });
  expect((await saved()).default['base-url']).toBe(baseUrl);
  expect(await at.run(['login', '--base-url', elsewhere, '--replace'])).toMatchObject({ code: 0 });
  expect((await saved()).default['base-url']).toBe(elsewhere);
});

test('on a terminal, login asks before it changes them', async () => {
  await at.signIn();
  const env = { ...at.env };
  for (const [answer, code] of [
    ['no', 2],
    ['yes', 0],
  ] as const) {
    const program = startHooktrail(['login', '--base-url', elsewhere], { env, stdin: null, terminal: 200 });
    await program.printed('stderr', /Replace its sign-in\? \(yes or no\)/);
    program.stdin.write(`${answer}\r`);
    expect(await program.finished).toMatchObject({ code });
  }
  expect((await saved()).default['base-url']).toBe(elsewhere);
});

test('after logout they change without a question, and unchanged addresses never need one', async () => {
  await at.signIn();
  await at.signIn();
  await at.run(['logout']);
  expect(await at.run(['login', '--base-url', elsewhere])).toMatchObject({ code: 0 });
});

test('after logout, login needs no address again', async () => {
  await at.signIn();
  await at.run(['logout']);
  const env = { ...at.home.env, HOOKTRAIL_CLIENT_SECRET: at.sandbox.settings.clientSecret };
  expect(await at.run(['login'], { env })).toMatchObject({ code: 0 });
});

test.each([
  ['in another order', 'offline_access event_api'],
  ['with commas', 'event_api,offline_access'],
  ['as a list', ['event_api', 'offline_access']],
  ['without offline_access, beside a refresh token', 'event_api'],
])('scopes that are granted %s are not reported as withheld', async (_, scope) => {
  at.control.fault(
    'token',
    editJson((body) => ({ ...body, scope })),
  );
  const { code, stderr } = await at.run(['login']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('renewed when needed') });
  expect(stderr).not.toContain('not granted');
});

test('a code that is answered 200 with an error is refused with its description', async () => {
  const body = JSON.stringify({ error: 'invalid_client', error_description: 'Unknown client.' });
  at.control.fault('token', { kind: 'status', status: 200, body });
  expect(await at.run(['login'])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(
      'error: the sign-in was refused by the identity provider\n  error: invalid_client\n  error_description: Unknown client.\nnext: check --client-id, and run the same command with --client-secret-stdin and the right client secret\n',
    ),
  });
});

const wrappings: [string, (text: string) => string][] = [
  ['a line end after it', (text) => `${text}\n`],
  ['a carriage return after it', (text) => `${text}\r\n`],
  ['white space around it', (text) => `  ${text}\t`],
  ['double quotes around it', (text) => `"${text}"`],
  ['single quotes around it', (text) => ` '${text}' `],
];

describe.each(sampleOf('wrapped secrets', 2, wrappings))('with %s', (_, wrapped) => {
  const secret = () => wrapped(at.sandbox.settings.clientSecret);

  test('a client secret is read without that, wherever it comes from', async () => {
    const { HOOKTRAIL_CLIENT_SECRET: _, ...without } = at.env;
    const file = path.join(at.home.folder, 'client-secret');
    await writeFile(file, secret(), { mode: 0o600 });
    const given: [Record<string, string>, string][] = [
      [{ HOOKTRAIL_CLIENT_SECRET: secret() }, ''],
      [{ HOOKTRAIL_CLIENT_SECRET_FILE: wrapped(file) }, ''],
      [{ HOOKTRAIL_CLIENT_SECRET_COMMAND: `cat ${file}` }, ''],
      [{}, secret()],
    ];
    for (const [variables, stdin] of given) {
      const flags = stdin === '' ? [] : ['--client-secret-stdin'];
      const options = { env: { ...without, ...variables }, stdin };
      expect(await at.run(['login', ...flags], options)).toMatchObject({ code: 0 });
    }
  });

  test('settings, the passphrase and a token are read without that', async () => {
    const all = Object.entries(at.env).map(([name, text]) => [
      name,
      name.startsWith('HOOKTRAIL_') && !name.startsWith('HOOKTRAIL_TEST') ? wrapped(text) : text,
    ]);
    const env = {
      ...Object.fromEntries(all),
      HOOKTRAIL_PROFILE: wrapped('night'),
      HOOKTRAIL_STORE: wrapped('FILE'),
    };
    expect(await at.run(['login'], { env })).toMatchObject({ code: 0 });
    expect((await configOf()).profiles.night).toMatchObject({
      'auth-url': at.sandbox.settings.authUrl,
      'client-id': at.sandbox.settings.clientId,
      store: 'file',
    });
    expect((await at.run(['token', '--profile', 'night'])).code).toBe(0);
    const token = { env: { ...at.env, HOOKTRAIL_ACCESS_TOKEN: wrapped('a-token') } };
    expect(await at.run(['token'], token)).toMatchObject({ code: 0, stdout: 'a-token\n' });
  });
});

test('settings typed into a failed sign-in are saved, except the secret', async () => {
  const { authUrl, baseUrl, clientId, clientSecret, vendor } = at.sandbox.settings;
  at.sandbox.control.fault('token', { kind: 'status', status: 400, body: '{"error":"invalid_client"}' });
  const env = { ...at.home.env, HOOKTRAIL_REDIRECT_URI: at.redirectUri };
  const program = startHooktrail(['login', '--no-browser'], { env, stdin: null, terminal: 200 });
  for (const [question, answer] of [
    [/Identity provider/, authUrl],
    [/Event service/, baseUrl],
    [/Client id/, clientId],
    [/Vendor/, vendor],
    [/Client secret/, clientSecret],
  ] as const) {
    await program.printed('stderr', question);
    program.stdin.write(`${answer}\r`);
  }
  const [url] = await program.printed('stderr', /http\S+\/connect\/authorize\?\S+/);
  await visit(url);
  expect(await program.finished).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(
      "your answers are saved in the profile 'default', except the client secret; flags such as --client-id change them\n",
    ),
  });
  expect(await saved()).toEqual({
    default: { 'auth-url': authUrl, 'base-url': baseUrl, 'client-id': clientId, vendor },
  });
});

test('logout --all asks on a terminal, and --yes does not', async () => {
  await at.signIn();
  const asked = at.start(['logout', '--all'], { stdin: null, terminal: 100 });
  await asked.printed('stderr', /Sign out of every profile \(default\)\? \(yes or no\)/);
  asked.stdin.write('no\r');
  expect(await asked.finished).toMatchObject({ code: 2 });
  expect((await at.run(['token'])).code).toBe(0);
  expect(await at.start(['logout', '--all', '--yes'], { terminal: 100 }).finished).toMatchObject({
    code: 0,
  });
  expect((await at.run(['token'])).code).toBe(4);
});
