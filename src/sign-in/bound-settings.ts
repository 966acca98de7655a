import type { Environment } from '../context.ts';
import { UsageError } from '../errors.ts';
import type { Binding } from '../secrets/vault.ts';
import type { SavedConfig } from '../settings/config-file.ts';
import { resolveSettings, type Settings } from '../settings/settings.ts';

/** The settings that a stored sign-in is bound to. All of them are needed to find it. */
export const BOUND = ['authUrl', 'baseUrl', 'clientId'] as const;
export type BoundSettings = Settings<(typeof BOUND)[number]>;

/** The provider, client, service and profile that the secrets of these settings are bound to. */
export function bindingOf({ profile, authUrl, baseUrl, clientId }: BoundSettings): Binding {
  return { profile, authUrl: authUrl.href, clientId, serviceOrigin: baseUrl.origin };
}

/** The saved settings of a profile, or what the environment adds to them; undefined if they do not identify a sign-in. */
export function savedSettings(
  profile: string,
  config: SavedConfig,
  environment: Environment = {},
): BoundSettings | undefined {
  try {
    return resolveSettings({ profile }, environment, config, BOUND);
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

/** The name of the lock under which the sign-in of this provider, client and profile is refreshed or replaced. */
export function signInLockName({ authUrl, clientId, profile }: BoundSettings): string {
  return JSON.stringify([authUrl.href, clientId, profile]);
}
