import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { inject } from 'vitest';
import { quotedWord } from '../../src/settings/flag-values.ts';
import { clock } from './clock.ts';
import { available } from './requirement.ts';

const script = '/usr/bin/script';

/** True if programs can be run on a terminal here, which util-linux's `script` creates. */
export const hasTerminal = process.platform === 'linux' && available('a terminal of its own (script)');

export interface OnTerminal {
  /** Everything that was sent to the terminal so far, including escape sequences. */
  readonly screen: string;
  /** Waits until the text after the last match matches the pattern. */
  shows(pattern: RegExp): Promise<RegExpMatchArray>;
  type(keys: string): void;
  /** The exit code. */
  readonly finished: Promise<number>;
}

interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly columns: number;
}

function spawnOnTerminal(command: string, { env, columns }: Terminal): ChildProcessWithoutNullStreams {
  clock.run();
  return spawn(script, ['-qefc', `stty cols ${columns} rows 40; ${command}`, '/dev/null'], {
    env: { TERM: 'xterm-256color', SHELL: '/bin/sh', ...env, ...clock.environment },
    cwd: env['HOME'],
  });
}

/** Returns everything that a shell command sends to its terminal, on which nobody types. */
export async function screenOf(command: string, terminal: Terminal): Promise<string> {
  const child = spawnOnTerminal(command, terminal);
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  await once(child, 'close');
  return screen;
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
  { env, columns = 80 }: Omit<Terminal, 'columns'> & { columns?: number },
): OnTerminal {
  return startOn(`exec ${commandOf(args)}`, { env, columns });
}

function startOn(command: string, terminal: Terminal): OnTerminal {
  const child = spawnOnTerminal(command, terminal);
  let screen = '';
  let seen = 0;
  let ended = false;
  const waiting = new Set<() => void>();
  const look = () => {
    for (const one of waiting) one();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    look();
  });
  child.stdin.on('error', () => undefined);
  const finished = once(child, 'close').then(([code]) => {
    ended = true;
    look();
    return code as number;
  });
  return {
    get screen() {
      return screen;
    },
    finished,
    type: (keys) => void child.stdin.write(keys),
    shows: (pattern) =>
      new Promise((resolve, reject) => {
        const one = () => {
          const match = screen.slice(seen).match(pattern);
          if (!match && !ended) return;
          waiting.delete(one);
          if (!match) return reject(new Error(`${pattern} was not shown:\n${JSON.stringify(screen)}`));
          seen += (match.index ?? 0) + match[0].length;
          resolve(match);
        };
        waiting.add(one);
        one();
      }),
  };
}
