import fs from 'node:fs';
import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  cacheFolder,
  checkWritable,
  configFolder,
  isForCode,
  makeFolder,
  makeOwnFolder,
  nearestExisting,
  openRemovedFile,
  ownFolderInTmp,
  refusePlanted,
  replaceableBy,
  temporaryFolder,
} from '../../src/files/folders.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';

const at = forEachTest(createHome);
const place = (name: string) => path.join(at.folder, name);
const modeOf = async (folder: string) => (await stat(folder)).mode & 0o777;

test.each([
  ['/data/hooktrail', '/data/hooktrail'],
  ['~/hooktrail', '/home/me/hooktrail'],
  ['~', '/home/me'],
  ['~me', path.resolve('~me')],
  ['/data/~', '/data/~'],
])('HOOKTRAIL_CONFIG_DIR=%s is %s, also where no shell has expanded it', (given, expected) => {
  const { machine } = createContext();
  const context = { machine, environment: { HOOKTRAIL_CONFIG_DIR: given, HOME: '/home/me' } };
  expect([configFolder(context), cacheFolder(context)]).toEqual([expected, path.join(expected, 'cache')]);
});

test.each<[NodeJS.Platform, Record<string, string>, string, string]>([
  ['linux', {}, '/home/user/.config/hooktrail', '/home/user/.cache/hooktrail'],
  ['linux', { HOME: '/h' }, '/h/.config/hooktrail', '/h/.cache/hooktrail'],
  ['linux', { XDG_CONFIG_HOME: '/c', XDG_CACHE_HOME: '/k' }, '/c/hooktrail', '/k/hooktrail'],
  [
    'linux',
    { XDG_CONFIG_HOME: 'c', XDG_CACHE_HOME: 'k' },
    '/home/user/.config/hooktrail',
    '/home/user/.cache/hooktrail',
  ],
  [
    'darwin',
    { HOME: '/h', XDG_CONFIG_HOME: '/c' },
    '/h/Library/Application Support/hooktrail',
    '/h/Library/Caches/hooktrail',
  ],
  ['win32', { APPDATA: '/r', LOCALAPPDATA: '/l' }, '/r/hooktrail', '/l/hooktrail/cache'],
  [
    'win32',
    { HOME: '/h' },
    '/home/user/AppData/Roaming/hooktrail',
    '/home/user/AppData/Local/hooktrail/cache',
  ],
])('on %s with %j the settings are in %s, and the cache in %s', (platform, environment, config, cache) => {
  const machine = { ...createContext().machine, platform, userHome: '/home/user' };
  const context = { environment, machine };
  expect([configFolder(context), cacheFolder(context)]).toEqual([config, cache]);
});

describe('creating a folder', () => {
  test('creates missing ancestors too, for the user only, and accepts an existing folder', async () => {
    const folder = place('a/b');
    makeFolder(folder);
    makeFolder(folder);
    for (const made of [folder, place('a')]) expect(await modeOf(made)).toBe(0o700);
    makeFolder(place('c/d'), 0o750);
    for (const made of ['c', 'c/d']) expect(await modeOf(place(made))).toBe(0o750);
    await writeFile(place('file'), '');
    for (const below of ['file', 'file/a', 'file/a/b'])
      expect(() => makeFolder(place(below))).toThrow(/EEXIST|ENOTDIR/);
  });

  test('of its own follows no link in its place, or in that of its parent', async () => {
    makeOwnFolder(place('own/below'), 0o750);
    expect(await modeOf(place('own/below'))).toBe(0o750);
    await mkdir(place('target'));
    await symlink('target', place('link'));
    for (const [name, link] of [
      ['link', 'link'],
      ['link/below', 'link'],
    ] as const)
      expect(() => makeOwnFolder(place(name))).toThrow(
        expect.objectContaining({
          message: `${place(link)} is a link`,
          code: 'ELOOP',
          syscall: 'mkdir',
          path: place(link),
        }),
      );
  });

  test('begins in the nearest that is there', () => {
    expect(nearestExisting(place('a/b/c'))).toBe(at.folder);
    expect(nearestExisting(at.folder)).toBe(at.folder);
  });
});

describe('a folder in the common /tmp', () => {
  const { userId } = createContext().machine;
  const create = (...names: string[]) => ownFolderInTmp({ sharedFolder: at.folder, userId }, ...names);
  const own = () => place(`hooktrail-${userId}`);

  test('is for this user only, and so are those below it', async () => {
    expect(await create('a', 'b')).toBe(path.join(own(), 'a', 'b'));
    expect(await create('a', 'b')).toBe(path.join(own(), 'a', 'b'));
    for (const made of [own(), path.join(own(), 'a')]) expect(await modeOf(made)).toBe(0o700);
  });

  test.each<[string, (folder: string) => Promise<unknown>]>([
    ['a file', (folder) => writeFile(folder, '')],
    ['a link', (folder) => symlink(at.folder, folder)],
    ['a folder that the group can read', (folder) => mkdir(folder).then(() => chmod(folder, 0o740))],
    ['a folder that others can search', (folder) => mkdir(folder).then(() => chmod(folder, 0o701))],
  ])('is refused where %s is in its place', async (_, plant) => {
    await plant(own());
    await expect(create('a')).rejects.toThrow(`${own()} is not a folder that only this user can use`);
  });

  test('is refused where it is one of another user', async () => {
    await mkdir(place(`hooktrail-${userId + 1}`), { mode: 0o700 });
    await expect(ownFolderInTmp({ sharedFolder: at.folder, userId: userId + 1 })).rejects.toThrow(
      'is not a folder that only this user can use',
    );
  });

  test('that cannot be created is the error of the system', async () => {
    await expect(ownFolderInTmp({ sharedFolder: place('missing'), userId })).rejects.toThrow('ENOENT');
  });
});

test('a place is tried out on Windows, where its access list cannot be read', async () => {
  const [linux, windows] = [{ platform: 'linux' as const }, { platform: 'win32' as const }];
  const opening = vi.spyOn(fs.promises, 'open');
  onTestFinished(() => opening.mockRestore());
  await checkWritable(place('a'), linux);
  expect(opening).not.toHaveBeenCalled();
  await checkWritable(place('a'), windows);
  expect(opening).toHaveBeenCalledOnce();
  expect(await readdir(at.folder)).toEqual([]);
  for (const machine of [linux, windows])
    await expect(checkWritable(place('missing/a'), machine)).rejects.toThrow('ENOENT');
});

test('on Windows nobody else can replace a file, and code comes from the own folder alone', async () => {
  const machine = { platform: 'win32' as const, userId: -1, userHome: at.folder };
  const shared = path.join(path.dirname(at.folder), 'shared');
  expect(replaceableBy(path.join(shared, 'x'), machine)).toBeUndefined();
  refusePlanted(path.join(shared, 'x'), 'the report', machine);
  expect(isForCode(place('code'), machine)).toBe(true);
  for (const folder of [at.folder, `${at.folder}-other`, shared])
    expect(isForCode(folder, machine)).toBe(false);
});

test('a temporary folder goes with all that is in it', async () => {
  const folder = await temporaryFolder('hooktrail-test-');
  await writeFile(path.join(folder.path, 'file'), '');
  expect([path.basename(folder.path).startsWith('hooktrail-test-'), await modeOf(folder.path)]).toEqual([
    true,
    0o700,
  ]);
  await folder.remove();
  await folder.remove();
  await expect(stat(folder.path)).rejects.toThrow('ENOENT');
});

test('a removed file is read and written, and nobody else can open it', async () => {
  const handle = await openRemovedFile();
  await handle.writeFile('content');
  expect((await handle.stat()).nlink).toBe(0);
  const bytes = Buffer.alloc(7);
  await handle.read(bytes, 0, 7, 0);
  expect(String(bytes)).toBe('content');
  await handle.close();
});
