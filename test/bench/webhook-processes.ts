import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { program } from './sandbox-process.ts';

export const API_TOKEN = 'bench';

export interface Peer extends AsyncDisposable {
  readonly port: number;
  readonly process: ChildProcess;
}

/** `handler`, `handler counting`, or `proxy` and a port. */
export async function startPeer(...args: string[]): Promise<Peer> {
  const script = path.join(import.meta.dirname, 'webhook-peer.mjs');
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
  return ended(child, Number(port));
}

/** Starts `webhooks listen` on a journal, and waits for its first line on standard error. */
export async function startListen(journal: string, port: number, ...flags: string[]): Promise<Peer> {
  const child = spawn(
    process.execPath,
    [program, 'webhooks', 'listen', '--port', String(port), '--journal', journal, ...flags],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOOKTRAIL_API_TOKEN: API_TOKEN } },
  );
  const lines = createInterface(child.stderr);
  for await (const line of lines) {
    const found = /listening on http:\/\/127\.0\.0\.1:(\d+)\//.exec(line)?.[1];
    if (found) return ended(child, Number(found));
    console.error(line);
  }
  throw new Error('webhooks listen did not start');
}

function ended(child: ChildProcess, port: number): Peer {
  // Nobody reads the rest, and the pipe must not fill up.
  child.stderr?.resume();
  return {
    port,
    process: child,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Returns the seconds of processor time that a process has used so far (Linux only). */
export async function cpuSeconds({ pid }: ChildProcess): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Returns the resident size of a process in MiB. */
export async function residentMiB({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(status.match(/VmRSS:\s+(\d+) kB/)?.[1]) / 1024;
}

/** A folder for journals on a disk, not in memory, so that syncs take their real time. */
export async function journalFolder() {
  const parent = process.env['HOOKTRAIL_BENCH_FOLDER'] ?? os.tmpdir();
  const folder = await mkdtemp(path.join(parent, 'hooktrail-bench-'));
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}
