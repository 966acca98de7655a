import { randomUUID } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import type { Machine } from '../context.ts';

/** The holder of a lock, in enough detail to tell later whether that very process still runs. */
export interface Holder {
  readonly pid: number;
  /**
   * When the process started, in ticks since boot (Linux): distinguishes it from a later process with the same number.
   */
  readonly started?: string | undefined;
  readonly hostname: string;
  /** Identifies the running kernel (Linux): equal for every container on it, new after each boot. */
  readonly boot?: string | undefined;
  /** The process namespace (Linux): process numbers mean something only inside one. */
  readonly processes?: string | undefined;
  readonly nonce: string;
}

/** `unknown`: this process cannot see it, so it may or may not be alive. */
export type Condition = 'running' | 'suspended' | 'dead' | 'unknown';

type Here = Pick<Machine, 'platform' | 'pid' | 'hostname' | 'hasProcess'>;

export async function describeSelf(here: Here): Promise<Holder> {
  const found = here.platform === 'linux' ? await inspect(here.pid) : undefined;
  return {
    pid: here.pid,
    started: typeof found === 'object' ? found.started : undefined,
    hostname: here.hostname,
    ...(await surroundings(here.platform)),
    nonce: randomUUID(),
  };
}

/** The holder's condition as seen from here. `dead` and `running` are certain; any doubt gives `unknown`. */
export async function conditionOf(holder: Holder, here: Here): Promise<Condition> {
  const { boot, processes } = await surroundings(here.platform);
  if (holder.boot !== undefined && boot !== undefined && holder.boot !== boot) {
    // The same host name with another boot id is this machine before a restart.
    return holder.hostname === here.hostname ? 'dead' : 'unknown';
  }
  const isSameKernel = holder.boot !== undefined && holder.boot === boot;
  if (!isSameKernel && holder.hostname !== here.hostname) return 'unknown';
  // They are also equal on a system without namespaces. Namespaces that could not be read prove nothing.
  if (holder.processes !== processes || (here.platform === 'linux' && processes === undefined))
    return 'unknown';
  if (here.platform !== 'linux') return here.hasProcess(holder.pid) === false ? 'dead' : 'unknown';
  const found = await inspect(holder.pid);
  if (found === 'absent') return here.hasProcess(holder.pid) === false ? 'dead' : 'unknown';
  if (found === 'unreadable' || holder.started === undefined) return 'unknown';
  if (found.started !== holder.started) return 'dead';
  // A zombie executes nothing any more; it waits for its parent to notice.
  if (/^[ZX]/.test(found.state)) return 'dead';
  return /^T/i.test(found.state) ? 'suspended' : 'running';
}

async function inspect(pid: number): Promise<{ state: string; started: string } | 'absent' | 'unreadable'> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // proc(5): the second field is the name in parentheses and may hold anything; field 3 is the state, 22 the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', started: fields[19] ?? '' };
  } catch (error) {
    // ESRCH: it ended while it was being read. Any other error, such as too many open files, proves nothing.
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ESRCH' ? 'absent' : 'unreadable';
  }
}

async function surroundings(platform: NodeJS.Platform): Promise<Pick<Holder, 'boot' | 'processes'>> {
  if (platform !== 'linux') return {};
  const [boot, processes] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => undefined),
    readlink('/proc/self/ns/pid').catch(() => undefined),
  ]);
  return { boot: boot?.trim(), processes };
}
