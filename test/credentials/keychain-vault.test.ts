import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { forgetEverything, forgetProfile, openVault } from '../../src/credentials/open-vault.ts';
import type { Binding } from '../../src/credentials/vault.ts';
import { createContext, memoryKeychain } from '../support/context.ts';

const binding: Binding = {
  profile: 'default',
  authUrl: 'https://id.example/identity',
  clientId: 'client',
  serviceOrigin: 'https://events.example',
};
const long = 'r'.repeat(6000);
let folder: string;
let keychain: ReturnType<typeof memoryKeychain>;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-vault-'));
  // What Windows takes.
  keychain = memoryKeychain(2560);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

// Not Linux, where the Secret Service would be asked first.
const context = () => {
  const plain = createContext({
    environment: { HOOKTRAIL_CONFIG_DIR: folder },
    loadKeychain: async () => keychain,
  });
  return { ...plain, machine: { ...plain.machine, platform: 'win32' as const } };
};
const open = (changes: Partial<Binding> = {}) => openVault('keychain', { ...binding, ...changes }, context());
const files = async () => (await readdir(path.join(folder, 'secrets')).catch(() => [])).sort();

test('refresh token, client secret and cache key are entries, the access token is a file', async () => {
  const access = { token: 'a'.repeat(8192), expiresAt: 1, scope: undefined };
  await (await open()).write({ refreshToken: 'refresh', clientSecret: 'secret', access });
  expect(
    [...keychain.entries.keys()].map((account) => account.replace(/[0-9a-f]{16}/, 'hash')).sort(),
  ).toEqual(['default/hash/cache-key', 'default/hash/client-secret', 'default/hash/refresh-token']);
  expect(await files()).toEqual([expect.stringMatching(/^default~[0-9a-f]{16}\.access$/)]);
  expect(await (await open()).read()).toEqual({ refreshToken: 'refresh', clientSecret: 'secret', access });
});

test('reading the access token takes one entry', async () => {
  await (await open()).write({ refreshToken: 'refresh', access: { token: 'access' } });
  const asked: string[] = [];
  const { get } = keychain;
  keychain.get = (account) => {
    asked.push(account);
    return get(account);
  };
  expect((await (await open()).readAccess())?.token).toBe('access');
  expect(asked).toEqual([expect.stringMatching(/cache-key$/)]);
});

test.each([
  ['short', 'long', 'short'],
  ['long', 'short', 'long'],
])('secrets longer than an entry are kept, in any order of lengths (%s, %s, %s)', async (...lengths) => {
  for (const [index, length] of lengths.entries()) {
    const refreshToken = length === 'long' ? `${long}${index}` : `short${index}`;
    await (await open()).write({ refreshToken, clientSecret: `${long}secret` });
    expect(await (await open()).read()).toMatchObject({ refreshToken, clientSecret: `${long}secret` });
  }
  for (const name of await files()) {
    expect((await readFile(path.join(folder, 'secrets', name))).includes('rrrrrrrr')).toBe(false);
  }
});

test('a crash after the refresh token was stored loses nothing but the cached access token', async () => {
  await (await open()).write({
    refreshToken: 'old',
    clientSecret: 'secret',
    access: { token: 'old access' },
  });
  const cache = path.join(folder, 'secrets', (await files())[0] as string);
  await rm(cache);
  // A folder cannot be replaced by a file.
  await mkdir(cache);
  await expect(
    (await open()).write({ refreshToken: 'new', access: { token: 'new access' } }),
  ).rejects.toThrow();
  await rmdir(cache);
  expect(await (await open()).read()).toEqual({
    refreshToken: 'new',
    clientSecret: 'secret',
    access: undefined,
  });
});

test('a damaged cache is no cache; a damaged refresh token is an error', async () => {
  await (await open()).write({ refreshToken: long, access: { token: 'access' } });
  for (const name of await files()) {
    const file = path.join(folder, 'secrets', name);
    const content = await readFile(file);
    content[20] = (content[20] as number) ^ 1;
    await writeFile(file, content);
  }
  expect(await (await open()).readAccess()).toBeUndefined();
  await expect((await open()).read()).rejects.toMatchObject({
    exitCode: 4,
    message: 'the stored refresh token is damaged',
    next: 'run `hooktrail logout` and `hooktrail login`',
  });
});

test('the cache of one sign-in does not open in the name of another', async () => {
  await (await open()).write({ access: { token: 'access' } });
  const other = { serviceOrigin: 'https://evil.example' };
  await (await open(other)).write({ access: { token: 'other' } });
  const [first, second] = (await files()).map((name) => path.join(folder, 'secrets', name));
  await writeFile(first as string, await readFile(second as string));
  expect([
    (await (await open()).readAccess())?.token,
    (await (await open(other)).readAccess())?.token,
  ]).toContain(undefined);
});

test('deleting and forgetting leave no entry and no file', async () => {
  await (await open()).write({ refreshToken: long, clientSecret: 'secret', access: { token: 'access' } });
  await (await open({ profile: 'other' })).write({ refreshToken: 'refresh', access: { token: 'access' } });
  await (await open({ profile: 'third' })).write({ refreshToken: long });
  await (await open()).delete();
  expect(await (await open()).read()).toBeUndefined();
  expect(await forgetProfile('other', context())).toBe(1);
  expect([...keychain.entries.keys()].every((account) => account.startsWith('third/'))).toBe(true);
  expect(await forgetEverything(context())).toBe(1);
  expect([...keychain.entries]).toEqual([]);
  expect(await files()).toEqual([]);
});

test('a probe leaves nothing behind', async () => {
  await (await open()).probe();
  expect([...keychain.entries]).toEqual([]);
  expect(await files()).toEqual([]);
});
