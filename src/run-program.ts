import { spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import tty from 'node:tty';
import type { Environment } from './context.ts';

type Signal = 'SIGINT' | 'SIGTERM';

/**
 * Runs a program on this process's own streams until it ends; returns its exit code as a shell counts it. `divert` sends our
 * signals to a function until the function that it returns is called. Rejects if the program cannot be started.
 */
export async function runProgram(
  [file = '', ...words]: readonly string[],
  environment: Environment,
  divert: (to: (signal: Signal) => void) => () => void,
): Promise<number> {
  const child = spawn(file, words, { env: environment, stdio: 'inherit' });
  const hasTerminal = [0, 1, 2].some((descriptor) => tty.isatty(descriptor));
  const restore = divert((signal) => {
    // The terminal sends Ctrl-C to the program too: a SIGINT of ours would be a second Ctrl-C.
    if (signal !== 'SIGINT' || !hasTerminal) child.kill(signal);
  });
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal ? os.constants.signals[signal] : 0);
  } finally {
    restore();
  }
}
