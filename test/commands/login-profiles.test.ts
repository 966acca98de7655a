import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { visit } from '../support/browser.ts';
import { startHooktrail } from '../support/program.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

let at: SigningIn;
beforeEach(async () => {
  at = await startSigningIn();
});
afterEach(() => at[Symbol.asyncDispose]());

const elsewhere = 'https://events.example/v2';
const saved = async () =>
  JSON.parse(await readFile(path.join(at.home.folder, 'config', 'config.json'), 'utf8')).profiles;

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
      "what you typed is saved in the profile 'default', but for the client secret\n",
    ),
  });
  expect(await saved()).toEqual({
    default: { 'auth-url': authUrl, 'base-url': baseUrl, 'client-id': clientId, vendor },
  });
});

test('logout --all asks on a terminal, and --yes does not', async () => {
  await at.signIn();
  const asked = startHooktrail(['logout', '--all'], { env: at.env, stdin: null, terminal: 100 });
  await asked.printed('stderr', /Sign out of every profile \(default\)\? \(yes or no\)/);
  asked.stdin.write('no\r');
  expect(await asked.finished).toMatchObject({ code: 2 });
  expect((await at.run(['token'])).code).toBe(0);
  expect(
    await startHooktrail(['logout', '--all', '--yes'], { env: at.env, terminal: 100 }).finished,
  ).toMatchObject({
    code: 0,
  });
  expect((await at.run(['token'])).code).toBe(4);
});
