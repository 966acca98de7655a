import type { Context } from '../context.ts';
import type { Binding, Vault } from './vault.ts';

/** Opens the store of a binding's secrets; asks nothing of the user until something is read or written. */
export async function openVault(
  _kind: 'keychain' | 'file',
  _binding: Binding,
  _context: Context,
): Promise<Vault> {
  throw new Error('not built yet');
}

/**
 * Deletes every secret of a profile in both stores, whatever provider or service it belongs to; returns how many
 * sign-ins were removed. A store that is absent holds nothing; one that is locked or mute throws.
 */
export async function forgetProfile(_profile: string, _context: Context): Promise<number> {
  throw new Error('not built yet');
}

/** The same for every profile. */
export async function forgetEverything(_context: Context): Promise<number> {
  throw new Error('not built yet');
}
