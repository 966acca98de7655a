import type { Writable } from 'node:stream';
import { createPrompt, useEffect, useKeypress, useState } from '@inquirer/core';
import type { Context } from '../context.ts';
import { InterruptedError } from '../errors.ts';
import type { Key } from './keys.ts';

export interface Screen {
  /** The lines to show, as many as there are rows, the last one neither empty nor full. */
  readonly draw: () => readonly string[];
  /** Told each key; true ends it. */
  readonly press: (key: Key) => boolean;
  /** Is given what draws again when something changed that no key did. */
  readonly onReady: (redraw: () => void) => void;
}

/** The other screen that terminals have for this, without history and cursor, and the way back (xterm's control sequences). */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR = '\u001b[2J';

/**
 * Fills the terminal until a key ends it. The screen that was there comes back however it ends: by a key, an error, a
 * signal or a crash. Throws `InterruptedError` on Ctrl+C, the signal's reason when it aborts.
 */
export async function runScreen(screen: Screen, context: Context): Promise<void> {
  const output = context.stdout.stream();
  let entered = true;
  const leave = () => {
    if (entered) output.write(LEAVE);
    entered = false;
  };
  const forget = context.atExit?.(leave);
  output.write(ENTER);
  try {
    await promptFor(screen, output)({}, { input: context.stdin.stream(), output, signal: context.signal });
  } catch (error) {
    context.signal.throwIfAborted();
    throw (error as Error).name === 'ExitPromptError' ? new InterruptedError('SIGINT') : error;
  } finally {
    leave();
    forget?.();
  }
}

function promptFor(screen: Screen, output: Writable) {
  return createPrompt<void, object>((_, done) => {
    const [drawn, setDrawn] = useState(0);
    useKeypress((key, line) => {
      // What is typed belongs to us: the library would keep it as the answer's text.
      line.clearLine(0);
      if (screen.press(key as Key)) done();
      setDrawn(drawn + 1);
    });
    useEffect((line) => {
      let count = 0;
      const redraw = () => setDrawn(--count);
      const resized = () => {
        output.write(CLEAR);
        redraw();
      };
      screen.onReady(redraw);
      output.on('resize', resized);
      // Stopping the program would leave the shell on our screen.
      line.on('SIGTSTP', () => {});
      return () => {
        output.off('resize', resized);
        screen.onReady(() => {});
      };
    }, []);
    return HOME + screen.draw().join('\n');
  });
}
