import type { Context } from '../context.ts';
import { bindingHash, deleteSecretFile, listSecretFiles, probeSecretFolder } from './encrypted-file.ts';
import { openFileVault } from './file-vault.ts';
import { KeychainError, openKeychain } from './keychain.ts';
import { openKeychainVault } from './keychain-vault.ts';
import type { Binding, Vault } from './vault.ts';

/**
 * Opens the store that holds the secrets of a binding. Nothing is asked of the user until something is read or written.
 */
export function openVault(kind: Vault['kind'], binding: Binding, context: Context): Vault {
  return kind === 'file' ? openFileVault(binding, context) : openKeychainVault(binding, context);
}

/** Tries the store as far as that is possible without asking anyone. Throws the store's own error if it is unusable. */
export async function checkStore(kind: Vault['kind'], context: Context): Promise<void> {
  if (kind === 'keychain') await openKeychain(context);
  await probeSecretFolder(context);
}

/** Returns whether that store holds secrets of the profile: for the binding, and for others. Opens none of them. */
export async function findSignIns(
  kind: Vault['kind'],
  binding: Binding,
  context: Context,
): Promise<{ own: boolean; others: boolean }> {
  const { profile } = binding;
  const entries =
    kind === 'file'
      ? (await listSecretFiles(context, profile)).filter((entry) => entry.kind === 'vault')
      : (await keychainEntries(profile, context)).filter((entry) => entry.kind === 'sign-in');
  const isOwn = ({ signIn }: { signIn: string }) => signIn === `${profile}/${bindingHash(binding)}`;
  return { own: entries.some(isOwn), others: !entries.every(isOwn) };
}

/**
 * Deletes every secret of a profile, or of all, in both stores, whatever provider or service it belongs to; returns how
 * many sign-ins were removed. A store that is absent, or locked without any of our secrets, counts as empty. Otherwise a
 * locked or silent store throws, after the other store has been emptied.
 */
export async function forgetSignIns(profile: string | undefined, context: Context): Promise<number> {
  const removed = new Set<string>();
  for (const { file, signIn, kind } of await listSecretFiles(context, profile)) {
    await deleteSecretFile(file);
    if (kind !== 'leftover') removed.add(signIn);
  }
  const entries = await keychainEntries(profile, context);
  if (entries.length > 0) {
    const keychain = await openKeychain(context);
    for (const { account, signIn, kind } of entries) {
      await keychain.delete(account);
      if (kind !== 'leftover') removed.add(signIn);
    }
  }
  return removed.size;
}

async function keychainEntries(
  profile: string | undefined,
  context: Context,
): Promise<{ account: string; signIn: string; kind: 'sign-in' | 'leftover' }[]> {
  let accounts: string[];
  try {
    accounts = await (await openKeychain(context)).accounts();
  } catch (error) {
    if (error instanceof KeychainError && error.holdsNothing) return [];
    throw error;
  }
  return accounts.flatMap((account) => {
    const [owner, hash, name] = account.split('/');
    if (!owner || !hash || (profile !== undefined && owner !== profile)) return [];
    // A probe that was killed left an item of another name.
    return [{ account, signIn: `${owner}/${hash}`, kind: name === 'sign-in' ? name : 'leftover' }];
  });
}
