import { randomBytes } from 'node:crypto';
import type { Context, Keychain } from '../context.ts';
import { NotSignedInError } from '../errors.ts';
import {
  bindingHash,
  bindingText,
  deleteRescued,
  deleteSecretFile,
  probeSecretFolder,
  readRescued,
  readSecretFile,
  removeSecretFile,
  rescueSecretFile,
  seal,
  secretFile,
  unseal,
  writeSecretFile,
} from './encrypted-file.ts';
import { KeychainError, openKeychain } from './keychain.ts';
import { type AccessToken, type Binding, parseAccess, type Secrets, type Vault } from './vault.ts';

type Surroundings = Pick<Context, 'environment' | 'machine' | 'clock' | 'loadKeychain'>;

/**
 * Windows stores at most 2,560 bytes per item. Longer secrets are kept in a file, encrypted with the key in the item: a
 * file is replaced atomically, whereas several items would be written one after the other. The same limit applies on
 * every system, so that every system tests it.
 */
const ITEM_LIMIT_BYTES = 2_048;

/**
 * The secrets that cannot be replaced. The later of two copies has the larger `written` (milliseconds, always
 * increasing).
 */
interface Kept {
  readonly refreshToken?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly written: number;
}

/** The one item of a sign-in. */
interface Item extends Kept {
  /** Encrypts the files of this sign-in; 32 bytes. */
  readonly key: Buffer;
  /** True if the secrets were too long and are in the file. */
  readonly inFile: boolean;
}

/** For an item that has to be there. */
const TRIES = 3;
const PAUSE_MS = 250;

/**
 * Keeps secrets in one item of the OS keychain, so that the system asks the user once and a write is atomic. The access
 * token, which may be long and changes often, is cached in a file encrypted with a random key that only the item holds.
 */
export class KeychainVault implements Vault {
  readonly kind = 'keychain';
  readonly place: string;
  readonly #binding: Binding;
  readonly #context: Surroundings;
  #keychain: Promise<Keychain> | undefined;
  /** As it was last read or written. */
  #item: Item | undefined;
  #written = 0;

  constructor(binding: Binding, context: Surroundings) {
    this.#binding = binding;
    this.#context = context;
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
    // Read the item now, so that `write` does not have to.
    await this.#readItem();
  }

  async readAccess(): Promise<AccessToken | undefined> {
    const item = await this.#readItem();
    return item && (await this.#cached(item.key));
  }

  async read(): Promise<Secrets | undefined> {
    const item = await this.#readItem();
    if (item === undefined) return undefined;
    let latest: Kept | undefined = item.inFile ? undefined : item;
    for (const sealed of await this.#sealedFiles()) {
      const kept = this.#unsealed(sealed, item.key);
      if (kept && kept.written > (latest?.written ?? -1)) latest = kept;
    }
    if (latest === undefined) throw this.#damaged();
    this.#written = latest.written;
    const { refreshToken, clientSecret } = latest;
    const access = await this.#cached(item.key);
    return refreshToken || clientSecret || access ? { refreshToken, clientSecret, access } : undefined;
  }

  async write({ refreshToken, clientSecret, access }: Secrets): Promise<void> {
    const before = this.#item;
    const kept: Kept = { refreshToken, clientSecret, written: this.#nextWritten() };
    const key = before?.key ?? randomBytes(32);
    const text = itemText({ ...kept, key, inFile: false });
    const inFile = Buffer.byteLength(text) > ITEM_LIMIT_BYTES;
    // The irreplaceable secrets come first.
    if (inFile) {
      await writeSecretFile(this.#file('secrets'), this.#sealed(kept, key), this.#context.machine);
      if (!before?.inFile) await this.#setItem({ key, inFile, written: 0 });
    } else {
      await this.#setItem({ ...kept, key, inFile });
      // If this fails, it does no harm: these files are older than what was just written.
      await removeSecretFile(this.#file('secrets')).catch(() => undefined);
    }
    await deleteRescued(this.#file('secrets'), this.#context).catch(() => undefined);
    if (access === undefined) await removeSecretFile(this.#file('access'));
    else await this.#writeAccess(access, key);
  }

  async rescue({ refreshToken, clientSecret, access }: Secrets): Promise<string> {
    // A file encrypted with a key that the keychain does not have yet could never be opened.
    if (this.#item === undefined) throw new KeychainError('refused');
    const { key } = this.#item;
    const sealed = this.#sealed({ refreshToken, clientSecret, written: this.#nextWritten() }, key);
    if (access) await this.#writeAccess(access, key).catch(() => undefined);
    const file = this.#file('secrets');
    try {
      await writeSecretFile(file, sealed, this.#context.machine);
      return file;
    } catch {
      return await rescueSecretFile(file, sealed, this.#context);
    }
  }

  async delete(): Promise<void> {
    const keychain = await this.#open();
    await keychain.delete(this.#account('sign-in'));
    for (const name of ['secrets', 'access']) await deleteSecretFile(this.#file(name));
    await deleteRescued(this.#file('secrets'), this.#context);
    this.#item = undefined;
  }

  #nextWritten(): number {
    this.#written = Math.max(this.#context.clock.now(), this.#written + 1);
    return this.#written;
  }

  async #readItem(): Promise<Item | undefined> {
    const keychain = await this.#open();
    const account = this.#account('sign-in');
    let text = await keychain.get(account);
    // A KWallet that is busy with other processes does not always find an item. The file of the sign-in says that there is one.
    for (let tries = 1; text === null && tries < TRIES && (await this.#hasFile()); tries++) {
      await this.#context.clock.sleep(PAUSE_MS);
      text = await keychain.get(account);
    }
    this.#item = text === null ? undefined : itemOf(text);
    if (text !== null && this.#item === undefined) throw this.#damaged();
    return this.#item;
  }

  async #hasFile(): Promise<boolean> {
    return (await readSecretFile(this.#file('access'))) !== undefined;
  }

  async #setItem(item: Item): Promise<void> {
    await (await this.#open()).set(this.#account('sign-in'), itemText(item));
    this.#item = item;
  }

  /** Returns the files that may hold the secrets: the usual one, and the one written as a last resort. */
  async #sealedFiles(): Promise<Buffer[]> {
    const file = this.#file('secrets');
    const usual = await readSecretFile(file);
    const rescued = await readRescued(file, this.#context);
    return [usual, rescued?.content].filter((sealed) => sealed !== undefined);
  }

  #sealed(kept: Kept, key: Buffer): Buffer {
    return seal(key, Buffer.from(JSON.stringify(kept)), this.#authenticated('secrets'));
  }

  #unsealed(sealed: Buffer, key: Buffer): Kept | undefined {
    const text = unseal(key, sealed, this.#authenticated('secrets'));
    return text && keptIn(JSON.parse(text.toString('utf8')));
  }

  /**
   * Ignores a cache that is missing, damaged or encrypted with another key: the refresh token gets a new access token.
   */
  async #cached(key: Buffer): Promise<AccessToken | undefined> {
    const sealed = await readSecretFile(this.#file('access'));
    const plaintext = sealed && unseal(key, sealed, this.#authenticated('access'));
    return plaintext && parseAccess(plaintext.toString('utf8'));
  }

  async #writeAccess(access: AccessToken, key: Buffer): Promise<void> {
    const sealed = seal(key, Buffer.from(JSON.stringify(access)), this.#authenticated('access'));
    await writeSecretFile(this.#file('access'), sealed, this.#context.machine);
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

  #damaged(): NotSignedInError {
    return new NotSignedInError('the stored refresh token is damaged', {
      details: [`${this.#file('secrets')} is missing, was changed, or belongs to another key`],
      next: 'run `hooktrail logout` and `hooktrail login`',
    });
  }
}

function itemText({ key, ...rest }: Item): string {
  return JSON.stringify({ ...rest, key: key.toString('base64url') });
}

/** Parses an item; undefined if the text is not one. */
function itemOf(text: string): Item | undefined {
  try {
    const { key, inFile, ...rest } = JSON.parse(text);
    const bytes = Buffer.from(key, 'base64url');
    return bytes.length === 32 ? { ...keptIn(rest), key: bytes, inFile: inFile === true } : undefined;
  } catch {
    return undefined;
  }
}

function keptIn({ refreshToken, clientSecret, written }: Partial<Kept>): Kept {
  return { refreshToken, clientSecret, written: written ?? 0 };
}

const PLACES: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'the macOS Keychain',
  win32: 'the Windows Credential Manager',
};
