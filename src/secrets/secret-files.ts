import { createHash } from 'node:crypto';
import { promises as files, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { makeFolder } from '../files/folders.ts';
import { configFolder } from '../files/places.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { Binding } from './vault.ts';

type Place = Pick<Context, 'environment' | 'machine'>;

/** Names what belongs to a binding without telling what it is: eight bytes of a hash. */
export function bindingHash(binding: Binding): string {
  return createHash('sha256').update(bindingText(binding)).digest('hex').slice(0, 16);
}

/** The binding in the one form that encrypted files are authenticated with. */
export function bindingText({ profile, authUrl, clientId, serviceOrigin }: Binding): string {
  return JSON.stringify([profile, authUrl, clientId, serviceOrigin]);
}

/** A file of encrypted secrets; `~` is in no profile name, so that names of two profiles cannot meet. */
export function secretFile(context: Place, binding: Binding, kind: string): string {
  return path.join(secretFolder(context), `${binding.profile}~${bindingHash(binding)}.${kind}`);
}

/** What the file holds; undefined where there is none. */
export async function readSecretFile(file: string): Promise<Buffer | undefined> {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new UsageError(`the secrets in ${file} cannot be read: ${(error as Error).message}`, {
      next: 'change the permissions of the file, or name another folder with HOOKTRAIL_CONFIG_DIR',
      cause: error,
    });
  }
}

/** Replaces the file as a whole, in a folder that is the user's alone. */
export async function writeSecretFile(file: string, content: Uint8Array): Promise<void> {
  const folder = path.dirname(file);
  try {
    makeFolder(folder);
    await files.chmod(folder, 0o700);
    await replaceFile(file, content);
  } catch (error) {
    throw new UsageError(`secrets cannot be written to ${folder}: ${(error as Error).message}`, {
      next: 'make the folder writable and free some space, or name another with HOOKTRAIL_CONFIG_DIR',
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

/** Proves that a file of that size can be written, and leaves nothing. Throws as `writeSecretFile` does. */
export async function probeSecretFolder(context: Place): Promise<void> {
  const file = path.join(secretFolder(context), `probe-${context.machine.pid}`);
  await writeSecretFile(file, new Uint8Array(16_384));
  await deleteSecretFile(file);
}

/** The files of a profile, or of all, each with the hash of its binding. */
export async function listSecretFiles(
  context: Place,
  profile: string | undefined,
): Promise<{ file: string; signIn: string; kind: string }[]> {
  const folder = secretFolder(context);
  const names = await files.readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new UsageError(`the folder ${folder} cannot be read: ${error.message}`, {
      next: 'change its permissions, or name another with HOOKTRAIL_CONFIG_DIR',
      cause: error,
    });
  });
  return names.flatMap((name) => {
    // Temporary files of a write that was cut short carry a suffix of their own.
    const [, owner, hash, kind] = /^([^~]+)~([0-9a-f]{16})\.([a-z-]+)(?:\.[0-9a-f]+\.tmp)?$/.exec(name) ?? [];
    if (!owner || !hash || !kind || (profile !== undefined && owner !== profile)) return [];
    return [{ file: path.join(folder, name), signIn: `${owner}/${hash}`, kind }];
  });
}

function secretFolder(context: Place): string {
  return path.join(configFolder(context), 'secrets');
}
