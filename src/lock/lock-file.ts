import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, open, readdir, readFile, readlink, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Machine } from '../context.ts';

/**
 * A lock as a folder of numbered files. The highest number is the lock's state: held by the process it describes, or
 * released. A process that finds it released, or its holder gone, claims the next number, which `link` gives to one
 * process only.
 *
 * That is safe against the usual takeover race, in which two processes remove "the stale lock" and one of them removes
 * the other's fresh one: nothing is ever removed to take a lock, and the highest number is never removed at all, so it
 * only grows. A slow process that claims a number which was used and tidied away in the meantime sees a higher one
 * afterwards, or misses the one before it, and withdraws.
 */
export class LockFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async latest(): Promise<LockState> {
    for (;;) {
      const number = highest(await readdir(this.#folder));
      if (number === 0) return { number, text: '', released: true };
      try {
        return { number, ...parse(await readState(this.#file(number))) };
      } catch (error) {
        // Another process removed this file because a higher number exists: look again.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
  }

  /** Claims the number after `previous`; undefined if another process was first. */
  async claim(previous: number, holder: Holder): Promise<Claim | undefined> {
    const number = previous + 1;
    const handle = await this.#create(number, `${JSON.stringify(holder)}\n`);
    if (!handle) return undefined;
    try {
      const names = await readdir(this.#folder);
      const follows = previous === 0 || names.includes(fileName(previous));
      if (follows && highest(names) === number) return new Claim(this, number, holder, handle);
      await rm(this.#file(number), { force: true });
    } catch (error) {
      await handle.close();
      throw error;
    }
    await handle.close();
    return undefined;
  }

  /**
   * Removes numbers far below one that is held, and files that crashed processes left. Some numbers are kept: a listing
   * that runs while files come and go may miss the newest, and an older one that has just been removed, but it still
   * sees one in between.
   */
  async tidy(held: number): Promise<void> {
    const now = (await stat(this.#file(held))).mtimeMs;
    for (const name of await readdir(this.#folder)) {
      const file = path.join(this.#folder, name);
      const number = numberOf(name);
      const isOld = number === undefined ? now - (await stat(file)).mtimeMs > HOUR_MS : number < held - 8;
      if (isOld) await rm(file, { force: true });
    }
  }

  /**
   * Removes the sibling folders of locks that nobody has taken for a month. `held`: the held number, whose file has
   * today's date.
   */
  async sweepSiblings(held: number): Promise<void> {
    const parent = path.dirname(this.#folder);
    const now = (await stat(this.#file(held))).mtimeMs;
    for (const name of await readdir(parent)) {
      const folder = path.join(parent, name);
      if (folder === this.#folder) continue;
      const files = (await readdir(folder)).map((file) => path.join(folder, file));
      const changes = await Promise.all([folder, ...files].map(async (place) => (await stat(place)).mtimeMs));
      if (now - Math.max(...changes) < 30 * 24 * HOUR_MS) continue;
      for (const file of files) await rm(file, { force: true });
      await rmdir(folder);
    }
  }

  /** Creates a number's file, with its content on the disk before the name exists; undefined if the name is taken. */
  async #create(number: number, content: string): Promise<FileHandle | undefined> {
    const complete = path.join(this.#folder, `${randomUUID()}.new`);
    const handle = await written(complete, content);
    try {
      await link(complete, this.#file(number));
      return handle;
    } catch (error) {
      await handle.close();
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return undefined;
      if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code ?? '')) throw error;
    } finally {
      await rm(complete, { force: true }).catch(() => undefined);
    }
    // A file system without hard links: a reader may see the file before its content, and then considers it held.
    try {
      return await written(this.#file(number), content);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
      throw error;
    }
  }

  #file(number: number): string {
    return path.join(this.#folder, fileName(number));
  }
}

export interface LockState {
  /** 0 before the lock was ever taken. */
  readonly number: number;
  /** The whole file: it changes with every sign of life of its holder. */
  readonly text: string;
  readonly released: boolean;
  /** Undefined also if the file cannot be understood. */
  readonly holder?: Holder | undefined;
}

/**
 * A number that this process claimed. Its file stays open, so that a sign of life cannot fail for lack of file
 * descriptors.
 */
export class Claim {
  readonly number: number;
  readonly #files: LockFiles;
  readonly #holder: Holder;
  readonly #handle: FileHandle;
  readonly #end: number;
  #beats = 0;

  constructor(files: LockFiles, number: number, holder: Holder, handle: FileHandle) {
    this.#files = files;
    this.number = number;
    this.#holder = holder;
    this.#handle = handle;
    this.#end = Buffer.byteLength(JSON.stringify(holder)) + 1;
  }

  async isHeld(): Promise<boolean> {
    const latest = await this.#files.latest();
    return latest.number === this.number && latest.holder?.nonce === this.#holder.nonce;
  }

  /** Changes the file's content, so that waiting processes see this one live. */
  async beat(): Promise<void> {
    this.#beats++;
    await this.#handle.write(String(this.#beats).padStart(9, '0'), this.#end);
  }

  /** Marks the number as released by changing one byte in place, which also works on a full disk. */
  async release(): Promise<void> {
    try {
      await this.#handle.write('R', 0);
    } finally {
      await this.#handle.close();
    }
  }
}

const HOUR_MS = 3_600_000;

async function written(file: string, content: string): Promise<FileHandle> {
  const handle = await open(file, 'wx+', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
    return handle;
  } catch (error) {
    await handle.close();
    await rm(file, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Reads a lock's file. In its place a FIFO would make the process wait for ever, deaf to signals, and a link lead elsewhere. */
async function readState(file: string): Promise<string> {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
  const handle = await open(file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  try {
    if ((await handle.stat()).isFile()) return await handle.readFile('utf8');
    throw Object.assign(new Error(`${file} is not a regular file`), { code: 'EINVAL', syscall: 'open' });
  } finally {
    await handle.close();
  }
}

function fileName(number: number): string {
  return `${number}.lock`;
}

function numberOf(name: string): number | undefined {
  const digits = /^([1-9]\d{0,15})\.lock$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function highest(names: readonly string[]): number {
  return Math.max(0, ...names.map((name) => numberOf(name) ?? 0));
}

/** The file is a line of JSON, then the count of beats. The file of a released number begins with another letter. */
function parse(text: string): Omit<LockState, 'number'> {
  if (text.startsWith('R')) return { text, released: true };
  try {
    const holder = JSON.parse(text.split('\n')[0] as string) as Holder;
    if (Number.isInteger(holder?.pid) && typeof holder.hostname === 'string')
      return { text, released: false, holder };
  } catch {}
  return { text, released: false };
}

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
export type HolderCondition = 'running' | 'suspended' | 'dead' | 'unknown';

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
export async function conditionOf(holder: Holder, here: Here): Promise<HolderCondition> {
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
