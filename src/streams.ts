import { on } from 'node:events';
import { fdatasync, fstatSync, ftruncateSync, type Stats, writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable as NodeReadable, Writable as NodeWritable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Input, Output } from './context.ts';
import { ClosedPipeError, type HooktrailError, OutputError, UsageError } from './errors.ts';

type Writable = NodeWritable & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'rows' | 'getColorDepth'>>;
type Readable = NodeReadable & Partial<Pick<ReadStream, 'isTTY'>>;

/** A `file` is a regular file, or a device other than a terminal. */
export type OutputKind = 'terminal' | 'file' | 'pipe';

/**
 * Returns the kind of a file descriptor; `pipe` if it is unknown, as for a Windows program started without
 * streams. Calls `isTerminal` only if needed, since its module takes 2 ms to load.
 */
export function outputKind(descriptor: number, isTerminal: (descriptor: number) => boolean): OutputKind {
  let stats: Stats | undefined;
  try {
    stats = fstatSync(descriptor);
  } catch {
    // The descriptor is unknown.
  }
  if (stats?.isFile() || stats?.isBlockDevice()) return 'file';
  if (stats?.isFIFO() || stats?.isSocket()) return 'pipe';
  if (isTerminal(descriptor)) return 'terminal';
  return stats?.isCharacterDevice() ? 'file' : 'pipe';
}

/**
 * An output that waits for slow readers. `onFailure`: called once when its reader has left or its data cannot
 * be written, for a file before `write` returns. The stream is opened only when needed, since that takes a
 * quarter of the time of an empty Node: a pipe takes the first 4 KiB without one, which is all that many runs
 * write.
 */
export function outputOf(
  descriptor: number,
  kind: OutputKind,
  open: () => Writable,
  onFailure: (failure: HooktrailError) => void,
): Output {
  const isTerminal = kind === 'terminal';
  let failure: HooktrailError | undefined;
  let opened: Writable | undefined;
  let freeBytes = kind === 'pipe' ? PIPE_BUF_BYTES : 0;
  const fail = (error: NodeJS.ErrnoException) => {
    if (failure) return failure;
    failure = failureOf(error, isTerminal);
    onFailure(failure);
    return failure;
  };
  const stream = () => {
    opened ??= giveTerminalSize(open()).on('error', fail);
    return opened;
  };
  const sync = async () => {
    await syncDescriptor(descriptor).catch((error) => {
      throw fail(error);
    });
  };
  return {
    ...(kind === 'file' ? { sync } : {}),
    isTerminal,
    isPipe: kind === 'pipe',
    get columns() {
      return (isTerminal && stream().columns) || 80;
    },
    get rows() {
      return (isTerminal && stream().rows) || 24;
    },
    get colorDepth() {
      return isTerminal ? (stream().getColorDepth?.() ?? 1) : 1;
    },
    stream,
    async write(chunk, allOrNothing = false) {
      if (failure) throw failure;
      try {
        if (kind === 'file') return writeWhole(descriptor, chunk, allOrNothing);
      } catch (error) {
        throw fail(error as NodeJS.ErrnoException);
      }
      const bytes = Buffer.byteLength(chunk);
      if (!opened && bytes <= freeBytes && writeAtOnce(descriptor, chunk)) {
        freeBytes -= bytes;
        return;
      }
      // The callback is called when the kernel has the bytes, so memory stays flat however slow the reader
      // is.
      await new Promise<void>((resolve, reject) => {
        stream().write(chunk, (error) => (error ? reject(fail(error)) : resolve()));
      });
    },
  };
}

/** Error codes of devices such as `/dev/null`, and of file systems that cannot sync. */
const CANNOT_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EROFS']);

function syncDescriptor(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(descriptor, (error) => {
      if (error && !CANNOT_SYNC.has(error.code ?? '')) reject(error);
      else resolve();
    });
  });
}

/** Bytes that an empty pipe takes atomically (POSIX, on Linux). */
const PIPE_BUF_BYTES = 4096;

/** Returns false if nothing was written. The stream then reports the reason. */
function writeAtOnce(descriptor: number, chunk: string | Uint8Array): boolean {
  try {
    writeSync(descriptor, typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    return true;
  } catch {
    return false;
  }
}

/**
 * Writes until every byte is written. `write(2)` writes fewer bytes at the end of a disk, a quota or a size
 * limit, and reports the error only on the next call. Node's stream for files, `SyncWriteStream` in
 * `lib/internal/fs/sync_write_stream.js`, calls `fs.writeSync` once and ignores the number of bytes written.
 */
function writeWhole(descriptor: number, chunk: string | Uint8Array, allOrNothing: boolean): void {
  let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  const { length } = rest;
  try {
    while (rest.length > 0) {
      const written = writeSync(descriptor, rest);
      if (written === 0)
        throw Object.assign(new Error('nothing more was written'), { errno: -constants.errno.EIO });
      rest = rest.subarray(written);
    }
  } catch (error) {
    const written = length - rest.length;
    try {
      if (allOrNothing && written > 0) ftruncateSync(descriptor, fstatSync(descriptor).size - written);
    } catch {
      // A device cannot be truncated.
    }
    throw error;
  }
}

/** Gives a size to a terminal without one (`script`, containers): with 0 columns, libraries loop forever. */
function giveTerminalSize(stream: Writable): Writable {
  if (stream.isTTY && !stream.columns) stream.columns = 80;
  if (stream.isTTY && !stream.rows) stream.rows = 24;
  return stream;
}

const READER_LEFT = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

/**
 * A reader that left is not a failure: its pipe was closed, or its terminal hung up (EIO). Any other error
 * lost output.
 */
function failureOf(error: NodeJS.ErrnoException, isTerminal: boolean): HooktrailError {
  const { code = '' } = error;
  const readerLeft = READER_LEFT.has(code) || (isTerminal && code === 'EIO');
  return readerLeft ? new ClosedPipeError() : new OutputError(error);
}

/** Opens the stream only for reading: opening standard input takes time and can hold a terminal. */
export function inputOf(open: () => Readable): Input {
  return {
    get isTerminal() {
      return open().isTTY === true;
    },
    stream: open,
    lines: (ending) => linesOf(open, ending),
    bytes: async () => Buffer.concat(await open().toArray()),
  };
}

/** Bytes of the longest line. No reader of lines needs more, and a string is limited to 512 MiB. */
const LINE_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Reads lines that end with LF or CRLF. Node's `readline` also splits at U+2028, which may occur in JSON, and
 * has no limit.
 */
async function* linesOf(open: () => Readable, ending?: AbortSignal): AsyncGenerator<string> {
  if (ending?.aborted) return;
  const input = open();
  // Without the bound, everything that arrives while one line is handled would be buffered.
  const bound = { close: ['end', 'close'], highWaterMark: 4, lowWaterMark: 1 };
  const chunks = on(input, 'data', bound as object) as AsyncIterableIterator<[Buffer]>;
  const leave = () => {
    void chunks.return?.();
    // An open pipe that still flows would keep the process alive.
    input.pause();
  };
  ending?.addEventListener('abort', leave, { once: true });
  let pieces: Buffer[] = [];
  let length = 0;
  const take = (piece: Buffer) => {
    const line = Buffer.concat([...pieces, piece]);
    [pieces, length] = [[], 0];
    return line.toString('utf8', 0, line.at(-1) === 0x0d ? line.length - 1 : line.length);
  };
  try {
    for await (const [chunk] of chunks) {
      let rest = chunk;
      for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
        yield take(rest.subarray(0, end));
        rest = rest.subarray(end + 1);
      }
      pieces.push(rest);
      length += rest.length;
      if (length > LINE_LIMIT_BYTES) {
        throw new UsageError(`standard input has a line of more than ${LINE_LIMIT_BYTES / 1024 / 1024} MiB`, {
          next: 'give one id, message or secret a line',
        });
      }
    }
    if (length > 0 && !ending?.aborted) yield take(Buffer.alloc(0));
  } finally {
    ending?.removeEventListener('abort', leave);
    leave();
  }
}
