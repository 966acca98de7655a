import { constants, existsSync, promises as files, mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Machine } from '../context.ts';

/**
 * Creates a folder and its missing ancestors, with `mode` or accessible to the user only. Leaves an existing folder as
 * it is. Throws the system's error. This replaces Node's `recursive` option, which never returns on a file system that
 * refuses new names with ENOENT, as /proc does.
 */
export function makeFolder(folder: string, mode = 0o700): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    const parent = path.dirname(folder);
    // The parent of a missing drive is the drive itself.
    if (code !== 'ENOENT' || parent === folder || existsSync(parent)) throw error;
    makeFolder(parent, mode);
    makeFolder(folder, mode);
  }
}

/**
 * Creates a folder in the common `/tmp` that nobody else can read or write, and the folders `names` below it: a place
 * for users without a writable home. Throws the system's error, or an `Error` if another user has put something there.
 */
export async function ownFolderInTmp(
  { sharedFolder, userId }: Pick<Machine, 'sharedFolder' | 'userId'>,
  ...names: string[]
): Promise<string> {
  let folder = sharedFolder;
  for (const name of [`hooktrail-${userId}`, ...names]) {
    folder = path.join(folder, name);
    await files.mkdir(folder, { mode: 0o700 }).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
    const found = await files.lstat(folder);
    if (!found.isDirectory() || found.uid !== userId || (found.mode & 0o077) !== 0)
      throw new Error(`${folder} is not a folder that only this user can use`);
  }
  return folder;
}

/** Throws the system's error if the user may not create this file, or a temporary file beside it. */
export async function checkWritable(file: string, { platform }: Pick<Machine, 'platform'>): Promise<void> {
  await files.access(path.dirname(file), constants.W_OK | constants.X_OK);
  if (platform !== 'win32') return;
  // There `access` looks only at the read-only attribute, which has no meaning for folders, and not at the access list.
  const { randomUUID } = await import('node:crypto');
  const temporary = `${file}.${randomUUID()}.tmp`;
  await (await files.open(temporary, 'wx')).close();
  await files.rm(temporary, { force: true });
}

/** Creates an empty folder that nobody else can read. */
export async function temporaryFolder(prefix: string): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await files.mkdtemp(path.join(tmpdir(), prefix));
  return { path: folder, remove: () => files.rm(folder, { recursive: true, force: true }) };
}
