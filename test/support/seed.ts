import { inject } from 'vitest';
import { Random } from '../../src/sandbox/random.ts';
import { isSampled } from './sampled.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Random for each run of the tests, unless `HOOKTRAIL_TEST_SEED` gives it. */
    seed: number;
  }
}

/** The seed of this run: a failure shows it, and `HOOKTRAIL_TEST_SEED` replays it. */
export const seed: number = inject('seed');

/** Random numbers from the run's seed, another sequence for each `name`. */
export function randomOf(name: string): Random {
  let hash = seed;
  for (const character of name) hash = (Math.imul(hash, 31) + (character.codePointAt(0) as number)) | 0;
  return new Random(hash >>> 0);
}

/** npm passes the name of its script to everything it starts. */
const isFaultRun = process.env['npm_lifecycle_event'] === 'faults';

/** The share of the rounds of `npm run faults`, from 0 to 1, so that they fit into the time that there is. */
const faultShare = Number(process.env['HOOKTRAIL_TEST_FAULTS'] ?? 1);

/**
 * Returns how often a test of faults repeats its work: `many` times with `npm run faults`, or the share of
 * them that HOOKTRAIL_TEST_FAULTS gives, `few` times otherwise.
 */
export function faultRounds(few: number, many: number): number {
  return isFaultRun ? Math.max(few, Math.ceil(many * faultShare)) : few;
}

/**
 * Returns all cases of a test of faults with `npm run faults`, or the share of them that
 * HOOKTRAIL_TEST_FAULTS gives, otherwise `few`. The run's seed draws those that are left out.
 */
export function drawnCases<Case>(name: string, few: number, cases: readonly Case[]): Case[] {
  const random = randomOf(name);
  const left = [...cases];
  const count = faultRounds(few, cases.length);
  while (left.length > count) left.splice(random.below(left.length), 1);
  return left;
}

/** Returns the cases: with `npm test` `few` of them, which the run's seed draws; `.ci/run` tries all. */
export function sampleOf<const Case>(name: string, few: number, cases: readonly Case[]): Case[] {
  return isSampled ? drawnCases(name, few, cases) : [...cases];
}

interface DrawnTest {
  readonly fullName: string;
  readonly suite?: object | undefined;
  /** True for a row of a table. */
  readonly each?: boolean | undefined;
}

/** Returns the tests that the run's seed draws by their full names, each with a chance of one in `oneIn`. */
export function drawnTests<Test extends DrawnTest>(tests: readonly Test[], oneIn: number): Test[] {
  return tests.filter(({ fullName }) => randomOf(fullName).below(oneIn) === 0);
}

/** Returns all tests, but of rows that follow each other only one in `oneIn`, and at least one. */
export function drawnRows<Test extends DrawnTest>(tests: readonly Test[], oneIn: number): Test[] {
  const groups: [Test, ...Test[]][] = [];
  for (const test of tests) {
    const before = groups.at(-1);
    if (test.each && before?.[0].each && before[0].suite === test.suite) before.push(test);
    else groups.push([test]);
  }
  return groups.flatMap((rows) => drawnCases(rows[0].fullName, Math.ceil(rows.length / oneIn), rows));
}

/** Returns how often a test repeats its work: `few` times with `npm test`, `many` times in `.ci/run`. */
export function sampleSize(few: number, many: number): number {
  return isSampled ? few : many;
}

/** With `npm run faults`, prints how many were tried, how many held, and the seed that repeats them. */
export function noteFaults(kind: string, tried: number, held: number): void {
  if (isFaultRun) console.log(`${kind}: ${tried} tried, ${held} held (HOOKTRAIL_TEST_SEED=${seed})`);
}
