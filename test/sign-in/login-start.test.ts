import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { changed, redirectOf } from '../support/browser.ts';
import { clock } from '../support/clock.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

let at: SigningIn;
beforeEach(async () => {
  at = await startSigningIn();
});
afterEach(() => at[Symbol.asyncDispose]());

async function begin(...args: string[]): Promise<{ authorizeUrl: URL; next: string }> {
  const { code, stdout } = await at.run(['login', '--start', ...args]);
  expect(code).toBe(0);
  const { authorizeUrl, next, ...more } = JSON.parse(stdout);
  expect(more).toEqual({});
  return { authorizeUrl: new URL(authorizeUrl), next };
}

/** Completes with only the home's own variables: neither settings nor the client secret. */
const complete = (url: URL | string, ...args: string[]) =>
  at.run(['login', '--complete', '-', ...args], { env: at.home.env, stdin: `${url}\n` });

test('a sign-in is started and completed by two processes', async () => {
  const { authorizeUrl, next } = await begin();
  expect(next).toBe('hooktrail login --complete -');
  expect(await complete(await redirectOf(authorizeUrl))).toMatchObject({ code: 0, stdout: '' });
  const env = at.home.env;
  expect(JSON.parse((await at.run(['status', '--json', '--check'], { env })).stdout)).toMatchObject({
    signedIn: true,
    check: 'accepted',
  });
});

test('another profile is named in the next command', async () => {
  const { authorizeUrl, next } = await begin('--profile', 'staging');
  expect(next).toBe('hooktrail login --complete - --profile staging');
  const redirect = await redirectOf(authorizeUrl);
  expect((await complete(redirect)).stderr).toContain(
    "no sign-in of the profile 'default' is waiting to be completed",
  );
  expect(await complete(redirect, '--profile', 'staging')).toMatchObject({ code: 0 });
});

test('a started sign-in is completed once', async () => {
  const { authorizeUrl } = await begin();
  const redirect = await redirectOf(authorizeUrl);
  expect((await complete(redirect)).code).toBe(0);
  const again = await complete(redirect);
  expect(again.code).toBe(4);
  expect(again.stderr).toContain("error: no sign-in of the profile 'default' is waiting to be completed\n");
  expect(at.exchanges()).toBe(1);
});

test('a wrong URL does not use up the started sign-in', async () => {
  const { authorizeUrl } = await begin();
  const redirect = await redirectOf(authorizeUrl);
  const wrong = await complete(changed(redirect, { state: 'x' }));
  expect(wrong.code).toBe(4);
  expect(wrong.stderr).toContain('its state does not match this sign-in');
  expect((await complete(redirect)).code).toBe(0);
});

test('the URL may come after lines that are not the answer', async () => {
  const { authorizeUrl } = await begin();
  const redirect = await redirectOf(authorizeUrl);
  const { code, stderr } = await complete(`\n${changed(redirect, { state: 'x' })}\n${redirect}`);
  expect(code).toBe(0);
  expect(stderr).toContain(
    'warning: the pasted URL is not accepted: its state does not match this sign-in\n',
  );
});

test('two simultaneous completions exchange the code once', async () => {
  const { authorizeUrl } = await begin();
  const redirect = await redirectOf(authorizeUrl);
  const ends = await Promise.all([1, 2, 3, 4].map(() => complete(redirect)));
  expect(ends.map(({ code }) => code).sort()).toEqual([0, 4, 4, 4]);
  expect(at.exchanges()).toBe(1);
  expect((await at.run(['token'])).code).toBe(0);
});

test('the state of a started sign-in is not in any file', async () => {
  const { authorizeUrl } = await begin();
  const saved = await readFile(path.join(at.home.folder, 'config', 'pending', 'default.json'), 'utf8');
  expect(saved).not.toContain(authorizeUrl.searchParams.get('state'));
});

test('a second start replaces the first', async () => {
  const first = await begin();
  const second = await begin();
  expect((await complete(await redirectOf(first.authorizeUrl))).code).toBe(4);
  expect((await complete(await redirectOf(second.authorizeUrl))).code).toBe(0);
});

test('a started sign-in is too old after 10 minutes', async () => {
  const { authorizeUrl } = await begin();
  const file = path.join(at.home.folder, 'config', 'pending', 'default.json');
  const saved = JSON.parse(await readFile(file, 'utf8'));
  expect(saved.expiresAt).toBe(clock.now() + 600_000);
  clock.advance(600_001);
  const { code, stderr } = await complete(await redirectOf(authorizeUrl));
  expect(code).toBe(4);
  expect(stderr).toContain('error: the sign-in that was started is too old\n');
});

test('after a sign-in that was only started nobody is signed in', async () => {
  await begin();
  const { code, stderr } = await at.run(['token']);
  expect({ code, stderr }).toEqual({
    code: 4,
    stderr: 'error: not signed in\nnext: run `hooktrail login`\n',
  });
});

test('starting a sign-in does not affect the existing one', async () => {
  await at.signIn();
  const before = await at.run(['token']);
  await begin();
  expect(await at.run(['token'])).toEqual(before);
});

test('neither the verifier nor the client secret is stored in the clear between start and completion', async () => {
  const { authorizeUrl } = await begin();
  const challenge = authorizeUrl.searchParams.get('code_challenge');
  const { createHash } = await import('node:crypto');
  for (const file of await readdir(at.home.folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const text = await readFile(path.join(file.parentPath, file.name), 'latin1');
    expect(text).not.toContain(at.sandbox.settings.clientSecret);
    for (const [word] of text.matchAll(/[A-Za-z0-9_-]{43}/g)) {
      expect(createHash('sha256').update(word).digest('base64url')).not.toBe(challenge);
    }
  }
});

test('logout forgets a started sign-in', async () => {
  const { authorizeUrl } = await begin();
  expect((await at.run(['logout'])).stderr).toContain("signed out of the profile 'default'");
  expect((await complete(await redirectOf(authorizeUrl))).stderr).toContain('is waiting to be completed');
});

test.each([
  [['--start', '--paste']],
  [['--start', '--complete', '-']],
  [['--complete', '-', '--paste']],
  [['--complete', 'https://app.example/?code=x']],
])('%j is a usage error', async (args) => {
  expect(await at.run(['login', ...args])).toMatchObject({ code: 2, stdout: '' });
});
