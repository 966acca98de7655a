import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import xterm from '@xterm/headless';
import { inject } from 'vitest';
import { quotedWord } from '../../../src/shell-words.ts';
import { clock } from '../clock.ts';
import { PrintedText } from '../running.ts';
import { available } from './requirement.ts';

const script = '/usr/bin/script';
const execute = promisify(execFile);

/** True if programs can be run on a terminal here, which util-linux's `script` creates. */
export const hasTerminal = process.platform === 'linux' && available('a terminal of its own (script)');

export interface OnTerminal {
  /** Everything that was sent to the terminal so far, including escape sequences. */
  readonly screen: string;
  /** The lines that a person sees now, without white space at their ends. */
  seen(): Promise<string[]>;
  /** Waits until the text after the last match matches the pattern. */
  shows(pattern: RegExp): Promise<RegExpMatchArray>;
  type(keys: string): void;
  /** Gives the terminal another size, as dragging the corner of its window does. */
  resize(columns: number, rows: number): Promise<void>;
  /** The exit code. */
  readonly finished: Promise<number>;
}

interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly columns: number;
  readonly rows?: number;
}

function spawnOnTerminal(
  command: string,
  { env, columns, rows = 40 }: Terminal,
): ChildProcessWithoutNullStreams {
  clock.run();
  const size = `stty cols ${columns} rows ${rows}; tty > "$TMPDIR/tty"`;
  return spawn(script, ['-qefc', `${size}; ${command}`, '/dev/null'], {
    env: { TERM: 'xterm-256color', SHELL: '/bin/sh', TMPDIR: os.tmpdir(), ...env, ...clock.environment },
    cwd: env['HOME'],
  });
}

/** Returns everything that a shell command sends to its terminal, on which nobody types. */
export async function screenOf(command: string, terminal: Terminal): Promise<string> {
  const running = startOn(command, terminal);
  await running.finished;
  return running.screen;
}

/** The built program as a command of a shell. */
function commandOf(args: readonly string[]): string {
  return [process.execPath, inject('program'), ...args].map(quotedWord).join(' ');
}

/** Starts a shell with job control on a terminal; `command` is how it calls the built program. */
export function startShell(terminal: Terminal): OnTerminal & { command: typeof commandOf } {
  return Object.assign(startOn('exec bash --norc --noprofile -i', terminal), { command: commandOf });
}

/** Starts the built program with a terminal as its standard streams. */
export function startOnTerminal(
  args: readonly string[],
  { columns = 80, ...terminal }: Omit<Terminal, 'columns'> & { columns?: number },
): OnTerminal {
  return startOn(`exec ${commandOf(args)}`, { columns, ...terminal });
}

function startOn(command: string, given: Terminal): OnTerminal {
  const child = spawnOnTerminal(command, given);
  const printed = new PrintedText(['screen']);
  const texts = printed.of;
  const { columns: cols, rows = 40 } = given;
  const emulator = new xterm.Terminal({ cols, rows, allowProposedApi: true });
  let matched = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    emulator.write(text);
    printed.add(text, 'screen');
  });
  child.stdin.on('error', () => undefined);
  const finished = once(child, 'close').then(([code]) => {
    printed.end(texts);
    return code as number;
  });
  return {
    get screen() {
      return texts.screen;
    },
    async seen() {
      await new Promise<void>((resolve) => emulator.write('', resolve));
      const { active } = emulator.buffer;
      return Array.from({ length: emulator.rows }, (_, row) =>
        String(active.getLine(active.viewportY + row)?.translateToString(true)),
      );
    },
    finished,
    type: (keys) => void child.stdin.write(keys),
    async resize(columns, height) {
      const tty = await readFile(path.join(given.env['TMPDIR'] ?? os.tmpdir(), 'tty'), 'utf8');
      emulator.resize(columns, height);
      await execute('stty', ['-F', tty.trim(), 'cols', `${columns}`, 'rows', `${height}`]);
    },
    async shows(pattern) {
      const match = await printed.matches('screen', pattern, () => matched);
      matched += (match.index ?? 0) + match[0].length;
      return match;
    },
  };
}
