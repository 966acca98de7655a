import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';

export type Env = Readonly<Record<string, string | undefined>>;

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Env;
}

export interface Measured {
  /** Wall-clock seconds. */
  readonly seconds: number;
  /** Peak resident size in MiB of the process itself; NaN if the system does not report it. */
  readonly peakMiB: number;
  /** Processor seconds of the process itself. */
  readonly cpu: number;
  /** Lines on standard output. */
  readonly lines: number;
}

/** Runs a command to its end, reading its output as a pipe would. Throws if it fails. */
export async function measure({ file, args, env }: Command): Promise<Measured> {
  const began = performance.now();
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let lines = 0;
  let errors = '';
  let usage = { peakMiB: Number.NaN, cpu: Number.NaN };
  child.stdout.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  // The high-water mark only grows, so the last reading before the end counts.
  const look = setInterval(async () => {
    const now = await usageOf(child);
    if (now.peakMiB > 0) usage = now;
  }, 15);
  const [code] = await once(child, 'close');
  clearInterval(look);
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${code}: ${errors}`);
  return { seconds: (performance.now() - began) / 1000, lines, peakMiB: usage.peakMiB, cpu: usage.cpu };
}

/** Returns the processor seconds of a process so far, and its resident size at most in MiB (Linux only). */
async function usageOf({ pid }: ChildProcess) {
  const [stat, status] = await Promise.all(
    ['stat', 'status'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')),
  );
  const fields = String(stat)
    .replace(/^.*\) /s, '')
    .split(' ');
  const size = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(String(status))?.[1]) / 1024;
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, peakMiB: size('VmHWM') };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [lower = Number.NaN, upper = lower] = sorted.slice(sorted.length % 2 === 1 ? middle : middle - 1);
  return sorted.length % 2 === 1 ? lower : (lower + upper) / 2;
}

/** Returns the median of the ratios of neighbouring runs: if the machine slows down, it slows both. */
export function pairedRatio(runs: readonly number[] = [], base: readonly number[] = []): number {
  return median(runs.map((seconds, round) => seconds / (base[round] as number)));
}

/**
 * Returns the medians of several runs of each command. The commands take turns, so that a busy moment of the
 * machine affects all of them. Each run is told on standard error: a table takes minutes.
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
  const medians = (runs: readonly Measured[]) => ({
    seconds: median(runs.map(({ seconds }) => seconds)),
    peakMiB: median(runs.map(({ peakMiB }) => peakMiB)),
    cpu: median(runs.map(({ cpu }) => cpu)),
    lines: runs[0]?.lines ?? 0,
    runs: runs.map(({ seconds }) => seconds),
  });
  return Object.fromEntries(Object.entries(all).map(([name, runs]) => [name, medians(runs)]));
}

/** Prints a plain aligned table under a title. Numbers have two digits behind the point. */
export function printTable(
  title: string,
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): void {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? cell.toFixed(2) : cell)));
  const all = [header, ...texts];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const lines = all.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  console.log(`\n${title}\n${lines.map((line) => `  ${line.trimEnd()}`).join('\n')}`);
}
