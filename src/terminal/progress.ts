import type { Ora } from 'ora';
import { agentVariable } from '../agent-mode.ts';
import type { Context } from '../context.ts';
import { cutToWidth, loadWidths } from './cell-width.ts';
import { plain, redraws, takesUnicode } from './palette.ts';
import type { Reporter } from './reporter.ts';
import { eventsText, grouped, terminalSafeLine, withAsciiCuts } from './terminal-text.ts';

export interface Progress {
  update(state: ProgressState): void;
  /** Clears the line. Call it even if the work fails. */
  stop(): void;
}

/** Milliseconds before a spinner appears, so that it does not flash during a short read. */
const PATIENCE_MS = 300;
/** Milliseconds between progress lines on a terminal without redrawing. */
const LINE_INTERVAL_MS = 10_000;

/**
 * Shows a line about a long read on standard error if that is a terminal, but not under `--quiet`, nor while
 * standard output is a pipe: its reader, such as `head` or `less`, may write to the same terminal at any
 * moment. The library erases the line before any other output of this process and redraws it below.
 */
export function startProgress(
  context: Pick<Context, 'stdout' | 'stderr' | 'environment' | 'machine' | 'clock' | 'memory'>,
  reporter: Pick<Reporter, 'quiet' | 'palette'>,
  label: string,
): Progress {
  const { stdout, stderr, environment, clock, memory } = context;
  const isShown = stderr.isTerminal && !stdout.isPipe && !reporter.quiet && !agentVariable(environment);
  if (!isShown) return { update: () => {}, stop: () => {} };
  const startedAt = clock.now();
  let state: ProgressState = {};
  const line = () => terminalSafeLine(progressText(label, state, (clock.now() - startedAt) / 1000));
  if (!redraws(environment)) {
    let printedAt = startedAt;
    return {
      update: (changes) => {
        state = { ...state, ...changes };
        if (clock.now() - printedAt < LINE_INTERVAL_MS) return;
        printedAt = clock.now();
        stderr.write(`${line()}\n`).catch(() => undefined);
      },
      stop: () => {},
    };
  }
  let spinner: Ora | undefined;
  let isStopped = false;
  const isUnicode = takesUnicode(context);
  const text = () => {
    const cut = cutToWidth(line(), stderr.columns - 3);
    return isUnicode ? cut : withAsciiCuts(cut);
  };
  const show = async () => {
    const { default: ora } = await import('ora');
    await loadWidths();
    if (isStopped || spinner || memory.question) return;
    spinner = ora({
      text: text(),
      // The default spinner consists of Braille characters.
      ...(isUnicode ? {} : { spinner: 'line' as const }),
      stream: stderr.stream(),
      isEnabled: true,
      color: reporter.palette === plain ? false : 'cyan',
      // After a crash, the cursor would stay hidden and input be discarded.
      hideCursor: false,
      discardStdin: false,
    }).start();
  };
  let cancel = () => {};
  const hide = () => {
    cancel();
    spinner?.stop();
    spinner = undefined;
  };
  const showLater = () => {
    cancel = clock.startTimer(PATIENCE_MS, () => void show().catch(() => undefined));
  };
  showLater();
  memory.progressLine = { hide, showLater };
  const stop = () => {
    isStopped = true;
    hide();
  };
  stdout.pagerOpened?.addEventListener('abort', stop, { once: true });
  return {
    update: (changes) => {
      state = { ...state, ...changes };
      if (spinner) spinner.text = text();
    },
    stop,
  };
}

export interface ProgressState {
  readonly pages?: number | undefined;
  readonly events?: number | undefined;
  readonly total?: number | undefined;
  /** Of these events, the number that earlier runs had read. If it is given, the time left is shown. */
  readonly readBefore?: number | undefined;
  readonly note?: string | undefined;
}

/** Formats one line: `searching: 12 pages, 6,000 of 200,000 events (3%), 4,500/s; note`. */
export function progressText(label: string, state: ProgressState, seconds: number): string {
  const { pages, events = 0, total, readBefore, note } = state;
  const parts: string[] = [];
  if (pages !== undefined) parts.push(`${grouped(pages)} ${pages === 1 ? 'page' : 'pages'}`);
  if (state.events !== undefined) {
    const percent = total ? ` (${Math.min(100, Math.floor((100 * events) / total))}%)` : '';
    parts.push(
      total === undefined ? eventsText(events) : `${grouped(events)} of ${eventsText(total)}${percent}`,
    );
  }
  const rate = seconds >= 0.1 ? (events - (readBefore ?? 0)) / seconds : 0;
  const perSecond = Math.round(rate);
  if (perSecond > 0) parts.push(`${grouped(perSecond)}/s`);
  if (rate > 0 && readBefore !== undefined && total !== undefined)
    parts.push(`${timeLeft(Math.max(0, total - events) / rate)} left`);
  return `${label}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}${note ? `; ${note}` : ''}`;
}

function timeLeft(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
