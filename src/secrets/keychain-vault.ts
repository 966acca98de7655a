import { randomBytes } from 'node:crypto';
import type { Context, Keychain } from '../context.ts';
import { NotSignedInError } from '../errors.ts';
import { seal, unseal } from './encrypted-file.ts';
import { openKeychain } from './keychain.ts';
import { KeychainError } from './keychain-error.ts';
import {
  bindingHash,
  bindingText,
  deleteSecretFile,
  probeSecretFolder,
  readSecretFile,
  secretFile,
  writeSecretFile,
} from './secret-files.ts';
import { type AccessToken, type Binding, parseAccess, type Secrets, type Vault } from './vault.ts';

type Surroundings = Pick<Context, 'environment' | 'machine' | 'clock' | 'loadKeychain'>;
type Kept = 'refresh-token' | 'client-secret';

/**
 * Windows keeps 2,560 bytes an entry. What is longer lies in a file, encrypted under a key that is in the keychain, rather
 * than in several entries: a file is replaced as a whole, entries one after the other. One limit holds on every system, so
 * that every system tests it.
 */
const ENTRY_LIMIT = 2_048;
const IN_FILE = 'in-file';

/**
 * Secrets in the OS keychain. The access token, which may be long and changes often, is cached in a file encrypted under
 * a random key that only the keychain holds: reading it takes one keychain entry and one file.
 */
export class KeychainVault implements Vault {
  readonly kind = 'keychain';
  readonly place: string;
  readonly #binding: Binding;
  readonly #context: Surroundings;
  #keychain: Promise<Keychain> | undefined;

  constructor(binding: Binding, context: Surroundings, keychain?: Promise<Keychain>) {
    this.#binding = binding;
    this.#context = context;
    this.#keychain = keychain;
    this.place = PLACES[context.machine.platform] ?? 'the Secret Service';
  }

  async probe(): Promise<void> {
    const keychain = await this.#open();
    const account = `${this.#account('probe')}-${this.#context.machine.pid}`;
    const text = randomBytes(16).toString('hex');
    await keychain.set(account, text);
    const read = await keychain.get(account);
    await keychain.delete(account);
    if (read !== text) throw new KeychainError('refused', 'what was stored could not be read back');
    await probeSecretFolder(this.#context);
  }

  async readAccess(): Promise<AccessToken | undefined> {
    const key = await this.#key();
    return key && (await this.#cached(key));
  }

  async read(): Promise<Secrets | undefined> {
    const key = await this.#key();
    const refreshToken = await this.#secret('refresh-token', key);
    const clientSecret = await this.#secret('client-secret', key);
    const access = key && (await this.#cached(key));
    return refreshToken || clientSecret || access ? { refreshToken, clientSecret, access } : undefined;
  }

  async write({ refreshToken, clientSecret, access }: Secrets): Promise<void> {
    const key = (await this.#key()) ?? (await this.#newKey());
    // The one that cannot be had again comes first.
    if (refreshToken !== undefined) await this.#keep('refresh-token', refreshToken, key);
    if (clientSecret !== undefined) await this.#keep('client-secret', clientSecret, key);
    if (access !== undefined) await this.#writeFile('access', JSON.stringify(access), key);
  }

  async delete(): Promise<void> {
    const keychain = await this.#open();
    for (const name of ['refresh-token', 'client-secret', 'cache-key'])
      await keychain.delete(this.#account(name));
    for (const name of ['refresh-token', 'client-secret', 'access']) await deleteSecretFile(this.#file(name));
  }

  async #secret(name: Kept, key: Buffer | undefined): Promise<string | undefined> {
    const sealed = await readSecretFile(this.#file(name));
    if (sealed === undefined) {
      const entry = await (await this.#open()).get(this.#account(name));
      if (entry === IN_FILE) throw this.#damaged(name);
      return entry ?? undefined;
    }
    const plaintext = key && unseal(key, sealed, this.#authenticated(name));
    if (plaintext === undefined) throw this.#damaged(name);
    return plaintext.toString('utf8');
  }

  /** Once a secret has a file it stays there, since a crash between a file and an entry must not leave two truths. */
  async #keep(name: Kept, secret: string, key: Buffer): Promise<void> {
    const keychain = await this.#open();
    const hasFile = (await readSecretFile(this.#file(name))) !== undefined;
    if (!hasFile && Buffer.byteLength(secret) <= ENTRY_LIMIT)
      return await keychain.set(this.#account(name), secret);
    await this.#writeFile(name, secret, key);
    await keychain.set(this.#account(name), IN_FILE);
  }

  /** A cache that is missing, damaged or of another key is no cache: the refresh token brings a new one. */
  async #cached(key: Buffer): Promise<AccessToken | undefined> {
    const sealed = await readSecretFile(this.#file('access'));
    const plaintext = sealed && unseal(key, sealed, this.#authenticated('access'));
    return plaintext && parseAccess(plaintext.toString('utf8'));
  }

  async #writeFile(name: Kept | 'access', text: string, key: Buffer): Promise<void> {
    await writeSecretFile(this.#file(name), seal(key, Buffer.from(text), this.#authenticated(name)));
  }

  async #key(): Promise<Buffer | undefined> {
    const entry = await (await this.#open()).get(this.#account('cache-key'));
    const key = Buffer.from(entry ?? '', 'base64url');
    return key.length === 32 ? key : undefined;
  }

  async #newKey(): Promise<Buffer> {
    const key = randomBytes(32);
    await (await this.#open()).set(this.#account('cache-key'), key.toString('base64url'));
    return key;
  }

  #open(): Promise<Keychain> {
    this.#keychain ??= openKeychain(this.#context);
    return this.#keychain;
  }

  #account(name: string): string {
    return `${this.#binding.profile}/${bindingHash(this.#binding)}/${name}`;
  }

  #file(name: string): string {
    return secretFile(this.#context, this.#binding, name);
  }

  #authenticated(name: string): Buffer {
    return Buffer.from(`hooktrail 1 ${name} ${bindingText(this.#binding)}`);
  }

  #damaged(name: Kept): NotSignedInError {
    return new NotSignedInError(`the stored ${name.replace('-', ' ')} is damaged`, {
      details: [`${this.#file(name)} is missing, was changed, or belongs to another key`],
      next: 'run `hooktrail logout` and `hooktrail login`',
    });
  }
}

const PLACES: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'the macOS Keychain',
  win32: 'the Windows Credential Manager',
};
