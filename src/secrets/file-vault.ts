import { existsSync } from 'node:fs';
import path from 'node:path';
import { advise, hooktrail } from '../advice.ts';
import type { Context } from '../context.ts';
import { NotSignedInError, UsageError } from '../errors.ts';
import { homeFolder } from '../files/folders.ts';
import { settingNames } from '../settings/setting-names.ts';
import { readConfig } from '../settings/settings.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';
import { givenSecret, isSecretGiven, secretOfFile } from './given-secret.ts';
import { damageOf, FileSeal, sealKindIn, sealKindOf } from './sealed-file.ts';
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
  let isAnew = false;
  const fileSeal = new FileSeal(() =>
    askPassphrase(binding.profile, context, { isNew: true, offersKey: isAnew }),
  );
  const seal = (secrets: Secrets) => fileSeal.seal(JSON.stringify(copies.dated(secrets)), bound);
  const decrypted = (given: string, file: Buffer) => fileSeal.open(given, file, bound);
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
      if ((await read()) === undefined) await fileSeal.prepare();
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

export type PassphraseContext = Pick<
  Context,
  'environment' | 'machine' | 'clock' | 'stdin' | 'stderr' | 'signal' | 'memory'
>;

/** Returns the file named for the passphrase or key in the profile's settings; undefined if none. */
async function savedPassphraseFile(
  profile: string,
  context: Pick<Context, 'environment' | 'machine'>,
): Promise<string | undefined> {
  return (await readConfig(context)).profiles[profile]?.[settingNames.passphraseFile.key];
}

/** True if the passphrase of the profile's encrypted file need not be typed. Reads no secret. */
export async function isPassphraseGiven(
  profile: string,
  context: Pick<Context, 'environment' | 'machine' | 'memory'>,
): Promise<boolean> {
  if (isSecretGiven('HOOKTRAIL_PASSPHRASE', context.environment) || context.memory.keyFile) return true;
  return (await savedPassphraseFile(profile, context)) !== undefined;
}

/** Characters that a new passphrase needs at least: shorter ones fall to brute force. */
const MIN_CHARACTERS = 8;

const TOO_SHORT = `a new passphrase needs ${MIN_CHARACTERS} characters or more`;

function isTooShort(passphrase: string): boolean {
  return [...passphrase.normalize('NFKC')].length < MIN_CHARACTERS;
}

interface PassphraseUse {
  /** A new passphrase is typed twice and has a minimum length. */
  readonly isNew?: boolean;
  readonly offersKey?: boolean;
}

/**
 * Returns the passphrase or key of a profile's encrypted files: `HOOKTRAIL_PASSPHRASE` in one of its forms,
 * the first line of the file named by the profile, or the answer to a hidden prompt. Unicode is normalized
 * (NFKC). Throws `UsageError` if there is none, or if a new one is too short.
 */
export async function askPassphrase(
  profile: string,
  context: PassphraseContext,
  { isNew = false, offersKey = false }: PassphraseUse = {},
): Promise<string> {
  const given =
    (await givenSecret('HOOKTRAIL_PASSPHRASE', context)) ?? (await savedPassphrase(profile, context));
  if (given && isNew && isTooShort(given))
    throw new UsageError(TOO_SHORT, {
      details: ['the one that was given, by HOOKTRAIL_PASSPHRASE or a file, is shorter'],
      next: advise`choose a longer one, or a key of ${hooktrail('keygen')}`,
    });
  if (given) return given.normalize('NFKC');
  context.memory.passphrase ??= isNew ? chooseSeal(context, offersKey) : promptPassphrase(context);
  return await context.memory.passphrase;
}

async function savedPassphrase(profile: string, context: PassphraseContext): Promise<string | undefined> {
  const file = await savedPassphraseFile(profile, context);
  return file === undefined ? undefined : await secretOfFile(settingNames.passphraseFile.key, file, context);
}

async function promptPassphrase(context: PassphraseContext): Promise<string> {
  const { promptSecret } = await import('../terminal/prompt.ts');
  await requirePerson(context);
  return (await promptSecret('Passphrase of the encrypted file', context)).normalize('NFKC');
}

async function requirePerson(context: PassphraseContext): Promise<void> {
  const { canPrompt } = await import('../terminal/prompt.ts');
  if (canPrompt(context)) return;
  throw new UsageError('the encrypted file of secrets needs a passphrase', {
    next: advise`set HOOKTRAIL_PASSPHRASE, save the file that has it with ${hooktrail('config set passphrase-file PATH')}, or run the command on a terminal`,
  });
}

async function chooseSeal(context: PassphraseContext, offersKey: boolean): Promise<string> {
  const { promptSecret } = await import('../terminal/prompt.ts');
  await requirePerson(context);
  const keyFile = path.join(homeFolder(context), '.hooktrail.key');
  if (offersKey)
    await context.stderr.write(
      `Without a passphrase (just press Enter) a key is made in ${terminalSafeLine(keyFile)},\nand commands do not ask for it.\n`,
    );
  let message = 'New passphrase for the encrypted file';
  for (;;) {
    const passphrase = await promptSecret(message, context, {
      isOptional: offersKey,
      check: (answer) => (answer !== '' && isTooShort(answer) ? TOO_SHORT : undefined),
    });
    if (passphrase === '') return await keyIn(keyFile, context);
    if ((await promptSecret('Repeat the passphrase', context)) === passphrase)
      return passphrase.normalize('NFKC');
    message = 'The passphrases differ. New passphrase for the encrypted file';
  }
}

/** Returns the key in a file, creating the file if needed, and notes the file for the profile. */
async function keyIn(file: string, context: PassphraseContext): Promise<string> {
  const { createKeyFile } = await import('./key-file.ts');
  if (!existsSync(file)) await createKeyFile(file, context);
  const key = await secretOfFile(settingNames.passphraseFile.key, file, context);
  if (sealKindOf(key) !== 'key')
    throw new UsageError(`${file} holds no key of \`hooktrail keygen\``, {
      next: 'move it away, or choose a passphrase',
    });
  context.memory.keyFile = file;
  return key;
}
