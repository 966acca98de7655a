import { createHash } from 'node:crypto';
import { promises as files, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { makeFolder, ownFolderInTmp } from '../files/folders.ts';
import { configFolder } from '../files/places.ts';
import { refusePlanted } from '../files/planted.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { Binding } from './vault.ts';

type Place = Pick<Context, 'environment' | 'machine'>;

/** Identifies a binding without revealing it: eight bytes of a hash. */
export function bindingHash(binding: Binding): string {
  return createHash('sha256').update(bindingText(binding)).digest('hex').slice(0, 16);
}

/** Returns the canonical text of a binding, with which encrypted files are authenticated. */
export function bindingText({ profile, authUrl, clientId, serviceOrigin }: Binding): string {
  return JSON.stringify([profile, authUrl, clientId, serviceOrigin]);
}

/**
 * Returns the path of a file of encrypted secrets. Profile names cannot contain `~`, so names of two profiles cannot
 * collide.
 */
export function secretFile(context: Place, binding: Binding, kind: string): string {
  return path.join(secretFolder(context), `${binding.profile}~${bindingHash(binding)}.${kind}`);
}

/** Returns the content of the file; undefined if it does not exist. */
export async function readSecretFile(file: string): Promise<Buffer | undefined> {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new UsageError(`the secrets in ${file} cannot be read: ${(error as Error).message}`, {
      next: 'change the permissions of the file, or choose another folder with HOOKTRAIL_CONFIG_DIR',
      cause: error,
    });
  }
}

/** Replaces the whole file, in a folder that only the user can open. */
export async function writeSecretFile(file: string, content: Uint8Array): Promise<void> {
  const folder = path.dirname(file);
  try {
    makeFolder(folder);
    await files.chmod(folder, 0o700);
    await replaceFile(file, content);
  } catch (error) {
    throw new UsageError(`secrets cannot be written to ${folder}: ${(error as Error).message}`, {
      next: 'make the folder writable and free some space, or choose another with HOOKTRAIL_CONFIG_DIR',
      cause: error,
    });
  }
}

export async function deleteSecretFile(file: string): Promise<void> {
  try {
    await files.rm(file, { force: true });
  } catch (error) {
    throw new UsageError(`the secrets in ${file} cannot be deleted: ${(error as Error).message}`, {
      next: 'delete the file yourself',
      cause: error,
    });
  }
}

/**
 * Checks that a file of the size of a secret file can be written, and removes it again. Throws as `writeSecretFile`
 * does.
 */
export async function probeSecretFolder(context: Place): Promise<void> {
  const file = path.join(secretFolder(context), `probe-${context.machine.pid}`);
  await writeSecretFile(file, new Uint8Array(16_384));
  await deleteSecretFile(file);
}

/**
 * Writes a secret file's content under the same name to the first of the user's other folders that accepts it, and
 * returns that file. Throws if none does.
 */
export async function writeElsewhere(file: string, content: Uint8Array, context: Place): Promise<string> {
  for (const folder of otherFolders(context)) {
    const place = path.join(folder, path.basename(file));
    try {
      if (folder === tmpFolder(context))
        await ownFolderInTmp(context.machine, 'secrets', path.basename(folder));
      await writeSecretFile(place, content);
      return place;
    } catch {}
  }
  throw new UsageError(`no folder accepts ${path.basename(file)}`);
}

/** Returns the copies of a file that `writeElsewhere` left, with their paths. */
export async function readElsewhere(
  file: string,
  context: Place,
): Promise<{ place: string; content: Buffer }[]> {
  const found: { place: string; content: Buffer }[] = [];
  for (const folder of otherFolders(context)) {
    const place = path.join(folder, path.basename(file));
    try {
      refusePlanted(place, 'the secrets', context.machine);
      const content = await readSecretFile(place);
      if (content) found.push({ place, content });
    } catch {}
  }
  return found;
}

/** Removes the copies of a file that `writeElsewhere` left. */
export async function deleteElsewhere(file: string, context: Place): Promise<void> {
  for (const folder of otherFolders(context)) await deleteSecretFile(path.join(folder, path.basename(file)));
}

/** Returns the files of one profile or of all, from all folders, each with the hash of its binding. */
export async function listSecretFiles(
  context: Place,
  profile: string | undefined,
): Promise<{ file: string; signIn: string; kind: string }[]> {
  const lists = await Promise.all([
    files.readdir(secretFolder(context)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw new UsageError(`the folder ${secretFolder(context)} cannot be read: ${error.message}`, {
        next: 'change its permissions, or choose another with HOOKTRAIL_CONFIG_DIR',
        cause: error,
      });
    }),
    ...otherFolders(context).map((folder) => files.readdir(folder).catch(() => [] as string[])),
  ]);
  const folders = [secretFolder(context), ...otherFolders(context)];
  return lists.flatMap((names, index) =>
    names.flatMap((name) => {
      // Temporary files of interrupted writes have another suffix.
      const [, owner, hash, kind] =
        /^([^~]+)~([0-9a-f]{16})\.([a-z-]+)(?:\.[0-9a-f]+\.tmp)?$/.exec(name) ?? [];
      if (!owner || !hash || !kind || (profile !== undefined && owner !== profile)) return [];
      return [{ file: path.join(folders[index] as string, name), signIn: `${owner}/${hash}`, kind }];
    }),
  );
}

function secretFolder(context: Place): string {
  return path.join(configFolder(context), 'secrets');
}

/**
 * Folders that are usually on other file systems than the configuration: the home, the session's memory, the temporary
 * files. Each configuration folder has its own subfolder there.
 */
function otherFolders(context: Place): string[] {
  const { environment, machine } = context;
  const own = ownName(context);
  const home = path.join(machine.userHome, '.hooktrail', 'secrets', own);
  if (machine.platform === 'win32') return [home];
  const runtime = environment['XDG_RUNTIME_DIR'];
  const session = runtime && path.isAbsolute(runtime) ? [path.join(runtime, 'hooktrail', own)] : [];
  return [home, ...session, tmpFolder(context)];
}

function tmpFolder(context: Place): string {
  const { sharedFolder, userId } = context.machine;
  return path.join(sharedFolder, `hooktrail-${userId}`, 'secrets', ownName(context));
}

function ownName(context: Place): string {
  return createHash('sha256').update(configFolder(context)).digest('hex').slice(0, 16);
}
