import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { Context, JqProgram, JqRun, Output } from '../context.ts';
import { lacksWebAssembly, ServiceError, UsageError, VIRTUAL_MEMORY_STEP } from '../errors.ts';
import type { FieldPath } from '../items/field-path.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-text.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import type { ItemWriter } from './format-options.ts';
import { createPicker } from './json.ts';

interface JqOptions {
  readonly program: string;
  readonly fields?: readonly FieldPath[] | undefined;
  readonly zone?: TimeZone | undefined;
  /** Runs on each item as pages arrive, with constant memory, instead of once on the whole array. */
  readonly perItem: boolean;
}

/** Limit of the library's WebAssembly memory, enough for an array of about 50 MB. */
const MEMORY_BYTES = 256 * 2 ** 20;
/** Maximum further failures shown. */
const SHOWN_FAILURES = 3;
const NOT_COMPILED = 3;

interface JqContext extends Pick<Context, 'signal' | 'memory'> {
  readonly stdout: Pick<Output, 'isTerminal' | 'write'>;
}

/**
 * Prints strings raw and other results compact, or indented on a terminal, as `gh --jq` does. The array of
 * all items is kept in memory, and nothing is printed if the read is aborted, since a partial result would be
 * wrong. Throws `UsageError` if the program does not compile.
 */
export async function createJqWriter(
  { program, fields, zone = UTC, perItem }: JqOptions,
  context: JqContext,
  reporter: Reporter,
): Promise<ItemWriter> {
  const { stdout } = context;
  const jq = await startJq(program, context);
  const flags = [...(stdout.isTerminal ? [] : ['--compact-output']), '--'];
  const pick = fields && createPicker(fields, zone);
  const run = async (input: string) => {
    const { stdout: text, stderr, exitCode } = await jq.run(input, flags);
    if (text !== '') {
      const raw = withRawStrings(text);
      await stdout.write(stdout.isTerminal ? terminalSafe(raw) : raw);
    }
    // The exit code covers only the last item.
    if (exitCode !== 0 || /^jq: error/m.test(stderr)) throw failedProgram(stderr, perItem);
    if (stderr !== '') reporter.notice(stderr.trimEnd());
  };
  const pages: Buffer[] = [];
  let size = 0;
  return {
    write: async (page) => {
      if (page.count === 0) return;
      const lines = (pick ? pick(page) : page).toLines();
      if (perItem) return await run(lines.toString());
      size += lines.length;
      if (size > MEMORY_BYTES) throw tooLarge();
      pages.push(lines);
    },
    end: async () => {
      // Line feeds occur raw only between items.
      if (!perItem) await run(`[${Buffer.concat(pages).toString().trimEnd().replaceAll('\n', ',')}]`);
    },
  };
}

/**
 * Compiles the program in a thread, once per run. Throws `UsageError` if it does not compile. The thread ends
 * with the run, and an abort stops the program at once.
 */
export async function startJq(
  program: string,
  { signal, memory }: Pick<Context, 'signal' | 'memory'>,
): Promise<JqProgram> {
  memory.jq ??= compile(program, signal);
  return await memory.jq;
}

async function compile(program: string, signal: AbortSignal): Promise<JqProgram> {
  const thread = await JqThread.start(program, signal);
  // Without input jq only compiles.
  const { stderr, exitCode } = await thread.run('', ['--']);
  if (exitCode !== NOT_COMPILED) return thread;
  const details = linesOf(stderr).filter((line) => !/^\d+ compile errors?$/.test(line));
  throw new UsageError(`--jq: '${program}' is not a jq program`, { details });
}

class JqThread implements JqProgram {
  readonly #program: string;
  readonly #worker: Worker;
  readonly #signal: AbortSignal;
  #hasStarted = false;

  private constructor(program: string, worker: Worker, signal: AbortSignal) {
    this.#program = program;
    this.#worker = worker;
    this.#signal = signal;
  }

  static async start(program: string, signal: AbortSignal): Promise<JqThread> {
    const { Worker } = await import('node:worker_threads');
    // Discard its output: the library prints there when it cannot start or runs out of memory.
    const worker = new Worker(new URL('./jq-worker.mjs', import.meta.url), { stdout: true, stderr: true });
    return new JqThread(program, worker, signal);
  }

  async run(input: string, flags: readonly string[]): Promise<JqRun> {
    this.#worker.ref();
    try {
      const answer = once(this.#worker, 'message', { signal: this.#signal });
      this.#worker.postMessage({ input, program: this.#program, flags });
      const [result] = (await answer) as [JqRun];
      this.#hasStarted = true;
      return result;
    } catch (cause) {
      await this.end();
      this.#signal.throwIfAborted();
      throw this.#hasStarted ? tooLarge(cause) : cannotStart(cause);
    } finally {
      this.#worker.unref();
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

function cannotStart(cause: unknown): unknown {
  if (!lacksWebAssembly(cause)) return cause;
  return new ServiceError('--jq: WebAssembly cannot start: this shell limits virtual memory', {
    next: VIRTUAL_MEMORY_STEP,
    cause,
  });
}

/**
 * Emulates `--raw-output`, since the library trims its output. A line that begins with a quote is a whole
 * string: nested values are indented or follow on a line.
 */
function withRawStrings(text: string): string {
  const lines = text.split('\n').map((line) => (line.startsWith('"') ? (JSON.parse(line) as string) : line));
  return `${lines.join('\n')}\n`;
}

function tooLarge(cause?: unknown): ServiceError {
  return new ServiceError('--jq: the result is too large for jq to hold as one array', {
    next: 'add --ndjson to run the program on each item as it arrives, or narrow the search',
    cause,
  });
}

function failedProgram(stderr: string, perItem: boolean): UsageError | ServiceError {
  const [first = '', ...others] = new Set(linesOf(stderr));
  // Half a surrogate pair or too many levels are not a mistake in the command line.
  if (first.startsWith('parse error'))
    return new ServiceError(`--jq: jq cannot read an event: ${first}`, { next: '--json prints all events' });
  return new UsageError(`--jq: ${first}`, {
    details: others.slice(0, SHOWN_FAILURES),
    next:
      first.startsWith('Cannot index array with') && !perItem
        ? 'the program runs over an array: begin it with .[]'
        : '--json without --jq prints what the program reads',
  });
}

function linesOf(stderr: string): string[] {
  const lines = stderr.trim().split('\n');
  return lines.map((line) => line.replace(/^jq: (error( \(at [^)]*\))?: )?/, ''));
}
