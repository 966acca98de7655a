import type { Output } from '../context.ts';
import { lacksWebAssembly, ServiceError, UsageError, VIRTUAL_MEMORY_STEP } from '../errors.ts';
import type { FieldPath } from '../items/field-path.ts';
import type { ItemWriter } from '../items/items.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-text.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { createPicker } from './json.ts';

interface JqOptions {
  readonly program: string;
  /** Fields that are picked before the program runs. */
  readonly fields: readonly FieldPath[] | undefined;
  /** The zone of hours and weekdays among the fields. */
  readonly zone: TimeZone;
  /**
   * Runs the program on each item as its page arrives, so that memory stays flat, instead of once on an array
   * of all items.
   */
  readonly perItem: boolean;
}

/** Bytes that the library's WebAssembly memory can grow to. jq can hold an array of about 50 MB in it. */
const MEMORY_BYTES = 256 * 2 ** 20;
/** Other failures that are shown. */
const SHOWN_FAILURES = 3;
/** jq's exit code for a program that does not compile. */
const NOT_COMPILED = 3;

/**
 * Runs a jq program over the JSON output. Strings come out raw, other results compact, or on a terminal
 * indented, as `gh --jq` does. For the array of all items it keeps them in memory, and prints nothing if the
 * read is aborted: a result for some of them would be wrong. Throws `UsageError` for a program that does not
 * compile.
 */
export async function createJqWriter(
  { program, fields, zone, perItem }: JqOptions,
  stdout: Output,
  reporter: Reporter,
): Promise<ItemWriter> {
  const jq = await checkProgram(program);
  const flags = [...(stdout.isTerminal ? [] : ['--compact-output']), '--'];
  const pick = fields && createPicker(fields, zone);
  const run = async (input: () => string) => {
    const { stdout: text, stderr, exitCode } = evaluate(() => jq.raw(input(), program, flags));
    if (text !== '') {
      const raw = withRawStrings(text);
      await stdout.write(stdout.isTerminal ? terminalSafe(raw) : raw);
    }
    // Its exit code is only that of the last item.
    if (exitCode !== 0 || /^jq: error/m.test(stderr)) throw failedProgram(stderr, perItem);
    if (stderr !== '') reporter.notice(stderr.trimEnd());
  };
  const pages: Buffer[] = [];
  let size = 0;
  return {
    write: async (page) => {
      if (page.count === 0) return;
      const lines = (pick ? pick(page) : page).toLines();
      if (perItem) return await run(() => lines.toString());
      size += lines.length;
      if (size > MEMORY_BYTES) throw tooLarge();
      pages.push(lines);
    },
    end: async () => {
      // A raw line feed occurs only after an item.
      const array = () => `[${Buffer.concat(pages).toString().trimEnd().replaceAll('\n', ',')}]`;
      if (!perItem) await run(array);
    },
  };
}

/** Compiles the program without running it. Throws `UsageError` if that fails. */
export async function checkProgram(program: string) {
  const jq = await startJq();
  // Without input jq only compiles the program.
  const { stderr, exitCode } = evaluate(() => jq.raw('', program, ['--']));
  if (exitCode === NOT_COMPILED) {
    const details = linesOf(stderr).filter((line) => !/^\d+ compile errors?$/.test(line));
    throw new UsageError(`--jq: '${program}' is not a jq program`, { details });
  }
  return jq;
}

/** Loads jq, which writes to the console when it cannot start. The error says so in words. */
async function startJq() {
  const { loadJq } = await import('jq-wasm');
  const { error: print } = console;
  console.error = () => {};
  try {
    return await loadJq();
  } catch (cause) {
    if (!lacksWebAssembly(cause)) throw cause;
    throw new ServiceError('--jq: WebAssembly cannot start: this shell limits virtual memory', {
      next: VIRTUAL_MEMORY_STEP,
      cause,
    });
  } finally {
    console.error = print;
  }
}

/**
 * Returns what `--raw-output` would print. jq has to print JSON, because the library trims its output. A line
 * of it that begins with a quote is a whole string: everything inside an array or an object is indented, or
 * follows on its line.
 */
function withRawStrings(text: string): string {
  const lines = text.split('\n').map((line) => (line.startsWith('"') ? (JSON.parse(line) as string) : line));
  return `${lines.join('\n')}\n`;
}

function evaluate<Result>(step: () => Result): Result {
  // The library writes to the console when its memory is full. The error below says so in words.
  const { error: print } = console;
  console.error = () => {};
  try {
    return step();
  } catch (cause) {
    throw tooLarge(cause);
  } finally {
    console.error = print;
  }
}

function tooLarge(cause?: unknown): ServiceError {
  return new ServiceError('--jq: the result is too large for jq to hold as one array', {
    next: 'add --ndjson to run the program on each item as it arrives, or narrow the search',
    cause,
  });
}

function failedProgram(stderr: string, perItem: boolean): UsageError | ServiceError {
  const [first = '', ...others] = new Set(linesOf(stderr));
  // An event that jq cannot read, with half a surrogate pair or too many levels, is no fault of the command
  // line.
  if (first.startsWith('parse error'))
    return new ServiceError(`--jq: jq cannot read an event: ${first}`, { next: '--json prints all events' });
  return new UsageError(`--jq: ${first}`, {
    details: others.slice(0, SHOWN_FAILURES),
    next:
      first.startsWith('Cannot index array with') && !perItem
        ? 'the program runs over an array: begin it with .[]'
        : 'look at one item with --json --limit 1',
  });
}

function linesOf(stderr: string): string[] {
  const lines = stderr.trim().split('\n');
  return lines.map((line) => line.replace(/^jq: (error( \(at [^)]*\))?: )?/, ''));
}
