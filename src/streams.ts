import type { Interface } from 'node:readline';
import type { Readable as NodeReadable, Writable as NodeWritable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Input, Output } from './context.ts';
import { ClosedPipeError, type HooktrailError, OutputError } from './errors.ts';

type Writable = NodeWritable & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'rows' | 'getColorDepth'>>;
type Readable = NodeReadable & Partial<Pick<ReadStream, 'isTTY'>>;

/**
 * An output that waits for slow readers and knows when its reader is gone or the disk is full; `onFailure` is called once
 * then. The stream is opened when it is first written to: that costs milliseconds, and many runs use only one of two.
 */
export function outputOf(
  isTerminal: boolean,
  open: () => Writable,
  onFailure: (failure: HooktrailError) => void,
): Output {
  let failure: HooktrailError | undefined;
  let opened: Writable | undefined;
  const stream = () => {
    opened ??= sized(open()).on('error', (error: NodeJS.ErrnoException) => {
      if (!failure) onFailure(failureOf(error));
      failure ??= failureOf(error);
    });
    return opened;
  };
  return {
    isTerminal,
    get columns() {
      return (isTerminal && stream().columns) || 80;
    },
    get colorDepth() {
      return isTerminal ? (stream().getColorDepth?.() ?? 1) : 1;
    },
    stream,
    write: (chunk) =>
      new Promise((resolve, reject) => {
        if (failure) return reject(failure);
        // The callback comes when the bytes are with the kernel: memory stays flat however slow the reader is.
        stream().write(chunk as string, (error) => (error ? reject(failureOf(error)) : resolve()));
      }),
  };
}

/** A terminal nobody gave a size has 0 columns (`script`, containers): libraries divide by them, and never end. */
function sized(stream: Writable): Writable {
  if (stream.isTTY && !stream.columns) stream.columns = 80;
  if (stream.isTTY && !stream.rows) stream.rows = 24;
  return stream;
}

/** EPIPE, or the terminal hung up: nobody reads any more, which is no failure. Anything else lost output. */
function failureOf(error: NodeJS.ErrnoException): HooktrailError {
  const gone = ['EPIPE', 'ECONNRESET', 'EIO', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'];
  return gone.includes(error.code ?? '') ? new ClosedPipeError() : new OutputError(error);
}

/** An input that touches the stream only when something is read: opening standard input costs time and can hold a terminal. */
export function inputOf(open: () => Readable): Input {
  return {
    get isTerminal() {
      return open().isTTY === true;
    },
    stream: open,
    lines: () => linesOf(open()),
    bytes: async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of open()) chunks.push(chunk as Buffer);
      return Buffer.concat(chunks);
    },
  };
}

/** Node's own iterator leaves the stream flowing when it is left early, and a pipe that stays open holds the process. */
function linesOf(input: Readable): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]() {
      let reader: Interface | undefined;
      let lines: AsyncIterator<string> | undefined;
      return {
        next: async () => {
          if (!lines) {
            const { createInterface } = await import('node:readline');
            reader = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
            lines = reader[Symbol.asyncIterator]();
          }
          return await lines.next();
        },
        return: async () => {
          reader?.close();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
