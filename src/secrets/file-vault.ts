import type { Context } from '../context.ts';
import { type HooktrailError, NotSignedInError, UsageError } from '../errors.ts';
import {
  type Damage,
  damageOf,
  decryptFile,
  encryptFile,
  type FileKey,
  fileKey,
  newFileKey,
} from './encrypted-file.ts';
import { askPassphrase } from './passphrase.ts';
import {
  bindingText,
  deleteSecretFile,
  probeSecretFolder,
  readSecretFile,
  secretFile,
  writeSecretFile,
} from './secret-files.ts';
import { type AccessToken, type Binding, parseAccess, type Secrets, type Vault } from './vault.ts';

type Surroundings = Pick<Context, 'environment' | 'machine' | 'stdin' | 'stderr' | 'signal'>;

/** All secrets of a binding in one file, encrypted with a passphrase that is stored nowhere. */
export class FileVault implements Vault {
  readonly kind = 'file';
  readonly place: string;
  readonly #binding: string;
  readonly #context: Surroundings;
  /** Kept for this run: the passphrase is asked once and the key derived once. */
  #passphrase: Promise<string> | undefined;
  #key: FileKey | undefined;

  constructor(binding: Binding, context: Surroundings) {
    this.#binding = bindingText(binding);
    this.#context = context;
    this.place = secretFile(context, binding, 'vault');
  }

  async probe(): Promise<void> {
    await probeSecretFolder(this.#context);
    // A file that does not open must be known before a browser opens or a token is spent; so must a passphrase.
    if ((await this.read()) === undefined) await this.#keyFor(undefined);
  }

  async readAccess(): Promise<AccessToken | undefined> {
    return (await this.read())?.access;
  }

  async read(): Promise<Secrets | undefined> {
    const file = await readSecretFile(this.place);
    if (file === undefined) return undefined;
    const damage = damageOf(file);
    if (damage) throw this.#damaged(DAMAGES[damage]);
    const text = decryptFile(await this.#keyFor(file), file, this.#binding);
    if (text === undefined) {
      throw new UsageError(`the passphrase does not open ${this.place}`, {
        details: ['it is not the one the file was written with, or somebody altered the file'],
        next: 'check HOOKTRAIL_PASSPHRASE; without the passphrase, `hooktrail logout` and `hooktrail login` start anew',
      });
    }
    return this.#parsed(text);
  }

  async write(secrets: Secrets): Promise<void> {
    const stored = await this.read();
    const all = {
      refreshToken: secrets.refreshToken ?? stored?.refreshToken,
      clientSecret: secrets.clientSecret ?? stored?.clientSecret,
      access: secrets.access ?? stored?.access,
    };
    const key = this.#key ?? (await this.#keyFor(undefined));
    await writeSecretFile(this.place, encryptFile(key, JSON.stringify(all), this.#binding));
  }

  async delete(): Promise<void> {
    await deleteSecretFile(this.place);
  }

  async #keyFor(file: Buffer | undefined): Promise<FileKey> {
    if (file === undefined) {
      this.#key ??= await newFileKey(await this.#ask(true));
    } else if (!this.#key?.header.equals(file.subarray(0, this.#key.header.length))) {
      this.#key = await fileKey(await this.#ask(false), file);
    }
    return this.#key as FileKey;
  }

  #ask(isNew: boolean): Promise<string> {
    this.#passphrase ??= askPassphrase(this.#context, isNew);
    return this.#passphrase;
  }

  #parsed(text: string): Secrets {
    try {
      const { refreshToken, clientSecret, access } = JSON.parse(text) as Secrets;
      return { refreshToken, clientSecret, access: access && parseAccess(JSON.stringify(access)) };
    } catch {
      throw this.#damaged(DAMAGES.damaged);
    }
  }

  #damaged(how: string): HooktrailError {
    return new NotSignedInError(`the encrypted file of secrets ${how}: ${this.place}`, {
      next: 'restore it from a copy, or run `hooktrail logout` and `hooktrail login`',
    });
  }
}

const DAMAGES: Readonly<Record<Damage, string>> = {
  truncated: 'is cut short',
  damaged: 'is damaged',
  'other-format': 'is not one of this version of hooktrail',
};
