import {
  createCipheriv,
  createDecipheriv,
  hash,
  hkdfSync,
  randomBytes,
  type ScryptOptions,
  scrypt,
} from 'node:crypto';
import { promises as files } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
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
import type { Binding, StoredSecrets } from './vault.ts';

/**
 * The two formats: magic, salt, nonce, tag and ciphertext of AES-256-GCM, and SHA-256 of everything before
 * it. The magic selects the derivation: scrypt of a passphrase with these parameters, or HKDF of a key from
 * `keygen`, which needs no stretching. The header (magic and salt) is authenticated with the ciphertext. The
 * checksum only distinguishes accidental damage from a wrong passphrase.
 */
const MAGIC = {
  passphrase: Buffer.from('hooktrail-secrets-1\n'),
  key: Buffer.from('hooktrail-secrets-2\n'),
} as const;
const MAGIC_BYTES = MAGIC.key.length;
const SALT_BYTES = 16;
const HEADER_BYTES = MAGIC_BYTES + SALT_BYTES;
const CHECKSUM_BYTES = 32;

/**
 * OWASP's password storage cheat sheet lists these as equal in strength to N=2^17, r=8, p=1. They take 32 MiB
 * instead of 128, which matters when forty commands start at once.
 */
const SCRYPT = { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 26 };

const derive = promisify(scrypt) as (
  passphrase: string,
  salt: Uint8Array,
  length: number,
  options: ScryptOptions,
) => Promise<Buffer>;

/** A key with the header that it was derived from, to save deriving it again for the next write. */
export interface FileKey {
  readonly header: Buffer;
  readonly key: Buffer;
}

export type SealKind = keyof typeof MAGIC;

const GENERATED = /^htk1-[A-Za-z0-9_-]{43}$/;

/** 256 random bits in a form recognized as a key wherever a passphrase is accepted. */
export function generateKey(): string {
  return `htk1-${randomBytes(32).toString('base64url')}`;
}

export function sealKindOf(passphrase: string): SealKind {
  return GENERATED.test(passphrase) ? 'key' : 'passphrase';
}

export function sealKindIn(file: Buffer): SealKind {
  return file.subarray(0, MAGIC_BYTES).equals(MAGIC.key) ? 'key' : 'passphrase';
}

export async function newFileKey(passphrase: string): Promise<FileKey> {
  return await fileKey(passphrase, Buffer.concat([MAGIC[sealKindOf(passphrase)], randomBytes(SALT_BYTES)]));
}

/** `passphrase` must be of the kind that sealed the file; `known` is returned if it fits. */
export async function fileKey(passphrase: string, file: Buffer, known?: FileKey): Promise<FileKey> {
  const header = file.subarray(0, HEADER_BYTES);
  if (known?.header.equals(header)) return known;
  const salt = header.subarray(MAGIC_BYTES);
  if (sealKindIn(file) === 'passphrase') return { header, key: await derive(passphrase, salt, 32, SCRYPT) };
  const secret = Buffer.from(passphrase.slice('htk1-'.length), 'base64url');
  return { header, key: Buffer.from(hkdfSync('sha256', secret, salt, 'hooktrail secrets', 32)) };
}

export function encryptFile({ header, key }: FileKey, plaintext: string, binding: string): Buffer {
  const sealed = seal(key, Buffer.from(plaintext), Buffer.concat([header, Buffer.from(binding)]));
  const content = Buffer.concat([header, sealed]);
  return Buffer.concat([content, checksum(content)]);
}

/** Returns undefined if the key is wrong, or if somebody altered the file and repaired the checksum. */
export function decryptFile({ header, key }: FileKey, file: Buffer, binding: string): string | undefined {
  const sealed = file.subarray(header.length, -CHECKSUM_BYTES);
  return unseal(key, sealed, Buffer.concat([header, Buffer.from(binding)]))?.toString('utf8');
}

/** Returns damage visible without the passphrase, such as "is cut short"; undefined if there is none. */
export function damageOf(file: Buffer): string | undefined {
  const start = file.subarray(0, MAGIC_BYTES);
  const isOurs = Object.values(MAGIC).some((magic) => start.equals(magic.subarray(0, start.length)));
  if (!isOurs) return 'was not written by hooktrail';
  if (file.length < HEADER_BYTES + CHECKSUM_BYTES) return 'is cut short';
  const content = file.subarray(0, -CHECKSUM_BYTES);
  return checksum(content).equals(file.subarray(-CHECKSUM_BYTES)) ? undefined : 'is damaged';
}

function checksum(content: Buffer): Buffer {
  return hash('sha256', content, 'buffer');
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM with a random 96-bit nonce (NIST SP 800-38D, section 8.2.2): nonce, tag, ciphertext. */
export function seal(key: Buffer, plaintext: Uint8Array, authenticated: Uint8Array): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(authenticated);
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]);
}

/** Returns undefined if the key is wrong or anything was changed. */
export function unseal(key: Buffer, sealed: Buffer, authenticated: Uint8Array): Buffer | undefined {
  if (sealed.length < IV_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES))
    .setAAD(authenticated)
    .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}

type Place = Pick<Context, 'environment' | 'machine'>;

/** Identifies a binding without revealing it: eight bytes of a hash. */
export function bindingHash(binding: Binding): string {
  return shortHash(bindingText(binding));
}

function shortHash(text: string): string {
  return hash('sha256', text).slice(0, 16);
}

export function bindingText({ profile, authUrl, clientId, serviceOrigin }: Binding): string {
  return JSON.stringify([profile, authUrl, clientId, serviceOrigin]);
}

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

export function openSecretCopies(binding: Binding, kind: string, context: Place) {
  // Profile names cannot contain `~`, so names of two profiles cannot collide.
  const name = `${binding.profile}~${bindingHash(binding)}.${kind}`;
  return openCopies<StoredSecrets>(path.join(secretFolder(context), name), context);
}

interface Dated {
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

export function openCopies<Content extends Dated>(file: string, context: Place) {
  const rescued = path.join(rescueFolder(context), path.basename(file));
  const { machine } = context;
  return {
    file,
    /**
     * Returns the newer of the copies that `open` accepts; undefined if there is none. Throws the first
     * failure if no copy could be read and opened.
     */
    read: (open: OpenSealed<Content>) => readLatest([file, rescued], open),
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
