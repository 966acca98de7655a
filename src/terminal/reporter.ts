import { type Advice, adviceText, type RunFlags } from '../advice.ts';
import type { Context } from '../context.ts';
import {
  type ErrorKind,
  type ErrorParts,
  ExitCode,
  type HooktrailError,
  InterruptedError,
} from '../errors.ts';
import { type ColorLevel, colorLevel, type Palette, paletteOf, redraws, takesUnicode } from './palette.ts';
import { fittedLines, terminalSafe, terminalSafeBlock } from './terminal-text.ts';

export interface ReporterFlags extends RunFlags {
  readonly verbose?: boolean;
  readonly debug?: boolean;
  readonly color?: boolean;
  readonly quiet?: boolean;
}

export type ErrorFormat = 'text' | 'json';

interface WarningParts extends Pick<ErrorParts, 'details' | 'next'> {
  readonly kind: ErrorKind;
}

export interface Reporter {
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  readonly stdoutColor: ColorLevel;
  /** False if the locale excludes characters beyond ASCII. */
  readonly takesUnicode: boolean;
  readonly palette: Palette;
  /** Flags that the next commands repeat. */
  readonly runFlags: RunFlags;
  /** Prints regardless of options, for text that the user needs to continue. */
  say(text: string): void;
  notice(text: Advice): void;
  /** Prints the command line that runs next, after an empty line. */
  command(line: string): void;
  success(text: string): void;
  warning(text: Advice, parts: WarningParts): void;
  trace(text: string): void;
}

/** Takes a doubt: the result may be incomplete, or (`usage`) its conditions may be mistaken. */
export type OnDoubt = (doubt: string, kind?: 'usage' | 'incomplete') => void;

export function warnOfDoubts(reporter: Pick<Reporter, 'warning'>): OnDoubt {
  return (doubt, kind = 'incomplete') => reporter.warning(doubt, { kind });
}

/** Returns a reporter for requests that nobody typed: it prints no progress, notices or warnings. */
export function silenced(reporter: Reporter): Reporter {
  return { ...reporter, quiet: true, notice: () => {}, warning: () => {} };
}

export function eachOnce(report: OnDoubt | undefined): OnDoubt {
  const texts = new Set<string>();
  return (text, kind) => {
    if (!texts.has(text)) report?.(text, kind);
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
  format: ErrorFormat,
): Promise<Reporter> {
  const { stdout, stderr, environment, signal, memory } = context;
  const palette = await paletteOf(colorLevel(stderr, environment, flags.color));
  const columns = stderr.isTerminal ? stderr.columns : undefined;
  const line = (text: string) => void writeAboveQuestion(context, `${text}\n`).catch(() => undefined);
  const notice = flags.quiet ? () => {} : line;
  const fitted = (text: string) => fittedLines(terminalSafe(text), columns);
  // The terminal has echoed Ctrl-C as `^C`, and the next line would continue there.
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
    runFlags: run,
    say: (text) => line(fitted(text)),
    notice: (text) => notice(fitted(adviceText(text, run))),
    command: (words) => notice(`\n${palette.dim('$')} ${palette.bold(terminalSafe(words))}`),
    success: (text) => notice(palette.good(fitted(text))),
    warning: (text, { kind, details = [], next }) => {
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
  memory.warn = (text) => reporter.warning(text, { kind: 'usage' });
  return reporter;
}

/** Returns the run's flags that a later command needs, or the variable that it may lack. */
export function runFlags({ profile, store }: RunFlags, environment: Context['environment']): RunFlags {
  const named = profile ?? environment['HOOKTRAIL_PROFILE'];
  return { ...(named ? { profile: named } : {}), ...(store ? { store } : {}) };
}

export type Problem = Pick<HooktrailError, 'kind' | 'message' | 'details'> &
  Partial<Pick<HooktrailError, 'status' | 'retryable'>> & {
    readonly level: 'error' | 'warning';
    readonly next: string | undefined;
    readonly exitCode: ExitCode | undefined;
    readonly error?: object | undefined;
  };

/**
 * Formats a failure: `error: …`, indented details, `next: …`; or one line of JSON. Commands in the next step
 * get the flags of the run. `columns`: the width of a terminal.
 */
export function errorText(
  { kind, exitCode, message, details, status, retryable, next, errorObject }: HooktrailError,
  palette: Palette,
  flags: RunFlags,
  format: ErrorFormat,
  columns?: number,
): string {
  const said = { level: 'error', kind, exitCode, message, details, status, retryable } as const;
  const nextText = next && adviceText(next, flags);
  return problemText({ ...said, next: nextText, error: errorObject }, format, palette, columns);
}

export function problemText(
  problem: Problem,
  format: ErrorFormat,
  palette: Palette,
  columns?: number,
): string {
  const { level, message, details, next } = problem;
  if (format === 'json') {
    const printed = details.length > 0 ? problem : { ...problem, details: undefined };
    // JSON uses the same escapes for control characters.
    return `${terminalSafe(JSON.stringify(printed))}\n`;
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
