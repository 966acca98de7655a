import type { Context } from '../context.ts';
import { traced } from '../http/redaction.ts';
import { createTransport } from '../http/undici-transport.ts';
import { withLock } from '../lock/lock.ts';
import { givenSecret, isSecretGiven } from '../secrets/given-secret.ts';
import { openVault } from '../secrets/open-vault.ts';
import { forgetProfile } from '../secrets/stored-sign-ins.ts';
import type { Secrets } from '../secrets/vault.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { type BoundSettings, bindingOf, savedSettings, signInLockName } from './bound-settings.ts';
import { METADATA_LIMITS, RefusedGrantError, readMetadata, revoke } from './token-endpoint.ts';

export interface SignOut {
  /** The number of sign-ins removed from this machine. */
  readonly removed: number;
  /** The outcome at the provider; `failure` says why the tokens could not be revoked. */
  readonly revocation:
    | 'done'
    | 'refresh token only'
    | 'not offered'
    | 'nothing to revoke'
    | { readonly failure: string };
}

/**
 * Deletes every secret of a profile, and then revokes the tokens if the provider offers that (RFC 7009). Waits for a refresh in progress, so that its tokens are deleted too. Throws if a store cannot
 * be emptied, or stays locked; a failed revocation does not throw.
 */
export async function signOut(profile: string, context: Context, reporter: Reporter): Promise<SignOut> {
  const saved = await savedSettings(profile, context);
  if (!saved) return { removed: await forgetProfile(profile, context), revocation: 'nothing to revoke' };
  return await withLock(signInLockName(saved), context, async () => {
    const secrets = await readable(saved, context);
    const removed = await forgetProfile(profile, context);
    if (removed === 0) return { removed, revocation: 'nothing to revoke' };
    return { removed, revocation: await revokeAt(saved, secrets, context, reporter) };
  });
}

/** Returns the stored secrets if they can be read without asking anyone: signing out must not need a passphrase. */
async function readable(settings: BoundSettings, context: Context): Promise<Secrets | undefined> {
  if (settings.store === 'file' && !isSecretGiven('HOOKTRAIL_PASSPHRASE', context.environment))
    return undefined;
  try {
    const vault = await openVault(settings.store, bindingOf(settings), context);
    return await vault.read();
  } catch {
    return undefined;
  }
}

async function revokeAt(
  settings: BoundSettings,
  secrets: Secrets | undefined,
  context: Context,
  reporter: Reporter,
): Promise<SignOut['revocation']> {
  const transport = traced(createTransport(context, METADATA_LIMITS), reporter, context.clock);
  try {
    const { revocation } = await readMetadata(settings, transport);
    if (revocation === undefined) return 'not offered';
    if (!secrets) return { failure: 'they could not be read' };
    const { refreshToken, access } = secrets;
    if (refreshToken === undefined && access === undefined) return 'nothing to revoke';
    const clientSecret = (await givenSecret('HOOKTRAIL_CLIENT_SECRET', context)) ?? secrets.clientSecret;
    if (clientSecret === undefined) return { failure: 'the client secret is not stored' };
    const request = { clientSecret, endpoint: revocation };
    const world = { transport, clock: context.clock };
    if (refreshToken !== undefined)
      await revoke(settings, { ...request, token: refreshToken, hint: 'refresh_token' }, world);
    if (access === undefined) return 'done';
    try {
      // The revocation of a refresh token may leave its access tokens valid (RFC 7009 section 2.1).
      await revoke(settings, { ...request, token: access.token, hint: 'access_token' }, world);
    } catch (error) {
      if (refreshToken === undefined || !isUnsupported(error)) throw error;
      return 'refresh token only';
    }
    return 'done';
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  } finally {
    await transport.close();
  }
}

/** The provider revokes no tokens of this type (RFC 7009 section 2.2.1). */
function isUnsupported(error: unknown): boolean {
  return error instanceof RefusedGrantError && error.error === 'unsupported_token_type';
}
