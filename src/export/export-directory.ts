import { realpathSync } from 'node:fs';
import { access, constants, readdir, realpath, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Machine } from '../context.ts';
import { faultText, fewOf, HooktrailError, isDiskFull, ServiceError, UsageError } from '../errors.ts';
import { checkWritable, makeFolder } from '../files/folders.ts';
import { MANIFEST, type Manifest } from './export-manifest.ts';
import { filesOf, isPartName } from './export-part.ts';
import { isPartitionFolder } from './partitions.ts';

/**
 * Creates the directory if it is missing and returns its real path, which is the same whatever path leads
 * there. Throws `UsageError` if it cannot hold an export.
 */
export async function openDirectory(directory: string, machine: Pick<Machine, 'platform'>): Promise<string> {
  try {
    makeFolder(path.resolve(directory), 0o777);
  } catch (error) {
    throw new UsageError(
      ['EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
        ? `${directory} is a file, or inside one: an export needs a directory`
        : `the directory ${directory} cannot be made: ${faultText(error)}`,
      { next: 'choose another directory', cause: error },
    );
  }
  // The system call fails on some mapped drives of Windows; Node's own implementation does not.
  const real = await realpath(directory).catch(() => realpathSync(directory));
  try {
    await access(real, constants.R_OK);
    await checkWritable(path.join(real, MANIFEST), machine);
  } catch (error) {
    throw new UsageError(`the directory ${directory} cannot be written: ${faultText(error)}`, {
      next: 'choose another directory, or change its permissions',
      cause: error,
    });
  }
  return real;
}

/** Throws `UsageError` if a directory without a manifest holds any file that is not part of an export. */
export async function checkUnused(directory: string): Promise<void> {
  const foreign = (await readdir(directory))
    .filter((name) => !isLeftOver(name) && name !== LOCK_FOLDER)
    .sort();
  if (foreign.length === 0) return;
  throw new UsageError(`${directory} is not empty and holds no export`, {
    details: fewOf(foreign),
    next: 'choose an empty directory, or one that does not exist yet',
  });
}

/** Removes half-written files that a crash left, and parts that the manifest does not list. */
export async function removeLeftOvers(directory: string, { parts, partition }: Manifest): Promise<void> {
  const listed = new Set(parts.flatMap((part) => [part.file, ...filesOf(part).map(({ file }) => file)]));
  const clean = async (folder: string) => {
    for (const name of await readdir(path.join(directory, folder))) {
      const file = path.posix.join(folder, name);
      if (isLeftOver(name) || (isPartName(name) && !listed.has(file)))
        await rm(path.join(directory, file), { force: true });
    }
  };
  await clean('');
  if (!partition) return;
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (!entry.isDirectory() || !isPartitionFolder(entry.name)) continue;
    await clean(entry.name);
    // It stays where it holds anything else.
    await rmdir(path.join(directory, entry.name)).catch(() => undefined);
  }
}

/** Where processes that export into a directory lock each other out, also those in other containers. */
export const LOCK_FOLDER = '.lock';

/** The ending of a file that is not finished. */
export const UNFINISHED = '.tmp';

function isLeftOver(name: string): boolean {
  if (!name.endsWith(UNFINISHED)) return false;
  return name.startsWith(`${MANIFEST}.`) || isPartName(name.slice(0, -UNFINISHED.length));
}

/** Turns an error of the file system into one with a next step. Returns any other error unchanged. */
export async function diskFault(error: unknown, directory: string): Promise<unknown> {
  if (error instanceof HooktrailError || !(error instanceof Error)) return error;
  const full = isDiskFull(error);
  // Network errors are typed errors at this point.
  if (!full && !('syscall' in error)) return error;
  const gone = !(await stat(directory).catch(() => undefined));
  return new ServiceError(
    gone ? `the directory ${directory} is gone` : `writing to ${directory} failed: ${faultText(error)}`,
    {
      next: `${full ? 'free some space and ' : ''}run the same command again: it continues where this one stopped`,
      cause: error,
    },
  );
}
