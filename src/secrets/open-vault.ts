import type { Context, Keychain } from '../context.ts';
import type { Binding, Vault } from './vault.ts';

/**
 * The store of a binding's secrets; asks nothing of the user until something is read or written. `keychain`: one that
 * is being opened already.
 */
export async function openVault(
  kind: 'keychain' | 'file',
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
