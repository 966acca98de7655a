import { renameSync, writeFileSync } from 'node:fs';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { keychainOf } from '../support/program.ts';
import { type Refreshing, startRefreshing } from '../support/signing-in.ts';

const secretsOf = (at: Refreshing) => path.join(at.home.folder, 'config', 'secrets');

/** Runs `act` when the identity provider has exchanged the refresh token, before it sends the answer. */
function afterRotation(at: Refreshing, act: () => void): void {
  const edit = (answer: unknown) => {
    act();
    return answer;
  };
  at.sandbox.control.fault('token', { kind: 'edit', edit: edit as never });
}

/** Puts a file in the place of a folder. */
function shut(folder: string): void {
  renameSync(folder, `${folder}.away`);
  writeFileSync(folder, 'in the way');
}

const at = forEachTest(startRefreshing);

test('a store that fails after the rotation loses nothing: another folder gets the tokens, and the next command finds them', async () => {
  const secrets = secretsOf(at);
  afterRotation(at, () => shut(secrets));
  const first = await at.run(['token']);
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/) });
  expect(first.stderr).toMatch(
    /^warning: the new tokens could not be stored in \S+; they are kept, encrypted, in \S+, where the next command finds them\n$/,
  );
  await rm(secrets);
  await rename(`${secrets}.away`, secrets);
  expect(await at.run(['token'])).toEqual({ code: 0, stdout: first.stdout, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});

test('if every folder is unwritable, the error says that the sign-in is lost', async () => {
  const secrets = secretsOf(at);
  afterRotation(at, () => {
    shut(secrets);
    writeFileSync(path.join(path.dirname(secrets), 'rescued'), 'in the way');
  });
  const { code, stdout, stderr } = await at.run(['token']);
  expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
  expect(stderr).toMatch(
    /^error: the sign-in is lost: the identity provider exchanged the stored tokens for new ones, which could not be stored\n {2}secrets cannot be written to \S+: .*EEXIST.*\nnext: make the folder writable and free some space, .*; then run `hooktrail login`\n$/,
  );
});

test('a keychain that locks after the rotation loses nothing', async () => {
  const env = { ...at.env, HOOKTRAIL_STORE: 'keychain' };
  const context = { machine: { ...thisMachine(), userHome: at.home.folder, platform: 'win32' as const } };
  at.sandbox.control.behaviour.tokenLifetimeSeconds = 30;
  expect(await at.run(['login'], { env, context })).toMatchObject({ code: 0 });
  at.sandbox.control.behaviour.tokenLifetimeSeconds = 1800;
  const keychain = keychainOf(env);
  const { set } = keychain;
  afterRotation(at, () => {
    keychain.set = () => Promise.reject(new Error('the keychain is locked'));
  });
  const first = await at.run(['token'], { env, context });
  expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('they are kept, encrypted, in ') });
  keychain.set = set;
  expect(await at.run(['token'], { env, context })).toEqual({ code: 0, stdout: first.stdout, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});

test('a container that was killed during a refresh is given up after its silence, and its successor refreshes', async () => {
  // Leave locks whose holder ran in another container and gives no sign of life.
  const locks = path.join(at.home.folder, 'config', 'locks');
  const gone = { pid: 1, started: '1', hostname: 'gone', boot: 'gone', processes: 'pid:[1]', nonce: 'gone' };
  for (const name of await readdir(locks))
    await writeFile(path.join(locks, name, '9.lock'), `${JSON.stringify(gone)}\n000000001`);
  const context = { lockRhythm: { beat: 50, silence: 300 } };
  expect(await at.run(['token'], { context })).toMatchObject({ code: 0, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});

test('a lock folder that cannot be created is an error that says so', async () => {
  const locks = path.join(at.home.folder, 'config', 'locks');
  await rm(locks, { recursive: true });
  await writeFile(locks, 'in the way');
  const { code, stderr } = await at.run(['token']);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(
      /^error: the folder \S+, where hooktrail's processes lock each other out, cannot be used: not a directory \(ENOTDIR\)\nnext: make it a folder that this user can write to\n$/,
    ),
  });
});
