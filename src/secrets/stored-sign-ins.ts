import type { Context } from '../context.ts';
import { openFileVault } from './file-vault.ts';
import { openKeychain } from './keychain.ts';
import { KeychainError } from './keychain-error.ts';
import { openKeychainVault } from './keychain-vault.ts';
import { listSecretFiles, probeSecretFolder, type StoredEntry } from './secret-files.ts';
import { type Binding, bindingHash, type Vault } from './vault.ts';

export function openVault(kind: Vault['kind'], binding: Binding, context: Context): Vault {
  return kind === 'file' ? openFileVault(binding, context) : openKeychainVault(binding, context);
}

/** Tests the store as far as possible without asking the user. Throws the store's own error. */
export async function checkStore(kind: Vault['kind'], context: Context): Promise<void> {
  if (kind === 'keychain') await openKeychain(context);
  await probeSecretFolder(context);
}

/**
 * Finds out if the store holds secrets of the profile: for the binding, and for others. Opens none of them.
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
 * Deletes all secrets of a profile, or of all, in both stores. Returns the number of sign-ins removed, and
 * the error if there is no keychain to ask. A locked or silent keychain throws, unless it is known to hold
 * nothing of ours, after the encrypted files have been deleted.
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
    // In these conditions the keychain is known to hold nothing of ours.
    if (!['locked', 'no-keyring'].includes(unasked.condition)) return { removed: removed.size, unasked };
  }
  // Delete the cache last: `profiles` uses it to recognize a sign-in in the keychain.
  await forget(files.filter(({ kind }) => kind === 'access'));
  return { removed: removed.size };
}

export function requireNoneHeld(error: unknown): StoredEntry[] {
  if (error instanceof KeychainError && error.holdsNothing) return [];
  throw error;
}

async function keychainEntries(profile: string | undefined, context: Context): Promise<StoredEntry[]> {
  const keychain = await openKeychain(context);
  return (await keychain.accounts()).flatMap((account) => {
    const [owner, hash, name] = account.split('/');
    if (!owner || !hash || (profile !== undefined && owner !== profile)) return [];
    // Left by a probe that was killed.
    const kind = name === 'sign-in' ? name : 'leftover';
    return [{ signIn: `${owner}/${hash}`, kind, remove: () => keychain.delete(account) }];
  });
}
