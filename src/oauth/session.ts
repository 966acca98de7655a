import type { Settings } from '../config/settings.ts';
import type { Context } from '../context.ts';
import type { Binding } from '../credentials/vault.ts';
import type { Transport } from '../http/transport.ts';
import type { Reporter } from '../output/reporter.ts';
import type { TokenSource } from './token-source.ts';

/**
 * Where this run's requests get their token: `HOOKTRAIL_ACCESS_TOKEN` as it is, or else the stored sign-in, refreshed
 * when needed. Throws `UsageError` for missing settings and bad ones.
 */
export async function openSession(
  _settings: Settings,
  _context: Context,
  _reporter: Reporter,
  _transport: Transport,
): Promise<TokenSource> {
  throw new Error('not built yet');
}

/** What the secrets of these settings are bound to. Throws `UsageError` naming every missing setting. */
export function bindingOf(settings: Settings): Binding {
  const { authUrl, baseUrl, clientId } = settings.require('authUrl', 'baseUrl', 'clientId');
  return {
    profile: settings.profile,
    authUrl: authUrl.href,
    clientId,
    serviceOrigin: baseUrl.origin,
  };
}

/** Runs `work` while no other process refreshes or replaces the sign-in of this provider, client and profile. */
export async function withSignInLock<T>(
  _binding: Binding,
  _context: Context,
  _work: () => Promise<T>,
): Promise<T> {
  throw new Error('not built yet');
}
