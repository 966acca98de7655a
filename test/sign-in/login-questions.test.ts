import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { redirectOf, visit } from '../support/browser.ts';
import { type RunningCommand, startHooktrail } from '../support/program.ts';
import { useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

const shownUrl = /^(http\S+\/connect\/authorize\?\S+)$/m;
const saved = async () =>
  JSON.parse(await readFile(path.join(at.home.folder, 'config', 'config.json'), 'utf8')).profiles;

/** Starts `login` on a terminal, where somebody types. */
function startLogin(
  args: readonly string[] = [],
  env: Readonly<Record<string, string | undefined>> = at.env,
) {
  const plain = { ...env, TERM: 'dumb', NO_COLOR: '1' };
  return startHooktrail(['login', ...args], { env: plain, stdin: null, terminal: 200 });
}

async function answer(login: RunningCommand, ...answers: readonly (readonly [RegExp, string])[]) {
  for (const [question, text] of answers) {
    await login.printed('stderr', question);
    login.stdin.write(`${text}\r`);
  }
}

describe('a provider that does not answer', () => {
  const env = () => ({ ...at.home.env, HOOKTRAIL_REDIRECT_URI: at.redirectUri });
  const error = (host: string) =>
    `error: the identity provider could not be reached: ${host} does not accept connections (ECONNREFUSED)\n` +
    'next: check the network and --auth-url (HOOKTRAIL_AUTH_URL), then run the same command again\n';

  test('is an error at once, before anything is asked', async () => {
    const url = 'http://127.0.0.1:1/identity';
    expect(await startLogin(['--auth-url', url], env()).finished).toEqual({
      code: 5,
      stdout: '',
      stderr: error('127.0.0.1:1'),
    });
    expect(await at.run(['login', '--auth-url', url])).toMatchObject({
      code: 5,
      stderr: error('127.0.0.1:1'),
    });
  });

  test('is an error after its address was typed, which is not saved', async () => {
    const login = startLogin([], env());
    await answer(login, [/Identity provider/, '127.0.0.1:1/identity']);
    const { code, stderr } = await login.finished;
    expect(code).toBe(5);
    expect(stderr).toContain(error('127.0.0.1:1'));
    expect(stderr).not.toContain('Event service');
    await expect(saved()).rejects.toThrow('ENOENT');
  });

  test('is told from one that has nothing at its address, which is a warning', async () => {
    const login = await at.login(['--auth-url', `${at.sandbox.settings.authUrl}/nothing`]);
    login.program.kill('SIGINT');
    expect((await login.program.finished).stderr).toMatch(
      /^warning: there is nothing at http:\S+\/identity\/nothing\/connect\/authorize \(404\)\nnext: check --auth-url /,
    );
  });
});

test('an address without a page to sign in at is asked for again, and taken if it comes twice', async () => {
  const { authUrl } = at.sandbox.settings;
  const login = startLogin([], { ...at.home.env, HOOKTRAIL_REDIRECT_URI: at.redirectUri });
  await answer(
    login,
    [/Identity provider .*: /, authUrl.replace('/identity', '')],
    [
      /\(404\)\nnext: check the address; if you type it again, it is accepted as it is\nIdentity .*: /,
      `${authUrl}/a`,
    ],
    [/\/a\/connect\/authorize \(404\)\nnext: .*\nIdentity .*: /, `${authUrl}/a`],
  );
  await login.printed('stderr', /Event service .*: /);
  login.kill('SIGINT');
  expect(await login.finished).toMatchObject({ code: 130 });
  expect((await saved()).default['auth-url']).toBe(`${authUrl}/a`);
});

test('questions have examples, and take a media type for its vendor and an address without its scheme', async () => {
  const { authUrl, baseUrl, clientId, clientSecret, vendor } = at.sandbox.settings;
  const login = startLogin(['--no-browser'], {
    ...at.home.env,
    HOOKTRAIL_REDIRECT_URI: at.redirectUri,
  });
  await answer(
    login,
    [
      /Identity provider \(--auth-url\), such as https:\/\/id\.example\.com: /,
      authUrl.replace('http://', ''),
    ],
    [/Event service \(--base-url\), such as https:\/\/events\.example\.com\/v1: /, `"${baseUrl}"`],
    [/Client id \(--client-id\): /, clientId],
    [/Vendor of the media type \(--vendor\), such as acme: /, `application/vnd.${vendor}.v1+json`],
    [/Client secret: /, clientSecret],
  );
  await visit((await login.printed('stderr', shownUrl))[1] as string);
  expect(await login.finished).toMatchObject({ code: 0 });
  expect((await saved()).default).toMatchObject({ 'auth-url': authUrl, 'base-url': baseUrl, vendor });
});

describe.runIf(process.platform === 'linux')('without a keychain', () => {
  const env = () => ({ ...at.env, HOOKTRAIL_STORE: undefined });
  const none = 'the OS keychain cannot be reached: there is no D-Bus session bus';

  test('a terminal offers the encrypted file, which is saved', async () => {
    const login = startLogin([], env());
    await answer(login, [
      /^the OS keychain .*\nKeep the secrets in an encrypted file instead\? \(yes or no\): /,
      'y',
    ]);
    expect(await login.finished).toMatchObject({ code: 0 });
    expect((await saved()).default.store).toBe('file');
    expect((await at.run(['token'], { env: env() })).code).toBe(0);
  });

  test('no to that is the error of the keychain, and nothing else was asked', async () => {
    const login = startLogin([], { ...at.home.env, HOOKTRAIL_STORE: undefined });
    await answer(login, [/instead\?/, 'no']);
    const { code, stderr } = await login.finished;
    expect(code).toBe(2);
    expect(stderr).toContain(`error: ${none}\n`);
    expect(stderr).not.toContain('Identity provider');
  });

  test('--store keychain, and a run without a terminal, get the error', async () => {
    const login = startLogin(['--store', 'keychain'], env());
    expect((await login.finished).stderr).toMatch(/^error: the OS keychain/);
    expect(await at.run(['login'], { env: env() })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('`hooktrail login --store file`'),
    });
  });
});

test('what was typed is saved when a later question is not answered, and --store with it', async () => {
  const { authUrl, baseUrl, clientId, vendor } = at.sandbox.settings;
  const env = { ...at.home.env, HOOKTRAIL_STORE: undefined };
  const login = startLogin(['--store', 'file', '--profile', 'night'], env);
  await answer(
    login,
    [/Identity provider/, authUrl],
    [/Event service/, baseUrl],
    [/Client id/, clientId],
    [/Vendor/, vendor],
  );
  await login.printed('stderr', /Client secret: /);
  login.stdin.write('\x03');
  expect(await login.finished).toMatchObject({ code: 130 });
  expect(await saved()).toEqual({
    night: { 'auth-url': authUrl, 'base-url': baseUrl, 'client-id': clientId, vendor, store: 'file' },
  });
});

test('the next step after a refused sign-in carries --profile and --store, or is the same command', async () => {
  const login = async (error: string) => {
    at.sandbox.control.fault('token', { kind: 'status', status: 400, body: JSON.stringify({ error }) });
    return (await at.run(['login', '--profile', 'night', '--store', 'file'])).stderr;
  };
  expect(await login('invalid_request')).toContain(
    'next: check the client settings, and run `hooktrail login --profile night --store file`\n',
  );
  expect(await login('invalid_client')).toContain(
    'next: check --client-id, and run the same command with --client-secret-stdin and the right client secret\n',
  );
});

test('--timeout takes a span of time, or seconds', async () => {
  for (const span of ['1s', '1'])
    expect(await at.run(['login', '--no-browser', '--timeout', span])).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(
        /error: nobody signed in within 1 s\nnext: .*check --client-id and --redirect-uri, or run `hooktrail doctor`\n$/,
      ),
    });
});

describe('a provider that names no issuer', () => {
  beforeEach(() => {
    const { behaviour } = at.sandbox.control;
    behaviour.redirectIssuer = null;
    behaviour.metadata = ({ authorization_response_iss_parameter_supported: _, ...rest }) => rest;
  });
  const question =
    /The answer to the sign-in does not name its provider, and http\S+ does not promise that\.\nDid you sign in at 127\.0\.0\.1:\d+\? \(yes or no\): /m;
  const refusal =
    /error: the answer to the sign-in names no issuer, not http.*\n.*\nnext: if your provider names none, run the same command with --issuer none\n$/;

  test('is confirmed once by a person, which is saved', async () => {
    const login = startLogin();
    await answer(login, [question, 'yes']);
    expect(await login.finished).toMatchObject({ code: 0 });
    expect((await saved()).default.issuer).toBe('none');
    // Settings of the environment would win.
    const again = startLogin([], { ...at.env, HOOKTRAIL_ISSUER: undefined });
    expect((await again.finished).stderr).not.toMatch(question);
  });

  test('and then refuses the code is no other provider to the browser', async () => {
    at.sandbox.control.fault('token', { kind: 'status', status: 400, body: '{"error":"invalid_grant"}' });
    const login = startLogin(['--no-browser']);
    const page = visit(await redirectOf((await login.printed('stderr', shownUrl))[1] as string));
    await answer(login, [question, 'yes']);
    expect((await page).body).toContain('<p>Something went wrong. The terminal says what.</p>\n<small>');
    expect((await login.finished).code).toBe(4);
  });

  test('is confirmed for a pasted address too', async () => {
    const login = startLogin(['--paste', '--no-browser']);
    const redirect = await redirectOf((await login.printed('stderr', shownUrl))[1] as string);
    await answer(login, [/Paste the URL/, redirect.href], [question, 'y']);
    expect(await login.finished).toMatchObject({ code: 0 });
  });

  test('is refused if the person says no, or there is no terminal', async () => {
    const login = startLogin();
    await answer(login, [question, 'no']);
    const { code, stderr } = await login.finished;
    expect(code).toBe(4);
    expect(stderr).toMatch(refusal);
    expect(await at.run(['login'])).toMatchObject({ code: 4, stderr: expect.stringMatching(refusal) });
    expect(at.exchanges()).toBe(0);
  });

  test('is refused if its metadata promises one, or cannot be read', async () => {
    at.control.behaviour.metadata = (whole) => whole;
    const login = startLogin();
    expect(await login.finished).toMatchObject({ code: 4, stderr: expect.stringMatching(refusal) });
    at.control.behaviour.metadata = ({ authorization_response_iss_parameter_supported: _, ...rest }) => rest;
    // Each of both documents is asked for twice.
    const failure = { kind: 'status', status: 503 } as const;
    at.control.fault('metadata', failure, failure, failure, failure);
    expect(await startLogin().finished).toMatchObject({ code: 4, stderr: expect.stringMatching(refusal) });
    expect(at.exchanges()).toBe(0);
  });

  test('is not asked about if the answer names another', async () => {
    at.control.behaviour.redirectIssuer = 'https://other.example';
    const { code, stderr } = await startLogin().finished;
    expect(code).toBe(4);
    expect(stderr).toContain('error: the answer to the sign-in names the issuer https://other.example, not');
    expect(at.exchanges()).toBe(0);
  });
});

test('a browser that fails after the end of the sign-in says nothing', async () => {
  let fail = (_: Error) => {};
  const open = () =>
    new Promise<void>((_, reject) => {
      fail = reject;
    });
  const login = startHooktrail(['login', '--paste'], {
    env: at.env,
    stdin: '',
    context: { browser: { open } },
  });
  expect(await login.finished).toMatchObject({ code: 4 });
  fail(new Error('its command ended with 3'));
  await setImmediate();
  expect(login.stderr).not.toContain('browser could not be started');
});

test('a message that comes while a question is open stands above it', async () => {
  const open = () => Promise.reject(new Error('its command ended with 3'));
  const login = at.start(['login'], { stdin: null, terminal: 200, context: { browser: { open } } });
  const question = "If the browser's last page does not load, paste its address here: ";
  await login.printed('stderr', /still waiting\.\n.*here: /s);
  login.kill('SIGINT');
  await login.finished;
  const lines = login.stderr.replaceAll(/\x1b\[[\d;]*[A-Za-z]/g, '').split(/\r|\n/);
  const warned = lines.indexOf('warning: the browser could not be started: its command ended with 3');
  expect(lines[warned + 1]).toBe('Open the URL above by hand: the sign-in is still waiting.');
  expect(lines.slice(warned + 2).join('')).toContain(question);
});

test('with ACCESSIBLE, questions and what is printed around them move no cursor', async () => {
  const open = () => Promise.reject(new Error('its command ended with 3'));
  const login = startHooktrail(['login', '--no-color'], {
    env: { ...at.env, ACCESSIBLE: '1' },
    stdin: null,
    terminal: 200,
    context: { browser: { open } },
  });
  await login.printed('stderr', /still waiting\.\n.*here: /s);
  const redirect = await redirectOf((await login.printed('stderr', shownUrl))[1] as string);
  login.stdin.write(`${redirect.href}\n`);
  expect(await login.finished).toMatchObject({ code: 0 });
  expect(login.stderr).not.toContain('\x1b');
});
