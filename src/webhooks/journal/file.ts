import fs from 'node:fs';
import { promisify } from 'node:util';
import { JournalError } from './error.ts';
import { pieces } from './file-pieces.ts';
import { NOT_A_FILE, unusable } from './path.ts';

const write = promisify(fs.write);
const fdatasync = promisify(fs.fdatasync);

/** The journal's file, open for appending, with an eye on whoever else lays hands on it. */
export class JournalFile {
  readonly path: string;
  readonly #fd: number;
  /** The same file, each write ending on the disk where the system can do that: half the work of a write and a sync. */
  readonly #durable: number;
  /** Whether a write to `#durable` is on the disk when it ends. */
  readonly #syncs: boolean;
  readonly #identity: string;
  #closed = false;

  private constructor(file: string, fd: number, durable: number, syncs: boolean) {
    this.path = file;
    this.#fd = fd;
    this.#durable = durable;
    this.#syncs = syncs;
    this.#identity = identityOf(fs.fstatSync(fd));
  }

  /** Opens the file and makes it where it is missing. Throws `UsageError` that names the flag. */
  static open(file: string, platform: NodeJS.Platform): JournalFile {
    const open: number[] = [];
    try {
      // O_APPEND: each write lands behind all others, whichever process it comes from (POSIX, write()).
      const { O_RDWR, O_WRONLY, O_CREAT, O_APPEND } = fs.constants;
      const fd = fs.openSync(file, O_RDWR | O_CREAT | O_APPEND, 0o600);
      open.push(fd);
      if (!fs.fstatSync(fd).isFile()) throw new Error(NOT_A_FILE);
      // Elsewhere the flag is missing (Windows) or stops at the drive's cache (macOS).
      const syncs = platform === 'linux';
      const durable = fs.openSync(file, O_WRONLY | O_APPEND | (syncs ? fs.constants.O_DSYNC : 0));
      open.push(durable);
      if (identityOf(fs.fstatSync(fd)) !== identityOf(fs.fstatSync(durable)))
        throw new Error('it was replaced');
      return new JournalFile(file, fd, durable, syncs);
    } catch (error) {
      for (const fd of open) fs.closeSync(fd);
      throw unusable(file, error);
    }
  }

  /**
   * One write at the end of the file; with `durable` the bytes are on the disk when it ends. What a failed one left
   * behind is passed over by readers.
   */
  async append(bytes: Buffer, durable: boolean): Promise<void> {
    if (bytes.length === 0) return;
    try {
      // A full disk cuts a write short before it refuses the next: only a whole one counts.
      for (let tries = 0; tries < 3; tries++) {
        const { bytesWritten } = await write(
          durable ? this.#durable : this.#fd,
          bytes,
          0,
          bytes.length,
          null,
        );
        if (bytesWritten === bytes.length) {
          if (durable && !this.#syncs) await this.sync();
          return;
        }
      }
      throw new Error('writes are cut short');
    } catch (error) {
      if (error instanceof JournalError) throw error;
      // A disk that failed may have dropped what it held before: nothing can be promised any more.
      const isFatal = (error as NodeJS.ErrnoException).code === 'EIO';
      throw new JournalError(`the journal ${this.path} cannot be written: ${(error as Error).message}`, {
        cause: error,
        isFatal,
        next: 'free some space; deliveries are refused until then, and the service sends them again',
      });
    }
  }

  /** Everything appended so far is on the disk when this ends. */
  async sync(): Promise<void> {
    try {
      await fdatasync(this.#fd);
    } catch (error) {
      // After a failed fsync the kernel may have dropped what it could not write: nothing can be promised any more.
      throw new JournalError(`the journal ${this.path} cannot be synced: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  /** The size now. Throws `JournalError` when the path leads to another file by now. */
  size(): number {
    const found = fs.statSync(this.path, { throwIfNoEntry: false });
    if (found === undefined || identityOf(found) !== this.#identity) {
      throw new JournalError(
        `the journal ${this.path} was ${found ? 'replaced' : 'removed'} while it was in use`,
        {
          next: 'leave the file alone while hooktrail runs; --keep removes what is old',
        },
      );
    }
    return found.size;
  }

  read(from: number, to: number): Buffer {
    const bytes = Buffer.allocUnsafe(to - from);
    let length = 0;
    while (length < bytes.length) {
      const read = fs.readSync(this.#fd, bytes, length, bytes.length - length, from + length);
      if (read === 0) break;
      length += read;
    }
    return bytes.subarray(0, length);
  }

  /** The content from an offset to the end, in pieces. */
  pieces(from: number): AsyncGenerator<Buffer> {
    return pieces(this.#fd, from);
  }

  /** Removes everything behind an offset. */
  cut(size: number): void {
    fs.ftruncateSync(this.#fd, size);
  }

  close(): void {
    if (!this.#closed) for (const fd of [this.#fd, this.#durable]) fs.closeSync(fd);
    this.#closed = true;
  }
}

function identityOf({ dev, ino }: fs.Stats): string {
  return `${dev}/${ino}`;
}
