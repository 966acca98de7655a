import { createHash } from 'node:crypto';
import { access, constants, lstat, mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Machine } from '../context.ts';
import { UsageError } from '../errors.ts';
import { makeFolder } from '../files/folders.ts';

type User = Pick<Machine, 'platform' | 'userId' | 'userHome'>;

/** Why a home cannot hold the locks: none, not ours to write, or on a file system that is read only. */
const UNWRITABLE = new Set(['ENOENT', 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR']);

/**
 * The folder of one lock, made where it is missing. Folders are never removed, so there is a bounded number of them: names
 * whose hashes begin alike share a lock, which costs a wait and nothing else. The place follows from the user's entry in the user database alone:
 * processes with another `$HOME`, `XDG_*`, `TMPDIR` or version have to meet at the same lock.
 */
export async function lockFolder(name: string, user: User): Promise<string> {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 3);
  const home = path.join(user.userHome, '.hooktrail', 'locks', hash);
  try {
    makeFolder(home);
    await access(home, constants.W_OK | constants.X_OK);
    return home;
  } catch (error) {
    if (user.platform === 'win32' || !UNWRITABLE.has((error as NodeJS.ErrnoException).code ?? '')) {
      throw unusable(home, (error as Error).message);
    }
  }
  // Users without a writable home: service accounts, read-only containers.
  const shared = path.join('/tmp', `hooktrail-${user.userId}`);
  await makeOwn(shared, user.userId);
  const folder = path.join(shared, hash);
  await makeOwn(folder, user.userId);
  return folder;
}

/** Makes a folder that nobody else can write; refuses one that another user put there first. */
async function makeOwn(folder: string, userId: number): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(folder, (error as Error).message);
  }
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== userId || (found.mode & 0o077) !== 0) {
    throw unusable(folder, 'it is not a folder of this user alone');
  }
}

function unusable(folder: string, why: string): UsageError {
  return new UsageError(
    `the folder ${folder}, where hooktrail's processes lock each other out, is unusable: ${why}`,
    {
      next: 'mend the folder, or remove it',
    },
  );
}
