import type { Context } from '../context.ts';
import { bindingHash, listSecretFiles, probeSecretFolder, type StoredEntry } from './encrypted-file.ts';
import { openFileVault } from './file-vault.ts';
import { openKeychain } from './keychain.ts';
import { KeychainError } from './keychain-error.ts';
import { openKeychainVault } from './keychain-vault.ts';
import type { Binding, Vault } from './vault.ts';

/**
 * Opens the store that holds the secrets of a binding. Nothing is asked of the user until something is read
 * or written.
 */
export function openVault(kind: Vault['kind'], binding: Binding, context: Context): Vault {
  return kind === 'file' ? openFileVault(binding, context) : openKeychainVault(binding, context);
}

/**
 * Tries the store as far as that is possible without asking anyone. Throws the store's own error if it is
 * unusable.
 */
export async function checkStore(kind: Vault['kind'], context: Context): Promise<void> {
  if (kind === 'keychain') await openKeychain(context);
  await probeSecretFolder(context);
}

/**
 * Returns whether that store holds secrets of the profile: for the binding, and for others. Opens none of
 * them.
 */
export async function findSignIns(
  kind: Vault['kind'],
  binding: Binding,
  context: Context,
): Promise<{ own: boolean; others: boolean }> {
  const { profile } = binding;
  const entries =
    kind === 'file'
      ? (await listSecretFiles(context, profile)).filter((entry) => entry.kind === 'vault')
      : (await keychainEntries(profile, context).catch(requireNoneHeld)).filter(
          ({ kind }) => kind === 'sign-in',
        );
  const isOwn = ({ signIn }: { signIn: string }) => signIn === `${profile}/${bindingHash(binding)}`;
  return { own: entries.some(isOwn), others: !entries.every(isOwn) };
}

/**
 * Deletes every secret of a profile, or of all, in both stores, whatever provider or service it belongs to.
 * Returns how many sign-ins were removed, and why the keychain could not be asked for others. A locked or
 * silent keychain throws, unless it said that it holds nothing of ours, after the encrypted files have been
 * deleted.
 */
export async function forgetSignIns(profile: string | undefined, context: Context) {
  const removed = new Set<string>();
  const forget = async (entries: readonly StoredEntry[]) => {
    for (const { signIn, kind, remove } of entries) {
      await remove();
      if (kind !== 'leftover') removed.add(signIn);
    }
  };
  const files = await listSecretFiles(context, profile);
  await forget(files.filter(({ kind }) => kind !== 'access'));
  try {
    await forget(await keychainEntries(profile, context));
  } catch (error) {
    requireNoneHeld(error);
    const unasked = error as KeychainError;
    // A locked keychain, or one without a keyring, has answered that it holds nothing of ours.
    if (!['locked', 'no-keyring'].includes(unasked.condition)) return { removed: removed.size, unasked };
  }
  // By its cache `profiles` knows a sign-in that the keychain holds, so that the cache goes last.
  await forget(files.filter(({ kind }) => kind === 'access'));
  return { removed: removed.size };
}

/** Returns no entries if the keychain holds nothing of ours. Throws any other error. */
export function requireNoneHeld(error: unknown): StoredEntry[] {
  if (error instanceof KeychainError && error.holdsNothing) return [];
  throw error;
}

async function keychainEntries(profile: string | undefined, context: Context): Promise<StoredEntry[]> {
  const keychain = await openKeychain(context);
  return (await keychain.accounts()).flatMap((account) => {
    const [owner, hash, name] = account.split('/');
    if (!owner || !hash || (profile !== undefined && owner !== profile)) return [];
    // A probe that was killed left an item of another name.
    const kind = name === 'sign-in' ? name : 'leftover';
    return [{ signIn: `${owner}/${hash}`, kind, remove: () => keychain.delete(account) }];
  });
}
