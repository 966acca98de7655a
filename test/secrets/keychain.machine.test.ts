import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserCommand } from '../support/browser.ts';
import { type Bus, hasKeyring, startBus } from '../support/machine/keyring.ts';
// These tests run processes, because they test the native library.
import { spawnHooktrail } from '../support/process.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

describe.skipIf(!hasKeyring)('with a real keyring', () => {
  let bus: Bus;
  let at: SigningIn;
  let env: Record<string, string>;

  beforeAll(async () => {
    bus = await startBus();
    await bus.startKeyring('pw');
    at = await startSigningIn();
    env = { ...at.env, ...bus.env, HOOKTRAIL_STORE: 'keychain', HOOKTRAIL_CLIENT_SECRET: '' };
  });

  afterAll(async () => {
    await at[Symbol.asyncDispose]();
    await bus[Symbol.asyncDispose]();
  });

  const login = () =>
    spawnHooktrail(['login'], {
      env: {
        ...env,
        HOOKTRAIL_BROWSER: browserCommand,
        HOOKTRAIL_CLIENT_SECRET: at.sandbox.settings.clientSecret,
      },
    });
  const refreshes = () => at.sandbox.log.filter(({ grantType }) => grantType === 'refresh_token').length;

  test('a sign-in is stored in the keychain, read back, and refreshed when due', async () => {
    at.sandbox.control.behaviour.tokenLifetimeSeconds = 30;
    expect(await login()).toMatchObject({ code: 0 });
    at.sandbox.control.behaviour.tokenLifetimeSeconds = 1800;
    const first = await spawnHooktrail(['token'], { env });
    const second = await spawnHooktrail(['token'], { env });
    expect(first).toEqual({ code: 0, stdout: second.stdout, stderr: '' });
    expect(refreshes()).toBe(1);
  });

  test('an access token of 8 KB is cached, and no part of it is in the clear', async () => {
    at.sandbox.control.behaviour.accessTokenPadding = 8_000;
    expect(await login()).toMatchObject({ code: 0 });
    const before = refreshes();
    const { stdout } = await spawnHooktrail(['token'], { env });
    expect(stdout.length).toBeGreaterThan(8_000);
    expect(refreshes()).toBe(before);
    const folder = path.join(at.env['HOOKTRAIL_CONFIG_DIR'] as string, 'secrets');
    for (const name of await readdir(folder)) {
      const file = path.join(folder, name);
      expect((await readFile(file)).includes(stdout.slice(0, 12))).toBe(false);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
    }
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  test('40 commands at once make one refresh', { timeout: 120_000 }, async () => {
    at.sandbox.control.behaviour.accessTokenPadding = 0;
    at.sandbox.control.behaviour.tokenLifetimeSeconds = 30;
    expect(await login()).toMatchObject({ code: 0 });
    at.sandbox.control.behaviour.tokenLifetimeSeconds = 1800;
    const before = refreshes();
    const results = await Promise.all(Array.from({ length: 40 }, () => spawnHooktrail(['token'], { env })));
    expect(new Set(results.map(({ code, stderr }) => `${code} ${stderr}`))).toEqual(new Set(['0 ']));
    expect(refreshes()).toBe(before + 1);
  });

  test('a locked keyring is not mistaken for an empty one', async () => {
    await bus.stopKeyring();
    await bus.startKeyring();
    const locked = await spawnHooktrail(['token'], { env });
    expect(locked).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: the OS keychain is locked\n' +
        'next: unlock it (in "Passwords and Keys" or your wallet manager, with `gnome-keyring-daemon --unlock`, on macOS with `security unlock-keychain`) and run the command again, ' +
        'or keep the secrets in an encrypted file: `hooktrail login --store file` (or HOOKTRAIL_STORE=file)\n',
    });
    const logout = await spawnHooktrail(['logout'], { env });
    expect(logout).toMatchObject({ code: 2, stderr: expect.stringContaining('the OS keychain is locked') });
  });

  test('logout removes what login stored, and the keyring opens again with it gone', async () => {
    await bus.stopKeyring();
    await bus.startKeyring('pw');
    expect(await login()).toMatchObject({ code: 0 });
    expect((await spawnHooktrail(['logout'], { env })).code).toBe(0);
    const { code, stderr } = await spawnHooktrail(['token'], { env });
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining('error: not signed in\n') });
  });

  test('a locked keyring without our secrets does not prevent logout', async () => {
    await bus.stopKeyring();
    await bus.startKeyring();
    const { code, stderr } = await spawnHooktrail(['logout'], { env });
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });
});
