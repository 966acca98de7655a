import { randomUUID } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import type { Machine } from '../context.ts';

/** The holder of a lock, in enough detail to tell later whether that very process still runs. */
export interface Holder {
  readonly pid: number;
  /** When the process started, in ticks since boot (Linux): a process that was given the same number later differs here. */
  readonly started?: string | undefined;
  readonly hostname: string;
  /** Identifies the running kernel (Linux): equal for every container on it, new after each boot. */
  readonly boot?: string | undefined;
  /** The process namespace (Linux): process numbers mean something only inside one. */
  readonly processes?: string | undefined;
  readonly nonce: string;
}

/** `unknown`: it cannot be seen from here, which says nothing about whether it lives. */
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

/** The holder's condition as seen from here. `dead` and `running` are certain; everything in doubt is `unknown`. */
export async function conditionOf(holder: Holder, here: Here): Promise<Condition> {
  const { boot, processes } = await surroundings(here.platform);
  if (holder.boot !== undefined && boot !== undefined && holder.boot !== boot) {
    // The same name with another boot is this machine before it was started again.
    return holder.hostname === here.hostname ? 'dead' : 'unknown';
  }
  const isSameKernel = holder.boot !== undefined && holder.boot === boot;
  if (!isSameKernel && holder.hostname !== here.hostname) return 'unknown';
  // Equal as well where the system has no namespaces; where they could not be read they prove nothing.
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
    // ESRCH: it ended while it was read. Anything else, such as too many open files, is a failure to look.
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
