import type { Context, Environment } from '../context.ts';
import { UsageError } from '../errors.ts';
import { bindingHash, listSecretFiles } from '../secrets/secret-files.ts';
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

/**
 * The profiles for which secrets are stored. Both stores leave a file for each sign-in, so that no keychain has to be
 * opened, which may ask the user.
 */
export async function signedInProfiles(
  config: SavedConfig,
  context: Pick<Context, 'environment' | 'machine'>,
): Promise<Set<string>> {
  const stored = new Set((await listSecretFiles(context, undefined)).map(({ signIn }) => signIn));
  const isSignedIn = (profile: string) => {
    const settings = savedSettings(profile, config);
    return settings !== undefined && stored.has(`${profile}/${bindingHash(bindingOf(settings))}`);
  };
  return new Set(Object.keys(config.profiles).filter(isSignedIn));
}

/** The name of the lock under which the sign-in of this provider, client and profile is refreshed or replaced. */
export function signInLockName({ authUrl, clientId, profile }: BoundSettings): string {
  return JSON.stringify([authUrl.href, clientId, profile]);
}
