import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { advise, hooktrail } from '../advice.ts';
import type { Context, Machine } from '../context.ts';
import { type ErrorParts, faultText, isDiskFull, ServiceError, UsageError, unusableFile } from '../errors.ts';
import { configFolder, makeFolder, refusePlanted } from '../files/folders.ts';
import { followLinks, startReplacement, syncFolder, UnsyncedError } from '../files/whole-files.ts';
import { LockedError, type TakenLock, takeLock } from '../lock/lock.ts';
import type { EventKey } from './delivery.ts';
import type { EventKeys } from './event-keys.ts';
import { RECORD_BYTES, type Records, readRecords, recordLine } from './journal-records.ts';

/*
 * A journal is a text file of records (`journal-records.ts`). Lines that begin with `#` say when a process
 * opened the journal; each changes the file's size, from which an earlier holder learns that it has lost the
 * journal.
 */

type JournalContext = Pick<Context, 'clock' | 'machine' | 'signal'>;

/** `accepted`: forwarded now. `duplicate`: forwarded before. `refused`: the handler did not accept it. */
export type Outcome = 'accepted' | 'duplicate' | 'refused';

interface JournalOptions {
  /** Milliseconds after which ids are forgotten; absent: never. */
  readonly keep?: number | undefined;
  /** Called before a wait for another process that has the journal; absent: there is no wait. */
  readonly onWait?: (error: LockedError) => void;
}

/**
 * Opens a journal. Throws a `UsageError` that names the flag if the file cannot be used, `LockedError` if
 * another process keeps it.
 */
export async function openJournal(
  file: string,
  { keep = Number.POSITIVE_INFINITY, onWait }: JournalOptions,
  context: JournalContext,
): Promise<Journal> {
  const { machine } = context;
  return await usingFile(file, async () => {
    const real = await realJournalPath(file, machine);
    // Nothing is put beside a file that is no journal.
    if (fs.existsSync(real)) fs.closeSync(openChecked(real, fs.constants.O_RDONLY, machine));
    const place = { folder: `${real}.lock`, subject: `the journal ${real}` };
    checkLockFolder(place.folder, machine);
    makeFolder(place.folder);
    const lock = await takeLock('journal', context, { ...place, patience: 0 }).catch((error) => {
      if (!(error instanceof LockedError && onWait)) throw error;
      onWait(error);
      return takeLock('journal', context, place);
    });
    try {
      return await loadJournal(real, lock, keep, context);
    } catch (error) {
      await lock.release();
      throw error;
    }
  });
}

/** Returns the records that are now in a journal; undefined if there is no journal. Changes nothing. */
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
 * Returns the path of the default journal of a profile, or of one subscription, and creates its folder: what
 * the handler of one subscription took does not count as taken by that of another. Throws `UsageError` if the
 * folder cannot be created.
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

export type Journal = Awaited<ReturnType<typeof loadJournal>>;

/**
 * Records on disk which events the handler has accepted. A journal has one writer, which holds a lock beside
 * the file while it is open. An event is acknowledged only when its line is on the disk, so it survives a
 * crash and a power failure. A process that lost the lock while suspended notices that the file was changed
 * before it forwards more. Loading cuts off a torn end, forgets old ids, and syncs what a process that
 * crashed may have left in the system's cache.
 */
async function loadJournal(file: string, lock: TakenLock, keep: number, context: JournalContext) {
  const { clock, machine } = context;
  const failure = new AbortController();
  const failed = AbortSignal.any([lock.lost, failure.signal]);
  /** Deliveries in progress; a second copy waits for the first one's outcome. */
  const running = new Map<EventKey, Promise<Outcome>>();
  /**
   * The records of what the handler has taken and a full disk has not. The handler gets nothing more
   * meanwhile.
   */
  let unwritten = '';
  let forgotAt = clock.now();
  let fd = open();
  const { ids, damaged, end } = readRecords(fd);
  if (fs.fstatSync(fd).size > end) fs.ftruncateSync(fd, end);
  /** The size up to which this process has written or read the file. */
  let size = end;
  const records = shareWrites<string>(async (added) => {
    failed.throwIfAborted();
    await append(unwritten + added.join(''));
  });
  await forgetOld();
  await append(openedLine(context));
  await fdatasync(fd);
  await syncFolder(path.dirname(file));

  function open(): number {
    const { O_RDWR, O_CREAT, O_APPEND, O_DSYNC } = fs.constants;
    return openChecked(file, O_RDWR | O_CREAT | O_APPEND | (syncsWrites(machine) ? O_DSYNC : 0), machine);
  }

  /** Appends to the file; the text is on the disk when this resolves. Throws `ServiceError`. */
  async function append(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    try {
      // On a full disk a write may be cut short before the next one fails.
      for (let written = 0; written < bytes.length; ) {
        const { bytesWritten } = await write(fd, bytes, written, bytes.length - written, null);
        written += bytesWritten;
        size += bytesWritten;
      }
      if (!syncsWrites(machine)) await fdatasync(fd);
      unwritten = '';
    } catch (error) {
      const message = `the journal ${file} cannot be written: ${faultText(error)}`;
      const fault = error as NodeJS.ErrnoException;
      if (isDiskFull(fault) || fault.code === 'EFBIG') {
        unwritten = text;
        const next = 'free some space; deliveries are refused until then, and the service sends them again';
        throw new ServiceError(message, { cause: error, next });
      }
      // A disk that failed may also have lost earlier writes: nothing can be promised any more.
      throw giveUp(message, { cause: error });
    }
    checkFile();
  }

  /**
   * Forgets ids that are older than `keep`, and rewrites the file if more than a quarter of it is of no use.
   */
  async function forgetOld(): Promise<void> {
    if (Number.isFinite(keep)) ids.forgetBefore(secondsOf(clock.now() - keep));
    const useless = size - ids.size * RECORD_BYTES;
    if (useless <= WORTH_REWRITING_BYTES || useless <= size / 4) return;
    checkFile();
    let written: number;
    try {
      written = await rewriteWith(ids);
    } catch (error) {
      // Without room for another, the old one stays.
      if (!(error instanceof UnsyncedError)) return;
      throw giveUp(`the journal ${file} cannot be synced: ${error.message}`, { cause: error });
    }
    const replaced = fd;
    fd = open();
    fs.closeSync(replaced);
    size = written;
  }

  /** Replaces the file by one with these ids. Returns its size. Throws as `startReplacement` does. */
  async function rewriteWith(ids: EventKeys): Promise<number> {
    const replacement = await startReplacement(file, 0o600);
    let written = 0;
    let lines = openedLine(context);
    const writeLines = async () => {
      await replacement.handle.write(lines);
      written += lines.length;
      lines = '';
    };
    try {
      for (const record of ids) {
        lines += recordLine(record);
        if (lines.length >= WRITTEN_AT_ONCE_BYTES) await writeLines();
      }
      await writeLines();
      await replacement.finish();
    } catch (error) {
      await replacement.abandon();
      throw error;
    }
    return written;
  }

  /** Throws `ServiceError` if the path now leads to another file, or another program wrote to this one. */
  function checkFile(): void {
    const found = fs.statSync(file, { throwIfNoEntry: false });
    if (found === undefined || identityOf(found) !== identityOf(fs.fstatSync(fd))) {
      throw giveUp(`the journal ${file} was ${found ? 'replaced' : 'removed'} while it was in use`, {
        next: 'do not change the file while hooktrail runs; --keep removes old ids',
      });
    }
    if (found.size === size) return;
    throw giveUp(`another program changed the journal ${file} while it was in use`, {
      next: 'do not change the file while hooktrail runs; start the command again to continue with the intact records',
    });
  }

  /** Nothing is forwarded or acknowledged after this. Returns the error. */
  function giveUp(message: string, parts: ErrorParts): ServiceError {
    const error = new ServiceError(message, parts);
    failure.abort(error);
    return error;
  }

  async function forwardNew(key: EventKey, forward: () => Promise<boolean>): Promise<Outcome> {
    const now = clock.now();
    if (now - forgotAt >= keep / 2) {
      forgotAt = now;
      await records.inTurn(forgetOld);
    }
    failed.throwIfAborted();
    // A write in progress changes the file, and checks it at its end.
    if (!records.areWritten()) checkFile();
    if (unwritten) await records.add('');
    if (ids.has(key)) return 'duplicate';
    // Once the handler has an event, nothing may fail for lack of memory.
    ids.reserve(running.size + 1);
    if (!(await forward())) return 'refused';
    const seconds = secondsOf(clock.now());
    ids.set(key, seconds);
    await records.add(recordLine([key, seconds]));
    return 'accepted';
  }

  /** Resolves when the deliveries that are in progress have ended. */
  async function idle(): Promise<void> {
    await Promise.allSettled(running.values());
  }

  return {
    path: file,
    /** Lines that were neither a record nor a comment when the journal was opened. */
    damaged,
    /** Aborts with the error once the journal can no longer be trusted. */
    failed,
    /** Tells its file from every other one on this machine. */
    get identity(): string {
      return identityOf(fs.fstatSync(fd));
    },
    /** The number of known ids. */
    get size(): number {
      return ids.size;
    },
    has: (key: EventKey): boolean => ids.has(key),
    idle,

    /**
     * Forwards an event with `forward`, unless that was done before, and journals it. Resolves to `accepted`
     * or `duplicate` only when the id is on the disk. `forward` returns whether the handler accepted the
     * event; its errors are rethrown. Throws `ServiceError` if the event could not be journaled.
     */
    async once(key: EventKey, forward: () => Promise<boolean>): Promise<Outcome> {
      const first = running.get(key);
      if (first) {
        const outcome = await first;
        return outcome === 'accepted' ? 'duplicate' : outcome;
      }
      const outcome = forwardNew(key, forward).finally(() => running.delete(key));
      running.set(key, outcome);
      return await outcome;
    },

    /** Waits for deliveries in progress, closes the file and releases the journal for the next process. */
    async close(): Promise<void> {
      await idle();
      if (unwritten) await records.add('').catch(() => undefined);
      await records.inTurn(async () => fs.closeSync(fd));
      await lock.release();
    },
  };
}

/**
 * Writes one thing after the other. What is added in one turn of the event loop, or during a write, shares
 * the next one.
 */
export function shareWrites<Item>(write: (items: readonly Item[]) => Promise<void>) {
  let waiting: Item[] = [];
  /** The write of the waiting items. */
  let next: Promise<void> | undefined;
  let latest: Promise<unknown> = Promise.resolve();
  let underWay = 0;

  /** Runs other work when everything before it is written. */
  async function inTurn(work: () => Promise<void>): Promise<void> {
    underWay++;
    const done = latest.then(work).finally(() => underWay--);
    latest = done.catch(() => undefined);
    await done;
  }

  /** Resolves when the item is written. */
  function add(item: Item): Promise<void> {
    waiting.push(item);
    next ??= inTurn(async () => {
      await setImmediate();
      const items = waiting;
      waiting = [];
      next = undefined;
      await write(items);
    });
    return next;
  }

  /** `areWritten`: true while anything is written, or waits to be. */
  return { add, inTurn, areWritten: () => underWay > 0 };
}

const FIRST_WORDS = '# hooktrail journal';
/** Until journals became text, they were binary and began with this and the number of their format. */
const EARLIER_FIRST_WORDS = 'hooktrail-journal-';
/** What shows that a file is a journal is within these. */
const LONGEST_RECORD_BYTES = 46;
const WRITTEN_AT_ONCE_BYTES = 1024 * 1024;
/** Bytes below which rewriting the file is not worth it. */
const WORTH_REWRITING_BYTES = 64 * 1024;

const write = promisify(fs.write);
const fdatasync = promisify(fs.fdatasync);

/**
 * Returns true where O_DSYNC puts a write on the disk before it returns, in half the time of a write and a
 * sync. Windows lacks the flag; on macOS the data may still be in the drive's cache.
 */
function syncsWrites({ platform }: Machine): boolean {
  return platform === 'linux';
}

function openedLine({ clock, machine }: JournalContext): string {
  return `${FIRST_WORDS}, opened ${new Date(clock.now()).toISOString()} by process ${machine.pid}\n`;
}

function secondsOf(milliseconds: number): number {
  return Math.max(0, Math.floor(milliseconds / 1000));
}

export function identityOf({ dev, ino }: fs.Stats): string {
  return `${dev}/${ino}`;
}

/**
 * Opens a journal's file without following a link, and without the wait for a writer that a FIFO would cause.
 * Throws a `UsageError` that names the flag if it is no journal, or another user's, and otherwise the
 * system's error.
 */
function openChecked(file: string, flags: number, machine: Machine): number {
  const { O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
  const fd = fs.openSync(file, flags | O_NONBLOCK | O_NOFOLLOW, 0o600);
  try {
    const found = fs.fstatSync(fd);
    if (!found.isFile()) throw unusableJournal(file, 'it is not a regular file');
    refuseForeign(file, found, machine);
    const start = Buffer.alloc(LONGEST_RECORD_BYTES);
    const text = start.toString('latin1', 0, fs.readSync(fd, start, 0, start.length, 0));
    // The process that made the file may have been killed while it wrote the first line.
    if (FIRST_WORDS.startsWith(text.slice(0, FIRST_WORDS.length)) || /^[0-9a-f]{32} \d/.test(text)) return fd;
    if (text.startsWith(EARLIER_FIRST_WORDS))
      throw new UsageError(`--journal: ${file} was written by an earlier version of hooktrail`, {
        details: ['its records cannot be read any more: which events the handler has taken is not known'],
        next: 'move it away, and recover with --new-journal: events of the window that the handler has come again',
      });
    if (text.startsWith('\0'))
      throw new UsageError(
        `--journal: ${file} begins with NULs, as a file does that lost its content when the power failed`,
        { next: 'move it away, and recover with --new-journal: events that the handler has come again' },
      );
    throw new UsageError(`--journal: ${file} is not a journal of hooktrail`, {
      next: 'choose another file; this one is left as it is',
    });
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

/** Another user could have written it so that events count as accepted, and could remove it at any time. */
function refuseForeign(file: string, { uid }: fs.Stats, { platform, userId }: Machine): void {
  if (platform === 'win32' || uid === userId || uid === 0) return;
  throw new UsageError(`--journal: ${file} belongs to another user (${uid})`, {
    next: advise`run the command as that user, whose listener can also recover by itself (${hooktrail('webhooks listen --recover')}), or choose another file`,
  });
}

/** Refuses a folder beside the journal that is another user's, or no folder. */
function checkLockFolder(folder: string, machine: Machine): void {
  refusePlanted(folder, '--journal', machine);
  const found = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (!found) return;
  refuseForeign(folder, found, machine);
  if (!found.isDirectory()) throw unusableJournal(folder, 'it is not a folder');
}

/**
 * Returns the journal's path without links, so that all processes lock the same one. Throws the system's
 * error.
 */
export async function realJournalPath(file: string, machine: Machine): Promise<string> {
  refusePlanted(file, '--journal', machine);
  const real = await followLinks(file);
  // The folder has to be there: the lock would make it.
  return path.join(fs.realpathSync(path.dirname(real)), path.basename(real));
}

/** Runs work on a journal's file. An error of the system becomes one that names the flag. */
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

function unusableJournal(file: string, why: string, cause?: Error) {
  const next = 'choose a file in a folder that exists and is writable';
  return unusableFile(`--journal: ${file} cannot be used: ${why}`, next, cause);
}
