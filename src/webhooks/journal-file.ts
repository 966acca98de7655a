import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Context } from '../context.ts';
import { type ErrorParts, ServiceError, UsageError } from '../errors.ts';
import { makeFolder } from '../files/folders.ts';
import { configFolder } from '../files/places.ts';
import { HEADER } from './journal-records.ts';

/** The journal can no longer be trusted, or cannot be written: nothing may be acknowledged. */
export class JournalError extends ServiceError {
  /** False if the next attempt may succeed, as on a disk that was full. */
  readonly isFatal: boolean;

  constructor(message: string, parts: ErrorParts & { readonly isFatal?: boolean } = {}) {
    super(message, parts);
    this.isFatal = parts.isFatal ?? true;
  }
}

const write = promisify(fs.write);
const read = promisify(fs.read);
const fdatasync = promisify(fs.fdatasync);
const CHUNK = 4 * 1024 * 1024;

/** The file of a journal, which only this process writes. It notices when another program changes the file. */
export class JournalFile {
  readonly path: string;
  readonly #fd: number;
  /** True if a write is on the disk when it returns. */
  readonly #syncs: boolean;
  readonly #identity: string;
  /** The size up to which this process has written or read the file. */
  #size: number;
  #closed = false;

  private constructor(file: string, fd: number, syncs: boolean) {
    this.path = file;
    this.#fd = fd;
    this.#syncs = syncs;
    const found = fs.fstatSync(fd);
    this.#identity = identityOf(found);
    this.#size = found.size;
  }

  /** Opens the file, and creates it if it is missing. Throws a `UsageError` that names the flag. */
  static open(file: string, platform: NodeJS.Platform): JournalFile {
    const { O_RDWR, O_CREAT, O_APPEND, O_DSYNC } = fs.constants;
    // With O_DSYNC a write is on the disk when it returns, in half the time of a write and a sync. On Windows the flag
    // is missing; on macOS the data may still be in the drive's cache.
    const syncs = platform === 'linux';
    let fd: number | undefined;
    try {
      fd = fs.openSync(file, O_RDWR | O_CREAT | O_APPEND | (syncs ? O_DSYNC : 0), 0o600);
      if (!fs.fstatSync(fd).isFile()) throw new Error(NOT_A_FILE);
      return new JournalFile(file, fd, syncs);
    } catch (error) {
      if (fd !== undefined) fs.closeSync(fd);
      throw unusableJournal(file, error);
    }
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Appends to the file; the bytes are on the disk when this resolves. Readers skip the remains of a failed write.
   * Throws `JournalError`.
   */
  async append(bytes: Buffer): Promise<void> {
    try {
      // On a full disk a write may be cut short before the next one fails.
      for (let written = 0; written < bytes.length; ) {
        const { bytesWritten } = await write(this.#fd, bytes, written, bytes.length - written, null);
        written += bytesWritten;
        this.#size += bytesWritten;
      }
      if (!this.#syncs) await fdatasync(this.#fd);
    } catch (error) {
      // A disk that failed may also have lost earlier writes: nothing can be promised any more.
      const isFatal = !['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '');
      throw new JournalError(`the journal ${this.path} cannot be written: ${(error as Error).message}`, {
        cause: error,
        isFatal,
        ...(isFatal
          ? {}
          : { next: 'free some space; deliveries are refused until then, and the service sends them again' }),
      });
    }
    this.check();
  }

  /** Syncs the whole file to the disk, including records of an earlier process. */
  async sync(): Promise<void> {
    await fdatasync(this.#fd);
  }

  /** Throws `JournalError` if the path now leads to another file, or another program wrote to this one. */
  check(): void {
    const found = fs.statSync(this.path, { throwIfNoEntry: false });
    const next = 'do not change the file while hooktrail runs; --keep removes old ids';
    if (found === undefined || identityOf(found) !== this.#identity) {
      const change = found ? 'replaced' : 'removed';
      throw new JournalError(`the journal ${this.path} was ${change} while it was in use`, { next });
    }
    if (found.size !== this.#size) throw this.#changed();
  }

  /** As `check`, but without looking at the path, which takes half the time. */
  checkSize(): void {
    if (fs.fstatSync(this.#fd).size !== this.#size) throw this.#changed();
  }

  /** Yields the content from an offset to the end, in pieces. */
  async *pieces(from: number): AsyncGenerator<Buffer> {
    for (let at = from; ; ) {
      const { bytesRead, buffer } = await read(this.#fd, Buffer.allocUnsafe(CHUNK), 0, CHUNK, at);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  /** Cuts the file off at an offset. */
  cut(size: number): void {
    fs.ftruncateSync(this.#fd, size);
    this.#size = size;
  }

  close(): void {
    if (!this.#closed) fs.closeSync(this.#fd);
    this.#closed = true;
  }

  #changed(): JournalError {
    return new JournalError(`another program changed the journal ${this.path} while it was in use`, {
      next: 'do not change the file while hooktrail runs; start the command again to continue with the intact records',
    });
  }
}

function identityOf({ dev, ino }: fs.Stats): string {
  return `${dev}/${ino}`;
}

const NOT_A_FILE = 'it is not a regular file';

/**
 * Returns the journal's path without links, so that all processes lock the same one. Throws a `UsageError` that names
 * the flag.
 */
export function realJournalPath(file: string): string {
  const whole = path.resolve(file);
  try {
    const real = fs.realpathSync(whole);
    if (!fs.statSync(real).isFile()) throw new Error(NOT_A_FILE);
    return real;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusableJournal(whole, error);
  }
  let place: string;
  try {
    place = path.join(fs.realpathSync(path.dirname(whole)), path.basename(whole));
  } catch (error) {
    throw unusableJournal(whole, error);
  }
  // A link to a file that does not exist yet; the code above has ruled out a circle of links.
  const target = linkTarget(place);
  return target === undefined ? place : realJournalPath(path.resolve(path.dirname(place), target));
}

function linkTarget(file: string): string | undefined {
  try {
    return fs.readlinkSync(file);
  } catch {
    return undefined;
  }
}

/**
 * Returns true if the file is a journal, even an empty one. Throws a `UsageError` that names the flag if it is
 * something else.
 */
export function journalExists(file: string): boolean {
  let fd: number;
  try {
    fd = fs.openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw unusableJournal(file, error);
  }
  try {
    if (!fs.fstatSync(fd).isFile()) throw unusableJournal(file, new Error(NOT_A_FILE));
    const found = Buffer.alloc(HEADER.length);
    const length = fs.readSync(fd, found, 0, HEADER.length, 0);
    if (HEADER.subarray(0, length).equals(found.subarray(0, length))) return true;
  } finally {
    fs.closeSync(fd);
  }
  throw new UsageError(`--journal: ${file} is not a journal of this version of hooktrail`, {
    next: 'choose another file; this one is left as it is',
  });
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

export function unusableJournal(file: string, error: unknown): UsageError {
  return new UsageError(`--journal: ${file} cannot be used: ${(error as Error).message}`, {
    cause: error,
    next: 'choose a file in a folder that exists and is writable',
  });
}
