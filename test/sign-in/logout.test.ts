import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { memoryKeychain, thisMachine } from '../support/context.ts';
import type { Result } from '../support/process.ts';
import { hooktrail, startHooktrail } from '../support/program.ts';
import type { Behaviour } from '../support/sandbox.ts';
import { startRefreshing, useSigningIn } from '../support/signing-in.ts';

const at = useSigningIn();

async function signInAs(profile: string): Promise<void> {
  expect(await at.run(['login', '--profile', profile])).toMatchObject({ code: 0 });
}

const profiles = async () =>
  JSON.parse(await readFile(path.join(at.home.folder, 'config', 'config.json'), 'utf8'));

test('logout deletes the secrets, revokes the tokens, and keeps addresses and client id', async () => {
  await signInAs('default');
  const before = await profiles();
  const token = (await at.run(['token'])).stdout.trim();
  expect(await at.run(['logout'])).toEqual({
    code: 0,
    stdout: '',
    stderr: "signed out of the profile 'default' on this machine; its refresh token is revoked\n",
  });
  expect(await profiles()).toEqual(before);
  expect((await at.run(['token'])).code).toBe(4);
  const env = { ...at.env, HOOKTRAIL_ACCESS_TOKEN: token };
  expect((await at.run(['status', '--check'], { env })).code).toBe(4);
});

test('refresh token and access token are sent to be revoked', async () => {
  await signInAs('default');
  await at.run(['logout']);
  const revocations = at.sandbox.log.filter(({ url }) => url.endsWith('/connect/revocation'));
  expect(revocations).toMatchObject([
    { method: 'POST', status: 200 },
    { method: 'POST', status: 400 },
  ]);
});

test('on a terminal the passphrase is asked for, since only what can be read can be revoked', async () => {
  const typed = { ...at.env, HOOKTRAIL_PASSPHRASE: 'correct horse battery' };
  expect(await at.run(['login'], { env: typed })).toMatchObject({ code: 0 });
  const env = { ...at.env, HOOKTRAIL_PASSPHRASE: undefined };
  const program = startHooktrail(['logout'], { env, stdin: null, terminal: 100 });
  await program.printed('stderr', /Passphrase of the encrypted file/);
  program.stdin.write('correct horse battery\r');
  const { code, stderr } = await program.finished;
  expect([code, stderr]).toEqual([0, expect.stringContaining('its refresh token is revoked')]);
});

const OUT = "signed out of the profile 'default' on this machine";
const unrevoked = `${OUT}\nwarning: the tokens of 'default' could not be revoked: `;
const revoking =
  (...answers: number[]) =>
  () =>
    at.sandbox.control.fault('revocation', ...answers.map((status) => ({ kind: 'status', status }) as const));
const metadata = (given: Behaviour['metadata']) => () => {
  at.sandbox.control.behaviour.metadata = given;
};
const NONE = `${OUT}; the identity provider offers no way to revoke tokens`;

test.each<[string, () => unknown, string, Record<string, undefined>?]>([
  ['revokes both tokens', revoking(200, 200), `${OUT}; its tokens are revoked`],
  [
    'does not revoke the access token',
    revoking(200, 503),
    `${unrevoked}the revocation failed: the identity provider answered 503`,
  ],
  ['offers no revocation', metadata(({ revocation_endpoint: _, ...rest }) => rest), NONE],
  ['has no metadata', metadata('none'), NONE],
  ['names another issuer', metadata((whole) => ({ ...whole, issuer: 'https://evil.example' })), NONE],
  [
    'names an endpoint of another origin',
    metadata((whole) => ({ ...whole, revocation_endpoint: 'https://evil.example/revoke' })),
    NONE,
  ],
  ['has a list for its metadata', metadata(() => [1]), NONE],
  [
    'fails to give its metadata',
    () => {
      const failure = { kind: 'status', status: 503 } as const;
      at.sandbox.control.fault('metadata', failure, failure);
    },
    `${unrevoked}the identity provider's metadata could not be read: it answered 503`,
  ],
  ['cannot be reached', () => at.sandbox.close(), `${unrevoked}REASON`],
  [
    'cannot be asked without the passphrase',
    () => undefined,
    `${unrevoked}they could not be read`,
    { HOOKTRAIL_PASSPHRASE: undefined },
  ],
])('of a provider that %s, logout says what became of the tokens', async (_, arrange, said, env) => {
  await signInAs('default');
  await arrange();
  const { code, stdout, stderr } = await at.run(['logout'], { env: { ...at.env, ...env } });
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr.replace(/(?<=revoked: ).*ECONNREFUSED.*/, 'REASON')).toBe(`${said}\n`);
  expect((await at.run(['token'])).code).toBe(4);
});

test('logout waits for a refresh in progress, so that nothing is stored after it', async () => {
  await using due = await startRefreshing();
  let logout: Promise<Result> | undefined;
  due.sandbox.control.fault('token', {
    kind: 'run',
    run: async () => {
      logout = due.run(['logout']);
      // It keeps checking the lock.
      await clock.slept(20);
    },
  });
  expect((await due.run(['token'])).code).toBe(0);
  expect(await logout).toMatchObject({ code: 0 });
  expect(await due.stored()).toEqual(new Map());
  expect((await due.run(['token'])).code).toBe(4);
});

test('a bad setting in the environment does not prevent logout', async () => {
  await signInAs('default');
  const env = { ...at.env, HOOKTRAIL_AUTH_URL: 'http://id.example', HOOKTRAIL_STORE: 'nowhere' };
  expect((await at.run(['logout'], { env })).code).toBe(0);
  expect((await at.run(['token'])).code).toBe(4);
});

test('logout does not change other profiles', async () => {
  await signInAs('default');
  await signInAs('staging');
  await at.run(['logout']);
  expect(Object.keys((await profiles()).profiles)).toEqual(['default', 'staging']);
  expect((await at.run(['token', '--profile', 'staging'])).code).toBe(0);
  expect((await at.run(['token', '--profile', 'default'])).code).toBe(4);
});

test('logout --all leaves nothing', async () => {
  await signInAs('default');
  await signInAs('staging');
  expect(await at.run(['logout', '--all'])).toMatchObject({
    code: 0,
    stderr:
      "signed out of the profile 'default' on this machine; its refresh token is revoked\n" +
      "signed out of the profile 'staging' on this machine; its refresh token is revoked\n",
  });
  expect(Object.keys((await profiles()).profiles)).toEqual(['default', 'staging']);
  for (const folder of ['pending', 'secrets']) {
    expect(await readdir(path.join(at.home.folder, 'config', folder)).catch(() => [])).toEqual([]);
  }
});

test('logout succeeds and says so if nothing was stored', async () => {
  expect(await at.run(['logout'])).toEqual({
    code: 0,
    stdout: '',
    stderr: "nothing was stored for the profile 'default'\n",
  });
  expect(await at.run(['logout', '--all'])).toEqual({ code: 0, stdout: '', stderr: 'nothing was stored\n' });
  // A mistyped name does not look signed out.
  expect(await at.run(['logout', '--profile', 'stagin'])).toEqual({
    code: 0,
    stdout: '',
    stderr: "nothing was stored: there is no profile 'stagin'\n",
  });
});

test('logout points out a token that stays in the environment', async () => {
  const env = { ...at.env, HOOKTRAIL_ACCESS_TOKEN: 'abc' };
  expect((await at.run(['logout'], { env })).stderr).toContain(
    'warning: HOOKTRAIL_ACCESS_TOKEN is still set, and commands still use it\n',
  );
});

test('a keychain whose user denies access to an item is not mistaken for an empty one', async () => {
  const keychain = memoryKeychain();
  // keytar on macOS, in getCredentialsForItem of keytar_mac.cc.
  const accounts = async () => (await keychain.accounts()).map(() => '');
  const get = () => Promise.reject(new Error('User canceled the operation.'));
  await keychain.set('default/0123456789abcdef/sign-in', '{}');
  const context = {
    machine: { ...thisMachine(), platform: 'darwin' as const },
    loadKeychain: async () => ({ ...keychain, get, accounts }),
  };
  expect(await hooktrail(['logout'], { env: at.home.env, context })).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'error: the OS keychain refused\n  an item could not be read\n' +
      'next: allow hooktrail to use it (macOS calls it node), or keep the secrets in an encrypted file: ' +
      '`hooktrail login --store file` (or HOOKTRAIL_STORE=file)\n',
  });
});

/** Signs in with a keychain, and runs commands where it is reached, or not. */
async function signInWithKeychain() {
  const keychain = memoryKeychain();
  const machine = { ...thisMachine(), platform: 'darwin' as const };
  const env = { ...at.env, HOOKTRAIL_STORE: 'keychain' };
  const desktop = { env, context: { machine, loadKeychain: async () => keychain } };
  const loadKeychain = () => Promise.reject(new Error('dlopen failed'));
  expect(await at.run(['login'], desktop)).toMatchObject({ code: 0 });
  return { keychain, desktop, elsewhere: { env: at.home.env, context: { machine, loadKeychain } } };
}

const UNREACHED =
  "warning: the tokens of 'default' could not be revoked: the OS keychain cannot be reached: the npm package keytar is not installed; it may still hold them: ";

test('where the keychain is not reached, logout says each time that it may still hold the tokens', async () => {
  const { keychain, desktop, elsewhere } = await signInWithKeychain();
  const warning = `${UNREACHED}sign out again where it is reached\n`;
  for (const args of [['logout'], ['logout', '--all'], ['logout']])
    expect(await at.run(args, elsewhere)).toEqual({ code: 0, stdout: '', stderr: warning });
  // Saved addresses that are incomplete find no token, and the keychain may hold some all the same.
  await at.run(['config', 'unset', 'base-url'], elsewhere);
  expect(await at.run(['logout'], elsewhere)).toEqual({ code: 0, stdout: '', stderr: warning });
  expect((await at.run(['profiles'], desktop)).stdout).toMatch(/default +no /);
  await at.run(['config', 'set', 'base-url', at.sandbox.settings.baseUrl], elsewhere);
  expect((await at.run(['profiles'], desktop)).stdout).toMatch(/default +yes /);
  expect((await at.run(['logout'], desktop)).stderr).toContain('its refresh token is revoked');
  expect(await keychain.accounts()).toEqual([]);
});

test('after a logout that a locked keychain made fail, logout, profiles and status still say that somebody is signed in', async () => {
  const { desktop, elsewhere } = await signInWithKeychain();
  const locked = () => Promise.reject(new Error('User interaction is not allowed.'));
  const loadKeychain = async () => ({ ...memoryKeychain(), get: locked, accounts: locked });
  const context = { ...desktop.context, loadKeychain };
  expect(await at.run(['logout'], { ...desktop, context })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      "\n  the tokens of 'default' could not be revoked: they could not be read\nnext: unlock it",
    ),
  });
  expect((await at.run(['profiles'], desktop)).stdout).toMatch(/default +yes /);
  expect((await at.run(['status'], desktop)).stdout).toContain('signed in  yes\n');
  expect((await at.run(['logout'], elsewhere)).stderr).toBe(
    `${UNREACHED}sign out again where it is reached\n`,
  );
  expect(await at.run(['token'], desktop)).toMatchObject({ code: 0 });
});

test('where the keychain is not reached, profiles delete does not say that it deleted the tokens', async () => {
  const { keychain, desktop, elsewhere } = await signInWithKeychain();
  expect(await at.run(['profiles', 'delete', 'default'], elsewhere)).toEqual({
    code: 0,
    stdout: '',
    stderr: `deleted profile 'default'\n${UNREACHED}\`hooktrail logout --profile default\` where it is reached deletes them, but cannot revoke them\n`,
  });
  const given = { ...desktop, env: elsewhere.env };
  expect(await at.run(['logout', '--profile', 'default'], given)).toMatchObject({ code: 1 });
  expect(await keychain.accounts()).toEqual([]);
});

test('a profile that names no keychain gets no warning where there is none', async () => {
  const { elsewhere } = await signInWithKeychain();
  const file = path.join(at.home.folder, 'config', 'config.json');
  const config = await profiles();
  const nothing = { code: 0, stdout: '', stderr: "nothing was stored for the profile 'default'\n" };
  await at.run(['logout'], elsewhere);
  for (const store of ['file', undefined]) {
    config.profiles.default.store = store;
    await writeFile(file, JSON.stringify(config));
    expect(await at.run(['logout'], elsewhere)).toEqual(nothing);
  }
});

test('without the saved settings, the secrets are deleted, and the error says that the tokens stay valid', async () => {
  await signInAs('default');
  await rm(path.join(at.home.folder, 'config', 'config.json'));
  expect(await at.run(['logout'], { env: at.home.env })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      "error: the secrets of the profile 'default' are deleted, but the tokens could not be revoked: no saved settings name their identity provider\n" +
      'next: revoke the tokens at the identity provider, or wait until they expire\n',
  });
  expect((await at.run(['token'])).code).toBe(4);
});

test('where the environment has the settings that are not saved, the tokens are revoked', async () => {
  await signInAs('default');
  await rm(path.join(at.home.folder, 'config', 'config.json'));
  expect(await at.run(['logout'])).toEqual({
    code: 0,
    stdout: '',
    stderr: "signed out of the profile 'default' on this machine; its refresh token is revoked\n",
  });
});

test('saved settings that cannot be read are an error, and nothing is deleted', async () => {
  await signInAs('default');
  const file = path.join(at.home.folder, 'config', 'config.json');
  await rename(file, `${file}.away`);
  await mkdir(file);
  for (const args of [['logout'], ['logout', '--all'], ['profiles', 'delete', 'default']])
    expect(await at.run(args)).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be read') });
  await rmdir(file);
  await rename(`${file}.away`, file);
  expect((await at.run(['token'])).code).toBe(0);
});

test('secrets that cannot be read are an error, and nothing is deleted', async () => {
  await signInAs('default');
  const secrets = path.join(at.home.folder, 'config', 'secrets');
  const [name] = await readdir(secrets);
  const file = path.join(secrets, name as string);
  await rename(file, `${file}.away`);
  await mkdir(file);
  expect(await at.run(['logout'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: the secrets in \S+ cannot be read: .*EISDIR/),
  });
  await rmdir(file);
  await rename(`${file}.away`, file);
  expect((await at.run(['token'])).code).toBe(0);
});

test('where secrets cannot be deleted, logout says that their tokens are revoked', async () => {
  await signInAs('default');
  const place = path.join(at.home.folder, 'config', 'secrets', 'default~0123456789abcdef.vault');
  await mkdir(place);
  const { code, stderr } = await at.run(['logout']);
  expect([code, stderr.split('\n')]).toEqual([
    2,
    [
      expect.stringContaining(`error: the secrets in ${place} cannot be deleted: `),
      "  the profile 'default' stays signed in on this machine; its refresh token is revoked",
      'next: make its folder writable and run the command again, or delete the file yourself',
      '',
    ],
  ]);
  await rmdir(place);
  expect(await at.run(['logout'])).toMatchObject({ code: 0 });
});

test('tokens of a sign-in that was replaced are deleted too, and logout says that they are not revoked', async () => {
  await signInAs('default');
  const elsewhere = ['--base-url', 'https://events.example', '--replace'];
  expect(await at.run(['login', ...elsewhere])).toMatchObject({ code: 0 });
  expect(await at.run(['logout'])).toEqual({
    code: 0,
    stdout: '',
    stderr:
      "signed out of the profile 'default' on this machine; its refresh token is revoked\n" +
      "warning: tokens of earlier sign-ins of 'default' at other addresses were deleted, but not revoked\n",
  });
});

test('a failed revocation is a warning of the kind sign-in', async () => {
  await signInAs('default');
  const env = { ...at.env, HOOKTRAIL_PASSPHRASE: undefined, HOOKTRAIL_ERROR_FORMAT: 'json' };
  const { stderr } = await at.run(['logout', '--quiet'], { env });
  expect(JSON.parse(stderr)).toMatchObject({ level: 'warning', kind: 'sign-in' });
});
