import { randomUUID } from 'node:crypto';
import { lstat, open, readdir, readFile, readlink, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Machine } from '../context.ts';
import { readRegularFile } from '../files/whole-files.ts';

/*
 * A lock is a folder of numbered files. The highest number is the lock's state: held by the process that it
 * describes, or released. A process that finds it released, or its holder gone, claims the next number, whose
 * file only one process can create.
 *
 * This avoids the usual takeover race, in which two processes remove "the stale lock" and one of them removes
 * the other's fresh one: taking a lock removes nothing, and a number that is or was held is not removed while
 * it is the highest. A slow process may claim a number that was used and tidied away meanwhile; it then sees
 * a higher one, or misses the previous one, and withdraws.
 */

export interface LockState {
  readonly number: number;
  /** The whole file, which changes with every beat of its holder. */
  readonly text: string;
  readonly released: boolean;
  /** Also undefined if the file is malformed. */
  readonly holder?: Holder | undefined;
}

/** Throws the system's error, or a similar one if a folder or file is not ours, such as a link. */
export async function readLock(folder: string): Promise<LockState> {
  for (;;) {
    const number = highest(await numberedNames(folder));
    if (number === 0) return { number, text: '', released: true };
    try {
      return { number, ...parse(readRegularFile(fileOf(folder, number)).toString()) };
    } catch (error) {
      // Another process removed this file because a higher number exists: look again.
      if (!isMissing(error)) throw error;
    }
  }
}

export type Claim = NonNullable<Awaited<ReturnType<typeof claimLock>>>;

/**
 * Claims the number after `previous`; undefined if another process was first. The file stays open, so that a
 * beat cannot fail for lack of file descriptors.
 */
export async function claimLock(folder: string, previous: number, holder: Holder) {
  const number = previous + 1;
  if (number > HIGHEST_NUMBER) throw fault(`it holds ${previous}.lock, and no number follows that`);
  const handle = await open(fileOf(folder, number), 'wx+', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return undefined;
    throw error;
  });
  if (!handle) return undefined;
  const line = `${JSON.stringify(holder)}\n`;
  let isOurs: boolean | undefined;
  try {
    // Until this is written, others see an unknown holder, and wait.
    await handle.writeFile(line);
    await handle.sync();
    const names = await numberedNames(folder);
    isOurs = highest(names) === number && (previous === 0 || names.includes(`${previous}.lock`));
  } finally {
    if (!isOurs) {
      await handle.close().catch(() => undefined);
      await rm(fileOf(folder, number)).catch(() => undefined);
    }
  }
  if (!isOurs) return undefined;
  let beats = 0;
  return {
    number,
    /** Also false if the folder is gone, since any process may create it again. */
    isHeld: async () => {
      const latest = await readLock(folder).catch((error) => {
        if (isMissing(error)) return undefined;
        throw error;
      });
      return latest?.number === number && latest.holder?.nonce === holder.nonce;
    },
    /**
     * Changes the file's content to show that this process is alive; the sync shows it across a network
     * volume.
     */
    beat: async () => {
      beats++;
      await handle.write(String(beats).padStart(9, '0'), Buffer.byteLength(line));
      await handle.sync();
    },
    /** Marks the number as released by changing one byte in place, which also works on a full disk. */
    release: () =>
      handle
        .write('R', 0)
        .then(() => undefined)
        .finally(() => handle.close()),
  };
}

/**
 * Removes numbers far below the held one. The latest are kept: a listing during changes may miss the newest
 * file and an older one just removed, but it still sees one in between.
 */
export async function tidyLock(folder: string, held: number): Promise<void> {
  for (const name of await readdir(folder))
    if (numberOf(name) < held - 8) await rm(path.join(folder, name), { force: true });
}

/**
 * Tests the requirements of locks: exclusive creation of a file, and immediate visibility of its content and
 * name. Returns the first that fails; undefined if all hold.
 */
export async function lockingFault(folder: string): Promise<string | undefined> {
  const file = path.join(folder, `probe-${randomUUID()}`);
  const first = await open(file, 'wx+', 0o600);
  try {
    const second = await open(file, 'wx+', 0o600).catch((error: NodeJS.ErrnoException) => error.code);
    if (typeof second !== 'string') await second?.close();
    if (second !== 'EEXIST') return 'two processes can create the same file';
    for (const content of ['1', '2']) {
      await first.write(content, 0);
      await first.sync();
      if ((await readFile(file, 'utf8')) !== content) return 'what one process writes, another does not see';
    }
    return (await readdir(folder)).includes(path.basename(file)) ? undefined : 'a new file is not listed';
  } finally {
    await first.close();
    await rm(file, { force: true });
  }
}

function fileOf(folder: string, number: number): string {
  return path.join(folder, `${number}.lock`);
}

/** The largest number of 15 digits, which a JavaScript number represents exactly. */
const HIGHEST_NUMBER = 999_999_999_999_999;

/** Returns NaN for other files. */
function numberOf(name: string): number {
  return Number(/^([1-9]\d{0,14})\.lock$/.exec(name)?.[1]);
}

/** Ignores other names. Throws for a link, folder or pipe. */
async function numberedNames(folder: string): Promise<string[]> {
  if (!(await lstat(folder)).isDirectory()) throw fault('it is not a folder');
  const entries = await readdir(folder, { withFileTypes: true });
  const numbered = entries.filter(({ name }) => Number.isFinite(numberOf(name)));
  const odd = numbered.find((entry) => !entry.isFile());
  if (odd) throw fault(`${odd.name} in it is not a file`);
  return numbered.map(({ name }) => name);
}

function fault(message: string): Error {
  return Object.assign(new Error(message), { code: 'EINVAL', syscall: 'open' });
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function highest(names: readonly string[]): number {
  return Math.max(0, ...names.map(numberOf));
}

/** The file is a line of JSON, then the count of beats. `R` at the start marks a released number. */
function parse(text: string): Omit<LockState, 'number'> {
  if (text.startsWith('R')) return { text, released: true };
  try {
    const holder = JSON.parse(text.split('\n')[0] as string) as Holder;
    if (Number.isInteger(holder.pid) && typeof holder.hostname === 'string')
      return { text, released: false, holder };
  } catch {}
  return { text, released: false };
}

/** Identifies the holder of a lock, in enough detail to know later if that very process still runs. */
export interface Holder {
  readonly pid: number;
  /** Start time in ticks since boot (Linux): distinguishes it from a later process with the same number. */
  readonly started?: string | undefined;
  readonly hostname: string;
  /** Identifies the running kernel (Linux): equal in all its containers, new after each boot. */
  readonly boot?: string | undefined;
  /** The process namespace (Linux): process numbers are only valid within it. */
  readonly processes?: string | undefined;
  readonly nonce: string;
}

/** `unknown`: not visible from this process, so it may or may not be alive. */
export type HolderCondition = 'running' | 'suspended' | 'dead' | 'unknown';

type Here = Pick<Machine, 'platform' | 'pid' | 'hostname' | 'hasProcess'>;

export async function describeSelf({ platform, pid, hostname }: Here): Promise<Holder> {
  const found = platform === 'linux' ? await inspect(pid) : undefined;
  const started = typeof found === 'object' ? found.started : undefined;
  return { pid, started, hostname, ...(await surroundings(platform)), nonce: randomUUID() };
}

/**
 * Returns the holder's condition as seen from here. `dead` and `running` are certain; any doubt gives
 * `unknown`. `isShared`: the lock may belong to another machine or virtual machine with the same host name.
 */
export async function conditionOf(holder: Holder, here: Here, isShared = false): Promise<HolderCondition> {
  const { boot, processes } = await surroundings(here.platform);
  const isSameHost = holder.hostname === here.hostname;
  if (holder.boot !== undefined && boot !== undefined && holder.boot !== boot) {
    // In a folder of this machine alone, the same host name with a different boot id is this machine before a
    // restart.
    return isSameHost && !isShared ? 'dead' : 'unknown';
  }
  if (!isSameHost && (holder.boot === undefined || holder.boot !== boot)) return 'unknown';
  // They are also equal on a system without namespaces. Unreadable namespaces prove nothing.
  if (holder.processes !== processes || (here.platform === 'linux' && processes === undefined))
    return 'unknown';
  return await conditionOfProcess(holder, here);
}

async function conditionOfProcess(holder: Holder, here: Here): Promise<HolderCondition> {
  const found = here.platform === 'linux' ? await inspect(holder.pid) : 'absent';
  if (found === 'absent') return here.hasProcess(holder.pid) === false ? 'dead' : 'unknown';
  if (found === 'unreadable' || holder.started === undefined) return 'unknown';
  // A zombie no longer executes anything; it waits for its parent to notice.
  if (found.started !== holder.started || /[ZX]/.test(found.state)) return 'dead';
  return /T/i.test(found.state) ? 'suspended' : 'running';
}

async function inspect(pid: number): Promise<{ state: string; started: string } | 'absent' | 'unreadable'> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // proc(5): the second field is the name in parentheses and may hold anything; field 3 is the state, 22
    // the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] as string, started: fields[19] as string };
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
