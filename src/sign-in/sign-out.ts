import { advise, hooktrail } from '../advice.ts';
import type { Context } from '../context.ts';
import { type HooktrailError, ServiceError, UsageError } from '../errors.ts';
import { withLock } from '../lock/lock.ts';
import { forgetApiTokens } from '../secrets/api-tokens.ts';
import { isSecretGiven } from '../secrets/given-secret.ts';
import { KeychainError } from '../secrets/keychain-error.ts';
import { forgetSignIns, openVault } from '../secrets/stored-sign-ins.ts';
import type { Secrets } from '../secrets/vault.ts';
import {
  changeConfig,
  chooseProfile,
  readConfig,
  type SavedConfig,
  savedProfileName,
  unknownProfile,
} from '../settings/settings.ts';
import { canPrompt, confirm } from '../terminal/prompt.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { storedProof } from './client-authentication.ts';
import { RefusedGrantError } from './provider-failure.ts';
import { findEndpoint } from './provider-metadata.ts';
import { type BoundSettings, bindingOf, savedSettings } from './session.ts';
import { signInLock } from './sign-in-lock.ts';
import { OPTIONAL_LIMITS, type Provider, revoke, withProvider } from './token-endpoint.ts';

export interface SignOutFlags {
  readonly profile?: string;
  readonly all?: true;
  readonly yes?: true;
}

/**
 * Signs out of a profile, or of all, and reports the fate of the tokens. Confirms first on a terminal if it
 * is all.
 */
export async function logout(flags: SignOutFlags, context: Context, reporter: Reporter): Promise<void> {
  const config = await readConfig(context);
  // No other setting matters here, and an invalid one must not prevent signing out.
  const { profile, profileExists } = chooseProfile(flags, context.environment, config);
  const saved = Object.keys(config.profiles);
  if (flags.all && !flags.yes) await confirmAll(saved, context);
  const outcomes: SignedOut[] = [];
  for (const name of flags.all ? saved : [profile]) {
    const outcome = await signOut(name, config, context, reporter);
    outcomes.push(signedOutOf(name, outcome, reporter));
  }
  if (flags.all) outcomes.push(await forgetRest(context, reporter));
  const unknown = outcomes.find((outcome) => outcome.unknown !== undefined)?.unknown;
  const where = flags.profile && !profileExists ? ': there is no' : ' for the';
  if (outcomes.every(({ isNothing }) => isNothing))
    reporter.notice(`nothing was stored${flags.all ? '' : `${where} profile '${profile}'`}`);
  if (isSecretGiven('HOOKTRAIL_ACCESS_TOKEN', context.environment))
    reporter.warning('HOOKTRAIL_ACCESS_TOKEN is still set, and commands still use it', { kind: 'usage' });
  if (unknown !== undefined)
    throw new ServiceError(
      `the secrets of ${unknown} are deleted, but the tokens could not be revoked: no saved settings name their identity provider`,
      { next: 'revoke the tokens at the identity provider, or wait until they expire' },
    );
}

async function confirmAll(profiles: readonly string[], context: Context): Promise<void> {
  if (profiles.length === 0 || !canPrompt(context)) return;
  const declined = new UsageError('nothing was changed', {
    next: 'sign out of one profile with --profile NAME',
  });
  await confirm(`Sign out of every profile (${profiles.join(', ')})?`, context, declined);
}

interface SignedOut {
  readonly isNothing: boolean;
  /** Owner of tokens that were deleted although no known identity provider could revoke them. */
  readonly unknown?: string;
}

function signedOutOf(
  name: string,
  { removed, said, failure, unasked }: Awaited<ReturnType<typeof signOut>>,
  reporter: Reporter,
): SignedOut {
  if (removed > 0 && said === undefined) return { isNothing: false, unknown: `the profile '${name}'` };
  if (removed > 0) reporter.notice(`signed out of the profile '${name}' on this machine${said}`);
  const left = unasked ? '; it may still hold them: sign out again where it is reached' : '';
  if (failure) reporter.warning(failure + left, { kind: 'sign-in' });
  return { isNothing: removed === 0 && !unasked };
}

async function forgetRest(context: Context, reporter: Reporter): Promise<SignedOut> {
  const tokens = await forgetApiTokens(undefined, context);
  if (tokens > 0) reporter.notice(`deleted ${tokens} saved ${tokens === 1 ? 'Api-Token' : 'Api-Tokens'}`);
  const { removed } = await forgetSignIns(undefined, context);
  if (removed > 0) return { isNothing: false, unknown: 'profiles that are no longer saved' };
  return { isNothing: tokens === 0 };
}

/** Signs out of a profile and deletes everything saved under its name, including its Api-Tokens. */
export async function deleteProfile(typed: string, context: Context, reporter: Reporter): Promise<void> {
  const config = await readConfig(context);
  const name = savedProfileName(typed, config);
  if (name === undefined) throw unknownProfile(typed, config, advise`${hooktrail('profiles')} lists them`);
  // Delete secrets first: a profile without secrets can be deleted again, secrets without a profile are hard
  // to find.
  await forgetApiTokens(name, context);
  const { failure, unasked } = await signOut(name, config, context, reporter);
  await changeConfig(context, (saved) => {
    delete saved.profiles[name];
    if (saved.profile === name) delete saved.profile;
  });
  reporter.notice(`deleted profile '${name}'${unasked ? '' : ' and what was stored for it on this machine'}`);
  const [other] = Object.keys(config.profiles).filter((one) => one !== name);
  if (other && chooseProfile({}, {}, config).profile === name)
    reporter.notice(advise`next: commands had used it; ${hooktrail('profiles use', other)} chooses another`);
  // The addresses are gone: a later sign-out finds the tokens, but no provider to revoke them.
  const left = unasked
    ? `; it may still hold them: \`hooktrail logout --profile ${name}\` where it is reached deletes them, but cannot revoke them`
    : '';
  if (failure) reporter.warning(failure + left, { kind: 'sign-in' });
}

interface Outcome {
  /** Follows "signed out of the profile"; undefined if the provider is unknown. */
  readonly said: string | undefined;
  /** Names the tokens that remain valid, and why. */
  readonly failure?: string | undefined;
  /** Set if nothing is stored for the saved addresses: what is deleted was for others. */
  readonly isAbsent?: true;
  readonly unasked?: KeychainError;
}

/**
 * Revokes the tokens of a profile if the provider offers that (RFC 7009), and then deletes its secrets:
 * deleted ones could never be revoked. Waits for a refresh in progress, to include its tokens. Throws if the
 * secrets cannot be read or deleted because of a fault, or the store stays locked. A failed revocation, or
 * secrets that can no longer be opened, do not prevent deleting them. `removed` counts sign-ins.
 */
async function signOut(
  profile: string,
  config: SavedConfig,
  context: Context,
  reporter: Reporter,
): Promise<Outcome & { readonly removed: number }> {
  const settings = savedSettings(profile, config) ?? savedSettings(profile, config, context.environment);
  // Every sign-in saves its store: a profile with only the default was never signed in.
  const { store = context.environment['HOOKTRAIL_STORE']?.toLowerCase() } = config.profiles[profile] ?? {};
  const forget = async (outcome: Outcome) => {
    const { said, failure, isAbsent } = outcome;
    const { removed, unasked } = await forgetSignIns(profile, context).catch((error: HooktrailError) => {
      const done = failure ?? (said && `the profile '${profile}' stays signed in on this machine${said}`);
      throw Object.assign(error, { details: [...error.details, ...(settings && done ? [done] : [])] });
    });
    if (unasked && store === 'keychain')
      return { removed, said, failure: unrevokedText(profile, unasked.message), unasked };
    if (removed === 0) return { removed, said: '' };
    if ((removed === 1 && !isAbsent) || failure) return { removed, said, failure };
    const earlier = `tokens of earlier sign-ins of '${profile}' at other addresses were deleted, but not revoked`;
    return { removed, said, failure: earlier };
  };
  const failure = unrevokedText(profile, 'no saved settings name their provider');
  if (!settings) return await forget({ said: undefined, failure });
  const revokeAndForget = async () => forget(await revokeStored(settings, context, reporter));
  const { name, place } = signInLock(settings, context);
  return await withLock(name, context, revokeAndForget, place);
}

function unrevokedText(profile: string, why: string): string {
  return `the tokens of '${profile}' could not be revoked: ${why}`;
}

async function revokeStored(settings: BoundSettings, context: Context, reporter: Reporter): Promise<Outcome> {
  const { profile, store } = settings;
  const failed = (why: string): Outcome => ({ said: '', failure: unrevokedText(profile, why) });
  let stored: Secrets | undefined;
  try {
    stored = await openVault(store, bindingOf(settings), context).read();
  } catch (error) {
    // A fault may be temporary; damage, or a passphrase that is different or missing, is not.
    if (error instanceof Error && error.cause instanceof Error && 'syscall' in error.cause) throw error;
    const holdsNothing = error instanceof KeychainError && error.holdsNothing;
    return failed(holdsNothing ? error.message : 'they could not be read');
  }
  if (stored === undefined) return { said: '', isAbsent: true };
  const { refreshToken, access } = stored;
  if (refreshToken === undefined && access === undefined) return { said: '' };
  const revokeThere = async (provider: Provider): Promise<Outcome> => {
    const endpoint = await findEndpoint(provider, 'revocation_endpoint');
    if (endpoint === undefined) return { said: '; the identity provider offers no way to revoke tokens' };
    const proof = await storedProof(stored, settings, context);
    if (refreshToken !== undefined) await revoke(provider, proof, endpoint, refreshToken, 'refresh_token');
    try {
      // The revocation of a refresh token may leave its access tokens valid (RFC 7009 section 2.1).
      if (access) await revoke(provider, proof, endpoint, access.token, 'access_token');
    } catch (error) {
      // The provider revokes no tokens of this type (RFC 7009 section 2.2.1).
      const isUnsupported = error instanceof RefusedGrantError && error.error === 'unsupported_token_type';
      if (!isUnsupported) throw error;
      if (refreshToken !== undefined) return { said: '; its refresh token is revoked' };
      return { said: '; the identity provider revokes no access tokens, so its token lasts to its end' };
    }
    return { said: '; its tokens are revoked' };
  };
  const revoking = withProvider(settings, { context, reporter }, revokeThere, { limits: OPTIONAL_LIMITS });
  return await revoking.catch((error: Error) => failed(error.message));
}
