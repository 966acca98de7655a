import { PassThrough, Readable } from 'node:stream';
import type { Call, Invoke } from '../command.ts';
import { type Context, emptyMemory, type Output } from '../context.ts';
import { ExitCode } from '../errors.ts';
import { escapeCommas } from '../filters/event-filters.ts';
import { type FilterKey, filterKeys } from '../items/filter-keys.ts';
import { refuseFileOfValues } from '../items/item-conditions.ts';
import { flagWords } from '../shell-words.ts';
import { inputOf } from '../streams.ts';
import type { Problem } from '../terminal/reporter.ts';
import { terminalSafeBlock } from '../terminal/terminal-text.ts';

/** Bytes of a command's output held in memory. */
const MAX_PRINTED_BYTES = 64 << 20;
const MAX_WARNING_CHARACTERS = 4000;

export type Arguments = Readonly<Record<string, unknown>>;
interface LineInput {
  readonly operands?: readonly string[];
  readonly input?: string;
}

/** Runs a command of these words and flags, such as `events count --json`. Throws `CommandFailure`. */
export type RunWords = (words: string, flags: Arguments, given?: LineInput) => Promise<CommandResult>;

export interface CommandResult {
  readonly stdout: string;
  readonly warnings: readonly string[];
}

export class CommandFailure extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** Makes commands write errors and warnings as lines of JSON, regardless of the environment. */
const MESSAGES = ['--quiet', '--error-format=json'];

/** The signal ends the commands. */
export function createRunner({ flags, context, invoke }: Call, signal: AbortSignal): RunWords {
  const connection = flagWords(flags, ['profile', 'authUrl', 'baseUrl', 'clientId', 'vendor']);
  return async (words, given, { operands = [], input = '' } = {}) => {
    for (const condition of (given['where'] ?? []) as string[]) refuseFileOfValues(condition, 'where');
    const behind = operands.length > 0 ? ['--', ...operands] : [];
    const argv = [...words.split(' '), ...flagsOf(given), ...connection, ...MESSAGES, ...behind];
    return await runLine(argv, input, invoke, { ...context, signal });
  };
}

/** Formats each flag and its value as one word, so that no value can look like a flag. */
function flagsOf({ where, ...others }: Arguments): string[] {
  const words = Object.entries(others).flatMap(([name, value]) => {
    const key = filterKeys.find(({ parameter }) => parameter === name);
    return value === undefined ? [] : [`--${key?.flag ?? name}=${valueWord(value, key?.kind)}`];
  });
  return [...words, ...((where ?? []) as string[]).map((condition) => `--where=${condition}`)];
}

function valueWord(value: unknown, kind: FilterKey['kind'] | undefined): string {
  const values = [value].flat().map(String);
  return (kind === 'text' ? values.map(escapeCommas) : values).join(',');
}

/**
 * Runs a command line of this program and returns its output, so that a tool accepts the same values as the
 * command line. Throws `CommandFailure`.
 */
async function runLine(
  argv: readonly string[],
  input: string,
  invoke: Invoke,
  context: Context,
): Promise<CommandResult> {
  const [stdout, stderr] = [keptOutput(), keptOutput()];
  const stdin = inputOf(() => Readable.from(input === '' ? [] : [Buffer.from(input)]));
  // Warnings and questions belong to this line; known secrets are shared.
  const memory = { ...emptyMemory(), secrets: context.memory.secrets };
  const streams = { stdin, stdout: stdout.output, stderr: stderr.output };
  const code = await invoke(argv, { ...context, ...streams, memory });
  const printed = stdout.text();
  const problems = problemsIn(stderr.text());
  // Some of the ids were not found, or nobody is signed in.
  const isAnswer = code === ExitCode.notFound || (argv[0] === 'status' && printed !== '');
  if (code === ExitCode.done || isAnswer) return { stdout: printed, warnings: warningsOf(problems) };
  const failure = problems.find(({ level }) => level === 'error');
  throw new CommandFailure(
    failure ?? {
      level: 'error',
      kind: 'internal',
      message: `the command ended with exit code ${code}`,
      details: [],
      next: undefined,
      exitCode: code,
    },
  );
}

function keptOutput(): { output: Output; text: () => string } {
  const chunks: Buffer[] = [];
  let length = 0;
  const output: Output = {
    isTerminal: false,
    columns: 80,
    rows: 24,
    colorDepth: 1,
    stream: () => new PassThrough(),
    write: async (chunk) => {
      length += chunk.length;
      // The writer may reuse its memory.
      if (length <= MAX_PRINTED_BYTES) chunks.push(Buffer.from(chunk));
    },
  };
  return { output, text: () => Buffer.concat(chunks).toString() };
}

function problemsIn(stderr: string): Problem[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => {
      const problem = JSON.parse(line) as Partial<Problem> & Pick<Problem, 'level' | 'kind' | 'message'>;
      return { details: [], next: undefined, exitCode: undefined, ...problem };
    });
}

function warningsOf(problems: readonly Problem[]): string[] {
  return problems
    .filter(({ level }) => level === 'warning')
    .map(({ message }) => terminalSafeBlock(message).slice(0, MAX_WARNING_CHARACTERS).toWellFormed());
}
