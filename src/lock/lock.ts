import { hash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import type { Advice } from '../advice.ts';
import type { Context, LockRhythm, Machine } from '../context.ts';
import { faultText, ServiceError, SHORTAGE_STEPS, UsageError } from '../errors.ts';
import { makeFolder, makeOwnFolder, ownFolderInTmp } from '../files/folders.ts';
import {
  type Claim,
  claimLock,
  conditionOf,
  describeSelf,
  type Holder,
  type HolderCondition,
  type LockState,
  readLock,
  tidyLock,
} from './lock-file.ts';

export class LockedError extends ServiceError {
  declare readonly next: Advice;
  readonly holder: string | undefined;

  constructor(message: string, next: Advice, holder?: string) {
    super(message, { next });
    this.holder = holder;
  }
}

/**
 * A lock held by this process, which changes the lock's file every few seconds as a sign of life. A holder
 * that was suspended for longer than 20 s, and is invisible to others (in another container, on another
 * machine), may have lost the lock: call `isStillHeld` right before each exclusive step, such as spending a
 * token or writing the locked file.
 */
export interface HeldLock {
  readonly holder: Holder;
  /**
   * Returns the condition of another holder, as seen from here. An invisible one that was replaced for its
   * silence counts as dead.
   */
  conditionOf(holder: Holder): Promise<HolderCondition>;
  /**
   * Checks the disk: false once another process has taken the lock over, or could. Throws `UsageError` if it
   * cannot check.
   */
  isStillHeld(): Promise<boolean>;
  /**
   * Aborts when a beat finds that another process has taken over, so that a holder busy elsewhere notices.
   */
  readonly lost: AbortSignal;
}

export interface TakenLock extends HeldLock {
  /** Never throws: if releasing fails, the lock is taken over when this process has ended. */
  release(): Promise<void>;
}

export interface LockOptions<T = never> {
  /** Milliseconds to wait for a live holder; 60 s by default. A silent holder is always waited out. */
  readonly patience?: number;
  /**
   * Called each time another process has released the lock. A result ends the wait without taking the lock.
   */
  readonly meanwhile?: () => Promise<T | undefined>;
  /**
   * The lock's folder, created if missing. On the volume of the locked thing, it is shared by processes with
   * another home, such as in other containers. By default it is the user's own folder for that name.
   */
  readonly folder?: string | undefined;
  readonly subject?: string;
}

type LockContext = Pick<Context, 'clock' | 'machine' | 'signal' | 'lockRhythm'>;

export const RHYTHM: LockRhythm = { beat: 4_000, silence: 20_000 };
const CONDITION_INTERVAL_MS = 200;

/**
 * Runs `work` while no other process of this user runs work under the same name, whatever their working
 * directory, `$HOME`, `XDG_*` or `TMPDIR`. A dead holder is replaced at once. A visible holder keeps the lock
 * however long it is suspended; an invisible one is replaced after 20 s without a sign of life. Throws
 * `LockedError` naming the holder after waiting in vain, `UsageError` if the lock's folder is unusable, and
 * the reason of the context's signal when it aborts the wait.
 */
export async function withLock<T>(
  name: string,
  context: LockContext,
  work: (lock: HeldLock) => Promise<T>,
  options: LockOptions<T> = {},
): Promise<T> {
  const taken = await take(name, context, options);
  if ('result' in taken) return taken.result;
  try {
    return await work(taken);
  } finally {
    await taken.release();
  }
}

export async function takeLock(
  name: string,
  context: LockContext,
  options: Omit<LockOptions, 'meanwhile'> = {},
): Promise<TakenLock> {
  return (await take<never>(name, context, options)) as TakenLock;
}

/** Returns a context for long work under a lock, whose signal also aborts when the lock is lost. */
export function whileHeld<Part extends Pick<Context, 'signal'>>(
  context: Part,
  { lost }: Pick<HeldLock, 'lost'>,
): Part {
  const signal = AbortSignal.any([context.signal, lost]);
  // Every request and wait in progress listens to this signal.
  setMaxListeners(0, signal);
  return { ...context, signal };
}

async function take<T>(
  name: string,
  context: LockContext,
  { subject = 'the sign-in', ...options }: LockOptions<T>,
): Promise<TakenLock | { readonly result: T }> {
  const { machine } = context;
  const locate = async () =>
    options.folder === undefined ? await ownFolder(name, machine) : givenFolder(options.folder);
  const folder = await locate();
  const explain = (error: unknown): never => {
    throw explained(error, folder);
  };
  // Machines and containers with another home may share a given folder.
  const isShared = options.folder !== undefined;
  const self = await describeSelf(machine);
  const place = { folder, isShared, remake: locate };
  const claim = await waitAndClaim(place, self, context, { subject, ...options }).catch(explain);
  if ('result' in claim) return claim;
  await tidyLock(folder, claim.number).catch(() => undefined);
  const lost = new AbortController();
  let beating = Promise.resolve();
  const look = async () => {
    // If one beat fails, others follow; until then the last one counts.
    await claim.beat().catch(() => undefined);
    if (!(await claim.isHeld().catch(() => true))) {
      const message = `another hooktrail process took over ${subject}, since this one gave no sign of life`;
      lost.abort(new LockedError(message, 'run the command again when that process has ended'));
    }
  };
  const { beat } = context.lockRhythm ?? RHYTHM;
  const timer = setInterval(() => {
    beating = beating.then(look);
  }, beat).unref();
  return {
    holder: self,
    conditionOf: async (holder) => {
      const condition = await conditionOf(holder, machine, isShared);
      const wasSilent = condition === 'unknown' && holder.nonce === claim.replaced?.nonce;
      return wasSilent ? 'dead' : condition;
    },
    lost: lost.signal,
    isStillHeld: () => claim.isHeld().catch(explain),
    release: async () => {
      clearInterval(timer);
      await beating;
      await claim.release().catch(() => undefined);
    },
  };
}

interface LockPlace {
  readonly folder: string;
  readonly isShared: boolean;
  readonly remake: () => Promise<unknown>;
}

type Taken = Claim & { readonly replaced: Holder | undefined };

async function waitAndClaim<T>(
  { folder, isShared, remake }: LockPlace,
  self: Holder,
  { clock, machine, signal, lockRhythm = RHYTHM }: LockContext,
  { patience = 60_000, meanwhile, subject }: LockOptions<T> & { readonly subject: string },
): Promise<Taken | { readonly result: T }> {
  const watch = new HolderWatch(clock.now());
  /** Recreates a removed folder, and resolves to undefined then. */
  const inFolder = <Found>(looking: Promise<Found>): Promise<Found | undefined> =>
    looking.catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      await remake();
      return undefined;
    });
  for (;;) {
    const latest = (await inFolder(readLock(folder))) ?? { number: 0, text: '', released: true };
    const hasChanged = watch.hasChanged(latest, clock.now());
    const result = hasChanged ? await meanwhile?.() : undefined;
    if (result !== undefined) return { result };
    await watch.see(latest, (holder) => conditionOf(holder, machine, isShared));
    if (watch.isGone(lockRhythm.silence)) {
      const claim = await inFolder(claimLock(folder, latest.number, self));
      if (claim) return { ...claim, replaced: watch.holder };
    } else if (watch.waitedMs >= patience && watch.isCertain) {
      throw outOfPatience(watch.holder, watch.condition, machine, patience, subject);
    }
    // Jitter spreads the requests of many waiters.
    await clock.sleep(15 + clock.jitter() * 35, signal);
  }
}

/** A waiter's view of the holder, by the waiter's own clock: clocks are never compared. */
class HolderWatch {
  condition: HolderCondition = 'unknown';
  waitedMs = 0;
  #seen: LockState | undefined;
  #lookedAt: number;
  /** Milliseconds between the last two looks. */
  #passedMs = 0;
  #silenceMs = 0;
  #hasBeaten = false;
  /** Milliseconds waited when the condition was last checked. */
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(now: number) {
    this.#lookedAt = now;
  }

  /** Returns true if the lock has changed hands since the last look, or is free now. */
  hasChanged(latest: LockState, now: number): boolean {
    this.#passedMs = Math.min(Math.max(now - this.#lookedAt, 0), LONGEST_LOOK_MS);
    this.#lookedAt = now;
    this.waitedMs += this.#passedMs;
    return this.#seen !== undefined && !this.#isSame(latest);
  }

  #isSame(latest: LockState): boolean {
    return this.#seen?.number === latest.number && !latest.released;
  }

  async see(latest: LockState, ask: (holder: Holder) => Promise<HolderCondition>): Promise<void> {
    const isSame = this.#isSame(latest);
    const isSilent = isSame && this.#seen?.text === latest.text;
    this.#silenceMs = isSilent ? this.#silenceMs + this.#passedMs : 0;
    this.#hasBeaten = isSame && (this.#hasBeaten || !isSilent);
    if (!isSame) this.#askedAtMs = Number.NEGATIVE_INFINITY;
    this.#seen = latest.released ? undefined : latest;
    if (this.waitedMs - this.#askedAtMs < CONDITION_INTERVAL_MS) return;
    this.#askedAtMs = this.waitedMs;
    this.condition = this.holder ? await ask(this.holder) : 'unknown';
  }

  get holder(): Holder | undefined {
    return this.#seen?.holder;
  }

  /** True if nobody holds the lock. An invisible holder is gone after this much silence. */
  isGone(silenceMs: number): boolean {
    if (this.#seen === undefined || this.condition === 'dead') return true;
    return this.condition === 'unknown' && this.#silenceMs >= silenceMs;
  }

  /** True if the holder is certainly alive: it is visible, or has given a sign of life. */
  get isCertain(): boolean {
    return this.condition !== 'unknown' || this.#hasBeaten;
  }
}

/**
 * Most milliseconds that one look adds to a silence: a suspended waiter has seen nothing, and a clock may be
 * set.
 */
const LONGEST_LOOK_MS = 1_000;

function outOfPatience(
  holder: Holder | undefined,
  condition: HolderCondition,
  machine: Machine,
  patience: number,
  subject: string,
): LockedError {
  const kept = `kept ${subject} locked for ${Math.round(patience / 1000)} s`;
  if (!holder) return new LockedError(`another hooktrail process ${kept}`, 'run the command again');
  const host = holder.hostname === machine.hostname ? '' : ` on ${holder.hostname}`;
  const other = `${holder.pid}${host}`;
  const isSuspended = condition === 'suspended';
  return new LockedError(
    `another hooktrail process (${other}) ${kept}${isSuspended ? ': it is suspended' : ''}`,
    isSuspended
      ? `continue it (\`fg\`, or \`kill -CONT ${holder.pid}\`), or end it`
      : `wait for process ${other}, or end it`,
    other,
  );
}

/** Error codes of a home that cannot hold the locks: missing, not writable, or on a read-only file system. */
const UNWRITABLE = new Set(['ENOENT', 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR']);

async function givenFolder(folder: string): Promise<string> {
  try {
    makeOwnFolder(folder);
    await access(folder, constants.W_OK | constants.X_OK);
    return folder;
  } catch (error) {
    throw explained(error, folder);
  }
}

/**
 * Creates the folder of one lock if needed. Its path depends only on the user's entry in the user database:
 * processes with a different `$HOME`, `XDG_*` or `TMPDIR` have to meet at the same lock.
 */
async function ownFolder(name: string, user: Machine): Promise<string> {
  const digest = hash('sha256', name).slice(0, 32);
  const home = path.join(user.userHome, '.hooktrail', 'locks', digest);
  try {
    makeFolder(home);
    await access(home, constants.W_OK | constants.X_OK);
    return home;
  } catch (error) {
    if (user.platform === 'win32' || !UNWRITABLE.has(String((error as NodeJS.ErrnoException).code)))
      throw explained(error, home);
  }
  // Users without a writable home: service accounts, read-only containers.
  return await ownFolderInTmp(user, digest).catch((error) => {
    throw unusable(path.join(user.sharedFolder, `hooktrail-${user.userId}`), error);
  });
}

function explained(error: unknown, folder: string): unknown {
  const isFault = error instanceof Error && 'syscall' in error;
  return isFault ? unusable(folder, error as NodeJS.ErrnoException) : error;
}

function unusable(folder: string, cause: NodeJS.ErrnoException): UsageError {
  return new UsageError(
    `the folder ${folder}, where hooktrail's processes lock each other out, cannot be used: ${faultText(cause)}`,
    { next: SHORTAGE_STEPS[String(cause.code)] ?? 'make it a folder that this user can write to', cause },
  );
}
