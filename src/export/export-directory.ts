import { realpathSync } from 'node:fs';
import { access, constants, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Machine } from '../context.ts';
import { faultText, fewOf, HooktrailError, isDiskFull, ServiceError, UsageError } from '../errors.ts';
import { checkWritable, makeFolder } from '../files/folders.ts';
import { finalName, syncFolder } from '../files/whole-files.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { MANIFEST, type Manifest } from './export-manifest.ts';
import { filesOf, folderOf, isPartName } from './export-part.ts';
import { isPartitionFolder } from './partitions.ts';

/** Returns the real path, which identifies the directory. Throws `UsageError`. */
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

/** Throws `UsageError` if a directory without a manifest has files that are not from an export. */
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

/**
 * Removes unfinished files of a crash. Renames parts that the manifest does not list, with a warning: an
 * older manifest may have been restored, and the service may have deleted their events.
 */
export async function tidyDirectory(
  directory: string,
  { parts, partition }: Manifest,
  reporter: Pick<Reporter, 'warning'>,
): Promise<void> {
  const listed = new Set(parts.flatMap((part) => [part.file, ...filesOf(part).map(({ file }) => file)]));
  const isUnlisted = (file: string) => isPartName(path.posix.basename(file)) && !listed.has(file);
  const folders = partition ? await dayFolders(directory) : [];
  const kept: string[] = [];
  for (const folder of ['', ...folders]) {
    const files = (await namesIn(path.join(directory, folder))).map((name) => path.posix.join(folder, name));
    for (const file of files.filter((one) => isLeftOver(path.posix.basename(one))))
      await rm(path.join(directory, file), { force: true });
    for (const file of files.filter(isUnlisted).sort())
      kept.push(`${file} as ${await setAside(directory, file, 'unlisted')}`);
  }
  for (const folder of folders) await removeIfEmpty(path.join(directory, folder));
  if (kept.length === 0) return;
  const subject = kept.length === 1 ? 'a file' : `${kept.length} files`;
  reporter.warning(
    `${directory} holds ${subject} that ${MANIFEST} does not list, kept under other names: ${fewOf(kept).join(', ')}`,
    { kind: 'incomplete' },
  );
}

/** Removes files that others of the same export have replaced. */
export async function removeReplaced(
  directory: string,
  replaced: Iterable<string>,
  { parts }: Manifest,
): Promise<void> {
  const listed = new Set(parts.flatMap(filesOf).map(({ file }) => file));
  for (const file of replaced) {
    if (listed.has(file)) continue;
    await rm(path.join(directory, file), { force: true });
    if (folderOf(file)) await removeIfEmpty(path.join(directory, folderOf(file)));
  }
}

async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => undefined);
}

async function dayFolders(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.flatMap((entry) =>
    entry.isDirectory() && isPartitionFolder(entry.name) ? [entry.name] : [],
  );
}

/** The new name begins with `why`. Returns it; undefined if the file does not exist. */
export async function setAside(
  directory: string,
  file: string,
  why: 'damaged' | 'unlisted',
): Promise<string | undefined> {
  const folder = path.join(directory, folderOf(file));
  if (!(await namesIn(folder)).includes(path.posix.basename(file))) return undefined;
  // Other programs read part-*, *.ndjson and partitions, so the new name matches none of them.
  const names = await namesIn(directory);
  const base = `${why}-${path.posix.basename(file)}`;
  let number = 1;
  while (names.includes(`${base}.${number}`)) number++;
  const aside = `${base}.${number}`;
  await rename(path.join(directory, file), path.join(directory, aside));
  await syncFolder(directory);
  if (folder !== directory) await syncFolder(folder);
  return aside;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    // A partition that was removed by hand.
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}

/** Also locks out processes in other containers. */
export const LOCK_FOLDER = '.lock';

function isLeftOver(name: string): boolean {
  const final = finalName(name);
  return final !== undefined && (final === MANIFEST || isPartName(final));
}

export async function diskFault(error: unknown, directory: string): Promise<unknown> {
  if (error instanceof HooktrailError || !(error instanceof Error)) return error;
  const full = isDiskFull(error);
  // Network errors are typed errors at this point.
  if (!full && !('syscall' in error)) return error;
  const gone = !(await stat(directory).catch(() => undefined));
  return new ServiceError(
    gone ? `the directory ${directory} is gone` : `writing to ${directory} failed: ${faultText(error)}`,
    {
      next: `${firstStep(error, full)}run the same command again: it continues where this one stopped`,
      cause: error,
    },
  );
}

function firstStep(error: NodeJS.ErrnoException, isFull: boolean): string {
  if (isFull) return 'free some space and ';
  return error.code === 'ELOOP' ? 'remove the link and ' : '';
}
