import type { Context } from '../context.ts';
import { bindingHash, deleteSecretFile, listSecretFiles, probeSecretFolder } from './encrypted-file.ts';
import { FileVault } from './file-vault.ts';
import { KeychainError, openKeychain } from './keychain.ts';
import { KeychainVault } from './keychain-vault.ts';
import type { Binding, Vault } from './vault.ts';

/**
 * Opens the store that holds the secrets of a binding. Nothing is asked of the user until something is read or written.
 */
export function openVault(kind: Vault['kind'], binding: Binding, context: Context): Vault {
  return kind === 'file' ? new FileVault(binding, context) : new KeychainVault(binding, context);
}

/** Tries the store as far as that is possible without asking anyone. Throws the store's own error if it is unusable. */
export async function checkStore(kind: Vault['kind'], context: Context): Promise<void> {
  if (kind === 'keychain') await openKeychain(context);
  await probeSecretFolder(context);
}

/** Returns whether the profile has secrets in that store for another provider, client or service than the binding's. */
export async function hasOtherSignIn(
  kind: Vault['kind'],
  binding: Binding,
  context: Context,
): Promise<boolean> {
  const own = signInOf(binding);
  return (await signInsOf(kind, binding.profile, context)).some((signIn) => signIn !== own);
}

/** Returns whether something is stored for the binding, without opening it. */
export async function hasSignIn(kind: Vault['kind'], binding: Binding, context: Context): Promise<boolean> {
  return (await signInsOf(kind, binding.profile, context)).includes(signInOf(binding));
}

function signInOf(binding: Binding): string {
  return `${binding.profile}/${bindingHash(binding)}`;
}

async function signInsOf(kind: Vault['kind'], profile: string, context: Context): Promise<string[]> {
  const found =
    kind === 'file'
      ? (await listSecretFiles(context, profile)).filter((entry) => entry.kind === 'vault')
      : await keychainEntries(profile, context);
  return found.map(({ signIn }) => signIn);
}

/**
 * Deletes every secret of a profile in both stores, whatever provider or service it belongs to; returns how many
 * sign-ins were removed. A store that is absent, or locked without any of our secrets, counts as empty. Otherwise a
 * locked or silent store throws, after the other store has been emptied.
 */
export async function forgetProfile(profile: string, context: Context): Promise<number> {
  return await forget(profile, context);
}

/** Deletes every secret of every profile in the same way. */
export async function forgetEverything(context: Context): Promise<number> {
  return await forget(undefined, context);
}

async function forget(profile: string | undefined, context: Context): Promise<number> {
  const removed = new Set<string>();
  for (const { file, signIn } of await listSecretFiles(context, profile)) {
    await deleteSecretFile(file);
    removed.add(signIn);
  }
  const entries = await keychainEntries(profile, context);
  if (entries.length > 0) {
    const keychain = await openKeychain(context);
    for (const { account, signIn } of entries) {
      await keychain.delete(account);
      removed.add(signIn);
    }
  }
  return removed.size;
}

async function keychainEntries(
  profile: string | undefined,
  context: Context,
): Promise<{ account: string; signIn: string }[]> {
  let accounts: string[];
  try {
    accounts = await (await openKeychain(context)).accounts();
  } catch (error) {
    if (error instanceof KeychainError && error.holdsNothing) return [];
    throw error;
  }
  return accounts.flatMap((account) => {
    const [owner, hash] = account.split('/');
    if (!owner || !hash || (profile !== undefined && owner !== profile)) return [];
    return [{ account, signIn: `${owner}/${hash}` }];
  });
}
