import type { Context } from '../context.ts';
import { probeSecretFolder } from './secret-files.ts';
import type { Binding, Vault } from './vault.ts';

/**
 * Opens the store that holds the secrets of a binding. Nothing is asked of the user until something is read or written.
 */
export async function openVault(kind: Vault['kind'], binding: Binding, context: Context): Promise<Vault> {
  if (kind === 'file') {
    const { FileVault } = await import('./file-vault.ts');
    return new FileVault(binding, context);
  }
  const { KeychainVault } = await import('./keychain-vault.ts');
  return new KeychainVault(binding, context);
}

/** Tries the store as far as that is possible without asking anyone. Throws the store's own error if it is unusable. */
export async function checkStore(kind: Vault['kind'], context: Context): Promise<void> {
  if (kind === 'keychain') await (await import('./keychain.ts')).openKeychain(context);
  await probeSecretFolder(context);
}
