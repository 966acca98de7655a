import { advise, hooktrail } from '../advice.ts';
import { NotSignedInError, UsageError } from '../errors.ts';
import { askPassphrase, isPassphraseGiven, type PassphraseContext } from './passphrase.ts';
import {
  damageOf,
  decryptFile,
  encryptFile,
  type FileKey,
  fileKey,
  newFileKey,
  sealKindIn,
  sealKindOf,
} from './sealed-file.ts';
import { openSecretCopies, probeSecretFolder } from './secret-files.ts';
import {
  type Binding,
  bindingText,
  parseSecrets,
  type Secrets,
  type StoredSecrets,
  type Vault,
} from './vault.ts';

/** All secrets of a binding in one file, encrypted with a passphrase or key that is stored nowhere. */
export function openFileVault(binding: Binding, context: PassphraseContext): Vault {
  const bound = bindingText(binding);
  const copies = openSecretCopies(binding, 'vault', context);
  let sealKey: FileKey | undefined;
  let isAnew = false;

  const keyToSeal = async () => {
    const use = { isNew: true, offersKey: isAnew };
    sealKey ??= await newFileKey(await askPassphrase(binding.profile, context, use));
    return sealKey;
  };
  const seal = async (secrets: Secrets) => {
    const content = JSON.stringify(copies.dated(secrets));
    return encryptFile(await keyToSeal(), content, bound);
  };
  const decrypted = async (given: string, file: Buffer) => {
    const key = await fileKey(given, file, sealKey);
    const text = decryptFile(key, file, bound);
    if (text !== undefined) sealKey = key;
    return text;
  };
  const open = async (file: Buffer, place: string) => {
    const damage = damageOf(file);
    if (damage) throw damaged(damage, place);
    const { profile } = binding;
    const opening = { place, profile, vaultFile: copies.file, isAnew, decrypted };
    const text = await openedText(file, opening, context);
    return text === undefined ? undefined : secretsIn(text, place);
  };
  const read = async (): Promise<Secrets | undefined> => {
    const stored = await copies.read(open);
    if (stored === undefined) return undefined;
    const { written, ...secrets } = stored;
    return secrets;
  };
  return {
    kind: 'file',
    place: copies.file,
    read,
    async probe(anew = false) {
      await probeSecretFolder(context);
      isAnew = anew;
      // Detect an unreadable file or a missing passphrase before a browser opens or a token is spent.
      if ((await read()) === undefined) await keyToSeal();
    },
    async write(secrets) {
      await copies.write(await seal(secrets));
      isAnew = false;
    },
    rescue: async (secrets) => await copies.rescue(await seal(secrets)),
  };
}

interface Opening {
  readonly place: string;
  readonly profile: string;
  readonly vaultFile: string;
  readonly isAnew: boolean;
  readonly decrypted: (given: string, file: Buffer) => Promise<string | undefined>;
}

/**
 * Asks for the secret that opens the file; a person has several tries. Returns undefined if the file counts
 * as empty.
 */
async function openedText(
  file: Buffer,
  { place, profile, vaultFile, isAnew, decrypted }: Opening,
  context: PassphraseContext,
): Promise<string | undefined> {
  const kind = sealKindIn(file);
  const isTyped = !(await isPassphraseGiven(profile, context));
  for (let tries = 1; ; tries++) {
    // Do not ask a person for a key.
    const given = kind === 'key' && isTyped ? undefined : await askPassphrase(profile, context);
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

function secretsIn(text: string, place: string): StoredSecrets {
  const secrets = parseSecrets(text);
  if (secrets === undefined) throw damaged('is damaged', place);
  return secrets;
}

function wrongPassphrase(place: string, isTyped: boolean): UsageError {
  const check = isTyped
    ? 'try again with the right passphrase'
    : 'check HOOKTRAIL_PASSPHRASE, or the file that passphrase-file names';
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

function otherSeal(place: string, kind: 'passphrase' | 'key', given: string | undefined): UsageError {
  const [was, other, give] =
    kind === 'key'
      ? [
          'a key of `hooktrail keygen`',
          'a passphrase',
          advise`name the file with the key by ${hooktrail('config set passphrase-file PATH')} or HOOKTRAIL_PASSPHRASE_FILE`,
        ]
      : ['a passphrase', 'a key', 'give the passphrase'];
  return new UsageError(`${place} is sealed with ${was}, and ${given ? other : 'none'} was given`, {
    next: advise`${give}, or run ${hooktrail('login')}, which seals the file with the secret given then`,
  });
}

/** Attempts at typing a passphrase. */
const TRIES = 3;
