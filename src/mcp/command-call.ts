import { PassThrough } from 'node:stream';
import type { Invoke } from '../command.ts';
import type { Context, Output } from '../context.ts';
import { ExitCode } from '../errors.ts';

/** The output of a command line. */
export interface CommandResult {
  readonly code: ExitCode;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command line of this program without input and returns its output, so that a tool accepts the same values and
 * gives the same errors as the command line.
 */
export async function callCommand(
  argv: readonly string[],
  invoke: Invoke,
  context: Context,
  signal: AbortSignal,
): Promise<CommandResult> {
  const texts = { stdout: '', stderr: '' };
  const kept = (name: keyof typeof texts): Output => ({
    isTerminal: false,
    columns: 80,
    rows: 24,
    colorDepth: 1,
    stream: () => new PassThrough(),
    write: async (chunk) => {
      texts[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    },
  });
  const code = await invoke(argv, {
    ...context,
    stdin: {
      isTerminal: false,
      stream: () => new PassThrough().end(),
      lines: async function* () {},
      bytes: async () => Buffer.alloc(0),
    },
    stdout: kept('stdout'),
    stderr: kept('stderr'),
    signal: AbortSignal.any([context.signal, signal]),
  });
  return { code, ...texts };
}

/** True if the command line printed a result; with exit code 3 some of the ids were not found. */
export function hasResult(code: ExitCode): boolean {
  return code === ExitCode.done || code === ExitCode.notFound;
}

/** Returns a flag and its value as one word, so that no value can look like a flag. */
export function flagWith(name: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [`--${name}=${value}`];
}
