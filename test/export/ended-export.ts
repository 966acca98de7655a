import { expect } from 'vitest';
import type { Exporting } from '../support/exporting.ts';
import { startProcess } from '../support/process.ts';
import { times } from '../support/sandbox.ts';

/** Pages of so few events that an export has many parts. */
export const small = ['--page-size', '10'];

/** Returns how many parts are complete. */
export async function complete(exporting: Exporting): Promise<number> {
  return (await exporting.manifest()).parts.filter(({ sha256 }) => sha256).length;
}

/**
 * Runs until that many more parts exist; from then on the service does not answer, and the program gets the
 * signal. Returns what it printed.
 */
export async function endedAfter(
  exporting: Exporting,
  parts: number,
  signal: NodeJS.Signals,
  ...args: string[]
) {
  const had = await complete(exporting).catch(() => 0);
  const isEnough = async () => (await complete(exporting).catch(() => 0)) >= had + parts;
  const run = async () => {
    if (await isEnough()) await new Promise(() => undefined);
  };
  exporting.control.fault('events', ...times(5000, { kind: 'run', run }));
  const words = ['events', 'export', exporting.directory, ...small, ...args];
  const program = startProcess(words, { env: exporting.env });
  await expect.poll(isEnough, { interval: 10 }).toBe(true);
  program.kill(signal);
  const result = await program.finished;
  exporting.control.clearFaults();
  return result;
}

/** Kills the program without a warning when that many more parts exist. */
export async function killedAfter(exporting: Exporting, parts: number, ...args: string[]): Promise<void> {
  expect((await endedAfter(exporting, parts, 'SIGKILL', ...args)).code).toBe('SIGKILL');
}
