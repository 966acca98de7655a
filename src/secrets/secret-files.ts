import { createHash } from 'node:crypto';
import { promises as files } from 'node:fs';
import path from 'node:path';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { makeFolder, ownFolderInTmp } from '../files/folders.ts';
import { configFolder } from '../files/places.ts';
import { readRegularFile } from '../files/read-file.ts';
import { replaceFile, syncFolder, UnsyncedError } from '../files/replace-file.ts';
import { refusePlanted } from '../files/trusted-path.ts';
import type { Binding } from './vault.ts';

type Place = Pick<Context, 'environment' | 'machine'>;
type Machine = Place['machine'];

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
    return readRegularFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new UsageError(`the secrets in ${file} cannot be read: ${(error as Error).message}`, {
      next: 'change the permissions of the file, or choose another folder with HOOKTRAIL_CONFIG_DIR',
      cause: error,
    });
  }
}

/**
 * Replaces the whole file, in a folder that only the user can open. Throws `UsageError`, also if the file is there but
 * could not be made durable.
 */
export async function writeSecretFile(file: string, content: Uint8Array, machine: Machine): Promise<void> {
  const folder = path.dirname(file);
  refusePlanted(folder, 'the secrets', machine);
  try {
    makeFolder(folder);
    await files.chmod(folder, 0o700);
    await replaceFile(file, content);
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof UnsyncedError) {
      throw new UsageError(`the secrets are in ${file}, but a loss of power could lose them: ${message}`, {
        next: 'check the disk',
        cause: error,
      });
    }
    throw new UsageError(`secrets cannot be written to ${folder}: ${message}`, {
      next: 'make the folder writable and free some space, or choose another with HOOKTRAIL_CONFIG_DIR',
      cause: error,
    });
  }
}

/** Deletes the file, if it is there, so that a loss of power does not bring it back. */
export async function deleteSecretFile(file: string): Promise<void> {
  await removeSecretFile(file);
  try {
    await syncFolder(path.dirname(file));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    throw new UsageError(`${file} is deleted, but a loss of power could bring it back: ${message}`, {
      next: 'check the disk, and run the command again',
      cause: error,
    });
  }
}

/** Deletes a file that does no harm if it comes back. */
export async function removeSecretFile(file: string): Promise<void> {
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
  await writeSecretFile(file, new Uint8Array(16_384), context.machine);
  await removeSecretFile(file);
}

/**
 * Writes a secret file's content under the same name to the rescue folder, and returns that file. Throws if that folder
 * does not accept it either.
 */
export async function rescueSecretFile(file: string, content: Uint8Array, context: Place): Promise<string> {
  const { machine } = context;
  const place = rescued(file, context);
  if (machine.platform !== 'win32') await ownFolderInTmp(machine, 'secrets', configName(context));
  await writeSecretFile(place, content, machine);
  return place;
}

/** Returns the copy of a file that `rescueSecretFile` left, with its path; undefined if there is none. */
export async function readRescued(
  file: string,
  context: Place,
): Promise<{ place: string; content: Buffer } | undefined> {
  const place = rescued(file, context);
  if (!isOwnRescueFolder(context)) return undefined;
  const content = await readSecretFile(place);
  return content && { place, content };
}

/** Deletes the copy of a file that `rescueSecretFile` left. */
export async function deleteRescued(file: string, context: Place): Promise<void> {
  if (isOwnRescueFolder(context)) await deleteSecretFile(rescued(file, context));
}

/** Returns the files of one profile or of all, from both folders, each with the hash of its binding. */
export async function listSecretFiles(
  context: Place,
  profile: string | undefined,
): Promise<{ file: string; signIn: string; kind: string }[]> {
  const folders = [secretFolder(context), ...(isOwnRescueFolder(context) ? [rescueFolder(context)] : [])];
  const lists = await Promise.all(
    folders.map(async (folder) => {
      const names = await files.readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw new UsageError(`the folder ${folder} cannot be read: ${error.message}`, {
          next: 'change its permissions, or choose another with HOOKTRAIL_CONFIG_DIR',
          cause: error,
        });
      });
      return names.map((name) => ({ folder, name }));
    }),
  );
  return lists.flat().flatMap(({ folder, name }) => {
    // Temporary files of interrupted writes have another suffix.
    const [, owner, hash, kind] = /^([^~]+)~([0-9a-f]{16})\.([a-z-]+)(?:\.[0-9a-f]+\.tmp)?$/.exec(name) ?? [];
    if (!owner || !hash || !kind || (profile !== undefined && owner !== profile)) return [];
    return [{ file: path.join(folder, name), signIn: `${owner}/${hash}`, kind }];
  });
}

function secretFolder(context: Place): string {
  return path.join(configFolder(context), 'secrets');
}

function rescued(file: string, context: Place): string {
  return path.join(rescueFolder(context), path.basename(file));
}

/**
 * The folder for secrets that the configuration folder did not accept. It is usually on another file system, and
 * processes without a session, as those of cron, find it too. Each configuration folder has its own.
 */
function rescueFolder(context: Place): string {
  const { platform, sharedFolder, userHome, userId } = context.machine;
  const top =
    platform === 'win32' ? path.join(userHome, '.hooktrail') : path.join(sharedFolder, `hooktrail-${userId}`);
  return path.join(top, 'secrets', configName(context));
}

function configName(context: Place): string {
  return createHash('sha256').update(configFolder(context)).digest('hex').slice(0, 16);
}

/** False if another user has put something into the shared folder under our name. */
function isOwnRescueFolder(context: Place): boolean {
  try {
    refusePlanted(rescueFolder(context), 'the secrets', context.machine);
    return true;
  } catch {
    return false;
  }
}
