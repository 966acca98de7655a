import type { Context, Keychain } from '../context.ts';
import type { Binding, Vault } from './vault.ts';

/**
 * Opens the store that holds the secrets of a binding. Nothing is asked of the user until something is read or written.
 * `keychain`: a keychain that is already being opened.
 */
export async function openVault(
  kind: Vault['kind'],
  binding: Binding,
  context: Context,
  keychain?: Promise<Keychain>,
): Promise<Vault> {
  if (kind === 'file') {
    const { FileVault } = await import('./file-vault.ts');
    return new FileVault(binding, context);
  }
  const { KeychainVault } = await import('./keychain-vault.ts');
  return new KeychainVault(binding, context, keychain);
}
