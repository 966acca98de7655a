import { execFileSync } from 'node:child_process';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserCommand } from '../support/browser.ts';
import { type Bus, hasKeyring, startBus } from '../support/machine/keyring.ts';
// These tests run processes, because they test the native library.
import { spawnHooktrail } from '../support/process.ts';
import { editJson } from '../support/sandbox.ts';
import { drawnCases } from '../support/seed.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';
import { hasKeePassXC, hasKWallet, startKeePassXC, startKWallet } from './other-keychains.ts';

interface StartedKeychain {
  readonly lock: () => Promise<unknown>;
  /** Unlocks it, as the desktop does when its user logs in. */
  readonly open: () => Promise<unknown>;
  readonly end: () => Promise<unknown>;
}

async function startGnomeKeyring({ startKeyring, stopKeyring }: Bus): Promise<StartedKeychain> {
  await startKeyring('pw');
  const again = async (password?: string) => {
    await stopKeyring();
    await startKeyring(password);
  };
  return { lock: () => again(), open: () => again('pw'), end: stopKeyring };
}

const keychains: [string, boolean, (bus: Bus) => Promise<StartedKeychain>][] = [
  ['gnome-keyring', hasKeyring, startGnomeKeyring],
  ['KWallet', hasKWallet, startKWallet],
  ['KeePassXC', hasKeePassXC, startKeePassXC],
];

const here = keychains.flatMap(([name, isHere]) => (isHere ? [name] : []));
/** The token lies in a file, whichever keychain has the key to it. */
const withCachedToken = drawnCases('a cached token', 1, here);

for (const [name, , start] of keychains)
  describe.skipIf(!here.includes(name))(`with ${name}`, { timeout: 120_000 }, () => {
    let at: SigningIn;
    let bus: Bus;
    let keychain: StartedKeychain;
    let env: Record<string, string>;

    beforeAll(async () => {
      bus = await startBus();
      keychain = await start(bus);
      at = await startSigningIn();
      env = { ...at.env, ...bus.env, HOOKTRAIL_STORE: 'keychain', HOOKTRAIL_CLIENT_SECRET: '' };
    });

    afterAll(async () => {
      await at[Symbol.asyncDispose]();
      await keychain.end();
      await bus[Symbol.asyncDispose]();
    });

    const run = (...args: string[]) => spawnHooktrail(args, { env });
    const refreshes = () => at.sandbox.log.filter(({ grantType }) => grantType === 'refresh_token').length;
    const secrets = () => path.join(env['HOOKTRAIL_CONFIG_DIR'] as string, 'secrets');

    /** Signs in with a token that the next command refreshes, unless it lasts for longer. */
    async function login(tokenLifetimeSeconds = 30): Promise<void> {
      const { behaviour } = at.sandbox.control;
      behaviour.tokenLifetimeSeconds = tokenLifetimeSeconds;
      const HOOKTRAIL_CLIENT_SECRET = at.sandbox.settings.clientSecret;
      const person = { HOOKTRAIL_BROWSER: browserCommand, HOOKTRAIL_CLIENT_SECRET };
      expect(await spawnHooktrail(['login'], { env: { ...env, ...person } })).toMatchObject({
        code: 0,
        stdout: '',
      });
      behaviour.tokenLifetimeSeconds = 1800;
    }

    test('sign in, 5 commands at once with one refresh, log out', async () => {
      await login();
      const results = await Promise.all(Array.from({ length: 5 }, () => run('token')));
      expect(new Set(results.map(({ code, stderr }) => `${code} ${stderr}`))).toEqual(new Set(['0 ']));
      expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
      expect(refreshes()).toBe(1);
      const findings = JSON.parse((await run('doctor', '--json')).stdout) as { check: string }[];
      expect(findings.find(({ check }) => check === 'keychain')).toMatchObject({ state: 'ok' });
      expect(await run('logout')).toEqual({
        code: 0,
        stdout: '',
        stderr: "signed out of the profile 'default' on this machine; its refresh token is revoked\n",
      });
      expect(await run('token')).toMatchObject({ code: 4, stdout: '' });
    });

    test('a locked one is not mistaken for an empty one, no dialog is asked for, and an unlocked one is used again', async () => {
      await login();
      await keychain.lock();
      const locked = (detail = '') => ({
        code: 2,
        stdout: '',
        stderr:
          `error: the OS keychain is locked\n${detail}` +
          'next: unlock it (in "Passwords and Keys" or your wallet manager, with `gnome-keyring-daemon --unlock`, on macOS with `security unlock-keychain`) and run the command again, ' +
          'or keep the secrets in an encrypted file: `hooktrail login --store file` (or HOOKTRAIL_STORE=file)\n',
      });
      expect(await run('token')).toEqual(locked());
      const detail = "  the tokens of 'default' could not be revoked: they could not be read\n";
      expect(await run('logout')).toEqual(locked(detail));
      await keychain.open();
      expect(await run('token')).toMatchObject({ code: 0, stderr: '' });
      expect((await run('logout')).code).toBe(0);
    });

    if (withCachedToken.includes(name))
      test('an access token of 8 KB is cached, and no part of it is in the clear', async () => {
        const padded = (token: string) => token.padEnd(8_001, 'p');
        at.sandbox.control.fault(
          'token',
          editJson((body) => ({ ...body, access_token: padded(body.access_token) })),
        );
        await login(1800);
        const before = refreshes();
        const { stdout } = await run('token');
        expect(stdout.length).toBeGreaterThan(8_000);
        expect(refreshes()).toBe(before);
        const [cached = ''] = await readdir(secrets());
        const file = path.join(secrets(), cached);
        expect((await readFile(file)).includes(stdout.slice(0, 12))).toBe(false);
        expect([(await stat(file)).mode & 0o777, (await stat(secrets())).mode & 0o777]).toEqual([
          0o600, 0o700,
        ]);

        // A FIFO in its place makes nothing wait.
        await rm(file);
        execFileSync('mkfifo', [file]);
        const error = `error: the secrets in ${file} cannot be read: it is not a regular file`;
        for (const command of ['token', 'logout'])
          expect(await run(command)).toMatchObject({
            code: 2,
            stdout: '',
            stderr: expect.stringContaining(error),
          });
        await rm(file);
        expect((await run('logout')).code).toBe(0);
      });

    // The others may not know the items of a locked one.
    test.runIf(name === 'gnome-keyring')(
      'a locked one without our secrets does not prevent logout',
      async () => {
        await keychain.lock();
        expect(await run('logout')).toMatchObject({ code: 0 });
      },
    );
  });
