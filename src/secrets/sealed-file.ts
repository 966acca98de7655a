import {
  createCipheriv,
  createDecipheriv,
  hash,
  hkdfSync,
  randomBytes,
  type ScryptOptions,
  scrypt,
} from 'node:crypto';
import { promisify } from 'node:util';

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

/** A key with the header that it was derived from. */
interface FileKey {
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

/**
 * Seals and opens files. Keeps the latest key, since deriving one from a passphrase takes a third of a
 * second.
 */
export class FileSeal {
  readonly #askPassphrase: () => Promise<string>;
  #latest: FileKey | undefined;

  /** `askPassphrase` gives the passphrase or key to seal with, unless a file has been opened before. */
  constructor(askPassphrase: () => Promise<string>) {
    this.#askPassphrase = askPassphrase;
  }

  async prepare(): Promise<FileKey> {
    this.#latest ??= await newFileKey(await this.#askPassphrase());
    return this.#latest;
  }

  /** A file opens only with the `binding` that it was sealed with. */
  async seal(plaintext: string, binding: string): Promise<Buffer> {
    return encryptFile(await this.prepare(), plaintext, binding);
  }

  /**
   * `passphrase` must be of the kind that sealed the file. Returns undefined if it is wrong, or if somebody
   * altered the file and repaired the checksum.
   */
  async open(passphrase: string, file: Buffer, binding: string): Promise<string | undefined> {
    const header = file.subarray(0, HEADER_BYTES);
    const latest = this.#latest;
    const key = latest?.header.equals(header) ? latest : await fileKey(passphrase, header);
    const text = decryptFile(key, file, binding);
    if (text !== undefined) this.#latest = key;
    return text;
  }
}

async function newFileKey(passphrase: string): Promise<FileKey> {
  return await fileKey(passphrase, Buffer.concat([MAGIC[sealKindOf(passphrase)], randomBytes(SALT_BYTES)]));
}

async function fileKey(passphrase: string, header: Buffer): Promise<FileKey> {
  const salt = header.subarray(MAGIC_BYTES);
  if (sealKindIn(header) === 'passphrase') return { header, key: await derive(passphrase, salt, 32, SCRYPT) };
  const secret = Buffer.from(passphrase.slice('htk1-'.length), 'base64url');
  return { header, key: Buffer.from(hkdfSync('sha256', secret, salt, 'hooktrail secrets', 32)) };
}

function encryptFile({ header, key }: FileKey, plaintext: string, binding: string): Buffer {
  const sealed = seal(key, Buffer.from(plaintext), Buffer.concat([header, Buffer.from(binding)]));
  const content = Buffer.concat([header, sealed]);
  return Buffer.concat([content, checksum(content)]);
}

function decryptFile({ header, key }: FileKey, file: Buffer, binding: string): string | undefined {
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
