import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Machine } from '../context.ts';

/** Who holds a lock, in enough detail to tell later whether that very process still runs. */
export interface Holder {
  readonly pid: number;
  /** When the process started, in the system's own words; a number that was given to a new process differs here. */
  readonly started?: string | undefined;
  readonly hostname: string;
  /** Identifies the running kernel (Linux): equal for every container on it, new after each boot. */
  readonly boot?: string | undefined;
  /** Process numbers mean something inside one namespace only (Linux). */
  readonly processes?: string | undefined;
  readonly nonce: string;
}

export type Condition = 'running' | 'suspended' | 'dead' | 'unknown';

type Here = Pick<Machine, 'platform' | 'pid' | 'hostname'>;

export async function describeSelf(here: Here): Promise<Holder> {
  return {
    pid: here.pid,
    started: (await inspect(here.pid, here.platform))?.started,
    hostname: here.hostname,
    ...(await surroundings(here.platform)),
    nonce: randomUUID(),
  };
}

/** Whether the holder still runs; `unknown` where it cannot be told from here. */
export async function conditionOf(holder: Holder, here: Here): Promise<Condition> {
  const { boot, processes } = await surroundings(here.platform);
  if (holder.boot === undefined || boot === undefined) {
    if (holder.hostname !== here.hostname) return 'unknown';
  } else if (holder.boot !== boot) {
    // The same name with another boot is this machine before it was started again.
    return holder.hostname === here.hostname ? 'dead' : 'unknown';
  } else if (holder.processes !== processes) {
    return 'unknown';
  }
  const found = await inspect(holder.pid, here.platform);
  if (found === undefined) return 'dead';
  if (holder.started === undefined || found.started === undefined) return 'unknown';
  if (found.started !== holder.started) return 'dead';
  // A zombie executes nothing any more; it waits for its parent to notice.
  if (/^[ZX]/.test(found.state)) return 'dead';
  return /^T/i.test(found.state) ? 'suspended' : 'running';
}

interface Found {
  readonly state: string;
  readonly started?: string | undefined;
}

async function inspect(pid: number, platform: NodeJS.Platform): Promise<Found | undefined> {
  if (platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    // proc(5): the second field is the name in parentheses and may hold anything; field 3 is the state, 22 the start time.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields && { state: fields[0] ?? '', started: fields[19] };
  }
  if (platform === 'win32') {
    // Without the start time: a process number used again only delays a takeover.
    const list = await output('tasklist', ['/FI', `PID eq ${pid}`, '/FO', 'CSV', '/NH']);
    return list === undefined || list.includes(`"${pid}"`) ? { state: '' } : undefined;
  }
  const line = await output('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
  const [, state, started] = line?.trim().match(/^(\S+)\s+(.+)$/) ?? [];
  return state === undefined ? undefined : { state, started };
}

async function surroundings(platform: NodeJS.Platform): Promise<Pick<Holder, 'boot' | 'processes'>> {
  if (platform !== 'linux') return {};
  const [boot, processes] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => undefined),
    readlink('/proc/self/ns/pid').catch(() => undefined),
  ]);
  return { boot: boot?.trim(), processes };
}

/** What a program prints; empty when it found nothing (exit code 1), undefined where it cannot be run. */
async function output(program: string, args: readonly string[]): Promise<string | undefined> {
  try {
    return (
      await promisify(execFile)(program, args, { env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' } })
    ).stdout;
  } catch (error) {
    return (error as { code?: unknown }).code === 1 ? '' : undefined;
  }
}
