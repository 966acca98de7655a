import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface Measured {
  /** Wall-clock seconds. */
  readonly seconds: number;
  /** Peak resident size in MiB of the process itself; undefined if the system does not report it. */
  readonly peakMiB: number | undefined;
  /** Processor seconds of the process itself. */
  readonly cpu: number | undefined;
  /** Lines on standard output. */
  readonly lines: number;
}

/** Runs a command to its end, reading its output as a pipe would. Throws if it fails. */
export async function measure({ file, args, env }: Command): Promise<Measured> {
  const began = performance.now();
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let lines = 0;
  let errors = '';
  let peakMiB: number | undefined;
  let cpu: number | undefined;
  child.stdout.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  // The high-water mark only grows, so the last reading before the end counts.
  const look = setInterval(async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    const peak = status.match(/VmHWM:\s+(\d+) kB/)?.[1];
    if (peak) peakMiB = Number(peak) / 1024;
    const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8').catch(() => '');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields.length > 12) cpu = (Number(fields[11]) + Number(fields[12])) / 100;
  }, 15);
  const [code] = await once(child, 'close');
  clearInterval(look);
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${code}: ${errors}`);
  return { seconds: (performance.now() - began) / 1000, peakMiB, cpu, lines };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** Returns the median of the ratios of neighbouring runs: if the machine slows down, it slows both. */
export function pairedRatio(runs: readonly number[] = [], base: readonly number[] = []): number {
  return median(runs.map((seconds, round) => seconds / (base[round] as number)));
}

/**
 * Returns the medians of several runs of each command. The commands take turns, so that a busy moment of the machine
 * affects all of them. Each run is told on standard error: a table takes minutes.
 */
export async function compare(
  commands: Readonly<Record<string, Command>>,
  rounds: number,
): Promise<Record<string, Measured & { runs: number[] }>> {
  const all: Record<string, Measured[]> = {};
  for (let round = 0; round < rounds; round++) {
    for (const [name, command] of Object.entries(commands)) {
      const measured = await measure(command);
      console.error(`  run ${round + 1} of ${rounds}: ${measured.seconds.toFixed(2)} s, ${name}`);
      all[name] = [...(all[name] ?? []), measured];
    }
  }
  return Object.fromEntries(
    Object.entries(all).map(([name, runs]) => {
      const known = (pick: (run: Measured) => number | undefined) => {
        const values = runs.map(pick).filter((value) => value !== undefined);
        return values.length > 0 ? median(values) : undefined;
      };
      const seconds = runs.map((run) => run.seconds);
      return [
        name,
        {
          seconds: median(seconds),
          peakMiB: known((run) => run.peakMiB),
          cpu: known((run) => run.cpu),
          lines: (runs[0] as Measured).lines,
          runs: seconds,
        },
      ];
    }),
  );
}
