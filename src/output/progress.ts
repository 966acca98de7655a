import type { Context } from '../context.ts';
import { plain } from './palette.ts';
import type { ProgressState } from './progress-text.ts';
import type { Reporter } from './reporter.ts';
import { terminalSafeLine } from './terminal-safe.ts';

export interface Progress {
  /** Replaces the parts that are given. Nothing is printed here: frames come at their own pace. */
  update(state: ProgressState): void;
  /** Clears the line. Must be called however the work ends. */
  stop(): void;
}

/** A read that is done sooner never flashes a spinner. */
const PATIENCE = 300;

/**
 * A line about a long read on standard error, where that is a terminal and not under `--quiet`. While it is there,
 * the library puts other output of this process above it, data on the same terminal too.
 */
export function startProgress(
  context: Pick<Context, 'stderr' | 'environment' | 'clock'>,
  reporter: Pick<Reporter, 'quiet' | 'palette'>,
  label: string,
): Progress {
  const { stderr, environment, clock } = context;
  if (!stderr.isTerminal || reporter.quiet || environment['TERM'] === 'dumb') {
    return { update: () => {}, stop: () => {} };
  }
  const startedAt = clock.now();
  let state: ProgressState = {};
  let clear = () => {};
  let redraw = () => {};
  let stopped = false;
  const show = async () => {
    const [{ default: ora }, { cutTo }, { progressText }] = await Promise.all([
      import('ora'),
      import('./cell-width.ts'),
      import('./progress-text.ts'),
    ]);
    if (stopped) return;
    const text = () => {
      const line = progressText(label, state, (clock.now() - startedAt) / 1000);
      return cutTo(terminalSafeLine(line), stderr.columns - 3);
    };
    const spinner = ora({
      text: text(),
      stream: stderr.stream(),
      isEnabled: true,
      color: reporter.palette === plain ? false : 'cyan',
      // Neither is worth what would have to be put right after a crash.
      hideCursor: false,
      discardStdin: false,
    }).start();
    redraw = () => {
      spinner.text = text();
    };
    clear = () => spinner.stop();
  };
  const timer = setTimeout(() => void show().catch(() => undefined), PATIENCE);
  timer.unref();
  return {
    update: (changes) => {
      state = { ...state, ...changes };
      redraw();
    },
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      redraw = () => {};
      clear();
      clear = () => {};
    },
  };
}
