import { setImmediate } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { makeFolder } from '../files/folders.ts';
import { refusePlanted } from '../files/trusted-path.ts';
import { LockedError, type TakenLock, takeLock, UnusableLockError } from '../lock/lock.ts';
import type { EventKey } from './event-key.ts';
import type { IdSet } from './id-set.ts';
import { isOfSystem, type JournalContent, openContent, secondsOf } from './journal-content.ts';
import {
  JournalError,
  type JournalFile,
  journalExists,
  realJournalPath,
  unusableJournal,
} from './journal-file.ts';
import { journalRecord, Kind } from './journal-records.ts';

type Surroundings = Pick<Context, 'clock' | 'machine' | 'signal'>;

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

const PATIENCE = 60_000;
/** The interval at which the file and the age of ids are checked while nothing is delivered. */
const WATCH = 500;

interface Waiting {
  readonly record: Buffer;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Records on disk which events the handler has accepted. A journal has one writer, which holds a lock beside the file
 * while it is open. An id counts as known only when its record is on the disk, so acknowledged events survive a crash
 * and a power failure. A process that lost the lock because it was suspended notices that the file has grown before it
 * forwards or acknowledges anything more.
 */
export class Journal {
  /** Bytes that belonged to no record when the journal was opened. */
  readonly damaged: number;
  /** Rejects with a `JournalError` once the journal can no longer be trusted; never resolves. */
  readonly failed: Promise<never>;
  readonly #context: Surroundings;
  readonly #keep: number | undefined;
  readonly #lock: TakenLock;
  #file: JournalFile;
  #ids: IdSet;
  /** The time at which ids were last forgotten. */
  #forgotAt: number;
  /** Deliveries in progress; a second copy waits for the first one's outcome. */
  readonly #running = new Map<string, Promise<Outcome>>();
  /** Records for the next write. Those that arrive during a write share the next one. */
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #failure: JournalError | undefined;
  #fail: (error: JournalError) => void = () => {};
  readonly #timer: NodeJS.Timeout;

  constructor(
    { file, ids, damaged }: JournalContent,
    lock: TakenLock,
    keep: number | undefined,
    context: Surroundings,
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
    this.#timer = setInterval(() => void this.#watch(), WATCH);
    this.#timer.unref();
  }

  get path(): string {
    return this.#file.path;
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
    const text = key.toString('latin1');
    const first = this.#running.get(text);
    if (first) {
      const outcome = await first;
      return outcome === 'accepted' ? 'duplicate' : outcome;
    }
    const running = this.#once(key, forward);
    this.#running.set(text, running);
    try {
      return await running;
    } finally {
      this.#running.delete(text);
    }
  }

  /** Waits for deliveries in progress, closes the file and releases the journal for the next process. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.allSettled(this.#running.values());
    while (this.#writing) await this.#writing;
    this.#file.close();
    await this.#lock.release();
  }

  /** Forgets ids that are older than `keep`, at most once per half of that time. Deliveries wait meanwhile. */
  async forget(): Promise<void> {
    const now = this.#context.clock.now();
    if (this.#keep === undefined || now - this.#forgotAt < this.#keep / 2) return;
    this.#forgotAt = now;
    while (this.#writing) await this.#writing;
    this.#writing = this.#rewrite();
    await this.#writing;
  }

  async #once(key: EventKey, forward: () => Promise<boolean>): Promise<Outcome> {
    this.#check(() => this.#file.checkSize());
    if (this.#ids.has(key)) return 'duplicate';
    if (!(await forward())) return 'refused';
    const record = journalRecord(Kind.done, key, secondsOf(this.#context.clock.now()));
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ record, resolve, reject });
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
        await this.#file.append(Buffer.concat(group.map(({ record }) => record)));
        for (const { record } of group) this.#ids.add(record, 1);
        for (const { resolve } of group) resolve();
      } catch (error) {
        if (error instanceof JournalError && error.isFatal) this.#end(error);
        for (const { reject } of group) reject(error);
      }
    }
    this.#writing = undefined;
  }

  async #rewrite(): Promise<void> {
    try {
      const { path: file } = this.#file;
      this.#file.check();
      this.#file.close();
      const { file: renewed, ids } = await openContent(file, this.#keep, this.#context);
      this.#file = renewed;
      this.#ids = ids;
    } catch (error) {
      this.#end(error);
    }
    this.#writing = this.#waiting.length > 0 ? this.#write() : undefined;
  }

  async #watch(): Promise<void> {
    if (this.#failure || this.#writing) return;
    try {
      this.#check(() => this.#file.check());
      await this.forget();
    } catch (error) {
      this.#end(error);
    }
  }

  #check(look: () => void): void {
    if (this.#failure) throw this.#failure;
    // The size changes while a record is written, and the write checks it at the end.
    if (this.#writing) return;
    try {
      look();
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
 * Opens a journal. Creates it if it is missing, cuts off a torn end, and rewrites the file if more than a quarter of it
 * is no longer used. Throws a `UsageError` that names the flag if the file cannot be used, `LockedError` if another
 * process keeps it.
 */
export async function openJournal(
  file: string,
  { keep, patience = PATIENCE, onWait }: JournalOptions,
  context: Surroundings,
): Promise<Journal> {
  const real = realJournalPath(file);
  const folder = `${real}.lock`;
  refusePlanted(file, '--journal', context.machine);
  refusePlanted(folder, '--journal', context.machine);
  const place = { folder, subject: `the journal ${real}` };
  try {
    journalExists(real);
    makeFolder(folder);
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
    throw isOfSystem(error) ? unusableJournal(real, error) : error;
  }
}
