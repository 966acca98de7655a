import { type Advice, adviceText, type RunFlags } from '../advice.ts';
import type { Context } from '../context.ts';
import { type ErrorParts, ExitCode, type HooktrailError, InterruptedError } from '../errors.ts';
import { type ColorLevel, colorLevel, type Palette, paletteOf, redraws, takesUnicode } from './palette.ts';
import { fittedLines, terminalSafe, terminalSafeBlock } from './terminal-text.ts';

/** The options that decide how much is printed, and in what colour. */
export interface ReporterFlags extends RunFlags {
  readonly verbose?: boolean;
  readonly debug?: boolean;
  readonly color?: boolean;
  readonly quiet?: boolean;
}

/** How errors and warnings are written: for people, or as one line of JSON each. */
export type ErrorFormat = 'text' | 'json';

/** A command's messages to a person, on standard error. */
export interface Reporter {
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  /** The colour level of standard output. */
  readonly stdoutColor: ColorLevel;
  /** False if the locale excludes characters beyond ASCII. */
  readonly takesUnicode: boolean;
  readonly palette: Palette;
  /** Prints text that the user needs to continue, whatever the options are. */
  say(text: string): void;
  /** Prints nothing under `--quiet`. */
  notice(text: Advice): void;
  /** Prints the command line that runs next, after an empty line. */
  command(line: string): void;
  /** Prints a notice of success. */
  success(text: string): void;
  /** Its kind is `usage` unless the parts name another. */
  warning(text: Advice, parts?: Pick<ErrorParts, 'kind' | 'details' | 'next'>): void;
  /** Printed under `--verbose` and `--debug`. */
  trace(text: string): void;
}

/** Returns a function that passes each text on once. */
export function eachOnce(report: ((text: string) => void) | undefined): (text: string) => void {
  const texts = new Set<string>();
  return (text) => {
    if (!texts.has(text)) report?.(text);
    texts.add(text);
  };
}

async function writeAboveQuestion(
  { stderr, memory: { question } }: Pick<Context, 'stderr' | 'memory'>,
  text: string,
): Promise<void> {
  await stderr.write(`${question?.clear ?? ''}${text}`);
  question?.show();
}

export async function createReporter(
  context: Context,
  flags: ReporterFlags,
  format: ErrorFormat = 'text',
): Promise<Reporter> {
  const { stdout, stderr, environment, signal, memory } = context;
  const palette = await paletteOf(colorLevel(stderr, environment, flags.color));
  const columns = stderr.isTerminal ? stderr.columns : undefined;
  const line = (text: string) => void writeAboveQuestion(context, `${text}\n`).catch(() => undefined);
  const notice = flags.quiet ? () => {} : line;
  const fitted = (text: string) => fittedLines(terminalSafe(text), columns);
  // The terminal has echoed Ctrl-C as `^C`, where the next line would go on.
  const onInterrupt = () => {
    const isEchoed = signal.reason instanceof InterruptedError && memory.question === undefined;
    if (isEchoed) stderr.write(redraws(environment) ? '\r\u001b[K' : '\n').catch(() => undefined);
  };
  if (stderr.isTerminal) signal.addEventListener('abort', onInterrupt, { once: true });
  const run = runFlags(flags, environment);
  const verbose = flags.verbose === true || flags.debug === true;
  const reporter: Reporter = {
    quiet: flags.quiet === true,
    verbose,
    debug: flags.debug === true,
    stdoutColor: colorLevel(stdout, environment, flags.color),
    takesUnicode: takesUnicode(context),
    palette,
    say: (text) => line(fitted(text)),
    notice: (text) => notice(fitted(adviceText(text, run))),
    command: (words) => notice(`\n${palette.dim('$')} ${palette.bold(terminalSafe(words))}`),
    success: (text) => notice(palette.good(fitted(text))),
    warning: (text, { kind = 'usage', details = [], next } = {}) => {
      const exitCode = kind === 'not-found' ? ExitCode.notFound : undefined;
      const message = adviceText(text, run);
      const nextText = next && adviceText(next, run);
      const warning = { level: 'warning', kind, exitCode, message, details, next: nextText } as const;
      void writeAboveQuestion(context, problemText(warning, format, palette, columns)).catch(() => undefined);
    },
    trace: (text) => {
      if (verbose) line(palette.dim(terminalSafe(text)));
    },
  };
  memory.warn = (text) => reporter.warning(text);
  return reporter;
}

/** Returns what this run was told by flags, or by the variable that a later command may lack. */
export function runFlags({ profile, store }: RunFlags, environment: Context['environment']): RunFlags {
  const named = profile ?? environment['HOOKTRAIL_PROFILE'];
  return { ...(named ? { profile: named } : {}), ...(store ? { store } : {}) };
}

/** A failure or a warning, with the names and in the order of its line of JSON. */
export type Problem = Pick<HooktrailError, 'kind' | 'message' | 'details'> &
  Partial<Pick<HooktrailError, 'status' | 'retryable'>> & {
    readonly level: 'error' | 'warning';
    readonly next: string | undefined;
    readonly exitCode: ExitCode | undefined;
    readonly error?: object | undefined;
  };

/**
 * Returns the text of a failure: `error: …`, indented details, `next: …`; or all of it as one line of JSON.
 * The commands in the next step are completed with the flags of the run. Lines fit `columns`, the width of a
 * terminal.
 */
export function errorText(
  { kind, exitCode, message, details, status, retryable, next, errorObject }: HooktrailError,
  palette: Palette,
  flags: RunFlags = {},
  format: ErrorFormat = 'text',
  columns?: number,
): string {
  const said = { level: 'error', kind, exitCode, message, details, status, retryable } as const;
  const nextText = next && adviceText(next, flags);
  return problemText({ ...said, next: nextText, error: errorObject }, format, palette, columns);
}

/** The lines of a failure or a warning, as text or as one line of JSON. */
export function problemText(
  problem: Problem,
  format: ErrorFormat,
  palette: Palette,
  columns?: number,
): string {
  const { level, message, details, next } = problem;
  if (format === 'json') {
    const told = details.length > 0 ? problem : { ...problem, details: undefined };
    // JSON has the same escapes for characters that act on a terminal.
    return `${terminalSafe(JSON.stringify(told))}\n`;
  }
  const labelled = (label: string, text: string, paint: (label: string) => string) =>
    paint(label) + fittedLines(`${label} ${terminalSafeBlock(text)}`, columns, '  ').slice(label.length);
  const lines = [labelled(`${level}:`, message, level === 'error' ? palette.bad : palette.caution)];
  for (const detail of details) {
    for (const line of detail.split('\n')) lines.push(fittedLines(`  ${terminalSafe(line)}`, columns, '  '));
  }
  if (next) lines.push(labelled('next:', next, palette.accent));
  return `${lines.join('\n')}\n`;
}
