import { on } from 'node:events';
import { emitKeypressEvents } from 'node:readline';
import type { ReadStream } from 'node:tty';
import type { Context } from '../context.ts';
import { InterruptedError } from '../errors.ts';

export interface Key {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
}

export interface Screen {
  readonly lines: () => readonly string[];
  /** Returns true to end. */
  readonly press: (key: Key) => boolean;
  redraw: () => void;
}

/** Switches to the terminal's alternate screen, without the cursor, and back (xterm's control sequences). */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR = '\u001b[2J';
const REST_OF_LINE = '\u001b[K';
/** Milliseconds after which an escape character is the Escape key, rather than the start of a sequence. */
const ESCAPE_MS = 50;

/**
 * Fills the terminal until a key ends it. The previous screen is always restored: after a key, an error, a
 * signal or a crash, and while Ctrl-Z suspends the program. Throws `InterruptedError` on Ctrl-C, the signal's
 * reason when it aborts.
 */
export async function runScreen(screen: Screen, context: Context): Promise<void> {
  const { signal } = context;
  const input = context.stdin.stream() as ReadStream;
  const output = context.stdout.stream();
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
  const draw = () => output.write(HOME + screen.lines().join(`${REST_OF_LINE}\n`) + REST_OF_LINE);
  const clear = () => {
    output.write(CLEAR);
    draw();
  };
  signal.throwIfAborted();
  const forget = context.atExit?.(leave);
  try {
    enter();
    // readline uses only the time-out of its interface parameter.
    emitKeypressEvents(input, { escapeCodeTimeout: ESCAPE_MS } as never);
    const keys = on(input.resume(), 'keypress', { signal });
    output.on('resize', clear);
    screen.redraw = draw;
    draw();
    for await (const [, key] of keys as AsyncIterable<[unknown, Key]>) {
      // In raw mode Ctrl-C and Ctrl-Z are keys and send no signals.
      if (key.ctrl && key.name === 'c') throw new InterruptedError('SIGINT');
      if (key.ctrl && key.name === 'z' && context.suspend) {
        leave();
        await context.suspend();
        enter();
        clear();
      } else if (screen.press(key)) return;
      else draw();
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    screen.redraw = () => {};
    input.pause();
    output.off('resize', clear);
    leave();
    forget?.();
  }
}

/** Returns the new place, among `count` places with `page` of them on the screen. */
export type Mover = (place: number, count: number, page: number) => number;

const MOVERS: Readonly<Record<string, Mover>> = {
  up: (place) => place - 1,
  down: (place) => place + 1,
  pageup: (place, _count, page) => place - page,
  pagedown: (place, _count, page) => place + page,
  home: () => 0,
  end: (_place, count) => count - 1,
};
const LETTERS: Readonly<Record<string, string>> = {
  ...{ k: 'up', j: 'down', b: 'pageup', ' ': 'pagedown', '<': 'home', G: 'end', '>': 'end' },
};

/** Returns the movement of a key. `withLetters`: letters move instead of being typed. */
export function moverOf({ name = '', sequence = '', ctrl, meta }: Key, withLetters: boolean) {
  const move = MOVERS[(withLetters && LETTERS[sequence]) || name];
  if (ctrl || meta || !move) return undefined;
  return ((place, count, page) => Math.max(0, Math.min(count - 1, move(place, count, page)))) satisfies Mover;
}

/** Returns undefined for a control key. */
export function characterOf({ sequence = '', ctrl, meta }: Key): string | undefined {
  return !ctrl && !meta && /^[^\p{C}]+$/u.test(sequence) ? sequence : undefined;
}
