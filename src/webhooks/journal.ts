import fs from 'node:fs';
import path from 'node:path';
import type { Clock, Context, Machine } from '../context.ts';
import { faultText, UsageError } from '../errors.ts';
import { configFolder, makeFolder, refusePlanted } from '../files/folders.ts';
import { followLinks } from '../files/whole-files.ts';
import type { EventKey, EventKeys } from '../ids/event-keys.ts';
import { LockedError, type TakenLock, takeLock } from '../lock/lock.ts';
import type { HandlerAnswer } from './forward.ts';
import { JournalFile, openChecked, refuseForeign, unusableJournal } from './journal-file.ts';
import { type Records, readRecords, recordLine } from './journal-records.ts';

type JournalContext = Pick<Context, 'clock' | 'machine' | 'signal'>;

/** `accepted`: forwarded now. `duplicate`: forwarded before. `refused`: not accepted by the handler. */
export type Outcome = 'accepted' | 'duplicate' | 'refused';

export interface Acceptance {
  readonly outcome: Outcome;
  readonly answer?: HandlerAnswer | undefined;
  readonly error?: Error | undefined;
}

interface JournalOptions {
  /** Milliseconds after which ids are forgotten; by default never. */
  readonly keep?: number | undefined;
  /** Called before waiting for another process that holds the journal; without it there is no wait. */
  readonly onWait?: (error: LockedError) => void;
}

/**
 * Opens a journal. Throws a `UsageError` that names the flag if the file cannot be used, `LockedError` if
 * another process holds it.
 */
export async function openJournal(
  file: string,
  { keep = Number.POSITIVE_INFINITY, onWait }: JournalOptions,
  context: JournalContext,
): Promise<Journal> {
  const { machine } = context;
  return await usingFile(file, async () => {
    const real = await realJournalPath(file, machine);
    // Create no lock next to a file that is not a journal.
    if (fs.existsSync(real)) fs.closeSync(openChecked(real, fs.constants.O_RDONLY, machine));
    const place = { folder: `${real}.lock`, subject: `the journal ${real}` };
    checkLockFolder(place.folder, machine);
    const lock = await takeLock('journal', context, { ...place, patience: 0 }).catch((error) => {
      if (!(error instanceof LockedError && onWait)) throw error;
      onWait(error);
      return takeLock('journal', context, place);
    });
    try {
      return await Journal.load(real, lock, keep, context);
    } catch (error) {
      await lock.release();
      throw error;
    }
  });
}

/** Reads a journal's records without changing anything; undefined if there is no journal. */
export async function readJournal(file: string, machine: Machine): Promise<Records | undefined> {
  if (!fs.existsSync(file)) return undefined;
  return await usingFile(file, async () => {
    const fd = openChecked(await realJournalPath(file, machine), fs.constants.O_RDONLY, machine);
    try {
      return readRecords(fd);
    } finally {
      fs.closeSync(fd);
    }
  });
}

/**
 * Returns the path of the profile's or subscription's default journal, and creates its folder. Subscriptions
 * have journals of their own, since an event taken by one handler still counts as missed by another. Throws
 * `UsageError` if the folder cannot be created.
 */
export function defaultJournal(
  profile: string,
  context: Pick<Context, 'environment' | 'machine'>,
  subscription?: string,
): string {
  const folder = path.join(configFolder(context), 'webhooks');
  try {
    makeFolder(folder);
  } catch (error) {
    throw new UsageError(`cannot create a journal in ${folder}: ${faultText(error)}`, {
      next: 'make the folder writable, or choose a file elsewhere with --journal',
      cause: error,
    });
  }
  const owner = subscription === undefined ? profile : `${profile}~${subscription.toLowerCase()}`;
  return path.join(folder, `${owner}.journal`);
}

/**
 * Records on disk which events the handler has accepted. A journal has one writer, which holds a lock next to
 * the file while it is open. An event is acknowledged only when its line is on the disk, so the record
 * survives a crash or a power failure. A process that lost the lock while suspended notices the changed file
 * before it forwards more. Loading cuts off a torn end, forgets old ids, and syncs what a crashed process may
 * have left in the system's cache.
 */
export class Journal {
  readonly damaged: number;
  readonly #file: JournalFile;
  readonly #lock: TakenLock;
  readonly #ids: EventKeys;
  readonly #keep: number;
  readonly #clock: Clock;
  #forgotAt: number;
  /** Deliveries in progress; a second copy waits for the outcome of the first. */
  readonly #running = new Map<EventKey, Promise<Outcome>>();

  private constructor(
    file: JournalFile,
    { ids, damaged }: Pick<Records, 'ids' | 'damaged'>,
    lock: TakenLock,
    keep: number,
    clock: Clock,
  ) {
    this.damaged = damaged;
    this.#file = file;
    this.#lock = lock;
    this.#ids = ids;
    this.#keep = keep;
    this.#clock = clock;
    this.#forgotAt = clock.now();
  }

  /** Loads a journal whose lock is taken. Throws the system's error, or `ServiceError`. */
  static async load(file: string, lock: TakenLock, keep: number, context: JournalContext): Promise<Journal> {
    const [opened, records] = JournalFile.open(file, lock.lost, context);
    const journal = new Journal(opened, records, lock, keep, context.clock);
    await journal.#forgetOld();
    await opened.begin();
    return journal;
  }

  get path(): string {
    return this.#file.path;
  }

  get failed(): AbortSignal {
    return this.#file.failed;
  }

  get identity(): string {
    return this.#file.identity;
  }

  get size(): number {
    return this.#ids.size;
  }

  has(key: EventKey): boolean {
    return this.#ids.has(key);
  }

  /**
   * Forwards an event and journals it, unless it was forwarded before. Resolves to `accepted` or `duplicate`
   * only when the id is on the disk. `forward` returns true if the handler accepted the event; its errors are
   * rethrown. Throws `ServiceError` if the event could not be journaled.
   */
  async once(key: EventKey, forward: () => Promise<boolean>): Promise<Outcome> {
    const first = this.#running.get(key);
    if (first) {
      const outcome = await first;
      return outcome === 'accepted' ? 'duplicate' : outcome;
    }
    const outcome = this.#forwardNew(key, forward).finally(() => this.#running.delete(key));
    this.#running.set(key, outcome);
    return await outcome;
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }

  async close(): Promise<void> {
    await this.idle();
    await this.#file.close();
    await this.#lock.release();
  }

  async #forwardNew(key: EventKey, forward: () => Promise<boolean>): Promise<Outcome> {
    await this.#forgetInTime();
    await this.#file.requireWritable();
    if (this.#ids.has(key)) return 'duplicate';
    // Reserve memory now: once the handler has the event, nothing may fail for lack of it.
    this.#ids.reserve(this.#running.size + 1);
    if (!(await forward())) return 'refused';
    const seconds = secondsOf(this.#clock.now());
    this.#ids.set(key, seconds);
    await this.#file.add(recordLine([key, seconds]));
    return 'accepted';
  }

  async #forgetInTime(): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#forgotAt < this.#keep / 2) return;
    this.#forgotAt = now;
    await this.#file.inTurn(() => this.#forgetOld());
  }

  async #forgetOld(): Promise<void> {
    this.#ids.forgetBefore(secondsOf(this.#clock.now() - this.#keep));
    await this.#file.rewriteIfWorthIt(this.#ids);
  }
}

function secondsOf(milliseconds: number): number {
  return Math.max(0, Math.floor(milliseconds / 1000));
}

function checkLockFolder(folder: string, machine: Machine): void {
  refusePlanted(folder, '--journal', machine);
  const found = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (!found) return;
  refuseForeign(folder, found, machine);
  if (!found.isDirectory()) throw unusableJournal(folder, 'it is not a folder');
}

/**
 * Returns the journal's path with links resolved, so that all processes lock the same file. Throws the
 * system's error.
 */
export async function realJournalPath(file: string, machine: Machine): Promise<string> {
  refusePlanted(file, '--journal', machine);
  const real = await followLinks(file);
  // The folder has to exist: taking the lock would create it.
  return path.join(fs.realpathSync(path.dirname(real)), path.basename(real));
}

async function usingFile<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw cause instanceof Error && 'syscall' in cause
      ? unusableJournal(path.resolve(file), faultText(cause), cause)
      : error;
  }
}
