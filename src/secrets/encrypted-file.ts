import {
  createCipheriv,
  createDecipheriv,
  createHash,
  hkdfSync,
  randomBytes,
  type ScryptOptions,
  scrypt,
} from 'node:crypto';
import { promisify } from 'node:util';

/**
 * The two formats, which differ in their magic. Sealed with a passphrase: magic, scrypt's log2 N, r and p, salt. Sealed
 * with a key of `keygen`: magic, salt; a key needs no stretching, so HKDF replaces scrypt. Both continue with nonce,
 * tag and ciphertext of AES-256-GCM, and SHA-256 of everything before it. The header is authenticated with the
 * ciphertext. The checksum distinguishes accidental damage from a wrong passphrase; it proves nothing.
 */
const PASSPHRASE_MAGIC = Buffer.from('hooktrail-secrets-1\n');
const KEY_MAGIC = Buffer.from('hooktrail-secrets-2\n');
const MAGIC_BYTES = PASSPHRASE_MAGIC.length;
const SALT_BYTES = 16;
const CHECKSUM_BYTES = 32;

/**
 * OWASP's password storage cheat sheet lists these as equal in strength to N=2^17, r=8, p=1. They take 32 MiB instead of
 * 128, which matters when forty commands start at once.
 */
const PARAMETERS = { logN: 15, r: 8, p: 3 };

const derive = promisify(scrypt) as (
  passphrase: string,
  salt: Uint8Array,
  length: number,
  options: ScryptOptions,
) => Promise<Buffer>;

/** A key with the header from which it was derived, so that the next write need not derive it again. */
export interface FileKey {
  readonly header: Buffer;
  readonly key: Buffer;
}

export type Damage = 'truncated' | 'damaged' | 'other-format';

/** The way a file is sealed: with a typed passphrase, or with a random key from `keygen`. */
export type SealKind = 'passphrase' | 'key';

const GENERATED = /^htk1-([A-Za-z0-9_-]{43})$/;

/** 256 random bits in a form that is recognised as a key wherever a passphrase is accepted. */
export function generateKey(): string {
  return `htk1-${randomBytes(32).toString('base64url')}`;
}

export function sealKindOf(passphrase: string): SealKind {
  return GENERATED.test(passphrase) ? 'key' : 'passphrase';
}

/** Returns how an intact file was sealed. */
export function sealKindIn(file: Buffer): SealKind {
  return file.subarray(0, MAGIC_BYTES).equals(KEY_MAGIC) ? 'key' : 'passphrase';
}

export async function newFileKey(passphrase: string): Promise<FileKey> {
  const { logN, r, p } = PARAMETERS;
  const header =
    sealKindOf(passphrase) === 'key'
      ? Buffer.concat([KEY_MAGIC, randomBytes(SALT_BYTES)])
      : Buffer.concat([PASSPHRASE_MAGIC, Buffer.from([logN, r, p]), randomBytes(SALT_BYTES)]);
  return { header, key: await deriveKey(passphrase, header) };
}

export async function fileKey(passphrase: string, file: Buffer): Promise<FileKey> {
  const header = file.subarray(0, headerLength(file));
  return { header, key: await deriveKey(passphrase, header) };
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

/** Returns the damage that is visible without the passphrase; undefined if there is none. */
export function damageOf(file: Buffer): Damage | undefined {
  const magic = file.subarray(0, MAGIC_BYTES);
  const isOurs = [PASSPHRASE_MAGIC, KEY_MAGIC].some((known) => magic.equals(known.subarray(0, magic.length)));
  if (!isOurs) return 'other-format';
  if (file.length < headerLength(file) + CHECKSUM_BYTES) return 'truncated';
  const content = file.subarray(0, -CHECKSUM_BYTES);
  if (!checksum(content).equals(file.subarray(-CHECKSUM_BYTES))) return 'damaged';
  if (sealKindIn(file) === 'key') return undefined;
  const [logN = 0, r, p = 0] = file.subarray(MAGIC_BYTES);
  // A crafted header must not make the program use all memory or compute for an hour.
  return logN >= 13 && logN <= 17 && r === 8 && p >= 1 && p <= 10 ? undefined : 'other-format';
}

function headerLength(file: Buffer): number {
  return sealKindIn(file) === 'key' ? MAGIC_BYTES + SALT_BYTES : MAGIC_BYTES + 3 + SALT_BYTES;
}

async function deriveKey(passphrase: string, header: Buffer): Promise<Buffer> {
  const isKey = sealKindIn(header) === 'key';
  const salt = header.subarray(isKey ? MAGIC_BYTES : MAGIC_BYTES + 3);
  if (isKey) {
    // RFC 5869. A passphrase that is not a key opens nothing: the caller distinguishes the two.
    const secret = Buffer.from(GENERATED.exec(passphrase)?.[1] ?? passphrase, 'base64url');
    return Buffer.from(hkdfSync('sha256', secret, salt, 'hooktrail secrets', 32));
  }
  const [logN = 0, r = 0, p = 0] = header.subarray(MAGIC_BYTES);
  const N = 2 ** logN;
  return await derive(passphrase, salt, 32, { N, r, p, maxmem: 256 * N * r });
}

function checksum(content: Buffer): Buffer {
  return createHash('sha256').update(content).digest();
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
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(authenticated)
    .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}
