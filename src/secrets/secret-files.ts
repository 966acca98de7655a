import { promises as files } from 'node:fs';
import path from 'node:path';
import type { Context } from '../context.ts';
import { faultText, UsageError } from '../errors.ts';
import { configFolder, makeFolder, refusePlanted } from '../files/folders.ts';
import {
  overwriteFile,
  readRegularFile,
  replaceFile,
  syncFolder,
  UnsyncedError,
} from '../files/whole-files.ts';
import { type Binding, bindingHash, type StoredSecrets } from './vault.ts';

type Place = Pick<Context, 'environment' | 'machine'>;

/** Returns undefined if the file does not exist. */
export async function readSecretFile(file: string): Promise<Buffer | undefined> {
  try {
    return readRegularFile(file);
  } catch (error) {
    return requireMissing(error, `the secrets in ${file}`);
  }
}

/** Returns undefined for a missing file. Throws `UsageError` for any other error. */
function requireMissing(error: unknown, what: string): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw new UsageError(`${what} cannot be read: ${faultText(error)}`, {
    next: 'change its permissions, or choose another folder with HOOKTRAIL_CONFIG_DIR',
    cause: error,
  });
}

/**
 * Replaces the whole file, in a folder that only the user can open. Throws `UsageError`, even if the file was
 * written but not made durable.
 */
export async function writeSecretFile(
  file: string,
  content: Uint8Array,
  machine: Place['machine'],
): Promise<void> {
  const folder = path.dirname(file);
  refusePlanted(folder, 'the secrets', machine);
  try {
    makeFolder(folder);
    await files.chmod(folder, 0o700);
    await replaceFile(file, content);
  } catch (error) {
    const message = faultText(error);
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

/** Deletes the file, if it exists, and syncs the folder: a loss of power must not bring it back. */
export async function deleteSecretFile(file: string): Promise<void> {
  let problem = `the secrets in ${file} cannot be deleted`;
  let next = 'make its folder writable and run the command again, or delete the file yourself';
  try {
    await files.rm(file);
    problem = `${file} is deleted, but a loss of power could bring it back`;
    next = 'check the disk, and run the command again';
    await syncFolder(path.dirname(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new UsageError(`${problem}: ${faultText(error)}`, { next, cause: error });
  }
}

/** Checks that a file of realistic size can be written, and removes it. Throws as `writeSecretFile` does. */
export async function probeSecretFolder(context: Place): Promise<void> {
  const file = path.join(secretFolder(context), 'probe');
  await writeSecretFile(file, new Uint8Array(16_384), context.machine);
  await deleteSecretFile(file);
}

export function openSecretCopies(binding: Binding, kind: string, context: CopiesContext) {
  // Profile names cannot contain `~`, so names of two profiles cannot collide.
  const name = `${binding.profile}~${bindingHash(binding)}.${kind}`;
  return openCopies<StoredSecrets>(path.join(secretFolder(context), name), context);
}

type CopiesContext = Place & Pick<Context, 'clock'>;

interface Dated {
  /** Milliseconds since the epoch, always increasing: identifies the newer of two copies. */
  readonly written: number;
}

/** Decrypts a file; undefined if it counts as empty. */
type OpenSealed<Content> = (
  sealed: Buffer,
  place: string,
) => Promise<Content | undefined> | Content | undefined;

async function readLatest<Content extends Dated>(
  places: readonly string[],
  open: OpenSealed<Content>,
): Promise<Content | undefined> {
  let latest: Content | undefined;
  let failure: unknown;
  for (const place of places) {
    try {
      const sealed = await readSecretFile(place);
      const content = sealed && (await open(sealed, place));
      if (content && content.written > (latest?.written ?? -1)) latest = content;
    } catch (error) {
      failure ??= error;
    }
  }
  if (latest === undefined && failure !== undefined) throw failure;
  return latest;
}

export function openCopies<Content extends Dated>(file: string, context: CopiesContext) {
  const rescued = path.join(rescueFolder(context), path.basename(file));
  const { clock, machine } = context;
  let lastWritten = 0;
  return {
    file,
    /**
     * Returns the newer of the copies that `open` accepts; undefined if there is none. Throws the first
     * failure if no copy could be read and opened.
     */
    async read(open: OpenSealed<Content>): Promise<Content | undefined> {
      const latest = await readLatest([file, rescued], open);
      lastWritten = Math.max(lastWritten, latest?.written ?? 0);
      return latest;
    },
    /**
     * Dates new content later than all that was read or dated before, and than `other`: after the clock was
     * set back, an old copy must not look newer.
     */
    dated<New extends object>(content: New, other = 0): New & Dated {
      lastWritten = Math.max(clock.now(), lastWritten + 1, other + 1);
      return { ...content, written: lastWritten };
    },
    async readSealed(): Promise<Buffer[]> {
      const reading = [file, rescued].map((place) => readSecretFile(place).catch(() => undefined));
      return (await Promise.all(reading)).filter((sealed) => sealed !== undefined);
    },
    async write(sealed: Buffer): Promise<void> {
      await writeSecretFile(file, sealed, machine);
      // A leftover copy is harmless: it is older than the file just written.
      await deleteSecretFile(rescued).catch(() => undefined);
    },
    async remove(): Promise<void> {
      await deleteSecretFile(file);
      await deleteSecretFile(rescued);
    },
    /**
     * Writes the copy or, if the disk is full, overwrites the file itself, whose content is worthless by now.
     * Returns the path. Throws the first error if neither works.
     */
    async rescue(sealed: Buffer): Promise<string> {
      try {
        await writeSecretFile(rescued, sealed, machine);
        return rescued;
      } catch (error) {
        await overwriteFile(file, sealed).catch(() => {
          throw error;
        });
        return file;
      }
    },
  };
}

export type StoredEntry = { readonly signIn: string; readonly kind: string; remove(): Promise<unknown> };

/**
 * Lists the files of one profile or of all, from both folders, with their sign-ins. Files left by interrupted
 * writes have the kind `leftover`.
 */
export async function listSecretFiles(
  context: Place,
  profile: string | undefined,
): Promise<(StoredEntry & { readonly file: string })[]> {
  const folders = [secretFolder(context), rescueFolder(context)];
  const names = async (folder: string) => {
    const listed = files.readdir(folder).catch((error) => requireMissing(error, `the folder ${folder}`));
    return ((await listed) ?? []).map((name) => path.join(folder, name));
  };
  return (await Promise.all(folders.map(names))).flat().flatMap((file) => {
    const [, owner, hash, kind, temporary] =
      /^([^~]+)~([0-9a-f]{16})\.([a-z-]+)(\.[0-9a-f]+\.tmp)?$/.exec(path.basename(file)) ?? [];
    if (kind === undefined || (profile !== undefined && owner !== profile)) return [];
    const remove = () => deleteSecretFile(file);
    return [{ file, signIn: `${owner}/${hash}`, kind: temporary ? 'leftover' : kind, remove }];
  });
}

function secretFolder(context: Place): string {
  return path.join(configFolder(context), 'secrets');
}

/**
 * Secrets that their own folder did not accept go here: the configuration folder is the same for all
 * processes and containers that share the secrets.
 */
function rescueFolder(context: Place): string {
  return path.join(configFolder(context), 'rescued');
}

export async function listRescued(context: Place): Promise<string[]> {
  return await files.readdir(rescueFolder(context)).catch(() => []);
}
