import {
  closeSync,
  constants,
  promises as files,
  fstatSync,
  openSync,
  readFileSync,
  type Stats,
  statSync,
} from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { faultText } from '../errors.ts';

/**
 * A file has its new content, but its folder could not be synced: a loss of power may undo that. Has the code
 * of the system's error.
 */
export class UnsyncedError extends Error {
  constructor(cause: NodeJS.ErrnoException) {
    super(faultText(cause), { cause });
    Object.assign(this, { code: cause.code, errno: cause.errno, syscall: cause.syscall });
  }
}

/**
 * Resolves the links of a path, whose target may be missing. Replacing a file needs this: otherwise the new
 * file would replace the link, and not its target.
 */
export async function followLinks(file: string): Promise<string> {
  try {
    return await files.realpath(file);
  } catch (error) {
    // Links that form a loop fail with ELOOP.
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const folder = isMissing ? await files.realpath(path.dirname(file)).catch(() => undefined) : undefined;
    if (folder === undefined) return path.resolve(file);
    const place = path.join(folder, path.basename(file));
    const target = await files.readlink(place).catch(() => undefined);
    return target === undefined ? place : await followLinks(path.resolve(folder, target));
  }
}

/**
 * Replaces a file's content so that a crash at any moment leaves either the old content or the new one. The
 * mode is 0600. Throws as `finish` of `startReplacement` does, with the path of the file, not of the
 * temporary one.
 */
export async function replaceFile(file: string, content: string | Uint8Array): Promise<void> {
  let replacement: Replacement | undefined;
  try {
    replacement = await startReplacement(file, 0o600);
    await replacement.handle.writeFile(content);
    await replacement.finish();
  } catch (error) {
    await replacement?.abandon();
    throw Object.assign(error as Error, { path: file });
  }
}

export type Replacement = Awaited<ReturnType<typeof startReplacement>>;

/**
 * Begins to replace a file by one of that mode, less the umask: opens a temporary file next to it for the new
 * content, and removes those that killed processes left. Throws the system's error.
 */
export async function startReplacement(file: string, mode: number) {
  const { temporary, handle } = await createUnfinished(file, mode);
  await removeAbandoned(file, handle).catch(() => undefined);
  const abandon = async () => {
    await handle.close().catch(() => undefined);
    await files.rm(temporary).catch(() => undefined);
  };
  /**
   * Replaces the old content: fsync, rename, fsync of the folder. Throws `UnsyncedError` if only the last of
   * them failed; otherwise abandons the replacement and throws the system's error.
   */
  const finish = async () => {
    try {
      await handle.sync();
      await handle.close();
      await renameOver(temporary, file);
    } catch (error) {
      await abandon();
      throw error;
    }
    await syncFolder(path.dirname(file)).catch(throwUnsynced);
  };
  return { temporary, handle, finish, abandon };
}

const UNFINISHED = /\.[0-9a-f]{16}\.tmp$/;

/** Returns undefined for the name of a finished file. */
export function finalName(name: string): string | undefined {
  return UNFINISHED.test(name) ? name.replace(UNFINISHED, '') : undefined;
}

/**
 * Long enough for any writer: most take milliseconds, and the output of a search pauses for minutes at most.
 */
const ABANDONED_AFTER_MS = 3_600_000;

/**
 * Removes unfinished replacements of a file that nobody has written to for an hour. Their age is the only
 * evidence that holds in every case: a writer may be in another container or on another machine, where its
 * process cannot be looked up. Both times are the file system's own, so no clocks are compared.
 */
async function removeAbandoned(file: string, created: files.FileHandle): Promise<void> {
  const folder = path.dirname(file);
  const names = await files.readdir(folder);
  const unfinished = names.filter((name) => finalName(name) === path.basename(file));
  // The new one is among them.
  if (unfinished.length === 1) return;
  const { mtimeMs: now } = await created.stat();
  for (const name of unfinished) {
    const place = path.join(folder, name);
    const { mtimeMs } = await files.lstat(place);
    if (now - mtimeMs > ABANDONED_AFTER_MS) await files.rm(place, { force: true });
  }
}

/**
 * Creates an empty file next to `file` for its new content. The name is new and unpredictable, so nothing
 * that others put into the folder is opened, whether link or file. Throws the system's error.
 */
export async function createUnfinished(
  file: string,
  mode: number,
): Promise<{ temporary: string; handle: files.FileHandle }> {
  // Every command that reads the settings loads this module, and `node:crypto` takes 3 ms to load.
  const { randomBytes } = await import('node:crypto');
  const temporary = `${file}.${randomBytes(8).toString('hex')}.tmp`;
  return { temporary, handle: await files.open(temporary, NEW_FILE, mode) };
}

/** Fails if the name exists, even as a dangling link. */
const NEW_FILE = 'wx+';

/**
 * Reopens a file that this process has created, to append to it. Throws the system's error, or an `Error` if
 * another file or a link has taken its place.
 */
export async function reopenToAppend(file: string, created: Stats): Promise<files.FileHandle> {
  const { O_WRONLY, O_APPEND, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const handle = await files.open(file, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
  const { dev, ino } = await handle.stat();
  if (dev === created.dev && ino === created.ino) return handle;
  await handle.close();
  throw Object.assign(new Error('another file has taken its place'), { code: 'EEXIST', syscall: 'open' });
}

export async function createFile(file: string, content: string): Promise<void> {
  const handle = await files.open(file, NEW_FILE, 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } catch (error) {
    await files.rm(file).catch(() => undefined);
    throw error;
  } finally {
    await handle.close();
  }
  await syncFolder(path.dirname(path.resolve(file))).catch(throwUnsynced);
}

/** Overwrites an existing file in place, which needs no space on the disk. Throws the system's error. */
export async function overwriteFile(file: string, content: Uint8Array): Promise<void> {
  const handle = await files.open(file, constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    // Unlike `write`, this never stops early on a nearly full disk.
    await handle.writeFile(content);
    await handle.truncate(content.length);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function throwUnsynced(error: NodeJS.ErrnoException): never {
  throw new UnsyncedError(error);
}

/**
 * On Windows a file that another program has open cannot be replaced. Retries for a second, which is longer
 * than a virus scanner (the usual program) takes.
 */
export async function renameOver(from: string, to: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await files.rename(from, to);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!['EPERM', 'EACCES', 'EBUSY'].includes(code)) throw error;
      if (tries === 14) {
        const message = `it cannot be replaced, perhaps because another program has it open (${code})`;
        throw Object.assign(new Error(message, { cause: error }), { code });
      }
      await setTimeout(10 * tries);
    }
  }
}

/**
 * Error codes of platforms that cannot open folders (Windows, where a rename itself is journalled) or sync
 * them (some network file systems).
 */
const CANNOT_OPEN = new Set(['EISDIR', 'EPERM', 'EACCES']);
const CANNOT_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EISDIR', 'EPERM', 'EBADF']);

/** Makes new and renamed files of a folder durable. Throws if the disk reports a failure. */
export async function syncFolder(folder: string): Promise<void> {
  let handle: files.FileHandle;
  try {
    handle = await files.open(folder, 'r');
  } catch (error) {
    if (CANNOT_OPEN.has((error as NodeJS.ErrnoException).code ?? '')) return;
    throw error;
  }
  try {
    await handle.sync();
  } catch (error) {
    if (!CANNOT_SYNC.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await handle.close();
  }
}

/**
 * Opens a file for reading. Without `O_NONBLOCK`, `open(2)` would wait for the writer of a pipe in its place,
 * and no signal would end that wait.
 */
export function openWithoutWaiting(file: string): { readonly fd: number; readonly stats: Stats } {
  const fd = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    return { fd, stats: fstatSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Like `openWithoutWaiting`, for reading piece by piece. */
export async function openToRead(file: string): Promise<files.FileHandle> {
  return await files.open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
}

/** Returns memory of its own, shorter only at the end of the file. */
export async function readSlice(handle: files.FileHandle, start: number, end: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(end - start);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, start + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** Reads a whole regular file. Throws the system's error, or an `Error` for a pipe or a device. */
export function readRegularFile(file: string): Buffer {
  const { fd, stats } = openWithoutWaiting(file);
  try {
    // Reading a folder gives the system's own error.
    if (!stats.isFile() && !stats.isDirectory())
      throw Object.assign(new Error('it is not a regular file'), { code: 'EINVAL', syscall: 'open' });
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Opens a file name that is a pipe, such as bash's `<(command)`; undefined for other files. Aborting the
 * signal ends the wait for data: a wait in `open(2)` or `read(2)` would keep the program from ending.
 */
export async function openPipe(file: string, signal: AbortSignal): Promise<Readable | undefined> {
  const { fd, stats } = openWithoutWaiting(file);
  if (!stats.isFIFO()) {
    closeSync(fd);
    return undefined;
  }
  const { Socket } = await import('node:net');
  return new Socket({ fd, readable: true, writable: false, signal });
}

/** True for standard input (`-`), a pipe or a device. A missing place is reported when it is opened. */
export function isReadOnce(place: string): boolean {
  if (place === '-') return true;
  try {
    const found = statSync(place);
    return !found.isFile() && !found.isDirectory();
  } catch {
    return false;
  }
}

export async function readGivenFile(file: string, signal: AbortSignal): Promise<Buffer> {
  const pipe = await openPipe(file, signal);
  return pipe ? Buffer.concat(await pipe.toArray()) : readRegularFile(file);
}

/** Windows PowerShell writes UTF-16 with a byte order mark, such as with `>`. All other input is UTF-8. */
export function encodingOf(bytes: Uint8Array): 'utf8' | 'utf16le' {
  return bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf16le' : 'utf8';
}
