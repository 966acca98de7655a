import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { type Options, type Running, startProcess } from './process.ts';

/** A signal that a process has handled: milliseconds of the process's own clock before and after its listeners ran. */
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
    expect.poll(async () => are(await noted()), { timeout: 20_000, interval: 20 }).toBe(true);
  return Object.assign(program, { handled });
}
