import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../src/context.ts';

/** The time at which every test begins, unless it sets another. */
export const NOON = Date.UTC(2026, 10, 20, 12);

/** Milliseconds on a clock that all processes of the machine share. */
const monotonic = () => Number(process.hrtime.bigint()) / 1e6;

interface Sleeper {
  readonly due: number;
  readonly milliseconds: number;
  readonly wake: () => void;
}

/**
 * The one clock of a test's process: `Date`, the sandbox and every program in process use it. It stands still
 * until the test moves it, or until a program starts as a separate process: from then on it runs. While such
 * a process does, sleeps are real.
 */
export class GivenClock implements Clock {
  /**
   * Sleeps of up to this many milliseconds end at once and move the clock; longer ones last until the test
   * moves it.
   */
  skips = 5_000;
  #now = NOON;
  #runningSince: number | undefined;
  /** Those whose clock this one must not leave behind. */
  #processes: ReadonlySet<symbol> = new Set();
  readonly #sleepers = new Set<Sleeper>();
  readonly #timers = new Set<{ readonly due: number; readonly work: () => void }>();
  readonly #watchers = new Set<() => void>();
  readonly #counts = new Set<() => void>();

  now(): number {
    if (this.#runningSince === undefined) return this.#now;
    return Math.floor(this.#now + monotonic() - this.#runningSince);
  }

  elapsed(): number {
    return this.now();
  }

  /** Every wait has its greatest length. */
  jitter(): number {
    return 1;
  }

  startTimer(milliseconds: number, work: () => void): () => void {
    if (this.#runningSince !== undefined) {
      const running = setTimeout(work, milliseconds).unref();
      return () => clearTimeout(running);
    }
    const timer = { due: this.now() + milliseconds, work };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    for (const count of this.#counts) count();
    const due = this.now() + milliseconds;
    const isSkipped = milliseconds <= this.skips && this.#processes.size === 0;
    if (this.#runningSince !== undefined || isSkipped) {
      // A little real time passes, so that others get their turn.
      const rest = isSkipped ? Math.min(milliseconds, 5) : milliseconds;
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

  /** Moves the clock, forward or back, and ends the sleeps whose time has come. */
  set(moment: number | string): void {
    this.#now = typeof moment === 'number' ? moment : Date.parse(moment);
    if (this.#runningSince !== undefined) this.#runningSince = monotonic();
    for (const { due, wake } of [...this.#sleepers]) if (due <= this.#now) wake();
    for (const timer of [...this.#timers]) {
      if (timer.due <= this.#now && this.#timers.delete(timer)) timer.work();
    }
  }

  advance(milliseconds: number): void {
    this.set(this.now() + milliseconds);
  }

  /**
   * Waits until a program sleeps for that many milliseconds or more, longer than `skips`. Returns for how
   * many.
   */
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

  /**
   * Waits until programs in this process have started that many more sleeps of any length, which shows that
   * they are polling.
   */
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

  /**
   * Lets the clock run at the speed of the machine's clock, for a process. Returns a function to call when
   * the process has ended.
   */
  run(): () => void {
    this.#runningSince ??= monotonic();
    const process = Symbol('process');
    this.#processes = new Set([...this.#processes, process]);
    return () => {
      this.#processes = new Set([...this.#processes].filter((other) => other !== process));
    };
  }

  /**
   * Gives its time to processes (given-machine.cjs) that start now; from then on they run at the speed of the
   * machine's clock.
   */
  get environment(): { readonly HOOKTRAIL_TEST_SHIFT: string } {
    return { HOOKTRAIL_TEST_SHIFT: String(this.now() - monotonic()) };
  }

  /** Begins as for a test that has moved nothing yet. */
  reset(): void {
    this.skips = 5_000;
    this.#runningSince = undefined;
    this.#processes = new Set();
    this.#now = NOON;
    this.#timers.clear();
  }

  /** Saves the state of the clock, and returns a function that restores it. */
  held(): () => void {
    const { skips } = this;
    const now = this.now();
    const isRunning = this.#runningSince !== undefined;
    const processes = this.#processes;
    return () => {
      this.skips = skips;
      this.#runningSince = isRunning ? monotonic() : undefined;
      this.#processes = new Set([...processes].filter((process) => this.#processes.has(process)));
      this.#now = now;
    };
  }
}

export const clock = new GivenClock();

/** The clock of the test, with other parts. */
export function clockWith(parts: Partial<Clock>): Clock {
  return {
    now: () => clock.now(),
    elapsed: () => clock.elapsed(),
    jitter: () => clock.jitter(),
    startTimer: (milliseconds, work) => clock.startTimer(milliseconds, work),
    sleep: (milliseconds, signal) => clock.sleep(milliseconds, signal),
    ...parts,
  };
}
