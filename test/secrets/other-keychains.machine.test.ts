import { execFileSync } from 'node:child_process';
import { chmod, lchown, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Finding } from '../../src/doctor/diagnosis.ts';
import { browserCommand } from '../support/browser.ts';
import type { ForegroundTool } from '../support/machine/foreground-tool.ts';
import { type Bus, startBus } from '../support/machine/keyring.ts';
import {
  hasKeePassXC,
  hasKWallet,
  type KeePassXC,
  type KWallet,
  startKeePassXC,
  startKWallet,
} from '../support/machine/other-keychains.ts';
import { available } from '../support/machine/requirement.ts';
// These tests run processes, because they test the native library.
import { type Result, spawnHooktrail } from '../support/process.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

let at: SigningIn;
let bus: Bus;
let env: Record<string, string>;

function given<Keychain extends Pick<ForegroundTool, 'end'>>(
  start: (bus: Bus) => Promise<Keychain>,
): () => Keychain {
  let keychain: Keychain;
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
  return () => keychain;
}

/** Signs in with a token that the next command refreshes. */
async function login(): Promise<Result> {
  const { behaviour } = at.sandbox.control;
  behaviour.tokenLifetimeSeconds = 30;
  const result = await spawnHooktrail(['login'], {
    env: {
      ...env,
      HOOKTRAIL_BROWSER: browserCommand,
      HOOKTRAIL_CLIENT_SECRET: at.sandbox.settings.clientSecret,
    },
  });
  behaviour.tokenLifetimeSeconds = 1800;
  return result;
}

const refreshes = () => at.sandbox.log.filter(({ grantType }) => grantType === 'refresh_token').length;
const token = () => spawnHooktrail(['token'], { env });

async function expectLocked(): Promise<void> {
  const locked = {
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('error: the OS keychain is locked\n'),
  };
  expect(await token()).toEqual(locked);
  expect(await spawnHooktrail(['logout'], { env })).toEqual(locked);
}

function signsInAndOut(): void {
  test('sign in, 20 commands at once with one refresh, log out', async () => {
    expect(await login()).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('Signed in'),
    });
    const results = await Promise.all(Array.from({ length: 20 }, token));
    expect(new Set(results.map(({ code, stderr }) => `${code} ${stderr}`))).toEqual(new Set(['0 ']));
    expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
    expect(refreshes()).toBe(1);
    const { stdout } = await spawnHooktrail(['doctor', '--json'], { env });
    const findings = JSON.parse(stdout) as Finding[];
    expect(findings.find(({ check }) => check === 'keychain')).toMatchObject({ state: 'ok' });
    expect(await spawnHooktrail(['logout'], { env })).toEqual({
      code: 0,
      stdout: '',
      stderr: "signed out of the profile 'default' on this machine; its refresh token is revoked\n",
    });
    expect(await token()).toMatchObject({ code: 4, stdout: '' });
  });
}

/** Files that another user planted beside a keychain are refused, and nothing waits for them. */
function refusesWhatIsPlanted(): void {
  const OTHER = 65_534;
  test.skipIf(!available('root'))('planted settings are refused before the keychain is asked', async () => {
    const shared = path.join(at.home.folder, 'shared-settings');
    await mkdir(shared);
    await chmod(shared, 0o1777);
    const given = { ...env, HOOKTRAIL_CONFIG_DIR: shared };
    const config = path.join(shared, 'config.json');
    await writeFile(config, '{"version":1,"profiles":{"default":{"base-url":"http://127.0.0.1:1/"}}}');
    await lchown(config, OTHER, OTHER);
    for (const args of [['token'], ['login'], ['logout']]) {
      const { code, stderr } = await spawnHooktrail(args, { env: given });
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`error: the settings: ${config} is a file that another user (65534) put`),
      ]);
    }
  });

  test('a FIFO in the place of the sealed access token makes nothing wait', async () => {
    expect(await login()).toMatchObject({ code: 0 });
    const folder = path.join(env['HOOKTRAIL_CONFIG_DIR'] as string, 'secrets');
    const [name = ''] = await readdir(folder);
    const file = path.join(folder, name);
    await rm(file);
    execFileSync('mkfifo', [file]);
    for (const args of [['token'], ['logout']])
      expect(await spawnHooktrail(args, { env })).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(
          `error: the secrets in ${file} cannot be read: it is not a regular file`,
        ),
      });
    await rm(file);
    expect(await spawnHooktrail(['logout'], { env })).toMatchObject({ code: 0 });
  });
}

describe.skipIf(!hasKWallet)('with KWallet', () => {
  const wallet = given<KWallet>(startKWallet);
  signsInAndOut();
  refusesWhatIsPlanted();

  test('a wallet that was opened with the session is used, though its collection is called locked', async () => {
    expect(await login()).toMatchObject({ code: 0 });
    await wallet().restart();
    await wallet().open();
    expect(await token()).toMatchObject({ code: 0, stderr: '' });
  });

  test('a closed wallet is locked, not empty, and no dialog is asked for', async () => {
    await wallet().restart();
    await expectLocked();
    await wallet().open();
    expect(await spawnHooktrail(['logout'], { env })).toMatchObject({ code: 0 });
  });
});

describe.skipIf(!hasKeePassXC)('with KeePassXC', () => {
  const keepass = given<KeePassXC>(startKeePassXC);
  signsInAndOut();
  refusesWhatIsPlanted();

  test('a closed database is locked, and no dialog is asked for', async () => {
    expect(await login()).toMatchObject({ code: 0 });
    await keepass().close();
    await expectLocked();
  });
});
