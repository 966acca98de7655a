import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import {
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  createFile,
  createUnfinished,
  encodingOf,
  finalName,
  followLinks,
  isReadOnce,
  openPipe,
  openToRead,
  openWithoutWaiting,
  overwriteFile,
  readGivenFile,
  readRegularFile,
  readSlice,
  renameOver,
  reopenToAppend,
  replaceFile,
  startReplacement,
  syncFolder,
  UnsyncedError,
} from '../../src/files/whole-files.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { changeOpened, takePartsOfWrites } from '../support/opened-files.ts';

const at = forEachTest(createHome);
const place = (name: string) => path.join(at.folder, name);
const fault = (code: string) => Object.assign(new Error(`${code}: it failed`), { code, syscall: 'x' });
const NEVER = new AbortController().signal;

/** Until the end of the test, each opened file or folder that `isMeant` has this operation instead. */
function replaceOf(
  isMeant: (file: string) => boolean,
  name: 'sync' | 'writeFile' | 'close' | 'stat',
  other: () => Promise<never>,
) {
  changeOpened((handle, file) => {
    if (isMeant(file)) vi.spyOn(handle, name).mockImplementation(other);
  });
}
const isTemporary = (file: string) => file.endsWith('.tmp');
const isFolder = (file: string) => file === at.folder;

describe('replacing a file', () => {
  test('replaces it as a whole, accessible to the user only, and leaves nothing beside it', async () => {
    await replaceFile(place('a'), 'old');
    await replaceFile(place('a'), Buffer.from('new'));
    expect(await readFile(place('a'), 'utf8')).toBe('new');
    expect((await stat(place('a'))).mode & 0o777).toBe(0o600);
    expect(await readdir(at.folder)).toEqual(['a']);
  });

  test.each(['writeFile', 'sync'] as const)('whose %s fails leaves the old file as it is', async (name) => {
    await replaceFile(place('a'), 'old');
    replaceOf(isTemporary, name, () => Promise.reject(fault('ENOSPC')));
    await expect(replaceFile(place('a'), 'new')).rejects.toMatchObject({ code: 'ENOSPC', path: place('a') });
    expect(await readFile(place('a'), 'utf8')).toBe('old');
    expect(await readdir(at.folder)).toEqual(['a']);
  });

  test('needs nothing that others left beside it', async () => {
    await writeFile(place('a.0123456789abcdef.tmp'), '');
    replaceOf(isTemporary, 'stat', () => Promise.reject(fault('EIO')));
    await replaceFile(place('a'), 'new');
    expect(await readFile(place('a'), 'utf8')).toBe('new');
  });

  test('in a folder that is missing names the file', async () => {
    const file = path.join(place('missing'), 'a');
    await expect(replaceFile(file, 'new')).rejects.toMatchObject({ code: 'ENOENT', path: file });
  });

  test('whose folder cannot be synced says so: the new content is there', async () => {
    replaceOf(isFolder, 'sync', () => Promise.reject(fault('EIO')));
    const error = await replaceFile(place('a'), 'new').catch((thrown) => thrown);
    expect(error).toBeInstanceOf(UnsyncedError);
    expect(error).toMatchObject({ code: 'EIO', syscall: 'x', path: place('a') });
    expect(error.cause).toMatchObject({ code: 'EIO' });
    expect(await readFile(place('a'), 'utf8')).toBe('new');
  });

  test('removes what killed processes left of the same file an hour ago, and nothing else', async () => {
    const old = ['a.0123456789abcdef.tmp', 'a.tmp', 'other.0123456789abcdef.tmp'];
    const young = 'a.fedcba9876543210.tmp';
    for (const name of [...old, young]) await writeFile(place(name), '{');
    const { mtimeMs } = await stat(place(young));
    for (const name of old) await utimes(place(name), 0, mtimeMs / 1000 - 3_601);
    await utimes(place(young), 0, mtimeMs / 1000 - 3_500);
    await replaceFile(place('a'), 'new');
    expect((await readdir(at.folder)).sort()).toEqual(['a', young, ...old.slice(1)].sort());
  });

  test('that is abandoned leaves nothing', async () => {
    const { abandon, temporary } = await startReplacement(place('a'), 0o600);
    expect(await readdir(at.folder)).toEqual([path.basename(temporary)]);
    await abandon();
    await abandon();
    expect(await readdir(at.folder)).toEqual([]);
  });

  test.each([
    ['a.0123456789abcdef.tmp', 'a'],
    ['a.json.0123456789abcdef.tmp', 'a.json'],
    ['a.0123456789abcde.tmp', undefined],
    ['a.0123456789abcdeg.tmp', undefined],
    ['a.0123456789abcdef.tmp.1', undefined],
    ['a0123456789abcdef.tmp', undefined],
    ['a', undefined],
  ])('the name %s stands for the finished file %s', (name, expected) => {
    expect(finalName(name)).toBe(expected);
  });
});

test('a new file has a name of its own each time, its mode, and is empty', async () => {
  const [one, other] = [await createUnfinished(place('a'), 0o640), await createUnfinished(place('a'), 0o600)];
  for (const { temporary, handle } of [one, other]) {
    expect(finalName(path.basename(temporary))).toBe('a');
    expect(await handle.readFile('utf8')).toBe('');
    await handle.close();
  }
  expect(one.temporary).not.toBe(other.temporary);
  expect((await stat(one.temporary)).mode & 0o777).toBe(0o640);
});

describe('a link', () => {
  const follow = async (name: string) =>
    path.relative(await realpath(at.folder), await followLinks(place(name)));

  test('is followed to its target, also where that is missing', async () => {
    await writeFile(place('file'), '');
    await mkdir(place('folder'));
    await symlink('file', place('link'));
    await symlink('link', place('link-of-link'));
    await symlink('folder/missing', place('link-to-missing'));
    await symlink('link-to-missing', place('link-of-link-to-missing'));
    await symlink('folder', place('link-to-folder'));
    expect(await follow('file')).toBe('file');
    expect(await follow('missing')).toBe('missing');
    expect(await follow('link')).toBe('file');
    expect(await follow('link-of-link')).toBe('file');
    expect(await follow('link-to-missing')).toBe('folder/missing');
    expect(await follow('link-of-link-to-missing')).toBe('folder/missing');
    expect(await follow('link-to-folder/missing')).toBe('folder/missing');
  });

  test('of a circle, or in a folder that is missing, is left to the code that opens it', async () => {
    await symlink('circle', place('circle'));
    expect(await followLinks(place('circle'))).toBe(place('circle'));
    expect(await followLinks(place('missing/file'))).toBe(place('missing/file'));
    expect(await followLinks('missing/file')).toBe(path.resolve('missing/file'));
  });
});

describe('a file that this process has created', () => {
  test('is opened again to append to it', async () => {
    await writeFile(place('a'), 'one');
    const handle = await reopenToAppend(place('a'), await stat(place('a')));
    await handle.writeFile(', two');
    await handle.close();
    expect(await readFile(place('a'), 'utf8')).toBe('one, two');
  });

  test('is not opened where another file or a link has taken its place', async () => {
    await writeFile(place('a'), 'one');
    const created = await stat(place('a'));
    await writeFile(place('b'), 'other');
    await rename(place('a'), place('kept'));
    await rename(place('b'), place('a'));
    await expect(reopenToAppend(place('a'), created)).rejects.toMatchObject({
      message: 'another file has taken its place',
      code: 'EEXIST',
      syscall: 'open',
    });
    await rename(place('a'), place('b'));
    await symlink('kept', place('a'));
    await expect(reopenToAppend(place('a'), created)).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await readFile(place('kept'), 'utf8')).toBe('one');
  });
});

describe('creating a file', () => {
  test('makes it for the user alone, where there is none', async () => {
    await createFile(place('a'), 'new');
    expect([await readFile(place('a'), 'utf8'), (await stat(place('a'))).mode & 0o777]).toEqual([
      'new',
      0o600,
    ]);
    await expect(createFile(place('a'), 'other')).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await readFile(place('a'), 'utf8')).toBe('new');
  });

  test.each(['writeFile', 'sync'] as const)('whose %s fails leaves no part of it', async (name) => {
    replaceOf(
      (file) => file === place('a'),
      name,
      () => Promise.reject(fault('ENOSPC')),
    );
    await expect(createFile(place('a'), 'new')).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(await readdir(at.folder)).toEqual([]);
  });

  test('whose folder cannot be synced says so: the file is there', async () => {
    replaceOf(isFolder, 'sync', () => Promise.reject(fault('EIO')));
    await expect(createFile(place('a'), 'new')).rejects.toBeInstanceOf(UnsyncedError);
    expect(await readFile(place('a'), 'utf8')).toBe('new');
  });
});

describe('overwriting a file', () => {
  test('leaves nothing of a longer one', async () => {
    await writeFile(place('a'), 'a long secret');
    await overwriteFile(place('a'), Buffer.from('short'));
    expect(await readFile(place('a'), 'utf8')).toBe('short');
  });

  test('writes all of it, also where the disk takes a part of a write', async () => {
    await writeFile(place('a'), 'a long secret');
    takePartsOfWrites(2);
    await overwriteFile(place('a'), Buffer.from('other'));
    expect(await readFile(place('a'), 'utf8')).toBe('other');
  });

  test('creates none, and follows no link', async () => {
    await expect(overwriteFile(place('a'), Buffer.from('x'))).rejects.toMatchObject({ code: 'ENOENT' });
    await writeFile(place('target'), 'kept');
    await symlink('target', place('link'));
    await expect(overwriteFile(place('link'), Buffer.from('x'))).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await readFile(place('target'), 'utf8')).toBe('kept');
  });
});

describe('a file that another program has open, as on Windows', () => {
  /** Renaming fails that many times. */
  function failRenames(times: number, code: string) {
    const renaming = fs.promises.rename;
    let tries = 0;
    const spy = vi.spyOn(fs.promises, 'rename').mockImplementation(async (from, to) => {
      tries++;
      if (tries <= times) throw fault(code);
      await renaming(from, to);
    });
    onTestFinished(() => spy.mockRestore());
    return () => tries;
  }

  test.each(['EPERM', 'EACCES', 'EBUSY'])('is replaced once it is free: %s', async (code) => {
    const tries = failRenames(2, code);
    await replaceFile(place('a'), 'new');
    expect([tries(), await readFile(place('a'), 'utf8')]).toEqual([3, 'new']);
  });

  test('for long is an error that says so', async () => {
    const tries = failRenames(99, 'EBUSY');
    await writeFile(place('new'), '');
    await expect(renameOver(place('new'), place('a'))).rejects.toMatchObject({
      message: 'it cannot be replaced, perhaps because another program has it open (EBUSY)',
      code: 'EBUSY',
      cause: { code: 'EBUSY' },
    });
    expect(tries()).toBe(14);
  });

  test('is told apart from other failures, which are not tried again', async () => {
    const tries = failRenames(99, 'ENOSPC');
    await expect(replaceFile(place('a'), 'new')).rejects.toMatchObject({ code: 'ENOSPC' });
    expect([tries(), await readdir(at.folder)]).toEqual([1, []]);
  });
});

describe('syncing a folder', () => {
  test('that is gone fails', async () => {
    await expect(syncFolder(place('gone'))).rejects.toThrow('ENOENT');
  });

  test.each([
    ['EINVAL', true],
    ['ENOTSUP', true],
    ['EOPNOTSUPP', true],
    ['ENOSYS', true],
    ['EISDIR', true],
    ['EPERM', true],
    ['EBADF', true],
    ['EIO', false],
    ['EACCES', false],
  ])('of a platform that answers %s to that is done: %s', async (code, isDone) => {
    const closing = vi.fn();
    const handle = { sync: () => Promise.reject(fault(code)), close: closing };
    const spy = vi.spyOn(fs.promises, 'open').mockResolvedValue(handle as never);
    onTestFinished(() => spy.mockRestore());
    const outcome = await syncFolder(at.folder).catch((error) => error.code);
    expect(outcome).toBe(isDone ? undefined : code);
    expect(closing).toHaveBeenCalledOnce();
  });

  test.each([
    ['EISDIR', true],
    ['EPERM', true],
    ['EACCES', true],
    ['EMFILE', false],
  ])('of a platform that answers %s to opening it is done: %s', async (code, isDone) => {
    const spy = vi.spyOn(fs.promises, 'open').mockRejectedValue(fault(code));
    onTestFinished(() => spy.mockRestore());
    const outcome = await syncFolder(at.folder).catch((error) => error.code);
    expect(outcome).toBe(isDone ? undefined : code);
  });
});

test('a slice is read whole, whatever one reading gives, and ends with the file', async () => {
  await writeFile(place('a'), '0123456789');
  const handle = await open(place('a'));
  const reading = handle.read.bind(handle);
  vi.spyOn(handle, 'read').mockImplementation(((
    bytes: Buffer,
    offset: number,
    length: number,
    start: number,
  ) => reading(bytes, offset, Math.min(length, 2), start)) as never);
  const slice = async (start: number, end: number) => String(await readSlice(handle, start, end));
  expect(await slice(1, 8)).toBe('1234567');
  expect(await slice(7, 20)).toBe('789');
  expect(await slice(20, 30)).toBe('');
  expect(await slice(3, 3)).toBe('');
  await handle.close();
});

describe('a pipe', () => {
  const pipe = () => {
    execFileSync('mkfifo', [place('pipe')]);
    return place('pipe');
  };

  test('is opened without waiting for its writer, and is no regular file', () => {
    const { fd, stats } = openWithoutWaiting(pipe());
    fs.closeSync(fd);
    expect(stats.isFIFO()).toBe(true);
    expect(() => readRegularFile(place('pipe'))).toThrow(
      expect.objectContaining({ message: 'it is not a regular file', code: 'EINVAL', syscall: 'open' }),
    );
  });

  test('is read once, as are standard input and devices', async () => {
    await writeFile(place('file'), '');
    const places = ['-', pipe(), '/dev/null', place('file'), at.folder, place('missing')];
    expect(places.map(isReadOnce)).toEqual([true, true, true, false, false, false]);
  });

  test('is read to its end', async () => {
    const reading = readGivenFile(pipe(), NEVER);
    await writeFile(place('pipe'), 'content');
    expect(String(await reading)).toBe('content');
  });

  test('is no longer waited for once the signal is aborted', async () => {
    const ending = new AbortController();
    const reading = readGivenFile(pipe(), ending.signal);
    ending.abort();
    await expect(reading).rejects.toThrow('abort');
  });

  test('is told apart from a file, which is read as it is', async () => {
    await writeFile(place('file'), 'content');
    expect(await openPipe(place('file'), NEVER)).toBeUndefined();
    expect(String(await readGivenFile(place('file'), NEVER))).toBe('content');
    expect(() => readRegularFile(at.folder)).toThrow('EISDIR');
    expect(() => readRegularFile(place('missing'))).toThrow('ENOENT');
  });
});

test.runIf(process.platform === 'linux')('no file stays open', async () => {
  const openFiles = () => fs.readdirSync('/proc/self/fd').length;
  const before = openFiles();
  await createFile(place('a'), 'content');
  await createFile(place('a'), 'content').catch(() => undefined);
  await overwriteFile(place('a'), Buffer.from('other'));
  readRegularFile(place('a'));
  await openPipe(place('a'), NEVER);
  const handle = await openToRead(place('a'));
  expect(String(await handle.readFile())).toBe('other');
  await handle.close();
  expect(openFiles()).toBe(before);
});

test('the encoding is UTF-16 where a byte order mark says so, and else UTF-8', () => {
  expect(encodingOf(Buffer.from('\ufeffa', 'utf16le'))).toBe('utf16le');
  for (const bytes of [
    Buffer.from('\ufeffa'),
    Buffer.from([0xff, 0]),
    Buffer.from([0, 0xfe]),
    Buffer.alloc(0),
  ])
    expect(encodingOf(bytes)).toBe('utf8');
});
