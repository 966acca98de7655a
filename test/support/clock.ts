import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../src/context.ts';

/** The moment at which every test begins, unless it sets another. */
export const NOON = Date.UTC(2026, 10, 20, 12);

/** Milliseconds of a clock that all processes of the machine share. */
const monotonic = () => Number(process.hrtime.bigint()) / 1e6;

interface Sleeper {
  readonly due: number;
  readonly milliseconds: number;
  readonly wake: () => void;
}

/**
 * The one clock of a test's process: `Date`, the sandbox and every program in process tell the time by it. It stands
 * still until the test moves it, or until a program starts as a process of its own: from then on it runs.
 */
export class GivenClock implements Clock {
  /** Sleeps up to so many milliseconds end at once, and move the clock; longer ones last until the test moves it. */
  skips = 5_000;
  #now = NOON;
  #runningSince: number | undefined;
  readonly #sleepers = new Set<Sleeper>();
  readonly #watchers = new Set<() => void>();
  readonly #counts = new Set<() => void>();

  now(): number {
    if (this.#runningSince === undefined) return this.#now;
    return Math.floor(this.#now + monotonic() - this.#runningSince);
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    for (const count of this.#counts) count();
    const due = this.now() + milliseconds;
    if (this.#runningSince !== undefined || milliseconds <= this.skips) {
      // A little real time passes, for the others to get their turn.
      const rest = this.#runningSince === undefined ? Math.min(milliseconds, 5) : milliseconds;
      await delay(rest, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
      if (this.now() < due) this.set(due);
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const stop = () => {
        this.#sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', stop);
        resolve();
      };
      const sleeper = { due, milliseconds, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', stop, { once: true });
      for (const look of this.#watchers) look();
    });
  }

  /** Moves the clock, forward or back, and wakes those whose time has come. */
  set(moment: number | string): void {
    this.#now = typeof moment === 'number' ? moment : Date.parse(moment);
    if (this.#runningSince !== undefined) this.#runningSince = monotonic();
    for (const { due, wake } of [...this.#sleepers]) if (due <= this.#now) wake();
  }

  advance(milliseconds: number): void {
    this.set(this.now() + milliseconds);
  }

  /** Waits until a program sleeps for so many milliseconds or more, longer than `skips`; returns for how many. */
  async asleep(atLeast = 0): Promise<number> {
    return await new Promise((resolve) => {
      const look = () => {
        const found = [...this.#sleepers].find(({ milliseconds }) => milliseconds >= atLeast);
        if (!found) return;
        this.#watchers.delete(look);
        resolve(found.milliseconds);
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Waits until programs in this process have begun so many sleeps more, of whatever length: that they look again and again. */
  async slept(times = 1): Promise<void> {
    let begun = 0;
    await new Promise<void>((resolve) => {
      const count = () => {
        if (++begun < times) return;
        this.#counts.delete(count);
        resolve();
      };
      this.#counts.add(count);
    });
  }

  /** Lets the clock run as fast as the machine's own. */
  run(): void {
    this.#runningSince ??= monotonic();
  }

  /** Tells its time to processes (given-machine.cjs) that begin now; they go on by the machine's own clock. */
  get environment(): { readonly HOOKTRAIL_TEST_SHIFT: string } {
    return { HOOKTRAIL_TEST_SHIFT: String(this.now() - monotonic()) };
  }

  /** How the clock stands, as a function that puts it back. */
  held(): () => void {
    const { skips } = this;
    const now = this.now();
    const isRunning = this.#runningSince !== undefined;
    return () => {
      this.skips = skips;
      this.#runningSince = isRunning ? monotonic() : undefined;
      this.#now = now;
    };
  }
}

export const clock = new GivenClock();
