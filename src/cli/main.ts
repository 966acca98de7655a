import type { GlobalFlags } from '../command.ts';
import type { Context } from '../context.ts';
import { ExitCode, explainedFault, HooktrailError, InterruptedError } from '../errors.ts';
import { fullVersion } from '../version.ts';
import type { Program } from './program.ts';

/**
 * Runs one command line and returns its exit code. Never throws: every failure becomes text on standard
 * error.
 */
export async function main(argv: readonly string[], context: Context): Promise<ExitCode> {
  let program: Program | undefined;
  try {
    if (isForVersion(argv)) {
      await context.stdout.write(`${fullVersion}\n`);
      return ExitCode.done;
    }
    // The program's own help needs no parsing.
    if (argv.length === 0 || (argv.length === 1 && ['--help', '-h'].includes(argv[0] as string))) {
      const { printProgramHelp } = await import('./program-help.ts');
      await printProgramHelp(argv, context);
      return ExitCode.done;
    }
    const { buildProgram } = await import('./program.ts');
    program = buildProgram(context, main);
    const exitCode = await program.run(argv);
    // If the command ran another command line, as `demo` does, that one has already explained its failure.
    if (exitCode === ExitCode.done) context.signal.throwIfAborted();
    return exitCode;
  } catch (thrown) {
    // After an abort all kinds of calls fail. An error that says more than "aborted" still takes precedence.
    const isAborted = context.signal.aborted && !(thrown instanceof HooktrailError);
    const error = explainedFault(isAborted ? context.signal.reason : thrown);
    return await explain(error, program, context);
  }
}

/** Scripts ask for the version often, so nothing is loaded for it. Node, npm and Docker accept `-v` alone. */
export function isForVersion(argv: readonly string[]): boolean {
  return argv.length === 1 && ['--version', '-V', '-v'].includes(argv[0] as string);
}

/** True for a call by a completion script, which puts this word before the words of the line. */
export function isForCompletion(argv: readonly string[]): boolean {
  return argv[0] === '__complete';
}

async function explain(
  error: HooktrailError,
  program: Program | undefined,
  context: Context,
): Promise<ExitCode> {
  const { stderr, environment } = context;
  const { exitCode, cause } = error;
  if (exitCode === ExitCode.done) return exitCode;
  const { flags = {} }: { readonly flags?: GlobalFlags } = program ?? {};
  const format = (await program?.settings())?.errorFormat ?? 'text';
  if (error instanceof InterruptedError && format === 'text') return exitCode;
  const [{ errorText, runFlags }, { colorLevel, paletteOf }, { terminalSafe }] = await Promise.all([
    import('../terminal/reporter.ts'),
    import('../terminal/palette.ts'),
    import('../terminal/terminal-text.ts'),
  ]);
  const palette = await paletteOf(colorLevel(stderr, environment, flags.color));
  const columns = stderr.isTerminal ? stderr.columns : undefined;
  let text = errorText(error, palette, runFlags(flags, environment), format, columns);
  if (format === 'text' && flags.debug && error.kind === 'internal' && cause instanceof Error)
    text += `${terminalSafe(cause.stack ?? '')}\n`;
  await stderr.write(text).catch(() => undefined);
  return exitCode;
}
