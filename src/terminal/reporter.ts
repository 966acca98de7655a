import type { Context } from '../context.ts';
import { HooktrailError } from '../errors.ts';
import { completeCommands } from '../settings/command-words.ts';
import { type ColorLevel, colorLevel, type Palette, paletteOf } from './palette.ts';
import { terminalSafe, terminalSafeBlock } from './terminal-safe.ts';

/** What a run was told that the commands it advises have to be told too. */
export interface RunFlags {
  readonly profile?: string;
  /** Of `login`. */
  readonly store?: string;
}

/** The options that decide how much is printed, and in what colour. */
export interface ReporterFlags extends RunFlags {
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
  const complete = (text: string) => completeCommands(text, runFlags(flags, environment));
  const verbose = flags.verbose === true || flags.debug === true;
  return {
    quiet: flags.quiet === true,
    verbose,
    debug: flags.debug === true,
    stdoutColor: colorLevel(stdout, environment, flags.color),
    palette,
    say: (text) => line(terminalSafe(text)),
    notice: (text) => {
      if (!flags.quiet) line(terminalSafe(complete(text)));
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

/** Returns what this run was told by flags, or by the variable that a later command may lack. */
export function runFlags({ profile, store }: RunFlags, environment: Context['environment']): RunFlags {
  const named = profile ?? environment['HOOKTRAIL_PROFILE'];
  return { ...(named ? { profile: named } : {}), ...(store ? { store } : {}) };
}

/**
 * Returns the text of a failure: `error: …`, indented details, `next: …`. The commands in the next step are completed with
 * the flags of the run.
 */
export function errorText(error: unknown, palette: Palette, flags: RunFlags = {}): string {
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
  if (next) lines.push(`${palette.accent('next:')} ${terminalSafeBlock(completeCommands(next, flags))}`);
  return `${lines.join('\n')}\n`;
}
