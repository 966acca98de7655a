import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { visit } from '../support/browser.ts';
import type { Result } from '../support/program.ts';
import { startRefreshing } from '../support/refreshing.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

let at: SigningIn;
beforeEach(async () => {
  at = await startSigningIn();
});
afterEach(() => at[Symbol.asyncDispose]());

async function signInAs(profile: string): Promise<void> {
  const { program, authorizeUrl } = await at.login(['--profile', profile]);
  await visit(authorizeUrl);
  expect(await program.finished).toMatchObject({ code: 0 });
}

const profiles = async () =>
  JSON.parse(await readFile(path.join(at.home.folder, 'config', 'config.json'), 'utf8'));

test('logout deletes the profile and its secrets, and says that nothing is revoked', async () => {
  await signInAs('default');
  expect(await at.run(['logout'])).toEqual({
    code: 0,
    stdout: '',
    stderr:
      "signed out of the profile 'default' on this machine; the service shows no way to revoke tokens\n",
  });
  expect(await profiles()).toEqual({ version: 1, profiles: {} });
  expect((await at.run(['token'])).code).toBe(4);
});

test('logout waits for a refresh under way, so that nothing is stored after it', async () => {
  await using due = await startRefreshing();
  let logout: Promise<Result> | undefined;
  due.sandbox.control.fault('token', {
    kind: 'run',
    run: async () => {
      logout = due.run(['logout']);
      await delay(1500);
    },
  });
  expect((await due.run(['token'])).code).toBe(0);
  expect(await logout).toMatchObject({ code: 0 });
  expect(await due.stored()).toEqual(new Map());
  expect((await due.run(['token'])).code).toBe(4);
});

test('a bad setting in the environment does not stand in the way of logout', async () => {
  await signInAs('default');
  const env = { ...at.env, HOOKTRAIL_AUTH_URL: 'http://id.example', HOOKTRAIL_STORE: 'nowhere' };
  expect((await at.run(['logout'], { env })).code).toBe(0);
  expect((await at.run(['token'])).code).toBe(4);
});

test('logout leaves other profiles alone', async () => {
  await signInAs('default');
  await signInAs('staging');
  await at.run(['logout']);
  expect(Object.keys((await profiles()).profiles)).toEqual(['staging']);
  expect((await at.run(['token', '--profile', 'staging'])).code).toBe(0);
  expect((await at.run(['token', '--profile', 'default'])).code).toBe(4);
});

test('logout --all leaves nothing', async () => {
  await signInAs('default');
  await signInAs('staging');
  expect(await at.run(['logout', '--all'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('signed out of every profile on this machine'),
  });
  expect(await profiles()).toEqual({ version: 1, profiles: {} });
  for (const folder of ['pending', 'secrets']) {
    expect(await readdir(path.join(at.home.folder, 'config', folder)).catch(() => [])).toEqual([]);
  }
});

test('logout where nothing was stored is done, and says so', async () => {
  expect(await at.run(['logout'])).toEqual({
    code: 0,
    stdout: '',
    stderr: "nothing was stored for the profile 'default'\n",
  });
  expect(await at.run(['logout', '--all'])).toEqual({ code: 0, stdout: '', stderr: 'nothing was stored\n' });
});

test('logout points out a token that stays in the environment', async () => {
  const env = { ...at.env, HOOKTRAIL_ACCESS_TOKEN: 'abc' };
  expect((await at.run(['logout'], { env })).stderr).toContain(
    'warning: HOOKTRAIL_ACCESS_TOKEN is still set, and commands go on using it\n',
  );
});
