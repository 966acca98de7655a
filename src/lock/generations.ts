import { randomUUID } from 'node:crypto';
import { link, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Holder } from './lock-holder.ts';

/**
 * A lock as a folder of numbered files. The highest number is the lock's state: held by the process it describes, or
 * released. Who finds it released, or its holder dead, claims the next number, which `link` gives to one process only.
 *
 * That is safe against the usual takeover race, in which two processes remove "the stale lock" and one of them removes
 * the other's fresh one: nothing is ever removed to take a lock, and the highest number is never removed at all, so it
 * only grows. A slow process whose claim succeeds on a number that was already used and tidied away sees a higher one
 * afterwards and withdraws; if it sees none, there never was one, and its number is used for the first time.
 */
export class Generations {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async latest(): Promise<Generation> {
    for (;;) {
      const number = await this.#highest();
      if (number === 0) return { number, released: true };
      try {
        return { number, ...parse(await readFile(this.#file(number), 'utf8')) };
      } catch (error) {
        // Tidied away since a higher one exists: look again.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
  }

  /** Makes the holder that of this number; false where another process was first. */
  async claim(number: number, holder: Holder): Promise<boolean> {
    if (!(await this.#create(number, JSON.stringify(holder)))) return false;
    if ((await this.#highest()) === number) return true;
    await rm(this.#file(number), { force: true });
    return false;
  }

  async isHeld(number: number, holder: Holder): Promise<boolean> {
    const latest = await this.latest();
    return latest.number === number && latest.holder?.nonce === holder.nonce;
  }

  /** Marks a number of ours as released by one byte in place: that works on a full disk as well. */
  async release(number: number, holder: Holder): Promise<void> {
    if (!(await this.isHeld(number, holder))) return;
    const handle = await open(this.#file(number), 'r+').catch(() => undefined);
    await handle?.write('R', 0);
    await handle?.close();
  }

  /** How long ago a number was claimed, in milliseconds by the file system's own clock. */
  async age(number: number): Promise<number> {
    const probe = path.join(this.#folder, `${randomUUID()}.new`);
    try {
      await writeFile(probe, '');
      return (await stat(probe)).mtimeMs - (await stat(this.#file(number))).mtimeMs;
    } catch {
      return 0;
    } finally {
      await rm(probe, { force: true });
    }
  }

  /**
   * Removes numbers far below one that is held, and what crashed processes left. Some are kept, since a listing that runs
   * while files come and go may miss the newest and an older one that has just gone: then it still sees one in between.
   */
  async tidy(held: number): Promise<void> {
    const below = held - 8;
    for (const name of await readdir(this.#folder)) {
      const number = numberOf(name);
      const old = number === undefined ? await this.#isAbandoned(name) : number < below;
      if (old) await rm(path.join(this.#folder, name), { force: true });
    }
  }

  /** Creates a number's file with its content at once; false where it exists. */
  async #create(number: number, content: string): Promise<boolean> {
    const complete = path.join(this.#folder, `${randomUUID()}.new`);
    try {
      await writeFile(complete, content, { mode: 0o600, flag: 'wx' });
      await link(complete, this.#file(number));
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return false;
      if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(code ?? '')) throw error;
    } finally {
      await rm(complete, { force: true });
    }
    // A file system without hard links. A reader may see the file before its content, and takes it for held.
    try {
      await writeFile(this.#file(number), content, { mode: 0o600, flag: 'wx' });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }

  async #highest(): Promise<number> {
    return Math.max(0, ...(await readdir(this.#folder)).map((name) => numberOf(name) ?? 0));
  }

  async #isAbandoned(name: string): Promise<boolean> {
    const found = await stat(path.join(this.#folder, name)).catch(() => undefined);
    return found !== undefined && Date.now() - found.mtimeMs > 3_600_000;
  }

  #file(number: number): string {
    return path.join(this.#folder, `${number}.lock`);
  }
}

export interface Generation {
  /** 0 before the lock was ever taken. */
  readonly number: number;
  readonly released: boolean;
  /** Undefined as well where the file cannot be understood. */
  readonly holder?: Holder | undefined;
}

function numberOf(name: string): number | undefined {
  const digits = /^([1-9]\d{0,15})\.lock$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function parse(text: string): Omit<Generation, 'number'> {
  if (text.startsWith('R')) return { released: true };
  try {
    const holder = JSON.parse(text) as Holder;
    if (Number.isInteger(holder?.pid) && typeof holder.hostname === 'string')
      return { released: false, holder };
  } catch {}
  return { released: false };
}
