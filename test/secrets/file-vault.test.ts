import fs from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Context } from '../../src/context.ts';
import { askPassphrase, isPassphraseGiven } from '../../src/secrets/file-vault.ts';
import { FileSeal, generateKey, sealKindOf } from '../../src/secrets/sealed-file.ts';
import {
  deleteSecretFile,
  listRescued,
  listSecretFiles,
  openCopies,
} from '../../src/secrets/secret-files.ts';
import { findSignIns, forgetSignIns, openVault } from '../../src/secrets/stored-sign-ins.ts';
import type { Binding, Vault } from '../../src/secrets/vault.ts';
import { advising } from '../support/advice.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';

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

const at = forEachTest(createHome);
const context = (passphrase?: string) =>
  createContext({ environment: { HOOKTRAIL_CONFIG_DIR: at.folder, HOOKTRAIL_PASSPHRASE: passphrase } });
const open = (passphrase?: string, changes: Partial<Binding> = {}): Vault =>
  openVault('file', { ...binding, ...changes }, context(passphrase));

/** As `keygen` makes it: unlike a passphrase, it takes no time to open a file. */
const KEY = `htk1-${'k'.repeat(42)}0`;

async function written(passphrase: string): Promise<string> {
  const vault = await open(passphrase);
  await vault.write(secrets);
  return vault.place;
}

/** Files that version 0.1.0 wrote for this binding, with the passphrase `pass` and with the key. */
const FILES = [
  [
    'pass',
    'aG9va3RyYWlsLXNlY3JldHMtMQpsEr/yXaHJAfu7D68F3KEYiY1Gx6Oxx7VtzI5BHMRBrZLkX1sX2v5Q7JLxS0dk/xTI4ykneSK0Tpg63jVaaUeigSwJaRrC88u4M58M8eU5MaajunFfxygZ+TEpvowHtsOYMa7cNKutVRoor2LgKjbve0EmKCcWn1aUcZk=',
  ],
  [
    KEY,
    'aG9va3RyYWlsLXNlY3JldHMtMgpr9pgyzPrpFUEBM3QmQYbd5Lvq+hD9agwqxjqbtyPML6xLnwBixHdtt6UfdjCd875hevKuwABQGRi5ReYRt0ARVtC+ytsc+kOOPMeDkbGFOOAU2Tr84nu7ok5M650Cx3J0VS0GMnf+fofb4SqqzvDSWfz/a4YxzO8TM0Q=',
  ],
] as const;

/** Puts one in its place, which takes no scrypt. */
async function placed(file: string): Promise<string> {
  const place = path.join(at.folder, 'secrets', 'default~75628a31a2ad9e37.vault');
  await mkdir(path.dirname(place), { recursive: true });
  await writeFile(place, Buffer.from(file, 'base64'));
  return place;
}

const SEALED_WITH_PASSPHRASE = FILES[0][1];

test('files of version 0.1.0 are found and opened, and written in the same format', async () => {
  for (const [passphrase, file] of FILES) {
    const place = await placed(file);
    const vault = open(passphrase);
    expect([vault.kind, vault.place]).toEqual(['file', place]);
    expect(await vault.read()).toEqual({ refreshToken: 'kept' });
    await vault.write(secrets);
    expect(await vault.read()).toEqual(secrets);
    expect((await readFile(place)).subarray(0, 20).toString()).toBe(
      Buffer.from(file, 'base64').subarray(0, 20).toString(),
    );
  }
  expect(await open(KEY).read()).toEqual(secrets);
});

test('the last write counts, wherever it was made, and whatever the clock says', async () => {
  const rescued = { ...secrets, refreshToken: 'rescued' };
  const vault = open(KEY);
  const place = await vault.rescue(rescued);
  await rename(place, `${place}.kept`);
  await vault.write({ ...secrets, refreshToken: 'second' });
  await rename(`${place}.kept`, place);
  expect(await open(KEY).read()).toMatchObject({ refreshToken: 'second' });
  const earlier = { ...context(KEY), clock: { ...context().clock, now: () => 0 } };
  const other = openVault('file', binding, earlier);
  await other.read();
  await other.rescue(rescued);
  expect(await open(KEY).read()).toMatchObject({ refreshToken: 'rescued' });
});

/**
 * A person on a terminal who gives these answers to the questions, which are kept with the other text in
 * `shown`.
 */
function person(answers: string[], plain = context()): Context & { readonly shown: string[] } {
  const shown: string[] = [];
  const input = new PassThrough();
  return {
    ...plain,
    shown,
    stdin: { ...plain.stdin, isTerminal: true, stream: () => input },
    stderr: {
      ...plain.stderr,
      isTerminal: true,
      write: async (written) => {
        const text = String(written);
        shown.push(text);
        if (text.endsWith(': ')) input.write(`${answers.shift()}\n`);
      },
    },
  };
}

test('on a terminal a person chooses the passphrase of the encrypted file by typing it twice, and is asked once for all files', async () => {
  const typing = person(['seven c', 'one passphrase', 'another one', '\ufb01ngers!', '\ufb01ngers!']);
  const vault = openVault('file', binding, typing);
  await vault.probe();
  await vault.write(secrets);
  await openVault('file', { ...binding, profile: 'other' }, typing).write(secrets);
  expect(typing.shown.filter((text) => text !== '\n')).toEqual([
    'New passphrase for the encrypted file: ',
    '  a new passphrase needs 8 characters or more\n',
    'New passphrase for the encrypted file: ',
    'Repeat the passphrase: ',
    'The passphrases differ. New passphrase for the encrypted file: ',
    'Repeat the passphrase: ',
  ]);
  // The same text in another form of Unicode.
  expect(await open('fingers!').read()).toEqual(secrets);
});

test('on a terminal a person has three tries to type the passphrase of the encrypted file', async () => {
  const place = await placed(SEALED_WITH_PASSPHRASE);
  const mistaken = '  that passphrase does not open the file\n';
  const question = 'Passphrase of the encrypted file: ';
  // The same text in another form of Unicode.
  const typing = person(['pas', 'pa\u017fs']);
  expect(await openVault('file', binding, typing).read()).toEqual({ refreshToken: 'kept' });
  expect(typing.shown.filter((text) => text !== '\n')).toEqual([question, mistaken, question]);
  const guessing = person(['a', 'b', 'c', 'd']);
  await expect(openVault('file', binding, guessing).read()).rejects.toMatchObject({
    exitCode: 2,
    message: `the passphrase does not open ${place}`,
    details: ['it is not the one the file was written with, or somebody altered the file'],
    next: advising(
      'try again with the right passphrase; without the passphrase, `hooktrail logout` and `hooktrail login` start over',
    ),
  });
  expect(guessing.shown.filter((text) => text !== '\n')).toEqual([
    question,
    mistaken,
    question,
    mistaken,
    question,
  ]);
});

test('on a terminal a person may have a key made instead, whose file is used from then on', async () => {
  const keyFile = path.join(at.folder, '.hooktrail.key');
  const home = () => createContext({ environment: { HOME: at.folder, HOOKTRAIL_CONFIG_DIR: at.folder } });
  const choose = (typing: Context) => askPassphrase('default', typing, { isNew: true, offersKey: true });
  const typing = person(['short', ''], home());
  const key = await choose(typing);
  expect([sealKindOf(key), await readFile(keyFile, 'utf8')]).toEqual(['key', `${key}\n`]);
  expect(typing.memory.keyFile).toBe(keyFile);
  expect(typing.shown.filter((text) => text !== '\n')).toEqual([
    `Without a passphrase (just press Enter) a key is made in ${keyFile},\nand commands do not ask for it.\n`,
    'New passphrase for the encrypted file: ',
    '  a new passphrase needs 8 characters or more\n',
    'New passphrase for the encrypted file: ',
  ]);
  expect(await choose(person([''], home()))).toBe(key);
  const chosen = person(['one passphrase', 'one passphrase'], home());
  expect([await choose(chosen), chosen.memory.keyFile]).toEqual(['one passphrase', undefined]);
  await writeFile(keyFile, 'a passphrase\n');
  await expect(choose(person([''], home()))).rejects.toMatchObject({
    exitCode: 2,
    message: `${keyFile} holds no key of \`hooktrail keygen\``,
    next: 'move it away, or choose a passphrase',
  });
});

test('a passphrase or key comes from the file that the profile names, and is not asked for', async () => {
  const file = path.join(at.folder, 'key');
  await writeFile(file, `${KEY}\n`, { mode: 0o600 });
  const profiles = { default: { 'passphrase-file': file }, other: {} };
  await writeFile(path.join(at.folder, 'config.json'), JSON.stringify({ version: 1, profiles }));
  expect(await isPassphraseGiven('default', context())).toBe(true);
  expect(await isPassphraseGiven('other', context())).toBe(false);
  expect(await isPassphraseGiven('other', context(KEY))).toBe(true);
  expect(await askPassphrase('default', context())).toBe(KEY);
  await openVault('file', binding, context()).write(secrets);
  expect(await open(KEY).read()).toEqual(secrets);
});

test('a key is recognised in its whole form alone', () => {
  expect([KEY, `x${KEY}`, `${KEY}x`, KEY.slice(1), `${KEY} `].map(sealKindOf)).toEqual([
    'key',
    'passphrase',
    'passphrase',
    'passphrase',
    'passphrase',
  ]);
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

test('a write after a read takes the key that opened the file, which a passphrase would have to derive anew', async () => {
  await open(KEY).write(secrets);
  const vault = open(KEY);
  const header = async () => (await readFile(vault.place)).subarray(0, 'hooktrail-secrets-2\n'.length + 16);
  const opened = await header();
  await vault.read();
  await vault.write(secrets);
  expect(await header()).toEqual(opened);
  await open(KEY).write(secrets);
  expect(await header()).not.toEqual(opened);
});

test('secrets rescued to another folder are found by the next read, until a write follows', async () => {
  const vault = await open(KEY);
  await vault.write(secrets);
  const place = await vault.rescue({ ...secrets, refreshToken: 'rescued' });
  expect(place).toBe(path.join(at.folder, 'rescued', path.basename(vault.place)));
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
  expect(await forgetSignIns('default', context())).toMatchObject({ removed: 1 });
  await expect(stat(place)).rejects.toThrow('ENOENT');
});

test('another configuration folder has its own rescued secrets', async () => {
  await (await open(KEY)).rescue(secrets);
  const elsewhere = createContext({
    environment: { HOOKTRAIL_CONFIG_DIR: path.join(at.folder, 'other'), HOOKTRAIL_PASSPHRASE: KEY },
  });
  expect(await (await openVault('file', binding, elsewhere)).read()).toBeUndefined();
});

test('a key of keygen seals without scrypt, and its file opens only with that key', async () => {
  const key = generateKey();
  expect(key).toMatch(/^htk1-[A-Za-z0-9_-]{43}$/);
  const vault = await open(key);
  await vault.write(secrets);
  expect((await readFile(vault.place)).subarray(0, 20).toString()).toBe('hooktrail-secrets-2\n');
  expect(await (await open(key)).read()).toEqual(secrets);
  await expect((await open(generateKey())).read()).rejects.toMatchObject({
    exitCode: 2,
    message: `the passphrase does not open ${vault.place}`,
  });
});

test('a file that is sealed the other way is reported, and a sign-in seals it again', async () => {
  const key = generateKey();
  const place = await placed(SEALED_WITH_PASSPHRASE);
  const refused = {
    exitCode: 2,
    message: `${place} is sealed with a passphrase, and a key was given`,
    next: advising(
      'give the passphrase, or run `hooktrail login`, which seals the file with the secret given then',
    ),
  };
  await expect((await open(key)).read()).rejects.toMatchObject(refused);
  await expect((await open(key)).probe()).rejects.toMatchObject(refused);
  const vault = await open(key);
  await vault.probe(true);
  expect(await vault.read()).toBeUndefined();
  const before = await readFile(place);
  expect(before.toString('base64')).toBe(SEALED_WITH_PASSPHRASE);
  await vault.write(secrets);
  const after = await readFile(place);
  expect(await (await open(key)).read()).toEqual(secrets);
  // From then on it is wrong again.
  await writeFile(place, before);
  await expect(vault.read()).rejects.toMatchObject(refused);
  await writeFile(place, after);
  await expect((await open('passphrase')).read()).rejects.toMatchObject({
    message: `${place} is sealed with a key of \`hooktrail keygen\`, and a passphrase was given`,
  });
  const keyless = await open();
  await expect(keyless.read()).rejects.toMatchObject({
    message: `${place} is sealed with a key of \`hooktrail keygen\`, and none was given`,
    next: advising(
      'name the file with the key by `hooktrail config set passphrase-file PATH` or HOOKTRAIL_PASSPHRASE_FILE, or run `hooktrail login`, which seals the file with the secret given then',
    ),
  });
});

test('finding out that nothing is stored needs no passphrase', async () => {
  expect(await (await open()).read()).toBeUndefined();
});

test('the file is accessible to the user only, reveals nothing, and differs after each write', async () => {
  const place = await written(KEY);
  expect((await stat(place)).mode & 0o777).toBe(0o600);
  expect((await stat(path.dirname(place))).mode & 0o777).toBe(0o700);
  const first = await readFile(place);
  for (const text of ['refresh', 'client secret', 'xxxxxxxx', 'example', 'event_api']) {
    expect(first.includes(text)).toBe(false);
  }
  await written(KEY);
  expect((await readFile(place)).equals(first)).toBe(false);
});

test('a wrong passphrase is reported as one', async () => {
  const place = await placed(SEALED_WITH_PASSPHRASE);
  const refused = {
    exitCode: 2,
    message: `the passphrase does not open ${place}`,
    next: advising(
      'check HOOKTRAIL_PASSPHRASE, or the file that passphrase-file names; without the passphrase, `hooktrail logout` and `hooktrail login` start over',
    ),
  };
  await expect((await open('other')).read()).rejects.toMatchObject(refused);
  await expect((await open('other')).probe()).rejects.toMatchObject(refused);
  expect((await readFile(place)).toString('base64')).toBe(SEALED_WITH_PASSPHRASE);
});

test('no passphrase and no terminal is an error that names the variable', async () => {
  const missing = {
    exitCode: 2,
    message: 'the encrypted file of secrets needs a passphrase',
    next: advising(
      'set HOOKTRAIL_PASSPHRASE, save the file that has it with `hooktrail config set passphrase-file PATH`, or run the command on a terminal',
    ),
  };
  await expect((await open()).probe()).rejects.toMatchObject(missing);
  await placed(SEALED_WITH_PASSPHRASE);
  await expect((await open()).read()).rejects.toMatchObject(missing);
});

test('a passphrase of under 8 characters is refused where it is chosen', async () => {
  await expect((await open('sho\u0301rt7')).probe()).rejects.toMatchObject({
    exitCode: 2,
    message: 'a new passphrase needs 8 characters or more',
    details: ['the one that was given, by HOOKTRAIL_PASSPHRASE or a file, is shorter'],
    next: advising('choose a longer one, or a key of `hooktrail keygen`'),
  });
});

test('a flipped bit anywhere is noticed', async () => {
  const place = await written(KEY);
  const whole = await readFile(place);
  const damage = async (at: number) => {
    const flipped = Buffer.from(whole);
    flipped[at] = (flipped[at] as number) ^ 1;
    await writeFile(place, flipped);
    return await open(KEY)
      .read()
      .catch(({ exitCode, message, next }) => [exitCode, message, String(next)]);
  };
  const next = 'restore it from a copy, or run `hooktrail logout` and `hooktrail login`';
  const foreign = `the encrypted file of secrets was not written by hooktrail: ${place}`;
  const damaged = `the encrypted file of secrets is damaged: ${place}`;
  for (const at of [0, 5, 19]) expect(await damage(at)).toEqual([4, foreign, next]);
  for (const at of [20, 35, 36, 48, 64, 100, -40, -33, -32, -1])
    expect(await damage(at < 0 ? whole.length + at : at)).toEqual([4, damaged, next]);
});

test('a file cut short anywhere is noticed', async () => {
  const place = await written(KEY);
  const whole = await readFile(place);
  for (const [length, how] of [
    [0, 'cut short'],
    [19, 'cut short'],
    [20, 'cut short'],
    [67, 'cut short'],
    [68, 'damaged'],
    [whole.length - 1, 'damaged'],
  ] as const) {
    await writeFile(place, whole.subarray(0, length));
    await expect(open(KEY).read(), `${length} bytes`).rejects.toMatchObject({
      exitCode: 4,
      message: `the encrypted file of secrets is ${how}: ${place}`,
    });
  }
  // Intact, but with something else in it.
  await writeFile(
    place,
    await new FileSeal(async () => KEY).seal(
      'no secrets',
      JSON.stringify(['default', binding.authUrl, 'client', binding.serviceOrigin]),
    ),
  );
  await expect(open(KEY).read()).rejects.toMatchObject({
    message: `the encrypted file of secrets is damaged: ${place}`,
  });
});

test('of two copies that cannot be opened the first is reported, and one that can is used', async () => {
  const vault = open(KEY);
  await vault.write(secrets);
  const place = await vault.rescue({ ...secrets, refreshToken: 'rescued' });
  await writeFile(vault.place, 'x');
  expect(await open(KEY).read()).toMatchObject({ refreshToken: 'rescued' });
  await writeFile(place, 'x');
  await expect(open(KEY).read()).rejects.toThrow(vault.place);
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
  expect(await readdir(path.join(at.folder, 'secrets'))).toEqual([]);
});

test('a folder that cannot be created or read is an error of each that needs it', async () => {
  const place = path.join(at.folder, 'secrets');
  await writeFile(place, 'in the way');
  await expect(open(KEY).probe()).rejects.toMatchObject({
    exitCode: 2,
    message: `secrets cannot be written to ${place}: file already exists (EEXIST)`,
    next: 'make the folder writable and free some space, or choose another with HOOKTRAIL_CONFIG_DIR',
  });
  await expect(listSecretFiles(context(), undefined)).rejects.toMatchObject({
    exitCode: 2,
    message: `the folder ${place} cannot be read: not a directory (ENOTDIR)`,
    next: 'change its permissions, or choose another folder with HOOKTRAIL_CONFIG_DIR',
  });
});

test('a file that cannot be read or deleted is an error that names it', async () => {
  const vault = open(KEY);
  await mkdir(vault.place, { recursive: true });
  await expect(vault.read()).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(new RegExp(`^the secrets in ${vault.place} cannot be read: .`)),
    next: 'change its permissions, or choose another folder with HOOKTRAIL_CONFIG_DIR',
  });
  await expect(deleteSecretFile(vault.place)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(new RegExp(`^the secrets in ${vault.place} cannot be deleted: .`)),
    next: 'make its folder writable and run the command again, or delete the file yourself',
  });
  await deleteSecretFile(path.join(at.folder, 'nowhere', 'file'));
});

test('a file that a loss of power may bring back, or lose, is an error that says so', async () => {
  const vault = open(KEY);
  await vault.write(secrets);
  const folder = path.dirname(vault.place);
  const openFile = fs.promises.open;
  const opening = vi.spyOn(fs.promises, 'open').mockImplementation((file, ...rest) => {
    if (file !== folder) return openFile(file, ...rest);
    return Promise.reject(Object.assign(new Error('EIO: i/o error, open'), { code: 'EIO', syscall: 'open' }));
  });
  onTestFinished(() => opening.mockRestore());
  await expect(vault.write(secrets)).rejects.toMatchObject({
    exitCode: 2,
    message: `the secrets are in ${vault.place}, but a loss of power could lose them: i/o error (EIO)`,
    next: 'check the disk',
  });
  await expect(deleteSecretFile(vault.place)).rejects.toMatchObject({
    exitCode: 2,
    message: `${vault.place} is deleted, but a loss of power could bring it back: i/o error (EIO)`,
    next: 'check the disk, and run the command again',
  });
  expect(await readdir(folder)).toEqual([]);
});

test('the folder of secrets is made accessible to the user only', async () => {
  await mkdir(path.join(at.folder, 'secrets'));
  await chmod(path.join(at.folder, 'secrets'), 0o755);
  await open(KEY).write(secrets);
  expect((await stat(path.join(at.folder, 'secrets'))).mode & 0o777).toBe(0o700);
});

test('the files of sign-ins are listed by their names, those of a profile and those of all', async () => {
  const names = [
    'a~0123456789abcdef.access',
    'a~0123456789abcdef.vault.0a.tmp',
    'b~0123456789abcdef.vault',
    'b~0123456789abcde.vault',
    '~0123456789abcdef.vault',
    'b~c~0123456789abcdef.vault',
    'b~0123456789abcdef.vault.old',
    'b~0123456789abcdef.vault2',
    'b~0123456789abcdef.vault.0a.tmp2',
    'b~0123456789abcdef.VAULT',
  ];
  await mkdir(path.join(at.folder, 'secrets'));
  for (const name of names) await writeFile(path.join(at.folder, 'secrets', name), '');
  const list = async (profile?: string) =>
    (await listSecretFiles(context(), profile))
      .map(({ file, signIn, kind }) => `${path.basename(file)} ${signIn} ${kind}`)
      .sort();
  const a = [
    'a~0123456789abcdef.access a/0123456789abcdef access',
    'a~0123456789abcdef.vault.0a.tmp a/0123456789abcdef leftover',
  ];
  expect(await list('a')).toEqual(a);
  expect(await list()).toEqual([...a, 'b~0123456789abcdef.vault b/0123456789abcdef vault']);
});

test('secrets are rescued beside their folder, where all who share it look, and nowhere else', async () => {
  const vault = await open(KEY);
  const place = await vault.rescue(secrets);
  expect(path.relative(at.folder, place)).toMatch(/^rescued.default~[0-9a-f]{16}\.vault$/);
  expect((await stat(path.dirname(place))).mode & 0o777).toBe(0o700);
  expect((await listSecretFiles(context(), 'default')).map(({ file }) => file)).toEqual([place]);
});

test('where no other file can be written, the file itself is overwritten in its place', async () => {
  const vault = await open(KEY);
  await vault.write({ ...secrets, refreshToken: 'a longer one that is spent' });
  await writeFile(path.join(at.folder, 'rescued'), 'in the way');
  expect(await vault.rescue(secrets)).toBe(vault.place);
  await rm(path.join(at.folder, 'rescued'));
  expect(await (await open(KEY)).read()).toEqual(secrets);
});

test('a file of secrets and the copy that was rescued are read, listed and deleted together', async () => {
  const file = path.join(at.folder, 'secrets', 'hooks.token');
  const copies = openCopies<{ readonly written: number }>(file, context());
  const latest = () => copies.read((content) => ({ written: Number(content) }));
  expect([await latest(), await listRescued(context())]).toEqual([undefined, []]);
  await copies.write(Buffer.from('1'));
  const rescued = await copies.rescue(Buffer.from('2'));
  expect([await latest(), await listRescued(context())]).toEqual([{ written: 2 }, ['hooks.token']]);
  expect((await copies.readSealed()).map(String)).toEqual(['1', '2']);
  await copies.remove();
  expect([await latest(), await listRescued(context())]).toEqual([undefined, []]);
  expect(await copies.readSealed()).toEqual([]);
  for (const place of [file, rescued]) await expect(stat(place)).rejects.toThrow('ENOENT');
});

test('all secrets of a profile are deleted, and those of no other', async () => {
  await (await open(KEY, { profile: 'a' })).write(secrets);
  await (await open(KEY, { profile: 'a', serviceOrigin: 'https://second.example' })).write(secrets);
  await (await open(KEY, { profile: 'a.b' })).write(secrets);
  const here = { ...binding, profile: 'a' };
  expect(await findSignIns('file', here, context())).toEqual({ own: true, others: true });
  expect(await forgetSignIns('a', context())).toMatchObject({ removed: 2 });
  expect(await findSignIns('file', here, context())).toEqual({ own: false, others: false });
  expect(await (await open(KEY, { profile: 'a.b' })).read()).toEqual(secrets);
  expect(await forgetSignIns('a', context())).toMatchObject({ removed: 0 });
});

test('what an interrupted write left is no sign-in, and is deleted with the others', async () => {
  const file = await written(KEY);
  await rename(file, `${file}.0123456789abcdef.tmp`);
  expect(await findSignIns('file', binding, context(KEY))).toEqual({ own: false, others: false });
  expect(await forgetSignIns(undefined, context(KEY))).toMatchObject({ removed: 0 });
  expect(await readdir(path.dirname(file))).toEqual([]);
});
