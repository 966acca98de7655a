import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import tty from 'node:tty';
import type { Environment, Machine } from './context.ts';

type Signal = 'SIGINT' | 'SIGTERM';

/**
 * Runs a program on this process's own streams until it ends; returns its exit code as a shell counts it. `divert` sends our
 * signals to a function until the function that it returns is called. Rejects if the program cannot be started.
 */
export async function runProgram(
  words: readonly string[],
  environment: Environment,
  { platform }: Pick<Machine, 'platform'>,
  divert: (to: (signal: Signal) => void) => () => void,
): Promise<number> {
  const [file = '', ...rest] = words;
  const batch = platform === 'win32' ? batchFile(file, environment) : undefined;
  const stdio = 'inherit';
  const child = batch
    ? spawn(
        environment['ComSpec'] ?? 'cmd.exe',
        ['/e:ON', '/v:OFF', '/d', '/s', '/c', batchLine(batch, rest)],
        {
          env: environment,
          stdio,
          windowsVerbatimArguments: true,
        },
      )
    : spawn(file, rest, { env: environment, stdio });
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

/** The batch file that Windows runs under this name, as `npm` is one. Only cmd.exe can run it. */
function batchFile(name: string, environment: Environment): string | undefined {
  const search =
    Object.entries(environment).find(([variable]) => variable.toUpperCase() === 'PATH')?.[1] ?? '';
  const folders = /[\\/]/.test(name) ? [''] : search.split(path.delimiter).filter(Boolean);
  const endings = path.extname(name) ? [''] : ['.exe', '.com', '.cmd', '.bat'];
  const files = folders.flatMap((folder) => endings.map((ending) => path.join(folder, name + ending)));
  const found = files.find((file) => existsSync(file));
  return found && /\.(cmd|bat)$/i.test(found) ? found : undefined;
}

/**
 * A command line on which no character of a word acts on cmd.exe, as Rust's standard library writes it (CVE-2024-24576): a
 * quote is doubled, and after `%%cd:~,`, which stands for nothing, a percent sign begins no variable.
 */
function batchLine(file: string, words: readonly string[]): string {
  const quoted = (word: string) =>
    `"${word
      .replace(/(\\*)"/g, '$1$1""')
      .replace(/(\\*)$/, '$1$1')
      .replace(/[%\r]/g, '%%cd:~,$&')}"`;
  return `"${[`"${file}"`, ...words.map(quoted)].join(' ')}"`;
}
