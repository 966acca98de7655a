import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { hasWindows } from '../support/requirement.ts';
import {
  createWindowsHome,
  onWindows,
  prepareWindows,
  runOnWindows,
  startOnWindows,
  startWindowsUser,
} from '../support/windows.ts';

describe.skipIf(!hasWindows)('on Windows', { timeout: 120_000 }, () => {
  beforeAll(prepareWindows, 120_000);

  test('the demo signs in, lists and searches', async () => {
    await using home = await createWindowsHome();
    const { code, stdout, stderr } = await runOnWindows(['demo'], { env: home.env });
    expect([code, stderr]).toEqual([0, expect.stringContaining('Signed in at http://127.0.0.1:')]);
    expect(stdout.match(/ {2}FAILED {2}/g)).toHaveLength(10);
  });

  test('a sign-in with the encrypted file keeps everything in AppData, and ends with logout', async () => {
    await using user = await startWindowsUser();
    const login = await user.signIn();
    expect([login.code, login.stdout]).toEqual([0, '']);
    const folder = path.join(user.home.folder, 'AppData', 'Roaming', 'hooktrail');
    expect(login.stderr).toContain(`secrets   ${onWindows(folder)}\\secrets\\default~`);
    expect(await readdir(folder)).toEqual(expect.arrayContaining(['config.json', 'secrets']));
    expect(await user.run(['events', 'count'])).toEqual({ code: 0, stdout: '30\n', stderr: '' });
    const status = JSON.parse((await user.run(['status', '--json'])).stdout);
    expect(status).toMatchObject({ profile: 'default' });
    expect((await user.run(['logout'])).code).toBe(0);
    expect((await user.run(['events', 'count'])).code).toBe(4);
  });

  test('a sign-in with the Credential Manager is kept there', async () => {
    await using user = await startWindowsUser();
    const login = await user.signIn({ HOOKTRAIL_STORE: 'keychain' });
    expect([login.code, login.stderr]).toEqual([
      0,
      expect.stringContaining('the Windows Credential Manager'),
    ]);
    const env = { ...user.env, HOOKTRAIL_STORE: 'keychain', HOOKTRAIL_CLIENT_SECRET: '' };
    expect(await user.run(['events', 'count'], { env })).toEqual({ code: 0, stdout: '30\n', stderr: '' });
    expect((await user.run(['logout'], { env })).code).toBe(0);
    expect((await user.run(['events', 'count'], { env })).code).toBe(4);
  });

  test('20 commands at once renew an expired token once', async () => {
    await using user = await startWindowsUser({ tokenLifetimeSeconds: 600 });
    await user.signIn();
    clock.advance(600_000);
    const commands = Array.from({ length: 20 }, () => user.run(['events', 'count']));
    for (const { code, stdout, stderr } of await Promise.all(commands))
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '30\n', stderr: '' });
    expect(user.refreshes()).toEqual([undefined]);
  });

  test('a command that was ended in the middle of a refresh does not hold up the next one', async () => {
    await using user = await startWindowsUser({ tokenLifetimeSeconds: 600 });
    await user.signIn();
    clock.advance(600_000);
    // The request is not carried out, so that the refresh token stays good.
    user.sandbox.control.fault('token', { kind: 'raw', text: '' });
    const ended = await startOnWindows(['events', 'count'], { env: user.env });
    await expect.poll(() => user.sandbox.control.pendingFaults, { timeout: 20_000 }).toBe(0);
    await ended.kill();
    expect((await ended.finished).code).not.toBe(0);
    const began = performance.now();
    expect(await user.run(['events', 'count'])).toMatchObject({ code: 0, stdout: '30\n' });
    expect(performance.now() - began).toBeLessThan(15_000);
  });
});
