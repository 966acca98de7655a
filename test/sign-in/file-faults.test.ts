import { mkdtemp, readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { browserCommand } from '../support/browser.ts';
import { type Result, run } from '../support/program.ts';
import { faultRounds, randomOf } from '../support/seed.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

const CODES = ['EIO', 'ENOSPC', 'EDQUOT', 'EMFILE', 'EACCES', 'EROFS'];
const preload = path.resolve(import.meta.dirname, '../support/file-fault.cjs');
// No scrypt: this signs in hundreds of times.
const key = `htk1-${'k'.repeat(43)}`;

/** Runs the program with one failing operation; resolves to how many operations it made, too. */
async function runFailing(at: SigningIn, args: string[], number: number, code: string) {
  const counted = path.join(await mkdtemp(path.join(os.tmpdir(), 'fault-')), 'count');
  const env = {
    ...at.env,
    HOOKTRAIL_PASSPHRASE: key,
    HOOKTRAIL_BROWSER: browserCommand,
    NODE_OPTIONS: `${at.env['NODE_OPTIONS']} --require="${preload}"`,
    HOOKTRAIL_FAULT_AT: String(number),
    HOOKTRAIL_FAULT_CODE: code,
    HOOKTRAIL_FAULT_COUNT: counted,
  };
  const result = await run(args, { env });
  return { result, operations: Number(await readFile(counted, 'utf8')) };
}

/** An error in words, or success: a fault of the file system is no defect of the program. */
function isTold({ code, stderr }: Result): boolean {
  return !/unexpected|defect/.test(stderr) && (code === 0 || /^error: .+$/m.test(stderr));
}

/** Numbers of operations to fail: some of them, or with `npm run faults` each. */
function numbers(count: number, name: string): number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1);
  const rounds = faultRounds(12, count);
  if (rounds >= count) return all;
  const random = randomOf(name);
  return Array.from({ length: rounds }, () => all[random.below(count)] as number);
}

test('one failing operation on a file during a refresh never loses the sign-in', {
  timeout: 600_000,
}, async () => {
  await using at = await startSigningIn();
  const env = { ...at.env, HOOKTRAIL_PASSPHRASE: key };
  const random = randomOf('codes of a refresh');
  const { behaviour } = at.sandbox.control;
  const due = async () => {
    behaviour.tokenLifetimeSeconds = 30;
    expect(await at.run(['login'], { env })).toMatchObject({ code: 0 });
    behaviour.tokenLifetimeSeconds = 1800;
  };
  await due();
  const { operations } = await runFailing(at, ['token'], 0, 'EIO');
  expect(operations).toBeGreaterThan(20);
  const broken: unknown[] = [];
  for (const number of numbers(operations, 'operations of a refresh')) {
    await due();
    const code = CODES[random.below(CODES.length)] as string;
    const refused = () => at.sandbox.log.filter(({ error }) => error === 'invalid_grant').length;
    const before = refused();
    const { result } = await runFailing(at, ['token'], number, code);
    const after = await at.run(['token'], { env });
    if (!isTold(result) || after.code !== 0 || refused() > before)
      broken.push({ number, code, result, after });
  }
  expect(broken).toEqual([]);
});

test('one failing operation on a file during a sign-in is told, and a sign-in that succeeds is there', {
  timeout: 600_000,
}, async () => {
  await using at = await startSigningIn();
  const env = { ...at.env, HOOKTRAIL_PASSPHRASE: key };
  const random = randomOf('codes of a sign-in');
  const { operations } = await runFailing(at, ['login'], 0, 'EIO');
  expect(operations).toBeGreaterThan(20);
  const broken: unknown[] = [];
  for (const number of numbers(operations, 'operations of a sign-in')) {
    const code = CODES[random.below(CODES.length)] as string;
    const { result } = await runFailing(at, ['login'], number, code);
    const after = await at.run(['token'], { env });
    // The sign-in of before is there as well, where this one failed.
    if (!isTold(result) || after.code !== 0) broken.push({ number, code, result, after });
  }
  expect(broken).toEqual([]);
});
