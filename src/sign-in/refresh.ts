import { advise, hooktrail } from '../advice.ts';
import type { Context } from '../context.ts';
import { type HooktrailError, NotSignedInError } from '../errors.ts';
import { TransportError } from '../http/transport.ts';
import { withLock } from '../lock/lock.ts';
import type { AccessToken, Secrets, Vault } from '../secrets/vault.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { storedProof } from './client-authentication.ts';
import { requestAsClient, STORED_CLIENT } from './client-credentials.ts';
import { RefusedGrantError } from './provider-failure.ts';
import { REFUSAL_MS, type RefusalNote } from './refusal-note.ts';
import type { SignInLock } from './sign-in-lock.ts';
import {
  LONGEST_REFRESH_MS,
  markSpending,
  type RefreshLock,
  readUnmarked,
  removeMark,
  requireLock,
  TakenOverError,
} from './spending-mark.ts';
import { storeSuccessor, storeSurely } from './store-surely.ts';
import { type Grant, type Provider, refresh, UnusableGrantError, withProvider } from './token-endpoint.ts';

export interface RefreshParts {
  readonly refusal: RefusalNote;
  readonly vault: Vault;
  readonly context: Context;
  readonly reporter: Pick<Reporter, 'trace' | 'warning'>;
  readonly serves: (access: AccessToken) => boolean;
  /** True if it has not expired, which suffices if there is no way to get another. */
  readonly lasts: (access: AccessToken) => boolean;
}

const LOGIN = advise`run ${hooktrail('login')}`;

/**
 * Attempts: the first, one more with the same token after a lost answer, and a third if another process
 * stored a new token.
 */
const TRIES = 3;

/**
 * Gets a new access token with the stored refresh token, or the one that another process got meanwhile.
 * Resolves to undefined if nothing is stored.
 */
export async function refreshSignIn(
  settings: Provider['settings'],
  lock: SignInLock,
  parts: RefreshParts & { readonly reporter: Reporter },
): Promise<AccessToken | undefined> {
  const { context, vault, serves } = parts;
  const meanwhile = async () => {
    const access = (await vault.read())?.access;
    return access && serves(access) ? access : undefined;
  };
  // Use separate connections: an interrupt ends those of the command, and must not cut off the answer with
  // the new refresh token.
  return await withProvider(settings, parts, async (provider) => {
    const options = { ...lock.place, patience: LONGEST_REFRESH_MS, meanwhile };
    for (let tries = 1; ; tries++) {
      try {
        return await withLock(lock.name, context, (held) => refreshUnderLock(parts, provider, held), options);
      } catch (error) {
        if (!(error instanceof TakenOverError) || tries === TRIES) throw error;
      }
    }
  });
}

/**
 * Spends the stored refresh token under the lock, so that it is spent once and its successor is never lost:
 *
 * 1. look: if another process has stored a token, use it; if another spends this one, wait for its successor;
 * 2. prove: check that the store can be written;
 * 3. mark: store that the refresh token is being spent;
 * 4. spend: send it while the lock is held, and once more if the answer is lost;
 * 5. store: save the new tokens, without the mark, before doing anything else.
 *
 * Takes no abort signal: even a second interrupt waits. Nothing stored is ever deleted.
 */
export async function refreshUnderLock(
  parts: RefreshParts,
  provider: Provider,
  lock: RefreshLock,
): Promise<AccessToken | undefined> {
  const { vault, serves, lasts, context } = parts;
  const stored = await readUnmarked(parts, lock, ({ access }) => access !== undefined && serves(access));
  if (stored === undefined) return undefined;
  if (stored.access && serves(stored.access)) return stored.access;
  if (stored.grant === 'client_credentials') return await renewAsClient(stored, parts, provider, lock);
  if (stored.access && stored.refreshToken === undefined && lasts(stored.access)) return stored.access;
  const refusal = parts.refusal.read(stored);
  const age = context.clock.now() - (refusal?.at ?? Number.NaN);
  // A refused client may have a different secret by now.
  if (refusal?.of === 'sign-in' && age >= 0 && age < REFUSAL_MS) throw endedSignIn(refusal.details);
  await vault.probe();
  return await spend(stored, parts, provider, lock);
}

/** Sends the refresh token, and again if the answer was lost or a successor has been stored. */
async function spend(
  known: Secrets,
  parts: RefreshParts,
  provider: Provider,
  lock: RefreshLock,
): Promise<AccessToken> {
  const { context, reporter } = parts;
  let stored = known;
  let marked: string | undefined;
  let isAnswerLost = false;
  for (let attempt = 1; ; attempt++) {
    const refreshToken = spendableToken(stored);
    const proof = await storedProof(stored, provider.settings, context);
    // A mark left behind by an interrupt would end the sign-in.
    const proceed = context.holdOff?.();
    try {
      if (marked !== refreshToken) await markSpending({ ...stored, refreshToken }, parts, lock);
      else await requireLock(lock);
      marked = refreshToken;
      reporter.trace('refreshing the access token');
      return await storeGrant(await refresh(provider, proof, refreshToken), stored, parts, lock);
    } catch (error) {
      const failed: FailedSpend = { error, stored, refreshToken, isAnswerLost, isLast: attempt === TRIES };
      const next = await afterFailure(failed, parts).catch(async (final) => {
        if (!(final instanceof LostSignInError)) await removeMark(parts, lock);
        throw final;
      });
      if (next.access) return next.access;
      ({ stored, isAnswerLost } = next);
    } finally {
      proceed?.();
    }
  }
}

class LostSignInError extends NotSignedInError {}

function spendableToken({ refreshToken }: Secrets): string {
  if (refreshToken !== undefined) return refreshToken;
  throw new NotSignedInError('the sign-in has ended, and it came without a refresh token', {
    details: ['a sign-in lasts when the scopes include offline_access and the identity provider grants it'],
    next: LOGIN,
  });
}

interface FailedSpend {
  readonly error: unknown;
  readonly stored: Secrets;
  readonly refreshToken: string;
  readonly isAnswerLost: boolean;
  readonly isLast: boolean;
}

async function afterFailure(failed: FailedSpend, parts: RefreshParts) {
  const { vault, serves, reporter } = parts;
  const { error, stored, refreshToken } = failed;
  if (error instanceof UnusableGrantError && error.refreshToken !== undefined)
    await storeNew({ ...stored, refreshToken: error.refreshToken }, parts);
  // The request may have been carried out: a new refresh token may have been issued and lost.
  const isAmbiguous =
    error instanceof Error && error.cause instanceof TransportError && error.cause.ambiguous;
  if (!isAmbiguous && !(error instanceof RefusedGrantError)) throw error;
  // A process that lost the lock may have stored a successor. Not every provider refuses a spent token with
  // `invalid_grant` (RFC 6749 section 5.2): some answer 400 without a body.
  const again: Secrets = (await vault.read()) ?? {};
  if (again.access && serves(again.access)) return { access: again.access };
  const isSuperseded = again.refreshToken !== undefined && again.refreshToken !== refreshToken;
  const isWorthTrying = isSuperseded || (isAmbiguous && !failed.isAnswerLost);
  if (failed.isLast || !isWorthTrying) throw await finalError(failed, parts);
  reporter.trace(
    isSuperseded ? 'another process stored a new refresh token' : 'the answer was lost: trying once more',
  );
  return { stored: isSuperseded ? again : stored, isAnswerLost: !isSuperseded };
}

/**
 * Returns the error for a refused refresh, and notes the refusal, which saves the next command the request.
 */
async function finalError(
  { error, refreshToken, isAnswerLost }: FailedSpend,
  parts: RefreshParts,
): Promise<unknown> {
  if (!(error instanceof RefusedGrantError)) return error;
  const isEnded = error.error === 'invalid_grant';
  const details = isEnded && isAnswerLost ? [...error.details, LOST] : error.details;
  await noteRefusal(parts, { refreshToken }, isEnded ? 'sign-in' : 'client', details);
  return isEnded ? endedSignIn(details, error) : error;
}

async function noteRefusal(
  { refusal, context }: RefreshParts,
  stored: Secrets,
  of: 'sign-in' | 'client',
  details: readonly string[],
): Promise<void> {
  // Without the note, the next command asks once more.
  await refusal.write(stored, { of, at: context.clock.now(), details }).catch(() => undefined);
}

/** Gets another access token as the client itself. Nothing is spent, so a failure loses nothing. */
async function renewAsClient(
  stored: Secrets,
  parts: RefreshParts,
  provider: Provider,
  lock: RefreshLock,
): Promise<AccessToken> {
  const { context, reporter } = parts;
  const proof = await storedProof(stored, provider.settings, context);
  reporter.trace('asking for another access token as the client');
  try {
    const access = await requestAsClient({ ...provider, advice: STORED_CLIENT }, proof);
    return await storeGrant({ access, refreshToken: undefined }, stored, parts, lock);
  } catch (error) {
    if (error instanceof RefusedGrantError) await noteRefusal(parts, stored, 'client', error.details);
    throw error;
  }
}

const LOST = 'the answer to the previous request was lost, and with it the new refresh token';

function endedSignIn(details: readonly string[], cause?: unknown): NotSignedInError {
  return new NotSignedInError(
    'the sign-in has ended: the identity provider does not accept the refresh token',
    { details, next: LOGIN, cause },
  );
}

async function storeGrant(
  granted: Grant,
  stored: Secrets,
  parts: RefreshParts,
  lock: RefreshLock,
): Promise<AccessToken> {
  const access = { ...granted.access, scope: granted.access.scope ?? stored.access?.scope };
  parts.refusal.remove();
  // If in doubt, store the new grant: it may hold the only valid token.
  if (!(await lock.isStillHeld().catch(() => true))) {
    const theirs = await parts.vault.read().catch(() => undefined);
    if (theirs?.refreshToken !== undefined && theirs.refreshToken !== stored.refreshToken) return access;
  }
  // An answer may omit the refresh token (RFC 6749 section 6): then the old one stays valid.
  const refreshToken = granted.refreshToken ?? stored.refreshToken;
  const secrets = { ...stored, refreshToken, access };
  if (refreshToken !== stored.refreshToken) {
    await storeNew(secrets, parts);
    return access;
  }
  await storeSurely(parts.vault, secrets, parts.context.clock).catch((error: Error) => {
    parts.reporter.warning(
      `the new access token could not be stored, so the next command asks for another: ${error.message}`,
      { kind: 'sign-in' },
    );
  });
  return access;
}

/**
 * Stores a new refresh token, whose predecessor is spent. Throws `LostSignInError` if it cannot be stored
 * anywhere.
 */
async function storeNew(secrets: Secrets, { vault, context, reporter }: RefreshParts): Promise<void> {
  const warn = (text: string) => reporter.warning(text, { kind: 'sign-in' });
  const isStored = ({ refreshToken }: Secrets) => refreshToken === secrets.refreshToken;
  const stored = await storeSuccessor(vault, secrets, isStored, context.clock).catch(lostSignIn);
  if (stored.state === 'elsewhere')
    warn(
      `the new tokens could not be stored in ${vault.place}; they are kept, encrypted, in ${stored.place}, where the next command finds them`,
    );
  if (stored.state === 'undurable')
    warn(`the new tokens are stored, but a loss of power could still lose them: ${stored.fault.message}`);
}

function lostSignIn(error: HooktrailError): never {
  const { message, next } = error;
  throw new LostSignInError(
    'the sign-in is lost: the identity provider exchanged the stored tokens for new ones, which could not be stored',
    { details: [message], next: next ? advise`${next}; then ${LOGIN}` : LOGIN, cause: error },
  );
}
