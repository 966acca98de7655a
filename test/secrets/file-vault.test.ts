import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { generateKey } from '../../src/secrets/encrypted-file.ts';
import { findSignIns, forgetSignIns, openVault } from '../../src/secrets/stored-sign-ins.ts';
import type { Binding, Vault } from '../../src/secrets/vault.ts';
import { createContext } from '../support/context.ts';

const binding: Binding = {
  profile: 'default',
  authUrl: 'https://id.example/identity',
  clientId: 'client',
  serviceOrigin: 'https://events.example',
};
const secrets = {
  refreshToken: 'a refresh token',
  clientSecret: 'a client secret',
  access: { token: 'x'.repeat(8192), expiresAt: 4_000_000_000_000, scope: 'event_api offline_access' },
};
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-vault-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const context = (passphrase?: string) =>
  createContext({ environment: { HOOKTRAIL_CONFIG_DIR: folder, HOOKTRAIL_PASSPHRASE: passphrase } });
const open = (passphrase?: string, changes: Partial<Binding> = {}): Vault =>
  openVault('file', { ...binding, ...changes }, context(passphrase));

/** As `keygen` makes it: unlike a passphrase, it takes no time to open a file. */
const KEY = `htk1-${'k'.repeat(42)}0`;

async function written(passphrase = 'pass'): Promise<string> {
  const vault = await open(passphrase);
  await vault.write(secrets);
  return vault.place;
}

test('what is written can be read, also in another process', async () => {
  await written();
  expect(await (await open('pass')).read()).toEqual(secrets);
});

test('a write replaces everything, and after a read it reads nothing', async () => {
  const vault = await open(KEY);
  await vault.write(secrets);
  await vault.read();
  await writeFile(vault.place, 'what was stored is gone');
  await vault.write({ ...secrets, refreshToken: 'the next one', access: undefined });
  expect(await (await open(KEY)).read()).toEqual({
    ...secrets,
    refreshToken: 'the next one',
    access: undefined,
  });
});

test('secrets rescued to another folder are found by the next read, until a write follows', async () => {
  const vault = await open(KEY);
  await vault.write(secrets);
  const place = await vault.rescue({ ...secrets, refreshToken: 'rescued' });
  expect(path.dirname(place)).not.toBe(path.dirname(vault.place));
  expect((await stat(place)).mode & 0o777).toBe(0o600);
  expect(await (await open(KEY)).read()).toEqual({ ...secrets, refreshToken: 'rescued' });
  await rm(vault.place);
  expect(await (await open(KEY)).read()).toEqual({ ...secrets, refreshToken: 'rescued' });
  await (await open(KEY)).write({ ...secrets, refreshToken: 'after' });
  expect(await (await open(KEY)).read()).toEqual({ ...secrets, refreshToken: 'after' });
  await expect(stat(place)).rejects.toThrow('ENOENT');
});

test('rescued secrets are deleted with their profile', async () => {
  const place = await (await open(KEY)).rescue(secrets);
  expect(await forgetSignIns('default', context())).toBe(1);
  await expect(stat(place)).rejects.toThrow('ENOENT');
});

test('another configuration folder has its own rescued secrets', async () => {
  await (await open(KEY)).rescue(secrets);
  const elsewhere = createContext({
    environment: { HOOKTRAIL_CONFIG_DIR: path.join(folder, 'other'), HOOKTRAIL_PASSPHRASE: KEY },
  });
  expect(await (await openVault('file', binding, elsewhere)).read()).toBeUndefined();
});

test('a key of keygen seals without scrypt, and its file opens only with that key', async () => {
  const key = generateKey();
  expect(key).toMatch(/^htk1-[A-Za-z0-9_-]{43}$/);
  const vault = await open(key);
  await vault.write(secrets);
  expect((await readFile(vault.place)).subarray(0, 20).toString()).toBe('hooktrail-secrets-2\n');
  expect(await (await open(`  ${key}\n`)).read()).toEqual(secrets);
  await expect((await open(generateKey())).read()).rejects.toMatchObject({
    exitCode: 2,
    message: `the passphrase does not open ${vault.place}`,
  });
  const whole = await readFile(vault.place);
  for (const at of [0, 25, 40, 60, whole.length - 1]) {
    const flipped = Buffer.from(whole);
    flipped[at] = (flipped[at] as number) ^ 1;
    await writeFile(vault.place, flipped);
    await expect((await open(key)).read(), `byte ${at}`).rejects.toMatchObject({ exitCode: 4 });
  }
});

test('a file that is sealed the other way is reported, and a sign-in seals it again', async () => {
  const key = generateKey();
  const place = await written();
  const refused = {
    exitCode: 2,
    message: `${place} is sealed with a passphrase, and a key was given`,
    next: 'give the passphrase, or run `hooktrail login`, which seals the file with what is given then',
  };
  await expect((await open(key)).read()).rejects.toMatchObject(refused);
  await expect((await open(key)).probe()).rejects.toMatchObject(refused);
  const vault = await open(key);
  await vault.probe(true);
  expect(await vault.read()).toBeUndefined();
  expect(await (await open('pass')).read()).toEqual(secrets);
  await vault.write(secrets);
  expect(await (await open(key)).read()).toEqual(secrets);
  await expect((await open('pass')).read()).rejects.toMatchObject({
    message: `${place} is sealed with a key of \`hooktrail keygen\`, and a passphrase was given`,
  });
  const keyless = await open();
  await expect(keyless.read()).rejects.toMatchObject({
    message: `${place} is sealed with a key of \`hooktrail keygen\`, and none was given`,
    next: 'set HOOKTRAIL_PASSPHRASE_FILE to the file with the key, or run `hooktrail login`, which seals the file with what is given then',
  });
});

test('finding out that nothing is stored needs no passphrase', async () => {
  expect(await (await open()).read()).toBeUndefined();
});

test('the file is accessible to the user only, reveals nothing, and differs after each write', async () => {
  const place = await written();
  expect((await stat(place)).mode & 0o777).toBe(0o600);
  expect((await stat(path.dirname(place))).mode & 0o777).toBe(0o700);
  const first = await readFile(place);
  for (const text of ['refresh', 'client secret', 'xxxxxxxx', 'example', 'event_api']) {
    expect(first.includes(text)).toBe(false);
  }
  await written();
  expect((await readFile(place)).equals(first)).toBe(false);
});

test('a wrong passphrase is reported as one', async () => {
  const place = await written();
  const refused = {
    exitCode: 2,
    message: `the passphrase does not open ${place}`,
    next: expect.stringContaining('HOOKTRAIL_PASSPHRASE'),
  };
  await expect((await open('other')).read()).rejects.toMatchObject(refused);
  await expect((await open('other')).probe()).rejects.toMatchObject(refused);
  expect(await (await open('pass')).read()).toEqual(secrets);
});

test('no passphrase and no terminal is an error that names the variable', async () => {
  const missing = { exitCode: 2, next: expect.stringContaining('HOOKTRAIL_PASSPHRASE') };
  await expect((await open()).probe()).rejects.toMatchObject(missing);
  await written();
  await expect((await open()).read()).rejects.toMatchObject(missing);
});

test('a flipped bit anywhere is noticed', { timeout: 60_000 }, async () => {
  const place = await written();
  const whole = await readFile(place);
  const everywhere = [
    0,
    5,
    20,
    21,
    22,
    23,
    30,
    40,
    52,
    60,
    100,
    whole.length - 40,
    whole.length - 33,
    whole.length - 1,
  ];
  for (const at of everywhere) {
    const flipped = Buffer.from(whole);
    flipped[at] = (flipped[at] as number) ^ 1;
    await writeFile(place, flipped);
    await expect((await open('pass')).read(), `byte ${at}`).rejects.toMatchObject({
      exitCode: 4,
      next: 'restore it from a copy, or run `hooktrail logout` and `hooktrail login`',
    });
  }
});

test('a file cut short anywhere is noticed', async () => {
  const place = await written();
  const whole = await readFile(place);
  for (const length of [0, 1, 19, 20, 38, 39, 60, 71, 99, whole.length - 1]) {
    await writeFile(place, whole.subarray(0, length));
    await expect((await open('pass')).read(), `${length} bytes`).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringMatching(/is (cut short|damaged): /),
    });
  }
});

test('a file of another profile, provider or service does not open under this name', async () => {
  const content = await readFile(await written(KEY));
  for (const changes of [
    { profile: 'other' },
    { authUrl: 'https://evil.example' },
    { clientId: 'other' },
    { serviceOrigin: 'https://evil.example' },
  ]) {
    const vault = await open(KEY, changes);
    expect(await vault.read()).toBeUndefined();
    await writeFile(vault.place, content);
    await expect(vault.read()).rejects.toMatchObject({ exitCode: 2 });
  }
});

test('a probe leaves nothing behind', async () => {
  await (await open(KEY)).probe();
  expect(await readdir(path.join(folder, 'secrets'))).toEqual([]);
});

test('a folder that cannot be created is already an error of the probe', async () => {
  await writeFile(path.join(folder, 'secrets'), 'in the way');
  await expect((await open('pass')).probe()).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('secrets cannot be written'),
    next: expect.stringContaining('HOOKTRAIL_CONFIG_DIR'),
  });
});

test('all secrets of a profile are deleted, and those of no other', async () => {
  await (await open(KEY, { profile: 'a' })).write(secrets);
  await (await open(KEY, { profile: 'a', serviceOrigin: 'https://second.example' })).write(secrets);
  await (await open(KEY, { profile: 'a.b' })).write(secrets);
  const here = { ...binding, profile: 'a' };
  expect(await findSignIns('file', here, context())).toEqual({ own: true, others: true });
  expect(await forgetSignIns('a', context())).toBe(2);
  expect(await findSignIns('file', here, context())).toEqual({ own: false, others: false });
  expect(await (await open(KEY, { profile: 'a.b' })).read()).toEqual(secrets);
  expect(await forgetSignIns('a', context())).toBe(0);
});

test('what an interrupted write left is no sign-in, and is deleted with the others', async () => {
  const file = await written(KEY);
  await rename(file, `${file}.0123456789abcdef.tmp`);
  expect(await findSignIns('file', binding, context(KEY))).toEqual({ own: false, others: false });
  expect(await forgetSignIns(undefined, context(KEY))).toBe(0);
  expect(await readdir(path.dirname(file))).toEqual([]);
});
