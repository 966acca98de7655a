import readline from 'node:readline';
import { Writable } from 'node:stream';
import type { Output } from '../../src/context.ts';
import { Items } from '../../src/json/items.ts';
import { plain } from '../../src/terminal/palette.ts';
import type { Reporter } from '../../src/terminal/reporter.ts';

export interface FakeOutput extends Output {
  /** Everything written so far. */
  readonly text: string;
  readonly writes: number;
}

/** An output that keeps what is written to it: a terminal with that many columns, or a pipe. */
export function fakeOutput(columns?: number): FakeOutput {
  const chunks: Buffer[] = [];
  const write = async (chunk: string | Uint8Array) => {
    // This copies the bytes: the writer may reuse its memory.
    chunks.push(Buffer.from(chunk as string));
  };
  return {
    isTerminal: columns !== undefined,
    isPipe: columns === undefined,
    columns: columns ?? 80,
    rows: 24,
    colorDepth: columns === undefined ? 1 : 8,
    get text() {
      return Buffer.concat(chunks).toString();
    },
    get writes() {
      return chunks.length;
    },
    write,
    stream: () => terminalStream(write, columns),
  };
}

/** A stream like those of `node:tty`, with the parts that libraries use to draw on terminals. */
function terminalStream(write: (chunk: Buffer) => Promise<void>, columns: number | undefined): Writable {
  const stream = new Writable({
    write: (chunk, _, done) => {
      void write(chunk);
      done();
    },
  });
  return Object.assign(stream, {
    isTTY: columns !== undefined,
    columns,
    cursorTo: (x: number) => readline.cursorTo(stream, x),
    moveCursor: (x: number, y: number) => readline.moveCursor(stream, x, y),
    clearLine: (direction: -1 | 0 | 1) => readline.clearLine(stream, direction),
  });
}

export interface FakeReporter extends Reporter {
  /** `notice: …` and `warning: …`, in order. */
  readonly said: string[];
}

/** A reporter, without colour for standard output unless a level is given. */
export function fakeReporter(stdoutColor: Reporter['stdoutColor'] = 0): FakeReporter {
  const said: string[] = [];
  return {
    said,
    quiet: false,
    verbose: false,
    debug: false,
    stdoutColor,
    palette: plain,
    say: (text) => void said.push(text),
    command: (line) => void said.push(line),
    notice: (text) => void said.push(`notice: ${text}`),
    success: (text) => void said.push(`success: ${text}`),
    warning: (text) => void said.push(`warning: ${text}`),
    trace: () => {},
  };
}

export function itemContext(stdout: Output) {
  return { stdout };
}

/** Returns items as the page scanner does: inside an array, with `between` between two of them. */
export function pageOf(items: readonly string[], between = ','): Items {
  const spans = new Uint32Array(2 * items.length);
  const texts = ['{"items":['];
  let at = Buffer.byteLength(texts[0] as string);
  for (const [index, item] of items.entries()) {
    const lead = index > 0 ? between : '';
    spans[2 * index] = at + Buffer.byteLength(lead);
    at += Buffer.byteLength(lead + item);
    spans[2 * index + 1] = at;
    texts.push(lead, item);
  }
  return new Items(Buffer.from(`${texts.join('')}]}`), spans);
}
