import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { findSignIns, forgetSignIns, openVault } from '../../src/secrets/stored-sign-ins.ts';
import type { Binding } from '../../src/secrets/vault.ts';
import { loadRunSettings } from '../../src/settings/settings.ts';
import { openSession } from '../../src/sign-in/session.ts';
import { createReporter } from '../../src/terminal/reporter.ts';
import { advising } from '../support/advice.ts';
import { createContext, memoryKeychain } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';

const binding: Binding = {
  profile: 'default',
  authUrl: 'https://id.example/identity',
  clientId: 'client',
  serviceOrigin: 'https://events.example',
};
const long = 'r'.repeat(6000);
let keychain: ReturnType<typeof memoryKeychain>;

const at = forEachTest(createHome);
beforeEach(async () => {
  // The limit of Windows.
  keychain = memoryKeychain(2560);
});
// Not Linux, where the Secret Service would be checked first.
const context = () => {
  const plain = createContext({
    environment: { HOOKTRAIL_CONFIG_DIR: at.folder },
    loadKeychain: async () => keychain,
  });
  return { ...plain, machine: { ...plain.machine, platform: 'win32' as const } };
};
const open = (changes: Partial<Binding> = {}) => openVault('keychain', { ...binding, ...changes }, context());
const files = async () => (await readdir(path.join(at.folder, 'secrets')).catch(() => [])).sort();

test('a sign-in is one item, and the access token is a file', async () => {
  const access = { token: 'a'.repeat(8192), expiresAt: 1, scope: undefined };
  await (await open()).write({ refreshToken: 'refresh', clientSecret: 'secret', access });
  expect(
    [...keychain.entries.keys()].map((account) => account.replace(/[0-9a-f]{16}/, 'hash')).sort(),
  ).toEqual(['default/hash/sign-in']);
  expect(await files()).toEqual([expect.stringMatching(/^default~[0-9a-f]{16}\.access$/)]);
  expect(await (await open()).read()).toEqual({ refreshToken: 'refresh', clientSecret: 'secret', access });
});

test('a sign-in of version 0.1.0 is found and opened, and its place is named', async () => {
  keychain.entries.set(
    'default/75628a31a2ad9e37/sign-in',
    '{"refreshToken":"kept","written":1795176000000,"key":"eaSu2v46YOWjX6MWCHhW_AsHJj0ZdZ2usAD7BMMJAjE"}',
  );
  await mkdir(path.join(at.folder, 'secrets'));
  const file = path.join(at.folder, 'secrets', 'default~75628a31a2ad9e37.access');
  const sealed =
    'NAC+0V1NvBTq5IzqVskzDOVAMf9e6QqU3Uk4X1BoSlr4hZ9tGTuGDkzlOOMmQ+o5Qe1hyF/AqSEVKUxJNkr52DtkLTzL6VEn0ywMMfxGCipH';
  await writeFile(file, Buffer.from(sealed, 'base64'));
  const vault = open();
  expect(await vault.read()).toEqual({ refreshToken: 'kept', access: { token: 'access' } });
  expect([vault.kind, vault.place]).toEqual(['keychain', 'the Windows Credential Manager']);
  for (const [platform, place] of [
    ['darwin', 'the macOS Keychain'],
    ['linux', 'the Secret Service'],
  ] as const) {
    const { machine, ...rest } = context();
    expect(openVault('keychain', binding, { ...rest, machine: { ...machine, platform } }).place).toBe(place);
  }
});

test('an item that is none of ours is damage, and one without anything in it holds nothing', async () => {
  const vault = open();
  await vault.write({ refreshToken: 'refresh' });
  const [account = '', text = ''] = [...keychain.entries][0] ?? [];
  const [file = ''] = await files();
  for (const item of [
    '',
    'null',
    JSON.stringify({ ...JSON.parse(text), key: 'c2hvcnQ' }),
    JSON.stringify({ ...JSON.parse(text), key: undefined }),
  ]) {
    keychain.entries.set(account, item);
    await expect(open().read(), item).rejects.toMatchObject({
      exitCode: 4,
      message: 'the stored refresh token is damaged',
      details: [
        `${path.join(at.folder, 'secrets', file)} is missing, was changed, or belongs to another key`,
      ],
      next: advising('run `hooktrail logout` and `hooktrail login`'),
    });
  }
  keychain.entries.clear();
  expect(await open().read()).toBe(undefined);
  await open().write({});
  expect(await open().read()).toBe(undefined);
  for (const one of [{ clientSecret: 'secret' }, { access: { token: 'access' } }]) {
    await open().write(one);
    expect(await open().read()).toEqual(one);
  }
});

test('a cache of any length is ignored if it does not open', async () => {
  await open().write({ refreshToken: 'refresh', access: { token: 'access' } });
  const cache = path.join(at.folder, 'secrets', (await files())[0] as string);
  const whole = await readFile(cache);
  for (const length of [0, 5, 27, 28, 29, whole.length - 1]) {
    await writeFile(cache, whole.subarray(0, length));
    expect(await open().read()).toEqual({ refreshToken: 'refresh' });
  }
});

test('an item may have 2,048 bytes; longer secrets are in the file', async () => {
  await open().write({ refreshToken: '' });
  const size = Buffer.byteLength([...keychain.entries.values()][0] ?? '');
  for (const [length, isInItem] of [
    [2_048 - size, true],
    [2_049 - size, false],
  ] as const) {
    await open().write({ refreshToken: 'r'.repeat(length) });
    expect([...keychain.entries.values()][0]?.includes('rrr')).toBe(isInItem);
    expect(await open().read()).toEqual({ refreshToken: 'r'.repeat(length) });
  }
});

test('the last write counts, whatever the clock says', async () => {
  const at = (now: number) => {
    const plain = context();
    return openVault('keychain', binding, { ...plain, clock: { ...plain.clock, now: () => now } });
  };
  await at(2_000).write({ refreshToken: 'first' });
  const vault = at(1_000);
  await vault.read();
  await vault.rescue({ refreshToken: 'rescued' });
  expect(await open().read()).toMatchObject({ refreshToken: 'rescued' });
  await vault.write({ refreshToken: 'last' });
  expect(await open().read()).toMatchObject({ refreshToken: 'last' });
});

test('reading reads one entry', async () => {
  await (await open()).write({ refreshToken: 'refresh', access: { token: 'access' } });
  const asked: string[] = [];
  const { get } = keychain;
  keychain.get = (account) => {
    asked.push(account);
    return get(account);
  };
  expect((await (await open()).read())?.access?.token).toBe('access');
  expect(asked).toEqual([expect.stringMatching(/sign-in$/)]);
});

test('a session asks the keychain before its caller loads more code, and takes that answer', async () => {
  const plain = context();
  const environment = {
    ...plain.environment,
    HOOKTRAIL_AUTH_URL: binding.authUrl,
    HOOKTRAIL_BASE_URL: `${binding.serviceOrigin}/v1`,
    HOOKTRAIL_CLIENT_ID: binding.clientId,
  };
  const asking = { ...plain, environment };
  await openVault('keychain', binding, plain).write({ refreshToken: 'refresh', access: { token: 'access' } });
  const { get } = keychain;
  let answer: () => void = () => expect.fail('the keychain was not asked');
  let asked = 0;
  keychain.get = (account) => {
    asked++;
    return new Promise((resolve) => {
      answer = () => resolve(get(account));
    });
  };
  const { tokens } = await openSession({
    settings: await loadRunSettings({}, asking),
    context: asking,
    reporter: await createReporter(asking, {}, 'text'),
  });
  answer();
  expect(await tokens.accessToken()).toBe('access');
  expect(asked).toBe(1);
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
    expect((await readFile(path.join(at.folder, 'secrets', name))).includes('rrrrrrrr')).toBe(false);
  }
});

test('a crash after the refresh token was stored loses only the cached access token', async () => {
  await (await open()).write({
    refreshToken: 'old',
    clientSecret: 'secret',
    access: { token: 'old access' },
  });
  const cache = path.join(at.folder, 'secrets', (await files())[0] as string);
  await rm(cache);
  // A folder cannot be replaced by a file.
  await mkdir(cache);
  await expect(
    (await open()).write({ refreshToken: 'new', clientSecret: 'secret', access: { token: 'new access' } }),
  ).rejects.toThrow();
  await rmdir(cache);
  expect(await (await open()).read()).toEqual({
    refreshToken: 'new',
    clientSecret: 'secret',
    access: undefined,
  });
});

test('a write after a read is one call of the keychain, or none if the key stays and the secrets are long', async () => {
  await (await open()).write({ refreshToken: 'refresh', clientSecret: 'secret' });
  const vault = await open();
  await vault.read();
  const calls: string[] = [];
  for (const name of ['get', 'set', 'delete'] as const) {
    const original = keychain[name] as (...given: string[]) => Promise<never>;
    keychain[name] = (...given: string[]) => {
      calls.push(name);
      return original(...given);
    };
  }
  await vault.write({ refreshToken: 'next', clientSecret: 'secret' });
  expect(calls).toEqual(['set']);
  await vault.write({ refreshToken: long });
  await vault.write({ refreshToken: `${long}er` });
  expect(calls).toEqual(['set', 'set']);
  const later = open();
  expect(await later.read()).toEqual({ refreshToken: `${long}er` });
  await later.write({ refreshToken: `${long}est` });
  expect(calls).toEqual(['set', 'set', 'get']);
  expect(await open().read()).toEqual({ refreshToken: `${long}est` });
});

test('if the keychain stops answering after the rotation, the new token goes to a file, and the next read finds it', async () => {
  await (await open()).write({ refreshToken: 'old', clientSecret: 'secret' });
  const vault = await open();
  await vault.read();
  const { set } = keychain;
  keychain.set = () => Promise.reject(new Error('locked'));
  await expect(vault.write({ refreshToken: 'new', clientSecret: 'secret' })).rejects.toMatchObject({
    exitCode: 2,
  });
  const place = await vault.rescue({ refreshToken: 'new', clientSecret: 'secret' });
  expect(path.dirname(place)).toBe(path.join(at.folder, 'secrets'));
  expect((await readFile(place)).includes('new')).toBe(false);
  expect(await (await open()).read()).toMatchObject({ refreshToken: 'new', clientSecret: 'secret' });
  keychain.set = set;
  await (await open()).write({ refreshToken: 'after', clientSecret: 'secret' });
  expect(await (await open()).read()).toMatchObject({ refreshToken: 'after' });
});

test('if neither the keychain nor the folder takes the new token, another folder does; without a known key none can', async () => {
  await open().write({ refreshToken: 'old' });
  const vault = open();
  await vault.read();
  const secretsFolder = path.join(at.folder, 'secrets');
  await rename(secretsFolder, `${secretsFolder}.away`);
  await writeFile(secretsFolder, 'in the way');
  const place = await vault.rescue({ refreshToken: 'new' });
  expect(path.dirname(place)).toBe(path.join(at.folder, 'rescued'));
  await rm(secretsFolder);
  expect(await open().read()).toEqual({ refreshToken: 'new' });
  await expect(open().rescue({ refreshToken: 'new' })).rejects.toThrow('the OS keychain refused');
});

test('a damaged cache is ignored; a damaged refresh token is an error', async () => {
  const damage = async () => {
    for (const name of await files()) {
      const file = path.join(at.folder, 'secrets', name);
      const content = await readFile(file);
      content[20] = (content[20] as number) ^ 1;
      await writeFile(file, content);
    }
  };
  await (await open()).write({ refreshToken: 'refresh', access: { token: 'access' } });
  await damage();
  expect(await (await open()).read()).toEqual({ refreshToken: 'refresh' });
  await (await open()).write({ refreshToken: long, access: { token: 'access' } });
  await damage();
  await expect((await open()).read()).rejects.toMatchObject({
    exitCode: 4,
    message: 'the stored refresh token is damaged',
    next: advising('run `hooktrail logout` and `hooktrail login`'),
  });
});

test('the file of one sign-in does not open as that of another', async () => {
  await (await open()).write({ access: { token: 'access' }, refreshToken: 'refresh' });
  const other = { serviceOrigin: 'https://evil.example' };
  await (await open(other)).write({ access: { token: 'other' }, refreshToken: long });
  // This holds even if somebody made the keys the same.
  const [key] = [...keychain.entries]
    .filter(([account]) => account.endsWith('sign-in'))
    .map(([, text]) => JSON.parse(text).key);
  for (const [account, text] of keychain.entries) {
    if (account.endsWith('sign-in'))
      keychain.entries.set(account, JSON.stringify({ ...JSON.parse(text), key }));
  }
  const [first, second] = (await files()).map((name) => path.join(at.folder, 'secrets', name)) as [
    string,
    string,
  ];
  const contents = [await readFile(first), await readFile(second)] as const;
  await writeFile(first, contents[1]);
  await writeFile(second, contents[0]);
  expect(await (await open()).read()).toEqual({ refreshToken: 'refresh' });
  await expect((await open(other)).read()).rejects.toMatchObject({
    message: 'the stored refresh token is damaged',
  });
});

test('deleting and forgetting leave no entry and no file', async () => {
  await (await open()).write({ refreshToken: long, clientSecret: 'secret', access: { token: 'access' } });
  await (await open({ profile: 'other' })).write({ refreshToken: 'refresh', access: { token: 'access' } });
  await (await open({ profile: 'third' })).write({ refreshToken: long });
  expect(await forgetSignIns('default', context())).toEqual({ removed: 1 });
  expect(await (await open()).read()).toBeUndefined();
  expect(await forgetSignIns('other', context())).toEqual({ removed: 1 });
  expect([...keychain.entries.keys()].every((account) => account.startsWith('third/'))).toBe(true);
  expect(await forgetSignIns(undefined, context())).toEqual({ removed: 1 });
  expect([...keychain.entries]).toEqual([]);
  expect(await files()).toEqual([]);
});

test('a probe leaves nothing behind', async () => {
  await (await open()).probe();
  expect([...keychain.entries]).toEqual([]);
  expect(await files()).toEqual([]);
});

test('a probe that fails leaves nothing behind, and what a killed one left is no sign-in', async () => {
  const { get } = keychain;
  keychain.get = () => Promise.reject(new Error('denied'));
  await expect((await open()).probe()).rejects.toMatchObject({ message: 'the OS keychain refused' });
  expect([...keychain.entries]).toEqual([]);
  keychain.get = get;
  const { delete: remove } = keychain;
  keychain.delete = () => Promise.reject(new Error('killed'));
  await expect((await open()).probe()).rejects.toThrow();
  keychain.delete = remove;
  expect(keychain.entries.size).toBe(1);
  expect(await findSignIns('keychain', binding, context())).toEqual({ own: false, others: false });
  expect(await forgetSignIns(undefined, context())).toEqual({ removed: 0 });
  expect([...keychain.entries]).toEqual([]);
});
