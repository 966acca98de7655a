import path from 'node:path';
import type { Context } from '../context.ts';
import { InterruptedError, UsageError } from '../errors.ts';
import { configFolder } from '../files/folders.ts';
import {
  damageOf,
  decryptFile,
  deleteSecretFile,
  encryptFile,
  fileKey,
  newFileKey,
  readSecretFile,
  writeSecretFile,
} from '../secrets/encrypted-file.ts';
import { askPassphrase } from '../secrets/file-vault.ts';
import { givenSecret, isSecretGiven } from '../secrets/given-secret.ts';
import { openKeychain, probeKeychain } from '../secrets/keychain.ts';
import { checkStore, requireNoneHeld } from '../secrets/stored-sign-ins.ts';
import { forgetSubscriptionTokens } from '../secrets/subscription-tokens.ts';
import { canPrompt, promptSecret } from '../terminal/prompt.ts';
import type { Reporter } from '../terminal/reporter.ts';

/**
 * The place of the expected `Api-Token`. It belongs to a subscription, not to a sign-in: one is saved per
 * profile.
 */
export interface TokenPlace {
  readonly profile: string;
  readonly store: 'keychain' | 'file';
}

const VARIABLE = 'HOOKTRAIL_API_TOKEN';

/**
 * Returns the `Api-Token` from the environment, or else the one saved for the profile; undefined if there is
 * neither. Throws `UsageError` if the store cannot be read.
 */
export async function findApiToken(place: TokenPlace, context: Context): Promise<string | undefined> {
  const token = await given(context);
  if (token !== undefined) return token;
  if (place.store === 'file') return await readFile(place, context);
  return (await (await openKeychain(context)).get(account(place))) ?? undefined;
}

/**
 * Finds the `Api-Token` or asks for it at a hidden prompt. `isNew`: ask even if one is saved, because the new
 * one replaces it. Throws `UsageError` if no token is found and nobody can be asked.
 */
export async function requireApiToken(place: TokenPlace, context: Context, isNew = false): Promise<string> {
  const canAsk = canPrompt(context);
  let unusable: unknown;
  try {
    const found = isNew && canAsk ? await given(context) : await findApiToken(place, context);
    if (found !== undefined) return found;
  } catch (error) {
    // A store that cannot be read matters only when there is no terminal to ask on. Ctrl-C at its passphrase
    // is an answer.
    if (isSecretGiven(VARIABLE, context.environment) || error instanceof InterruptedError) throw error;
    unusable = error;
  }
  if (canAsk) {
    return checked((await promptSecret('Api-Token of the subscription', context)).trim(), 'Api-Token');
  }
  throw new UsageError('the Api-Token that deliveries must carry is not known', {
    details: unusable instanceof Error ? [unusable.message] : [],
    next: `set ${VARIABLE}, or run the command once on a terminal with --save-token`,
    cause: unusable,
  });
}

/** Returns the token for a handler, where it is optional: a warning says if there is none. */
export async function apiTokenOrWarning(
  place: TokenPlace,
  context: Context,
  reporter: Pick<Reporter, 'warning'>,
): Promise<string | undefined> {
  try {
    const token = await findApiToken(place, context);
    if (token === undefined) reporter.warning('without HOOKTRAIL_API_TOKEN the handler gets no Api-Token');
    return token;
  } catch (error) {
    if (isSecretGiven(VARIABLE, context.environment) || error instanceof InterruptedError) throw error;
    reporter.warning(`the Api-Token cannot be read, so the handler gets none: ${(error as Error).message}`);
    return undefined;
  }
}

/** Checks that a token can be saved, before anyone is asked for it. Throws the store's own error. */
export async function probeTokenStore(place: TokenPlace, context: Context): Promise<void> {
  await checkStore(place.store, context);
  if (place.store === 'keychain') await probeKeychain(await openKeychain(context), `${account(place)}~probe`);
}

/** Saves the token in the store of the profile's secrets. Returns the name of the place for a message. */
export async function saveApiToken(token: string, place: TokenPlace, context: Context): Promise<string> {
  if (place.store === 'keychain') {
    await (await openKeychain(context)).set(account(place), token);
    return 'the OS keychain';
  }
  const file = fileOf(place, context);
  const key = await newFileKey(await askPassphrase(context, true));
  await writeSecretFile(file, encryptFile(key, token, account(place)), context.machine);
  return file;
}

/**
 * Deletes the token of a profile, and those of its subscriptions, from both stores. A keychain that holds
 * nothing of ours counts as empty.
 */
export async function forgetApiToken(profile: string, context: Context): Promise<void> {
  await deleteSecretFile(fileOf({ profile }, context));
  await forgetSubscriptionTokens(profile, context);
  const deleting = openKeychain(context).then((keychain) => keychain.delete(account({ profile })));
  await deleting.catch(requireNoneHeld);
}

async function given(context: Context): Promise<string | undefined> {
  const token = await givenSecret(VARIABLE, context);
  return token ? checked(token, VARIABLE) : undefined;
}

async function readFile(place: TokenPlace, context: Context): Promise<string | undefined> {
  const file = fileOf(place, context);
  const content = await readSecretFile(file);
  if (content === undefined) return undefined;
  if (!damageOf(content)) {
    const key = await fileKey(await askPassphrase(context, false), content);
    const token = decryptFile(key, content, account(place));
    if (token !== undefined) return token;
  }
  throw new UsageError(
    `the saved Api-Token in ${file} cannot be read: it is damaged, or was saved with another passphrase`,
    { next: 'check HOOKTRAIL_PASSPHRASE, or remove the file and save the token again with --save-token' },
  );
}

/** Sign-in entries never have this form, so signing out does not delete the token. */
function account({ profile }: Pick<TokenPlace, 'profile'>): string {
  return `api-token~${profile}`;
}

function fileOf({ profile }: Pick<TokenPlace, 'profile'>, context: Context): string {
  return path.join(configFolder(context), 'webhooks', `${profile}.api-token`);
}

/** A header value (RFC 9110 section 5.5) without leading or trailing white space. */
function checked(token: string, source: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(token)) return token;
  throw new UsageError(
    `${source}: invalid token: must be printable ASCII characters without leading or trailing spaces`,
  );
}
