import type { Context } from '../context.ts';
import { NotSignedInError, UsageError } from '../errors.ts';
import {
  bindingText,
  damageOf,
  decryptFile,
  encryptFile,
  type FileKey,
  fileKey,
  newFileKey,
  probeSecretFolder,
  SecretCopies,
  sealKindIn,
  sealKindOf,
} from './encrypted-file.ts';
import { givenSecret, isSecretGiven } from './given-secret.ts';
import { type Binding, parseSecrets, type Secrets, type StoredSecrets, type Vault } from './vault.ts';

type FileVaultContext = Pick<Context, 'environment' | 'machine' | 'clock' | 'stdin' | 'stderr' | 'signal'>;

/**
 * The file was sealed with a passphrase and a key was given, or the other way round. `login` may seal the file again,
 * because it needs nothing from it.
 */
export class OtherSealError extends UsageError {}

/** All secrets of a binding in one file, encrypted with a passphrase or key that is stored nowhere. */
export class FileVault implements Vault {
  readonly kind = 'file';
  readonly place: string;
  readonly #binding: string;
  readonly #context: FileVaultContext;
  readonly #file: SecretCopies;
  /** Kept for this run, so that it is derived once. */
  #key: FileKey | undefined;
  #written = 0;
  /** True if the stored file is sealed the other way, and will be overwritten without being read. */
  #isReplaced = false;

  constructor(binding: Binding, context: FileVaultContext) {
    this.#binding = bindingText(binding);
    this.#context = context;
    this.#file = new SecretCopies(binding, 'vault', context);
    this.place = this.#file.file;
  }

  async probe(anew = false): Promise<void> {
    await probeSecretFolder(this.#context);
    // Find out about a file that cannot be opened, or a missing passphrase, before a browser opens or a token is spent.
    const stored = await this.read().catch((error) => {
      if (!anew || !(error instanceof OtherSealError)) throw error;
      this.#isReplaced = true;
      return undefined;
    });
    if (stored === undefined) await this.#keyFor(undefined);
  }

  async read(): Promise<Secrets | undefined> {
    if (this.#isReplaced) return undefined;
    const stored = await this.#file.read((file, place) => this.#open(file, place));
    if (stored === undefined) return undefined;
    const { written, ...secrets } = stored;
    this.#written = written;
    return secrets;
  }

  async write(secrets: Secrets): Promise<void> {
    await this.#file.write(await this.#seal(secrets));
    this.#isReplaced = false;
  }

  async rescue(secrets: Secrets): Promise<string> {
    return await this.#file.rescue(await this.#seal(secrets));
  }

  async #seal({ refreshToken, clientSecret, access }: Secrets): Promise<Buffer> {
    this.#written = Math.max(this.#context.clock.now(), this.#written + 1);
    const content: StoredSecrets = { refreshToken, clientSecret, access, written: this.#written };
    return encryptFile(await this.#keyFor(undefined), JSON.stringify(content), this.#binding);
  }

  async #open(file: Buffer, place: string): Promise<StoredSecrets> {
    const damage = damageOf(file);
    if (damage) throw damaged(damage, place);
    const isTyped = !isSecretGiven('HOOKTRAIL_PASSPHRASE', this.#context.environment);
    let text = decryptFile(await this.#keyFor(file), file, this.#binding);
    for (let tries = 1; text === undefined && isTyped && tries < TRIES; tries++) {
      await this.#context.stderr.write('  that passphrase does not open the file\n');
      answers.delete(this.#context.stdin);
      this.#key = undefined;
      text = decryptFile(await this.#keyFor(file), file, this.#binding);
    }
    if (text === undefined) {
      const check = isTyped ? 'try again with the right passphrase' : 'check HOOKTRAIL_PASSPHRASE';
      throw new UsageError(`the passphrase does not open ${place}`, {
        details: ['it is not the one the file was written with, or somebody altered the file'],
        next: `${check}; without the passphrase, \`hooktrail logout\` and \`hooktrail login\` start over`,
      });
    }
    const secrets = parseSecrets(text);
    if (secrets === undefined) throw damaged('is damaged', place);
    return secrets;
  }

  async #keyFor(file: Buffer | undefined): Promise<FileKey> {
    if (file === undefined) {
      this.#key ??= await newFileKey(await askPassphrase(this.#context, true));
    } else if (!this.#key?.header.equals(file.subarray(0, this.#key.header.length))) {
      const isGiven = isSecretGiven('HOOKTRAIL_PASSPHRASE', this.#context.environment);
      // No person types a key.
      if (sealKindIn(file) === 'key' && !isGiven) throw otherSeal(this.place, 'key', 'none');
      const passphrase = await askPassphrase(this.#context, false);
      if (sealKindOf(passphrase) !== sealKindIn(file)) throw otherSeal(this.place, sealKindIn(file));
      this.#key = await fileKey(passphrase, file);
    }
    return this.#key as FileKey;
  }
}

function damaged(how: string, place: string): NotSignedInError {
  return new NotSignedInError(`the encrypted file of secrets ${how}: ${place}`, {
    next: 'restore it from a copy, or run `hooktrail logout` and `hooktrail login`',
  });
}

function otherSeal(place: string, kind: 'passphrase' | 'key', given?: 'none'): OtherSealError {
  const [was, other, give] =
    kind === 'key'
      ? [
          'a key of `hooktrail keygen`',
          'a passphrase',
          'set HOOKTRAIL_PASSPHRASE_FILE to the file with the key',
        ]
      : ['a passphrase', 'a key', 'give the passphrase'];
  return new OtherSealError(`${place} is sealed with ${was}, and ${given ?? other} was given`, {
    next: `${give}, or run \`hooktrail login\`, which seals the file with what is given then`,
  });
}

/** A person may mistype a passphrase so many times. */
const TRIES = 3;

/** The answers by input stream, so that a command that opens several files, or one file twice, asks only once. */
const answers = new WeakMap<Context['stdin'], Promise<string>>();

/**
 * Returns the passphrase or key of the encrypted file: `HOOKTRAIL_PASSPHRASE` in one of its forms, or the answer to a
 * hidden prompt, asked twice for a new file. White space around it is ignored, and Unicode is normalized (NFKC). Throws
 * `UsageError` if there is neither.
 */
export async function askPassphrase(context: FileVaultContext, isNew: boolean): Promise<string> {
  const given = (await givenSecret('HOOKTRAIL_PASSPHRASE', context))?.trim();
  if (given) return given.normalize('NFKC');
  const answer = answers.get(context.stdin) ?? promptPassphrase(context, isNew);
  answers.set(context.stdin, answer);
  return await answer;
}

async function promptPassphrase(context: FileVaultContext, isNew: boolean): Promise<string> {
  const { canPrompt, promptSecret } = await import('../terminal/prompt.ts');
  if (!canPrompt(context)) {
    throw new UsageError('the encrypted file of secrets needs a passphrase', {
      next: 'set HOOKTRAIL_PASSPHRASE, or run the command on a terminal',
    });
  }
  let message = isNew ? 'New passphrase for the encrypted file' : 'Passphrase of the encrypted file';
  for (;;) {
    const passphrase = await promptSecret(message, context);
    if (!isNew || (await promptSecret('Repeat the passphrase', context)) === passphrase) {
      return passphrase.normalize('NFKC');
    }
    message = 'The passphrases differ. New passphrase for the encrypted file';
  }
}
