import readline from 'node:readline';
import { Writable } from 'node:stream';
/** The text that a program has printed so far, by stream, and the tests that wait for more. */
export class PrintedText<Stream extends string> {
  readonly of: Record<Stream, string>;
  #waiting = new Set<() => void>();
  #ended: unknown;

  constructor(streams: readonly Stream[]) {
    this.of = Object.fromEntries(streams.map((stream) => [stream, ''])) as Record<Stream, string>;
  }

  add(text: string, ...streams: readonly Stream[]): void {
    for (const stream of streams) this.of[stream] += text;
    this.#look();
  }

  /** Records that the program has ended with this result, and rejects the waits for more text. */
  end(result: unknown): void {
    this.#ended = result;
    this.#look();
  }

  /** Waits until the stream's text so far, or from `start` on, matches; rejects if the program ends first. */
  matches(stream: Stream, pattern: RegExp, start = () => 0): Promise<RegExpMatchArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const match = this.of[stream].slice(start()).match(pattern);
        if (match) resolve(match);
        else if (this.#ended !== undefined)
          reject(new Error(`${pattern} was not printed:\n${JSON.stringify(this.#ended, null, 2)}`));
        else return;
        this.#waiting.delete(look);
      };
      this.#waiting.add(look);
      look();
    });
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }
}

/** Functions that end what a test started and has not ended. */
const running = new Set<() => Promise<unknown>>();

/** Registers a program until it has finished. */
export function noteRunning(finished: Promise<unknown>, end: () => void): void {
  const stop = () => {
    end();
    return finished;
  };
  running.add(stop);
  void finished.then(() => running.delete(stop));
}

/**
 * Returns a function that ends what was started since, so that programs of a failed test do not disturb
 * others.
 */
export function leftSince(): () => Promise<unknown> {
  const before = new Set(running);
  return () => Promise.all([...running].filter((stop) => !before.has(stop)).map((stop) => stop()));
}

interface MemoryStream {
  readonly stream: Writable;
  readonly resume: () => void;
  readonly close: () => void;
}

/**
 * A stream that records what is written to it: a terminal with that many columns, or a pipe that may be slow
 * or closed.
 */
export function memoryStream(
  told: (bytes: Buffer) => void,
  columns: number | undefined,
  paused = false,
): MemoryStream {
  let isPaused = paused;
  let isClosed = false;
  let held: (() => void) | undefined;
  const stream: Writable = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const take = () => {
        held = undefined;
        if (isClosed) return done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
        // This copies the bytes: the writer may reuse its memory.
        told(Buffer.from(chunk));
        done();
      };
      if (isPaused) held = take;
      else take();
    },
  });
  const terminal = {
    isTTY: true,
    columns,
    rows: 40,
    getColorDepth: () => 8,
    hasColors: () => true,
    cursorTo: (x: number) => readline.cursorTo(stream, x),
    moveCursor: (x: number, y: number) => readline.moveCursor(stream, x, y),
    clearLine: (direction: -1 | 0 | 1) => readline.clearLine(stream, direction),
    clearScreenDown: () => readline.clearScreenDown(stream),
  };
  if (columns !== undefined) Object.assign(stream, terminal);
  const release = () => {
    isPaused = false;
    held?.();
  };
  return {
    stream,
    resume: release,
    close: () => {
      isClosed = true;
      release();
    },
  };
}
