import type { Context } from '../context.ts';
import { HooktrailError } from '../errors.ts';
import { type ColorLevel, colorLevel, type Palette, paletteOf } from './palette.ts';
import { terminalSafe, terminalSafeBlock } from './terminal-safe.ts';

/** The global options that decide how much is printed, and in what colour. */
export interface ReporterFlags {
  readonly verbose?: boolean;
  readonly debug?: boolean;
  readonly color?: boolean;
  readonly quiet?: boolean;
}

/** A command's messages to a person, on standard error. */
export interface Reporter {
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  /** The colour level of standard output. */
  readonly stdoutColor: ColorLevel;
  readonly palette: Palette;
  /** Prints text that the user needs to continue, whatever the options are. */
  say(text: string): void;
  /** Prints nothing under `--quiet`. */
  notice(text: string): void;
  /** Prints the command line that runs next, after an empty line. */
  command(line: string): void;
  /** Prints a notice of success. */
  success(text: string): void;
  warning(text: string): void;
  /** Printed under `--verbose` and `--debug`. */
  trace(text: string): void;
}

export async function createReporter(context: Context, flags: ReporterFlags): Promise<Reporter> {
  const { stdout, stderr, environment } = context;
  const palette = await paletteOf(colorLevel(stderr, environment, flags.color));
  const line = (text: string) => void stderr.write(`${text}\n`).catch(() => undefined);
  const verbose = flags.verbose === true || flags.debug === true;
  return {
    quiet: flags.quiet === true,
    verbose,
    debug: flags.debug === true,
    stdoutColor: colorLevel(stdout, environment, flags.color),
    palette,
    say: (text) => line(terminalSafe(text)),
    notice: (text) => {
      if (!flags.quiet) line(terminalSafe(text));
    },
    command: (words) => {
      if (!flags.quiet) line(`\n${palette.dim('$')} ${palette.bold(terminalSafe(words))}`);
    },
    success: (text) => {
      if (!flags.quiet) line(palette.good(terminalSafe(text)));
    },
    warning: (text) => line(`${palette.caution('warning:')} ${terminalSafeBlock(text)}`),
    trace: (text) => {
      if (verbose) line(palette.dim(terminalSafe(text)));
    },
  };
}

/** Returns the text of a failure: `error: …`, indented details, `next: …`. */
export function errorText(error: unknown, palette: Palette): string {
  const known = error instanceof HooktrailError;
  const message = known
    ? error.message
    : `unexpected: ${error instanceof Error ? error.message : String(error)}`;
  const next = known
    ? error.next
    : 'this is a defect of hooktrail: run it again with --debug and report what it prints';
  const lines = [`${palette.bad('error:')} ${terminalSafeBlock(message)}`];
  for (const detail of known ? error.details : []) {
    for (const line of detail.split('\n')) lines.push(`  ${terminalSafe(line)}`);
  }
  if (next) lines.push(`${palette.accent('next:')} ${terminalSafeBlock(next)}`);
  return `${lines.join('\n')}\n`;
}
