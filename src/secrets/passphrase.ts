import { existsSync } from 'node:fs';
import path from 'node:path';
import { advise, hooktrail } from '../advice.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { homeFolder } from '../files/folders.ts';
import { settingNames } from '../settings/setting-names.ts';
import { readConfig } from '../settings/settings.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';
import { givenSecret, isSecretGiven, secretOfFile } from './given-secret.ts';
import { sealKindOf } from './sealed-file.ts';

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
