import { inject } from 'vitest';
import { Random } from '../../src/sandbox/random.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Drawn anew for each run of the tests, unless `HOOKTRAIL_TEST_SEED` gives it. */
    seed: number;
  }
}

/** The seed of this run: a failure shows it, and `HOOKTRAIL_TEST_SEED` replays it. */
export const seed: number = inject('seed');

/** Random numbers of the run's seed, of their own for each `name`. */
export function randomOf(name: string): Random {
  let hash = seed;
  for (const character of name) hash = (Math.imul(hash, 31) + (character.codePointAt(0) as number)) | 0;
  return new Random(hash >>> 0);
}

/** npm tells the name of its script to all that it starts. */
export const isFaultRun = process.env['npm_lifecycle_event'] === 'faults';

/** How often a test of faults does its work: `many` times under `npm run faults`, `few` times otherwise. */
export function faultRounds(few: number, many: number): number {
  return isFaultRun ? many : few;
}
