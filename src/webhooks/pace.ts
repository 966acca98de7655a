import type { Context } from '../context.ts';

/** Returns a function that waits for the next event's turn: at most `rate` events start per second. */
export function createPace(rate: number | undefined, { clock, signal }: Pick<Context, 'clock' | 'signal'>) {
  let next = clock.now();
  return async (): Promise<void> => {
    if (rate === undefined) return;
    const now = clock.now();
    const mine = Math.max(next, now);
    next = mine + 1000 / rate;
    if (mine > now) await clock.sleep(mine - now, signal);
  };
}
