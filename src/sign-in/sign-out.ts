import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { forgetProfile } from '../secrets/stored-sign-ins.ts';
import type { Binding } from '../secrets/vault.ts';
import { readConfig } from '../settings/config-file.ts';
import { resolveSettings } from '../settings/settings.ts';
import { forgetPending } from './pending-sign-in.ts';
import { BOUND, bindingOf, withSignInLock } from './session.ts';

/**
 * Deletes every secret of a profile, of started sign-ins too; returns how many sign-ins were removed. A refresh under way
 * is waited for: what it stores must not outlive this. Throws where a store cannot be emptied, or stays locked.
 */
export async function signOut(profile: string, context: Context): Promise<number> {
  const forget = async () =>
    (await forgetProfile(profile, context)) + (await forgetPending(profile, context));
  const binding = await savedBinding(profile, context);
  return binding ? await withSignInLock(binding, context, forget) : await forget();
}

/** Undefined where what is saved names no sign-in, or cannot be understood: that must not stand in the way. */
async function savedBinding(profile: string, context: Context): Promise<Binding | undefined> {
  try {
    return bindingOf(resolveSettings({ profile }, {}, await readConfig(context), BOUND));
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}
