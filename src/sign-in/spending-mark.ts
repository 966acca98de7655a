import { hash } from 'node:crypto';
import { advise, hooktrail } from '../advice.ts';
import type { Context } from '../context.ts';
import { NotSignedInError, ServiceError } from '../errors.ts';
import { type HeldLock, RHYTHM } from '../lock/lock.ts';
import { conditionOf, type HolderCondition } from '../lock/lock-file.ts';
import type { Secrets, Spending, Vault } from '../secrets/vault.ts';
import { storeSurely } from './store-surely.ts';

/*
 * Before a refresh token is sent, the stored secrets are marked: the token is being spent. The mark is
 * removed when the successor is stored. The lock alone is not enough: its folder may be removed while its
 * holder waits for the answer, and a holder may be killed. A marked token may be spent already, so no other
 * process sends it.
 */

export type RefreshLock = Pick<HeldLock, 'holder' | 'conditionOf' | 'isStillHeld'>;
type Parts = { readonly vault: Vault; readonly context: Pick<Context, 'clock' | 'lockRhythm' | 'machine'> };

/** Another process holds the lock now. Nothing was spent. */
export class TakenOverError extends ServiceError {}

/** Throws `TakenOverError` if this process no longer holds the lock, such as after it was suspended. */
export async function requireLock(lock: RefreshLock): Promise<void> {
  if (await lock.isStillHeld()) return;
  throw new TakenOverError('another process took over refreshing the sign-in', {
    next: 'run the command again',
  });
}

/**
 * Milliseconds within which a process with a mark finishes or fails: two token requests take a little less.
 */
export const LONGEST_REFRESH_MS = 150_000;
const LOOK_MS = 200;

/**
 * Marks the token as being spent by the holder of the lock. Throws `TakenOverError` if the lock was lost
 * meanwhile: its new holder may have read the secrets before the mark. Remove the mark after any error.
 */
export async function markSpending(
  stored: Secrets & { readonly refreshToken: string },
  { vault, context }: Parts,
  lock: RefreshLock,
): Promise<void> {
  const token = hash('sha256', stored.refreshToken);
  const spending: Spending = { token, holder: lock.holder, since: context.clock.now() };
  await vault.write({ ...stored, spending });
  await requireLock(lock);
}

/** Removes this process's mark from a token that is not spent, or that nobody can spend. */
export async function removeMark({ vault, context }: Parts, { holder }: RefreshLock): Promise<void> {
  const stored = await vault.read().catch(() => undefined);
  if (stored === undefined || stored.spending?.holder.nonce !== holder.nonce) return;
  // On failure, the next command reports that the token may be spent.
  await storeSurely(vault, { ...stored, spending: undefined }, context.clock).catch(() => undefined);
}

/**
 * Reads the secrets, without a mark. Waits while another process spends the token, until `isDone`. Throws
 * `NotSignedInError` if that process is gone, since the token may be spent.
 */
export async function readUnmarked(
  { vault, context }: Parts,
  lock: RefreshLock,
  isDone: (stored: Secrets) => boolean,
): Promise<Secrets | undefined> {
  const { silence } = context.lockRhythm ?? RHYTHM;
  for (let waitedMs = 0; ; waitedMs += LOOK_MS) {
    const stored = await vault.read();
    if (stored === undefined) return undefined;
    const { spending, ...secrets } = stored;
    if (isDone(secrets) || !isMarked(secrets, spending)) return secrets;
    const condition = await lock.conditionOf(spending.holder);
    const isSilent = condition === 'unknown' && waitedMs >= silence;
    const isGone = isAbandoned(spending, condition, context) || isSilent;
    if (isGone && (await isStillMarked(vault, spending))) throw mayBeSpent(spending, condition, context);
    if (waitedMs >= LONGEST_REFRESH_MS) throw stillSpending(spending);
    await context.clock.sleep(LOOK_MS);
  }
}

/** Returns the mark of a process that is gone; undefined if there is none. Does not wait. */
export async function abandonedMark(
  stored: Secrets | undefined,
  vault: Pick<Vault, 'kind' | 'read'>,
  context: Parts['context'],
): Promise<Spending | undefined> {
  const spending = stored?.spending;
  if (stored === undefined || !isMarked(stored, spending)) return undefined;
  const condition = await conditionOf(spending.holder, context.machine, vault.kind === 'file');
  const isGone = isAbandoned(spending, condition, context);
  return isGone && (await isStillMarked(vault, spending)) ? spending : undefined;
}

/** Reads again: a process may store the successor and end between a read and the look at that process. */
async function isStillMarked(vault: Pick<Vault, 'read'>, { token, holder }: Spending): Promise<boolean> {
  const found = (await vault.read())?.spending;
  return found?.token === token && found.holder.nonce === holder.nonce;
}

function isAbandoned(
  { since }: Spending,
  condition: HolderCondition,
  { clock }: Pick<Context, 'clock'>,
): boolean {
  const isOld = clock.now() - since > LONGEST_REFRESH_MS;
  return condition === 'dead' || (condition === 'unknown' && isOld);
}

function isMarked({ refreshToken }: Secrets, spending: Spending | undefined): spending is Spending {
  return refreshToken !== undefined && spending?.token === hash('sha256', refreshToken);
}

function mayBeSpent(
  { holder, since }: Spending,
  condition: HolderCondition,
  { machine }: Parts['context'],
): NotSignedInError {
  const other = `process ${holder.pid}${holder.hostname === machine.hostname ? '' : ` on ${holder.hostname}`}`;
  const login = advise`run ${hooktrail('login')}`;
  return new NotSignedInError(
    `the sign-in may be lost: ${other} sent its refresh token at ${new Date(since).toISOString()}, and stored no new one`,
    {
      details: [
        condition === 'dead'
          ? 'that process has ended'
          : 'whether that process still runs cannot be seen from here',
        'a refresh token works once, so it is not sent again',
      ],
      next:
        condition === 'dead'
          ? login
          : advise`run the command again if that process still runs; otherwise ${login}`,
    },
  );
}

function stillSpending({ holder }: Spending): ServiceError {
  const seconds = LONGEST_REFRESH_MS / 1000;
  return new ServiceError(
    `another hooktrail process (${holder.pid}) has been refreshing the sign-in for more than ${seconds} s`,
    { next: `wait for process ${holder.pid}, or end it` },
  );
}
