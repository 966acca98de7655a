import type { CommanderError } from 'commander';
import type { GlobalFlags } from './command.ts';
import type { Context } from './context.ts';
import { ExitCode, HooktrailError, InterruptedError, UsageError } from './errors.ts';
import type { Program } from './program.ts';
import { version } from './version.ts';

/** Runs one command line and returns its exit code. Never throws: every failure becomes text on standard error. */
export async function main(argv: readonly string[], context: Context): Promise<ExitCode> {
  let program: Program | undefined;
  try {
    if (isForVersion(argv)) {
      await context.stdout.write(`${version}\n`);
      return ExitCode.done;
    }
    const { buildProgram } = await import('./program.ts');
    program = buildProgram(context, main);
    await program.root.parseAsync(argv, { from: 'user' });
    // If the command ran another command line, as `help` does, that one has explained its failure already.
    if (program.exitCode === ExitCode.done) context.signal.throwIfAborted();
    return program.exitCode;
  } catch (thrown) {
    const error = context.signal.aborted && !isVerdict(thrown) ? context.signal.reason : usageOf(thrown);
    if (error === undefined) return ExitCode.done;
    return await explain(error, program?.root.opts() ?? {}, context);
  }
}

/** Scripts ask for the version often, so nothing is loaded for it. */
export function isForVersion(argv: readonly string[]): boolean {
  return argv.length === 1 && argv[0] === '--version';
}

/** After an abort all kinds of calls fail. An error that says more than "aborted" still takes precedence. */
function isVerdict(error: unknown): boolean {
  return error instanceof HooktrailError;
}

async function explain(error: unknown, flags: GlobalFlags, context: Context): Promise<ExitCode> {
  const { stderr, environment } = context;
  const exitCode = error instanceof HooktrailError ? error.exitCode : ExitCode.failed;
  if (exitCode === ExitCode.done || error instanceof InterruptedError) return exitCode;
  const [{ errorText }, { colorLevel, paletteOf }, { terminalSafe }] = await Promise.all([
    import('./terminal/reporter.ts'),
    import('./terminal/palette.ts'),
    import('./terminal/terminal-safe.ts'),
  ]);
  const palette = await paletteOf(colorLevel(stderr, environment, flags.color));
  let text = errorText(error, palette);
  if (flags.debug && error instanceof Error && !(error instanceof HooktrailError)) {
    text += `${terminalSafe(error.stack ?? '')}\n`;
  }
  await stderr.write(text).catch(() => undefined);
  return exitCode;
}

/** Rewords an error of commander. Returns undefined if commander only printed help or the version. */
function usageOf(error: unknown): unknown {
  if (!isOfCommander(error)) return error;
  if (error.exitCode === 0) return undefined;
  if (error.code === 'commander.help')
    return new UsageError('a command is missing', { next: 'choose one of those above' });
  const [message = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const meant = suggestion?.match(/^\(Did you mean (.*)\?\)$/)?.[1];
  const [, flag, value] = /^option '(?:-\w, )?(--[\w-]+) (.*)' argument missing$/.exec(message) ?? [];
  return new UsageError(flag ? `${flag} needs a value: ${value}` : message, {
    next: meant ? `did you mean ${meant}?` : 'run the command with --help to see what it takes',
  });
}

/** Checks the code instead of the class, whose import would load the library when it is not needed. */
function isOfCommander(error: unknown): error is CommanderError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');
}
