import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { advise, hooktrail } from '../advice.ts';
import type { Context, Machine } from '../context.ts';
import { type ErrorParts, faultText, isDiskFull, ServiceError, UsageError, unusableFile } from '../errors.ts';
import { startReplacement, syncFolder, UnsyncedError } from '../files/whole-files.ts';
import type { EventKeys } from '../ids/event-keys.ts';
import { RECORD_BYTES, type Records, readRecords, recordLine } from './journal-records.ts';
import { shareWrites } from './write-queue.ts';

/*
 * A journal is a text file of records (`journal-records.ts`). Each process adds a line that begins with `#`
 * when it opens the journal. This changes the file's size, which shows an earlier holder that it has lost the
 * journal.
 */

type JournalContext = Pick<Context, 'clock' | 'machine'>;

/**
 * A journal's file, whose lock this process holds. Appended lines are on the disk when the append resolves;
 * changes by other programs are detected; and the file is rewritten when much of it is obsolete.
 */
export class JournalFile {
  readonly path: string;
  /** Aborts with the error when the file can no longer be trusted, or the lock is lost. */
  readonly failed: AbortSignal;
  readonly #failure = new AbortController();
  readonly #context: JournalContext;
  readonly #writes = shareWrites<string>((lines) => this.#writeWaiting(lines));
  #fd: number;
  /** The size up to which this process has read or written the file, to detect writes by others. */
  #size: number;
  /** Lines that a full disk did not take, though the handler took their events. */
  #unwritten = '';

  private constructor(file: string, fd: number, size: number, lost: AbortSignal, context: JournalContext) {
    this.path = file;
    this.failed = AbortSignal.any([lost, this.#failure.signal]);
    this.#context = context;
    this.#fd = fd;
    this.#size = size;
  }

  /**
   * Opens or creates the file, reads its records, and cuts off a torn end. Throws the system's error, or
   * `UsageError` if the file is not a journal.
   */
  static open(file: string, lost: AbortSignal, context: JournalContext): [JournalFile, Records] {
    const fd = openToAppend(file, context.machine);
    const records = readRecords(fd);
    if (fs.fstatSync(fd).size > records.end) fs.ftruncateSync(fd, records.end);
    return [new JournalFile(file, fd, records.end, lost, context), records];
  }

  /**
   * Marks the file as opened by this process, and syncs what a crashed one may have left in the system's
   * cache.
   */
  async begin(): Promise<void> {
    await this.#append(openedLine(this.#context));
    await fdatasync(this.#fd);
    await syncFolder(path.dirname(this.path));
  }

  get identity(): string {
    return identityOf(fs.fstatSync(this.#fd));
  }

  add(line: string): Promise<void> {
    return this.#writes.add(line);
  }

  inTurn(work: () => Promise<void>): Promise<void> {
    return this.#writes.inTurn(work);
  }

  /**
   * Throws if the file can no longer be trusted, or its disk is still full: lines of events that the handler
   * took come first.
   */
  async requireWritable(): Promise<void> {
    this.failed.throwIfAborted();
    // A write in progress changes the file's size, and checks it at its end.
    if (!this.#writes.areWritten()) this.#check();
    if (this.#unwritten) await this.#writes.add('');
  }

  async rewriteIfWorthIt(ids: EventKeys): Promise<void> {
    const useless = this.#size - ids.size * RECORD_BYTES;
    if (useless <= WORTH_REWRITING_BYTES || useless <= this.#size / 4) return;
    this.#check();
    let written: number;
    try {
      written = await this.#rewriteWith(ids);
    } catch (error) {
      // Without space for the new file, the old one stays.
      if (!(error instanceof UnsyncedError)) return;
      throw this.#giveUp(`the journal ${this.path} cannot be synced: ${error.message}`, { cause: error });
    }
    const replaced = this.#fd;
    this.#fd = openToAppend(this.path, this.#context.machine);
    fs.closeSync(replaced);
    this.#size = written;
  }

  async close(): Promise<void> {
    if (this.#unwritten) await this.#writes.add('').catch(() => undefined);
    await this.#writes.inTurn(async () => fs.closeSync(this.#fd));
  }

  async #writeWaiting(lines: readonly string[]): Promise<void> {
    this.failed.throwIfAborted();
    await this.#append(this.#unwritten + lines.join(''));
  }

  /** Resolves when the text is on the disk. Throws `ServiceError`. */
  async #append(text: string): Promise<void> {
    try {
      await this.#writeWhole(Buffer.from(text));
      this.#unwritten = '';
    } catch (error) {
      throw this.#writeFailure(error as NodeJS.ErrnoException, text);
    }
    this.#check();
  }

  async #writeWhole(bytes: Buffer): Promise<void> {
    // On a full disk a write may be cut short before the next one fails.
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await write(this.#fd, bytes, written, bytes.length - written, null);
      written += bytesWritten;
      this.#size += bytesWritten;
    }
    if (!syncsWrites(this.#context.machine)) await fdatasync(this.#fd);
  }

  #writeFailure(fault: NodeJS.ErrnoException, text: string): ServiceError {
    const message = `the journal ${this.path} cannot be written: ${faultText(fault)}`;
    if (isDiskFull(fault) || fault.code === 'EFBIG') {
      this.#unwritten = text;
      const next = 'free some space; deliveries are refused until then, and the service sends them again';
      return new ServiceError(message, { cause: fault, next });
    }
    // A disk that failed may have lost earlier writes too.
    return this.#giveUp(message, { cause: fault });
  }

  /** Replaces the file by one with these ids and returns its size. Throws as `startReplacement` does. */
  async #rewriteWith(ids: EventKeys): Promise<number> {
    const replacement = await startReplacement(this.path, 0o600);
    let written = 0;
    let lines = openedLine(this.#context);
    const writeLines = async () => {
      // Unlike `write`, this never stops early on a nearly full disk.
      await replacement.handle.appendFile(lines);
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

  #check(): void {
    const found = fs.statSync(this.path, { throwIfNoEntry: false });
    if (found === undefined || identityOf(found) !== this.identity) {
      throw this.#giveUp(
        `the journal ${this.path} was ${found ? 'replaced' : 'removed'} while it was in use`,
        { next: 'do not change the file while hooktrail runs; --keep removes old ids' },
      );
    }
    if (found.size === this.#size) return;
    throw this.#giveUp(`another program changed the journal ${this.path} while it was in use`, {
      next: 'do not change the file while hooktrail runs; start the command again to continue with the intact records',
    });
  }

  /** Returns the error. Nothing is forwarded or acknowledged after this. */
  #giveUp(message: string, parts: ErrorParts): ServiceError {
    const error = new ServiceError(message, parts);
    this.#failure.abort(error);
    return error;
  }
}

const FIRST_WORDS = '# hooktrail journal';
/** A file is recognized as a journal by this many bytes at its start. */
const LONGEST_RECORD_BYTES = 46;
const WRITTEN_AT_ONCE_BYTES = 1024 * 1024;
/** Obsolete bytes below which rewriting the file is not worthwhile. */
const WORTH_REWRITING_BYTES = 64 * 1024;

const write = promisify(fs.write);
const fdatasync = promisify(fs.fdatasync);

/**
 * True where O_DSYNC puts a write on the disk before it returns, in half the time of a write and a sync.
 * Windows lacks the flag; on macOS the data may still be in the drive's cache.
 */
function syncsWrites({ platform }: Machine): boolean {
  return platform === 'linux';
}

function openedLine({ clock, machine }: JournalContext): string {
  return `${FIRST_WORDS}, opened ${new Date(clock.now()).toISOString()} by process ${machine.pid}\n`;
}

function openToAppend(file: string, machine: Machine): number {
  const { O_RDWR, O_CREAT, O_APPEND, O_DSYNC } = fs.constants;
  return openChecked(file, O_RDWR | O_CREAT | O_APPEND | (syncsWrites(machine) ? O_DSYNC : 0), machine);
}

export function identityOf({ dev, ino }: fs.Stats): string {
  return `${dev}/${ino}`;
}

/**
 * Opens a journal's file without following links, and without blocking on a FIFO. Throws a `UsageError` that
 * names the flag if it is not a journal or belongs to another user, and otherwise the system's error.
 */
export function openChecked(file: string, flags: number, machine: Machine): number {
  const { O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
  const fd = fs.openSync(file, flags | O_NONBLOCK | O_NOFOLLOW, 0o600);
  try {
    const found = fs.fstatSync(fd);
    if (!found.isFile()) throw unusableJournal(file, 'it is not a regular file');
    refuseForeign(file, found, machine);
    const start = Buffer.alloc(LONGEST_RECORD_BYTES);
    const text = start.toString('latin1', 0, fs.readSync(fd, start, 0, start.length, 0));
    // The process that created the file may have been killed while it wrote the first line.
    if (FIRST_WORDS.startsWith(text.slice(0, FIRST_WORDS.length)) || /^[0-9a-f]{32} \d/.test(text)) return fd;
    if (text.startsWith('\0'))
      throw new UsageError(`--journal: ${file} begins with NULs: a power failure may have lost its content`, {
        next: 'move it away, and recover with --new-journal: events that the handler has come again',
      });
    throw new UsageError(`--journal: ${file} is not a journal of hooktrail`, {
      next: 'choose another file; this one is left as it is',
    });
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

/** Another user could forge records of accepted events, or remove the file at any time. */
export function refuseForeign(file: string, { uid }: fs.Stats, { platform, userId }: Machine): void {
  if (platform === 'win32' || uid === userId || uid === 0) return;
  throw new UsageError(`--journal: ${file} belongs to another user (${uid})`, {
    next: advise`run the command as that user, whose listener can also recover by itself (${hooktrail('webhooks listen --recover')}), or choose another file`,
  });
}

export function unusableJournal(file: string, why: string, cause?: Error) {
  const next = 'choose a file in a folder that exists and is writable';
  return unusableFile(`--journal: ${file} cannot be used: ${why}`, next, cause);
}
