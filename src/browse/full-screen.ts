import { emitKeypressEvents } from 'node:readline';
import type { ReadStream } from 'node:tty';
import type { Context } from '../context.ts';
import { InterruptedError } from '../errors.ts';
import type { Key } from './browse-keys.ts';

export interface Screen {
  /** Returns as many lines as there are rows, the last one neither empty nor full. */
  readonly draw: () => readonly string[];
  /** Called with each key. Returns true to end. */
  readonly press: (key: Key) => boolean;
  /** Called with a function that redraws the screen. */
  readonly onReady: (redraw: () => void) => void;
}

/** Switches to the terminal's alternate screen, without the cursor, and back (xterm's control sequences). */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR = '\u001b[2J';
/** Clears the rest of a line. */
const REST_OF_LINE = '\u001b[K';
/** Milliseconds after which an escape character is the Escape key, and not the beginning of a sequence. */
const ESCAPE_TIME = 50;

/**
 * Fills the terminal until a key ends it. The previous screen is restored however it ends: by a key, an error, a signal
 * or a crash. Throws `InterruptedError` on Ctrl-C, the signal's reason when it aborts.
 */
export async function runScreen(screen: Screen, context: Context): Promise<void> {
  const { signal } = context;
  const input = context.stdin.stream() as ReadStream;
  const output = context.stdout.stream();
  const draw = () => output.write(HOME + screen.draw().join(`${REST_OF_LINE}\n`) + REST_OF_LINE);
  const clear = () => {
    output.write(CLEAR);
    draw();
  };
  let entered = true;
  const leave = () => {
    if (entered) output.write(LEAVE);
    entered = false;
  };
  const forget = context.atExit?.(leave);
  signal.throwIfAborted();
  let stop = () => {};
  output.write(ENTER);
  try {
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      const onKey = (_text: string | undefined, key: Key) => {
        try {
          // In raw mode Ctrl-C is a key and sends no signal.
          if (key.ctrl && key.name === 'c') throw new InterruptedError('SIGINT');
          if (screen.press(key)) resolve();
          else draw();
        } catch (error) {
          reject(error);
        }
      };
      // Of its interface parameter, readline uses only the time-out.
      emitKeypressEvents(input, { escapeCodeTimeout: ESCAPE_TIME } as never);
      input.setRawMode(true);
      input.on('keypress', onKey).resume();
      output.on('resize', clear);
      signal.addEventListener('abort', onAbort);
      screen.onReady(draw);
      draw();
      stop = () => {
        input.off('keypress', onKey).pause();
        input.setRawMode(false);
        output.off('resize', clear);
        signal.removeEventListener('abort', onAbort);
        screen.onReady(() => {});
      };
    });
  } finally {
    stop();
    leave();
    forget?.();
  }
}
