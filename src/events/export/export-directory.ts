import { realpathSync } from 'node:fs';
import { access, constants, readdir, realpath, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { faultText, HooktrailError, isDiskFull, ServiceError, UsageError } from '../../errors.ts';
import { makeFolder } from '../../files/folders.ts';
import { isPartName, MANIFEST } from './export-manifest.ts';

/**
 * Makes the directory where it is missing and returns its real path, which is the same for all calls that mean it.
 * Throws `UsageError` where it cannot hold an export.
 */
export async function openDirectory(directory: string): Promise<string> {
  try {
    makeFolder(path.resolve(directory), 0o777);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(
      code === 'EEXIST' || code === 'ENOTDIR'
        ? `${directory} is a file, or lies in one: an export needs a directory`
        : `the directory ${directory} cannot be made: ${message}`,
      { next: 'choose another directory', cause: error },
    );
  }
  // The system's call fails on some mapped drives of Windows, Node's own walk does not.
  const real = await realpath(directory).catch(() => realpathSync(directory));
  try {
    await access(real, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new UsageError(`the directory ${directory} cannot be written: ${(error as Error).message}`, {
      next: 'choose another directory, or change its permissions',
      cause: error,
    });
  }
  return real;
}

/** Throws `UsageError` where a directory without a manifest holds anything that is not ours. */
export async function checkUnused(directory: string): Promise<void> {
  const foreign = (await readdir(directory)).filter((name) => !isLeftOver(name)).sort();
  if (foreign.length === 0) return;
  const more = foreign.length > 5 ? [`and ${foreign.length - 5} more`] : [];
  throw new UsageError(`${directory} is not empty and holds no export`, {
    details: [...foreign.slice(0, 5), ...more],
    next: 'choose an empty directory, or one that does not exist yet',
  });
}

/** Removes what a crash left half written, and parts that no manifest vouches for. */
export async function sweep(directory: string, parts: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(directory)) {
    if (isLeftOver(name) || (isPartName(name) && !parts.has(name)))
      await rm(path.join(directory, name), { force: true });
  }
}

function isLeftOver(name: string): boolean {
  if (!name.endsWith('.tmp')) return false;
  return name.startsWith(`${MANIFEST}.`) || isPartName(name.slice(0, -4));
}

const DISK_FAULTS = new Set(['EFBIG', 'EIO', 'EROFS', 'EACCES', 'EPERM', 'ENOENT']);

/** A fault of the file system in our words; anything else as it is. */
export async function diskFault(error: unknown, directory: string): Promise<unknown> {
  if (error instanceof HooktrailError || !(error instanceof Error)) return error;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  const full = isDiskFull(error);
  if (!(full || DISK_FAULTS.has(code)) || syscall === 'connect') return error;
  const gone = !(await stat(directory).catch(() => undefined));
  return new ServiceError(
    gone ? `the directory ${directory} is gone` : `writing to ${directory} failed: ${faultText(error)}`,
    {
      next: `${full ? 'free some space and ' : ''}run the same command again: it continues where this one stopped`,
      cause: error,
    },
  );
}
