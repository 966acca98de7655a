import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, inject } from 'vitest';
import { clock } from './clock.ts';
import { listening } from './listening.ts';
import { noteRunning, PrintedText } from './running.ts';

export interface Options {
  /** The whole environment, as `createHome` makes it, with the test's additions. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The whole of standard input; absent: empty. `start` leaves it open if this is null. */
  readonly stdin?: string | null;
  readonly cwd?: string;
  /** A program to run instead of hooktrail. */
  readonly executable?: string;
  /** Standard output is not read until `resume`. */
  readonly paused?: boolean;
}

export interface Result {
  /** The exit code, or the name of the signal that ended the process. */
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built program to its end. */
export async function spawnHooktrail(args: readonly string[], options: Options): Promise<Result> {
  return await startProcess(args, options).finished;
}

export interface Running {
  readonly pid: number;
  readonly stdin: NodeJS.WritableStream;
  readonly finished: Promise<Result>;
  /** The text printed so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Waits until the stream's text so far matches; rejects if the program ends first. */
  printed(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpMatchArray>;
  kill(signal: NodeJS.Signals): void;
  /** Closes the reading end of standard output, as `| head` does. */
  closeStdout(): void;
  resume(): void;
}

/** Starts the built program and leaves it running. */
export function startProcess(
  args: readonly string[],
  { env: given, stdin = '', cwd = given['HOME'], paused = false, executable }: Options,
): Running {
  const hasEnded = clock.run();
  const env = { ...given, ...clock.environment };
  const child = executable
    ? spawn(executable, args, { env, cwd })
    : spawn(process.execPath, [inject('program'), ...args], { env, cwd });
  const printed = new PrintedText(['stdout', 'stderr']);
  const texts = printed.of;
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => printed.add(text, name));
  }
  if (paused) child.stdout.pause();
  // The program may end without reading its input.
  child.stdin.on('error', () => undefined);
  if (stdin !== null) child.stdin.end(stdin);
  const finished = once(child, 'close').then(([code, signal]) => {
    hasEnded();
    const result = { code: code ?? signal, ...texts };
    printed.end(result);
    return result;
  });
  noteRunning(finished, () => child.kill('SIGKILL'));
  return {
    pid: child.pid as number,
    stdin: child.stdin,
    finished,
    get stdout() {
      return texts.stdout;
    },
    get stderr() {
      return texts.stderr;
    },
    printed: (stream, pattern) => printed.matches(stream, pattern),
    kill: (signal) => void child.kill(signal),
    closeStdout: () => void child.stdout.destroy(),
    resume: () => void child.stdout.resume(),
  };
}

/**
 * A signal that a process has handled: milliseconds of the process's own clock before and after its listeners
 * ran.
 */
export interface NotedSignal {
  readonly name: string;
  readonly before: number;
  readonly after: number;
}

export interface NotingSignals extends Running {
  /** Waits until the condition holds for the signals that the program has handled. */
  handled(are: (signals: readonly NotedSignal[]) => boolean): Promise<void>;
}

/** Starts the built program, which records the signals that it handles. */
export function startNotingSignals(args: readonly string[], options: Options): NotingSignals {
  const file = path.join(options.env['TMPDIR'] as string, 'signals');
  const preload = path.join(import.meta.dirname, 'note-signals.cjs');
  const program = startProcess(args, {
    ...options,
    env: {
      ...options.env,
      NODE_OPTIONS: `${options.env['NODE_OPTIONS']} --require="${preload}"`,
      HOOKTRAIL_TEST_SIGNALS: file,
    },
  });
  const noted = async () =>
    (await readFile(file, 'utf8').catch(() => ''))
      .split('\n')
      .slice(0, -1)
      .map((line): NotedSignal => {
        const [name = '', before, after] = line.split(' ');
        return { name, before: Number(before), after: Number(after) };
      });
  const handled = async (are: (signals: readonly NotedSignal[]) => boolean) =>
    expect.poll(async () => are(await noted()), { interval: 20 }).toBe(true);
  return Object.assign(program, { handled });
}

/** Runs `webhooks listen` as a separate process, which can be killed. */
export async function startListeningProcess(...flags: string[]) {
  return await listening(startProcess, flags);
}
