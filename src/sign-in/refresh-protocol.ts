import type { Context } from '../context.ts';
import { NotSignedInError, ServiceError, UnreachableError, UsageError } from '../errors.ts';
import { TransportError } from '../http/transport-error.ts';
import type { HeldLock } from '../lock/lock.ts';
import type { AccessToken, Secrets, Vault } from '../secrets/vault.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { BoundSettings } from './session.ts';
import { InvalidGrantError, UnusableGrantError } from './token-answer.ts';
import { refresh, type TokenRequestWorld } from './token-endpoint.ts';

export interface RefreshParts {
  readonly settings: BoundSettings;
  readonly vault: Vault;
  readonly context: Pick<Context, 'environment' | 'clock' | 'holdOff'>;
  readonly reporter: Pick<Reporter, 'trace'>;
  readonly world: TokenRequestWorld;
  /** Whether a stored access token serves, or a new one is needed. */
  readonly serves: (access: AccessToken) => boolean;
  /** Whether it is good for now: enough where no other can be had. */
  readonly lasts: (access: AccessToken) => boolean;
  readonly loginCommand: string;
}

/** One token and one more try with it after an answer that was lost; a third where another process stored a new token. */
const TRIES = 3;

/**
 * Spends the stored refresh token under the lock, so that it is spent once and its successor is never lost: what a
 * sibling stored is used instead; the store is proved writable first; what comes back is stored before anything else. It
 * takes no abort signal: an interrupt waits, and so does a second one. Nothing stored is ever deleted.
 * Resolves to undefined where nothing is stored.
 */
export async function refreshUnderLock(
  parts: RefreshParts,
  lock: HeldLock,
): Promise<AccessToken | undefined> {
  const { vault, serves, lasts, reporter } = parts;
  let stored = await vault.read();
  if (stored === undefined) return undefined;
  if (stored.access && serves(stored.access)) return stored.access;
  if (stored.access && stored.refreshToken === undefined && lasts(stored.access)) return stored.access;
  await vault.probe();
  let lost = false;
  for (let attempt = 1; ; attempt++) {
    const { refreshToken, clientSecret } = spendable(stored, parts);
    // A process that was suspended here, or on a machine that slept, may have been given up by one elsewhere.
    if (!(await lock.isStillHeld()))
      throw new ServiceError('another process took over refreshing the sign-in', AGAIN);
    const proceed = parts.context.holdOff?.();
    try {
      reporter.trace('refreshing the access token');
      const granted = await refresh(parts.settings, { refreshToken, clientSecret }, parts.world);
      const access = {
        token: granted.accessToken,
        expiresAt: granted.expiresAt,
        scope: granted.scope ?? stored.access?.scope,
      };
      // No new refresh token in the answer (RFC 6749 section 6 lets it be left out): the old one stays.
      await vault.write({ refreshToken: granted.refreshToken, access });
      return access;
    } catch (error) {
      if (error instanceof UnusableGrantError) {
        await vault.write({ refreshToken: error.refreshToken });
        throw error;
      }
      const ambiguous = isAmbiguous(error);
      if (!ambiguous && !(error instanceof InvalidGrantError)) throw error;
      // A process of another version or machine may have stored a successor without this lock.
      const again: Secrets = (await vault.read()) ?? {};
      if (again.access && again.access.token !== stored.access?.token && serves(again.access))
        return again.access;
      const superseded = again.refreshToken !== undefined && again.refreshToken !== refreshToken;
      if (attempt === TRIES || (!superseded && (lost || !ambiguous))) throw ended(error, lost, parts);
      lost = ambiguous && !superseded;
      stored = superseded ? again : stored;
      reporter.trace(
        superseded ? 'another process stored a new refresh token' : 'the answer was lost: once more',
      );
    } finally {
      proceed?.();
    }
  }
}

const AGAIN = { next: 'run the command again' };

function spendable(stored: Secrets, { context, loginCommand }: RefreshParts) {
  const clientSecret = context.environment['HOOKTRAIL_CLIENT_SECRET'] || stored.clientSecret;
  if (stored.refreshToken === undefined) {
    throw new NotSignedInError('the sign-in has ended, and it came without a refresh token', {
      details: ['a sign-in lasts when the scopes include offline_access and the identity provider grants it'],
      next: `run \`${loginCommand}\``,
    });
  }
  if (!clientSecret) {
    throw new UsageError('the client secret is not stored', {
      next: `set HOOKTRAIL_CLIENT_SECRET, or run \`${loginCommand}\``,
    });
  }
  return { refreshToken: stored.refreshToken, clientSecret };
}

/** The request may have been carried out, and a new refresh token be on its way to nobody. */
function isAmbiguous(error: unknown): boolean {
  return error instanceof UnreachableError && error.cause instanceof TransportError && error.cause.ambiguous;
}

function ended(error: unknown, lost: boolean, { loginCommand }: RefreshParts): unknown {
  if (!(error instanceof InvalidGrantError)) return error;
  const details = lost
    ? [...error.details, 'the answer to the request before was lost, and the new refresh token with it']
    : error.details;
  return new NotSignedInError(
    'the sign-in has ended: the identity provider does not accept the refresh token',
    {
      details,
      next: `run \`${loginCommand}\``,
    },
  );
}
