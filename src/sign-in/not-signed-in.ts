import type { Context } from '../context.ts';
import { NotSignedInError } from '../errors.ts';
import { KeychainError } from '../secrets/keychain-error.ts';
import type { Binding, Vault } from '../secrets/vault.ts';
import { settingNames } from '../settings/setting-names.ts';
import type { Settings } from '../settings/settings.ts';

export function loginCommand(profile: string): string {
  return profile === 'default' ? 'hooktrail login' : `hooktrail login --profile ${profile}`;
}

/**
 * What a failure to read the store means where nobody ever signed in: a keychain that is not there holds no sign-in. Any other
 * failure is returned as it is.
 */
export function withoutSignIn(error: unknown, { profile, profileExists }: Settings): unknown {
  if (profileExists || !(error instanceof KeychainError) || !error.holdsNothing) return error;
  const login = loginCommand(profile);
  return new NotSignedInError('not signed in', {
    details: [error.message],
    next: `run \`${login}\`, or \`${login} --store file\` where there is no keychain`,
  });
}

/** Says why nothing is stored: never signed in, or signed in somewhere else than these settings point to. */
export async function notSignedIn(
  settings: Settings,
  binding: Binding,
  vault: Vault,
  context: Context,
): Promise<NotSignedInError> {
  const { profile } = settings;
  const named = profile === 'default' ? '' : ` with the profile '${profile}'`;
  const next = `run \`${loginCommand(profile)}\``;
  const { hasOtherSignIn } = await import('../secrets/stored-sign-ins.ts');
  if (!(await hasOtherSignIn(vault.kind, binding, context).catch(() => false))) {
    return new NotSignedInError(`not signed in${named}`, { next });
  }
  const details = (['authUrl', 'clientId', 'baseUrl'] as const).map((name) => {
    const value = settings[name];
    return `${settingNames[name].meaning}: ${value instanceof URL ? value.href : value} (from ${settings.given[name]?.source})`;
  });
  return new NotSignedInError(`not signed in${named} to these:`, {
    details: [...details, 'the stored sign-in belongs to others, and its tokens are sent nowhere else'],
    next: `take back what overrides the settings, or ${next}`,
  });
}
