import { emitKeypressEvents } from 'node:readline';
import type { ReadStream } from 'node:tty';
import type { Context } from '../context.ts';
import { InterruptedError } from '../errors.ts';

/** A key as `node:readline` reports it. */
export interface Key {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
}

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
/** After this time an escape character is the Escape key, and not the beginning of a sequence. */
const ESCAPE_MS = 50;

/**
 * Fills the terminal until a key ends it. The previous screen is restored however it ends: by a key, an error, a signal
 * or a crash, and while Ctrl-Z suspends the program. Throws `InterruptedError` on Ctrl-C, the signal's reason when it
 * aborts.
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
  let isEntered = false;
  const enter = () => {
    input.setRawMode(true);
    output.write(ENTER);
    isEntered = true;
  };
  const leave = () => {
    if (isEntered) output.write(LEAVE);
    isEntered = false;
    input.setRawMode(false);
  };
  signal.throwIfAborted();
  const forget = context.atExit?.(leave);
  let stop = () => {};
  try {
    enter();
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      const suspend = async () => {
        if (!context.suspend) return;
        leave();
        await context.suspend();
        enter();
        clear();
      };
      const onKey = (_text: string | undefined, key: Key) => {
        try {
          // In raw mode Ctrl-C and Ctrl-Z are keys and send no signals.
          if (key.ctrl && key.name === 'c') throw new InterruptedError('SIGINT');
          if (key.ctrl && key.name === 'z') void suspend().catch(reject);
          else if (screen.press(key)) resolve();
          else draw();
        } catch (error) {
          reject(error);
        }
      };
      // Of its interface parameter, readline uses only the time-out.
      emitKeypressEvents(input, { escapeCodeTimeout: ESCAPE_MS } as never);
      input.on('keypress', onKey).resume();
      output.on('resize', clear);
      signal.addEventListener('abort', onAbort);
      screen.onReady(draw);
      draw();
      stop = () => {
        input.off('keypress', onKey).pause();
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

export type Movement = 'up' | 'down' | 'page-up' | 'page-down' | 'first' | 'last';

const MOVEMENTS: Readonly<Record<string, Movement>> = {
  ...{ up: 'up', down: 'down', pageup: 'page-up', pagedown: 'page-down', home: 'first', end: 'last' },
};
/** As in `less`. */
const LETTERS: Readonly<Record<string, Movement>> = {
  ...{ k: 'up', j: 'down', b: 'page-up', ' ': 'page-down', '<': 'first', G: 'last', '>': 'last' },
};

/** Returns the movement of a key. Letters move only if `withLetters`: elsewhere they are typed. */
export function movementOf({ name = '', sequence = '', ctrl, meta }: Key, withLetters: boolean) {
  if (ctrl || meta) return undefined;
  return MOVEMENTS[name] ?? (withLetters ? LETTERS[sequence] : undefined);
}

/** Returns the character that a key types, or undefined for a control key. */
export function characterOf({ sequence = '', ctrl, meta }: Key): string | undefined {
  return !ctrl && !meta && /^[^\p{C}]+$/u.test(sequence) ? sequence : undefined;
}

/** Returns the place after a movement, among `count` places of which `page` fit on the screen. */
export function movePlace(place: number, movement: Movement, count: number, page: number): number {
  const targets: Record<Movement, number> = {
    up: place - 1,
    down: place + 1,
    'page-up': place - page,
    'page-down': place + page,
    first: 0,
    last: count - 1,
  };
  return Math.max(0, Math.min(count - 1, targets[movement]));
}
