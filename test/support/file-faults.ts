import { mkdtemp, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Result, type Running, startProcess } from './process.ts';
import { faultRounds, isFaultRun, randomOf, seed } from './seed.ts';

const preload = path.resolve(import.meta.dirname, 'file-fault.cjs');

/** The fault of one operation on a file. */
export const DISK_ERRORS = ['EIO', 'ENOSPC', 'EDQUOT', 'EMFILE', 'EACCES', 'EROFS'];
/** From that operation on, nothing can be written. */
export const FULL = ['FULL'];

export interface Faulty {
  readonly program: Running;
  /** The number of its operations on files, once it has ended; undefined if it was killed. */
  operations(): Promise<number | undefined>;
}

/** Starts the program with a fault at the operation with that number; 0 is none. */
export async function startFailing(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  number: number,
  code: string,
): Promise<Faulty> {
  const counted = path.join(await mkdtemp(path.join(os.tmpdir(), 'fault-')), 'count');
  const program = startProcess(args, {
    env: {
      ...env,
      NODE_OPTIONS: `${env['NODE_OPTIONS']} --require="${preload}"`,
      HOOKTRAIL_FAULT_AT: String(number),
      HOOKTRAIL_FAULT_CODE: code,
      HOOKTRAIL_FAULT_COUNT: counted,
    },
  });
  return {
    program,
    operations: async () => {
      await program.finished;
      return await readFile(counted, 'utf8').then(Number, () => undefined);
    },
  };
}

export async function runFailing(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  number: number,
  code: string,
): Promise<{ result: Result; operations: number | undefined }> {
  const { program, operations } = await startFailing(env, args, number, code);
  return { result: await program.finished, operations: await operations() };
}

/** Returns true for success or an ordinary error: a fault of the file system must not look like a defect of the program. */
export function isTold({ code, stderr }: Result): boolean {
  return !/unexpected|defect/.test(stderr) && (code === 0 || /^error: .+$/m.test(stderr));
}

/**
 * Tries the fault at some of the operations, or with `npm run faults` at each. `broken` resolves to what did not hold, if
 * anything; the results are returned. Under `npm run faults` the number of tries is printed.
 */
export async function eachFault(
  kind: string,
  operations: number,
  codes: readonly string[],
  broken: (number: number, code: string) => Promise<unknown>,
  few = 12,
): Promise<unknown[]> {
  const random = randomOf(kind);
  const rounds = faultRounds(few, operations);
  const numbers = Array.from({ length: rounds }, (_, index) =>
    rounds === operations ? index + 1 : 1 + random.below(operations),
  );
  const found: unknown[] = [];
  for (const number of numbers) {
    const code = codes[random.below(codes.length)] as string;
    const one = await broken(number, code);
    if (one !== undefined) found.push({ number, code, one });
  }
  noteFaults(kind, numbers.length, numbers.length - found.length);
  return found;
}

/** With `npm run faults`, prints how many were tried, how many held, and the seed that repeats them. */
export function noteFaults(kind: string, tried: number, held: number): void {
  if (isFaultRun) console.log(`${kind}: ${tried} tried, ${held} held (HOOKTRAIL_TEST_SEED=${seed})`);
}
