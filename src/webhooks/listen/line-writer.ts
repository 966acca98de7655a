import type { Output } from '../../context.ts';
import { terminalSafeLine } from '../../terminal/terminal-safe.ts';

const NEWLINE = Buffer.from('\n');
/** Bytes that may wait for a slow reader before those who print have to wait as well. */
const ROOM = 8 * 1024 * 1024;

/** Prints lines; those of one moment with a single write. */
export class LineWriter {
  readonly #stdout: Output;
  #waiting: Buffer[] = [];
  #size = 0;
  /** Of the lines that wait; undefined while there are none. */
  #batch: Promise<void> | undefined;
  #latest: Promise<void> = Promise.resolve();

  constructor(stdout: Output) {
    this.#stdout = stdout;
  }

  /** Resolves when standard output has taken the line. Rejects with `ClosedPipeError`. */
  print(line: Buffer): Promise<void> {
    this.#waiting.push(line, NEWLINE);
    this.#size += line.length + 1;
    this.#batch ??= this.#after(this.#latest);
    return this.#batch;
  }

  /** Resolves when there is room for more lines: at once, unless standard output's reader is slow. */
  async hasRoom(): Promise<void> {
    while (this.#size > ROOM) await this.#batch;
  }

  /** Resolves when everything was printed. */
  async flushed(): Promise<void> {
    await this.#latest;
  }

  #after(earlier: Promise<void>): Promise<void> {
    this.#latest = earlier.then(() => this.#write());
    return this.#latest;
  }

  async #write(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    const lines = this.#waiting;
    this.#waiting = [];
    this.#size = 0;
    this.#batch = undefined;
    await this.#stdout.write(this.#stdout.isTerminal ? safeText(lines) : Buffer.concat(lines));
  }
}

function safeText(lines: readonly Buffer[]): string {
  return lines.map((line) => (line === NEWLINE ? '\n' : terminalSafeLine(line.toString()))).join('');
}
