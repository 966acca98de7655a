import { randomBytes } from 'node:crypto';
import type { Context, Keychain } from '../context.ts';
import { NotSignedInError } from '../errors.ts';
import { bindingHash, bindingText, probeSecretFolder, SecretCopies, seal, unseal } from './encrypted-file.ts';
import { KeychainError, openKeychain, probeKeychain } from './keychain.ts';
import { type Binding, parseSecrets, type Secrets, type StoredSecrets, type Vault } from './vault.ts';

type KeychainVaultContext = Pick<Context, 'environment' | 'machine' | 'clock' | 'loadKeychain'>;

/**
 * Windows stores at most 2,560 bytes per item. Longer secrets are kept in the file, encrypted with the key in the item: a
 * file is replaced atomically, whereas several items would be written one after the other. The same limit applies on
 * every system, so that every system tests it.
 */
const ITEM_LIMIT_BYTES = 2_048;

/** The one item of a sign-in. */
interface Item {
  /** Encrypts the file of this sign-in; 32 bytes. */
  readonly key: Buffer;
  /** The refresh token and the client secret, unless they are too long. */
  readonly secrets?: StoredSecrets | undefined;
}

/**
 * Keeps secrets in one item of the OS keychain, so that the system asks the user once and a write is atomic. The access
 * token, which may be long and changes often, is cached in a file encrypted with a random key that only the item holds.
 */
export class KeychainVault implements Vault {
  readonly kind = 'keychain';
  readonly place: string;
  readonly #binding: Binding;
  readonly #context: KeychainVaultContext;
  readonly #file: SecretCopies;
  #keychain: Promise<Keychain> | undefined;
  /** As it was last read or written. */
  #item: Item | undefined;
  #started: Promise<Item | undefined> | undefined;
  #written = 0;

  constructor(binding: Binding, context: KeychainVaultContext) {
    this.#binding = binding;
    this.#context = context;
    this.#file = new SecretCopies(binding, 'access', context);
    this.place = PLACES[context.machine.platform] ?? 'the Secret Service';
  }

  async probe(): Promise<void> {
    await probeKeychain(await this.#open(), this.#account(`probe-${this.#context.machine.pid}`));
    await probeSecretFolder(this.#context);
    // Read the item now, so that `write` does not have to.
    await this.#readItem();
  }

  async startReading(): Promise<void> {
    await this.#open().catch(() => undefined);
    this.#started = this.#readItem();
    this.#started.catch(() => undefined);
  }

  async read(): Promise<Secrets | undefined> {
    const reading = this.#started ?? this.#readItem();
    this.#started = undefined;
    const item = await reading;
    if (item === undefined) return undefined;
    // Without a readable cache the refresh token gets a new access token.
    const inFile = await this.#file.read((sealed) => this.#unseal(sealed, item.key));
    const latest = item.secrets && item.secrets.written >= (inFile?.written ?? 0) ? item.secrets : inFile;
    if (latest === undefined) throw this.#damaged();
    this.#written = latest.written;
    const { refreshToken, clientSecret } = latest;
    const access = inFile?.access;
    return refreshToken || clientSecret || access ? { refreshToken, clientSecret, access } : undefined;
  }

  async write({ refreshToken, clientSecret, access }: Secrets): Promise<void> {
    const key = this.#item?.key ?? randomBytes(32);
    const secrets = { refreshToken, clientSecret, written: this.#nextWritten() };
    // The irreplaceable secrets come first.
    if (Buffer.byteLength(itemText({ key, secrets })) <= ITEM_LIMIT_BYTES) {
      await this.#setItem({ key, secrets });
      await this.#file.write(this.#seal({ access, written: secrets.written }, key));
    } else {
      await this.#file.write(this.#seal({ ...secrets, access }, key));
      if (this.#item === undefined || this.#item.secrets) await this.#setItem({ key });
    }
  }

  async rescue({ refreshToken, clientSecret, access }: Secrets): Promise<string> {
    // A file encrypted with a key that the keychain does not have yet could never be opened.
    if (this.#item === undefined) throw new KeychainError('refused');
    const secrets = { refreshToken, clientSecret, access, written: this.#nextWritten() };
    const sealed = this.#seal(secrets, this.#item.key);
    try {
      await this.#file.write(sealed);
      return this.#file.file;
    } catch {
      return await this.#file.rescue(sealed);
    }
  }

  #nextWritten(): number {
    this.#written = Math.max(this.#context.clock.now(), this.#written + 1);
    return this.#written;
  }

  async #readItem(): Promise<Item | undefined> {
    const text = await (await this.#open()).get(this.#account('sign-in'));
    this.#item = text === null ? undefined : itemOf(text);
    if (text !== null && this.#item === undefined) throw this.#damaged();
    return this.#item;
  }

  async #setItem(item: Item): Promise<void> {
    await (await this.#open()).set(this.#account('sign-in'), itemText(item));
    this.#item = item;
  }

  #seal(secrets: StoredSecrets, key: Buffer): Buffer {
    return seal(key, Buffer.from(JSON.stringify(secrets)), this.#authenticated());
  }

  #unseal(sealed: Buffer, key: Buffer): StoredSecrets | undefined {
    const text = unseal(key, sealed, this.#authenticated());
    return text && parseSecrets(text.toString('utf8'));
  }

  #authenticated(): Buffer {
    return Buffer.from(`hooktrail 1 access ${bindingText(this.#binding)}`);
  }

  #open(): Promise<Keychain> {
    this.#keychain ??= openKeychain(this.#context);
    return this.#keychain;
  }

  #account(name: string): string {
    return `${this.#binding.profile}/${bindingHash(this.#binding)}/${name}`;
  }

  #damaged(): NotSignedInError {
    return new NotSignedInError('the stored refresh token is damaged', {
      details: [`${this.#file.file} is missing, was changed, or belongs to another key`],
      next: 'run `hooktrail logout` and `hooktrail login`',
    });
  }
}

function itemText({ key, secrets }: Item): string {
  return JSON.stringify({ ...secrets, key: key.toString('base64url') });
}

/** Parses an item; undefined if the text is not one. */
function itemOf(text: string): Item | undefined {
  try {
    const { key, ...secrets } = JSON.parse(text);
    const bytes = Buffer.from(key, 'base64url');
    if (bytes.length !== 32) return undefined;
    return { key: bytes, secrets: secrets.written === undefined ? undefined : secrets };
  } catch {
    return undefined;
  }
}

const PLACES: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'the macOS Keychain',
  win32: 'the Windows Credential Manager',
};
