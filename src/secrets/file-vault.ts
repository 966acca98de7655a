import { advise, hooktrail } from '../advice.ts';
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
  openSecretCopies,
  probeSecretFolder,
  sealKindIn,
  sealKindOf,
} from './encrypted-file.ts';
import { givenSecret, isSecretGiven } from './given-secret.ts';
import { type Binding, parseSecrets, type Secrets, type StoredSecrets, type Vault } from './vault.ts';

type FileVaultContext = Pick<
  Context,
  'environment' | 'machine' | 'clock' | 'stdin' | 'stderr' | 'signal' | 'memory'
>;

/** All secrets of a binding in one file, encrypted with a passphrase or key that is stored nowhere. */
export function openFileVault(binding: Binding, context: FileVaultContext): Vault {
  const bound = bindingText(binding);
  const copies = openSecretCopies(binding, 'vault', context);
  /** Kept for this run, so that it is derived once. */
  let sealKey: FileKey | undefined;
  let lastWritten = 0;
  /** True if a file that is sealed the other way counts as empty. */
  let isAnew = false;

  const keyToSeal = async () => {
    sealKey ??= await newFileKey(await askPassphrase(context, true));
    return sealKey;
  };
  const seal = async (secrets: Secrets) => {
    lastWritten = Math.max(context.clock.now(), lastWritten + 1);
    const content: StoredSecrets = { ...secrets, written: lastWritten };
    return encryptFile(await keyToSeal(), JSON.stringify(content), bound);
  };
  /** Undefined if what was given does not open the file. */
  const decrypted = async (given: string, file: Buffer) => {
    const key = await fileKey(given, file, sealKey);
    const text = decryptFile(key, file, bound);
    if (text !== undefined) sealKey = key;
    return text;
  };
  const open = async (file: Buffer, place: string) => {
    const damage = damageOf(file);
    if (damage) throw damaged(damage, place);
    const text = await openedText(file, { place, vaultFile: copies.file, isAnew, decrypted }, context);
    return text === undefined ? undefined : secretsIn(text, place);
  };
  const read = async (): Promise<Secrets | undefined> => {
    const stored = await copies.read(open);
    if (stored === undefined) return undefined;
    const { written, ...secrets } = stored;
    lastWritten = written;
    return secrets;
  };
  return {
    kind: 'file',
    place: copies.file,
    read,
    async probe(anew = false) {
      await probeSecretFolder(context);
      isAnew = anew;
      // Find out about a file that cannot be opened, or a missing passphrase, before a browser opens or a
      // token is spent.
      if ((await read()) === undefined) await keyToSeal();
    },
    async write(secrets) {
      await copies.write(await seal(secrets));
      isAnew = false;
    },
    rescue: async (secrets) => await copies.rescue(await seal(secrets)),
  };
}

/** A sealed file that is to be opened. */
interface Opening {
  /** Of this copy. */
  readonly place: string;
  /** The file that a copy elsewhere stands in for. */
  readonly vaultFile: string;
  /** True if a file that is sealed the other way counts as empty. */
  readonly isAnew: boolean;
  /** Undefined if what was given does not open the file. */
  readonly decrypted: (given: string, file: Buffer) => Promise<string | undefined>;
}

/** Asks for what opens the file: a person has some tries. Returns undefined if the file counts as empty. */
async function openedText(
  file: Buffer,
  { place, vaultFile, isAnew, decrypted }: Opening,
  context: FileVaultContext,
): Promise<string | undefined> {
  const kind = sealKindIn(file);
  const isTyped = !isSecretGiven('HOOKTRAIL_PASSPHRASE', context.environment);
  for (let tries = 1; ; tries++) {
    const given = await sealGiven(kind, isTyped, context);
    const fits = given !== undefined && sealKindOf(given) === kind;
    if (!fits && isAnew) return undefined;
    if (!fits) throw otherSeal(vaultFile, kind, given);
    const text = await decrypted(given, file);
    if (text !== undefined) return text;
    if (!isTyped || tries === TRIES) throw wrongPassphrase(place, isTyped);
    await context.stderr.write('  that passphrase does not open the file\n');
    context.memory.passphrase = undefined;
  }
}

/** No person types a key. */
async function sealGiven(kind: 'passphrase' | 'key', isTyped: boolean, context: FileVaultContext) {
  return kind === 'key' && isTyped ? undefined : await askPassphrase(context, false);
}

function secretsIn(text: string, place: string): StoredSecrets {
  const secrets = parseSecrets(text);
  if (secrets === undefined) throw damaged('is damaged', place);
  return secrets;
}

function wrongPassphrase(place: string, isTyped: boolean): UsageError {
  const check = isTyped ? 'try again with the right passphrase' : 'check HOOKTRAIL_PASSPHRASE';
  return new UsageError(`the passphrase does not open ${place}`, {
    details: ['it is not the one the file was written with, or somebody altered the file'],
    next: advise`${check}; without the passphrase, ${hooktrail('logout')} and ${hooktrail('login')} start over`,
  });
}

function damaged(how: string, place: string): NotSignedInError {
  return new NotSignedInError(`the encrypted file of secrets ${how}: ${place}`, {
    next: advise`restore it from a copy, or run ${hooktrail('logout')} and ${hooktrail('login')}`,
  });
}

/** `given`: what was given instead, if anything. */
function otherSeal(place: string, kind: 'passphrase' | 'key', given: string | undefined): UsageError {
  const [was, other, give] =
    kind === 'key'
      ? [
          'a key of `hooktrail keygen`',
          'a passphrase',
          'set HOOKTRAIL_PASSPHRASE_FILE to the file with the key',
        ]
      : ['a passphrase', 'a key', 'give the passphrase'];
  return new UsageError(`${place} is sealed with ${was}, and ${given ? other : 'none'} was given`, {
    next: advise`${give}, or run ${hooktrail('login')}, which seals the file with what is given then`,
  });
}

/** A person may mistype a passphrase so many times. */
const TRIES = 3;

/**
 * Returns the passphrase or key of the encrypted file: `HOOKTRAIL_PASSPHRASE` in one of its forms, or the
 * answer to a hidden prompt, asked twice for a new file. White space around it is ignored, and Unicode is
 * normalized (NFKC). Throws `UsageError` if there is neither.
 */
export async function askPassphrase(context: FileVaultContext, isNew: boolean): Promise<string> {
  const given = await givenSecret('HOOKTRAIL_PASSPHRASE', context);
  if (given) return given.normalize('NFKC');
  context.memory.passphrase ??= promptPassphrase(context, isNew);
  return await context.memory.passphrase;
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
