import { existsSync, mkdirSync, statSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Machine } from '../context.ts';

/**
 * Makes a folder, and those above it that are missing, for the user alone unless `mode` says otherwise; one that is
 * there stays as it is. Throws the system's error. Node's own `recursive` never ends on a file system that refuses new
 * names with ENOENT, as /proc does.
 */
export function makeFolder(folder: string, mode = 0o700): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    const parent = path.dirname(folder);
    // A drive that is not there is its own parent.
    if (code !== 'ENOENT' || parent === folder || existsSync(parent)) throw error;
    makeFolder(parent, mode);
    makeFolder(folder, mode);
  }
}

/**
 * Makes a folder in the common `/tmp` that nobody else can read or write, and those below it in `names`: a place for users without a
 * writable home. Throws the system's error, or an `Error` where another user put something there first.
 */
export async function ownFolderInTmp(
  { sharedFolder, userId }: Pick<Machine, 'sharedFolder' | 'userId'>,
  ...names: string[]
): Promise<string> {
  let folder = sharedFolder;
  for (const name of [`hooktrail-${userId}`, ...names]) {
    folder = path.join(folder, name);
    await mkdir(folder, { mode: 0o700 }).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
    const found = await lstat(folder);
    if (!found.isDirectory() || found.uid !== userId || (found.mode & 0o077) !== 0)
      throw new Error(`${folder} is not a folder of this user alone`);
  }
  return folder;
}

/** Makes an empty folder that nobody else can read. */
export async function temporaryFolder(prefix: string): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), prefix));
  return { path: folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
