import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { makeFolder } from '../files/folders.ts';
import { configFolder } from '../files/places.ts';
import { LockedError, type TakenLock, takeLock, UnusableLockError } from '../lock/lock.ts';
import type { EventKey } from './delivery.ts';
import {
  checkLockFolder,
  compacted,
  dropBefore,
  type JournalContent,
  JournalError,
  type JournalFile,
  journalExists,
  openContent,
  realJournalPath,
  recordLine,
  secondsOf,
  unusableJournal,
} from './journal-file.ts';

type JournalContext = Pick<Context, 'clock' | 'machine' | 'signal'>;

/** `accepted`: forwarded now. `duplicate`: forwarded before. `refused`: the handler did not accept it. */
export type Outcome = 'accepted' | 'duplicate' | 'refused';

export interface JournalOptions {
  /** Milliseconds after which ids are forgotten; absent: never. */
  readonly keep?: number | undefined;
  /** Milliseconds to wait for another process that has the journal; absent: 60 s. */
  readonly patience?: number | undefined;
  /** Called once, with the journal's real path, before a wait for another process that has the journal. */
  readonly onWait?: ((error: LockedError, path: string) => void) | undefined;
}

const PATIENCE_MS = 60_000;
/** The interval at which the file and the age of ids are checked while nothing is delivered. */
const WATCH_INTERVAL_MS = 500;

interface WaitingRecord {
  readonly key: EventKey;
  readonly seconds: number;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Records on disk which events the handler has accepted. A journal has one writer, which holds a lock beside the file
 * while it is open. An id counts as known only when its line is on the disk, so acknowledged events survive a crash and
 * a power failure. A process that lost the lock because it was suspended notices that the file was changed before it
 * forwards or acknowledges anything more.
 */
export class Journal {
  /** Lines that were neither a record nor a comment when the journal was opened. */
  readonly damaged: number;
  /** Rejects with a `JournalError` once the journal can no longer be trusted; never resolves. */
  readonly failed: Promise<never>;
  readonly #context: JournalContext;
  readonly #keep: number | undefined;
  readonly #lock: TakenLock;
  #file: JournalFile;
  readonly #ids: Map<EventKey, number>;
  /** The time at which ids were last forgotten. */
  #forgotAt: number;
  /** Deliveries in progress; a second copy waits for the first one's outcome. */
  readonly #running = new Map<EventKey, Promise<Outcome>>();
  /** Records for the next write. Those that arrive during a write share the next one. */
  #waiting: WaitingRecord[] = [];
  #writing: Promise<void> | undefined;
  #failure: JournalError | undefined;
  #fail: (error: JournalError) => void = () => {};
  readonly #timer: NodeJS.Timeout;

  constructor(
    { file, ids, damaged }: JournalContent,
    lock: TakenLock,
    keep: number | undefined,
    context: JournalContext,
  ) {
    this.#file = file;
    this.#ids = ids;
    this.damaged = damaged;
    this.#lock = lock;
    this.#keep = keep;
    this.#context = context;
    this.#forgotAt = context.clock.now();
    this.failed = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined);
    lock.lost.addEventListener('abort', () => this.#end(this.#lost()), { once: true });
    this.#timer = setInterval(() => void this.#watch(), WATCH_INTERVAL_MS);
    this.#timer.unref();
  }

  get path(): string {
    return this.#file.path;
  }

  /** Tells its file from every other one on this machine. */
  get identity(): string {
    return this.#file.identity;
  }

  /** The number of known ids. */
  get size(): number {
    return this.#ids.size;
  }

  has(key: EventKey): boolean {
    return this.#ids.has(key);
  }

  /**
   * Forwards an event with `forward`, unless that was done before, and journals it. Resolves to `accepted` or
   * `duplicate` only when the id is on the disk. `forward` returns whether the handler accepted the event; its errors
   * are rethrown. Throws `JournalError` if the event could not be journaled.
   */
  async once(key: EventKey, forward: () => Promise<boolean>): Promise<Outcome> {
    const first = this.#running.get(key);
    if (first) {
      const outcome = await first;
      return outcome === 'accepted' ? 'duplicate' : outcome;
    }
    const running = this.#once(key, forward);
    this.#running.set(key, running);
    try {
      return await running;
    } finally {
      this.#running.delete(key);
    }
  }

  /**
   * Waits for deliveries in progress, closes the file and releases the journal for the next process. `beforeRelease`
   * runs while the journal is still this process's.
   */
  async close(beforeRelease?: () => Promise<void> | undefined): Promise<void> {
    clearInterval(this.#timer);
    await Promise.allSettled(this.#running.values());
    while (this.#writing) await this.#writing;
    await beforeRelease?.();
    this.#file.close();
    await this.#lock.release();
  }

  /** Forgets ids that are older than `keep`, at most once per half of that time. Deliveries wait meanwhile. */
  async forget(): Promise<void> {
    const now = this.#context.clock.now();
    if (this.#keep === undefined || now - this.#forgotAt < this.#keep / 2) return;
    this.#forgotAt = now;
    while (this.#writing) await this.#writing;
    dropBefore(this.#ids, secondsOf(now - this.#keep));
    this.#writing = this.#compact();
    await this.#writing;
  }

  async #once(key: EventKey, forward: () => Promise<boolean>): Promise<Outcome> {
    this.#check();
    if (this.#ids.has(key)) return 'duplicate';
    if (!(await forward())) return 'refused';
    const seconds = secondsOf(this.#context.clock.now());
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ key, seconds, resolve, reject });
      this.#writing ??= this.#write();
    });
    return 'accepted';
  }

  async #write(): Promise<void> {
    // Records of one turn of the event loop share a write.
    await setImmediate();
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        if (this.#failure) throw this.#failure;
        await this.#file.append(group.map(({ key, seconds }) => recordLine(key, seconds)).join(''));
        for (const { key, seconds } of group) this.#ids.set(key, seconds);
        for (const { resolve } of group) resolve();
      } catch (error) {
        if (error instanceof JournalError && error.isFatal) this.#end(error);
        for (const { reject } of group) reject(error);
      }
    }
    this.#writing = undefined;
  }

  async #compact(): Promise<void> {
    try {
      this.#file.check();
      this.#file = await compacted(this.#file, this.#ids, this.#context);
    } catch (error) {
      this.#end(error);
    }
    this.#writing = this.#waiting.length > 0 ? this.#write() : undefined;
  }

  async #watch(): Promise<void> {
    if (this.#failure || this.#writing) return;
    try {
      this.#check();
      await this.forget();
    } catch (error) {
      this.#end(error);
    }
  }

  #check(): void {
    if (this.#failure) throw this.#failure;
    // The size changes while a record is written, and the write checks it at the end.
    if (this.#writing) return;
    try {
      this.#file.check();
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  #lost(): JournalError {
    return new JournalError(`another hooktrail process took over the journal ${this.path}`, {
      next: 'start the command again; this happens to a process that was suspended for a long time',
    });
  }

  #end(error: unknown): void {
    this.#failure ??=
      error instanceof JournalError
        ? error
        : new JournalError(`the journal ${this.path} failed: ${(error as Error).message}`, { cause: error });
    this.#fail(this.#failure);
  }
}

/**
 * Opens a journal. Throws a `UsageError` that names the flag if the file cannot be used, `LockedError` if another process
 * keeps it.
 */
export async function openJournal(
  file: string,
  { keep, patience = PATIENCE_MS, onWait }: JournalOptions,
  context: JournalContext,
): Promise<Journal> {
  const { machine } = context;
  const real = realJournalPath(file, machine);
  const place = { folder: `${real}.lock`, subject: `the journal ${real}` };
  try {
    journalExists(real, machine);
    checkLockFolder(place.folder, machine);
    makeFolder(place.folder);
    const lock = await takeLock('journal', context, { ...place, patience: 0 }).catch((error) => {
      if (!(error instanceof LockedError) || patience === 0) throw error;
      onWait?.(error, real);
      return takeLock('journal', context, { ...place, patience });
    });
    try {
      return new Journal(await openContent(real, keep, context), lock, keep, context);
    } catch (error) {
      await lock.release();
      throw error;
    }
  } catch (error) {
    // The folder may be read-only, or the disk full.
    if (error instanceof UnusableLockError) throw unusableJournal(real, error.cause ?? error);
    throw error instanceof Error && 'syscall' in error ? unusableJournal(real, error) : error;
  }
}

/**
 * Returns the path of a profile's default journal, and creates its folder. Throws `UsageError` if the folder cannot be
 * created.
 */
export function defaultJournal(profile: string, context: Pick<Context, 'environment' | 'machine'>): string {
  const folder = path.join(configFolder(context), 'webhooks');
  try {
    makeFolder(folder);
  } catch (error) {
    throw new UsageError(`cannot create a journal in ${folder}: ${(error as Error).message}`, {
      next: 'make the folder writable, or choose a file elsewhere with --journal',
      cause: error,
    });
  }
  return path.join(folder, `${profile}.journal`);
}
