import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { forEachTest } from '../support/each-test.ts';
import { type NotingSignals, startNotingSignals, startProcess } from '../support/process.ts';
import type { startHooktrail } from '../support/program.ts';
import { type Refreshing, startRefreshing } from '../support/signing-in.ts';

/** Starts a command, and calls `act` once its refresh request has arrived and before it is answered. */
async function during(
  at: Refreshing,
  act: (program: NotingSignals) => unknown,
  args: readonly string[] = ['token'],
) {
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const arrived = new Promise<void>((resolve) => {
    const run = async () => {
      resolve();
      await answered;
    };
    at.sandbox.control.fault('token', { kind: 'run', run });
  });
  const program = startNotingSignals(args, { env: at.env });
  await arrived;
  await act(program);
  answer();
  return program;
}

/** Sends a signal, and waits until the program has handled it. */
const interrupt = (signal: NodeJS.Signals) => async (program: NotingSignals) => {
  program.kill(signal);
  await program.handled(([first]) => first?.name === signal);
};

const at = forEachTest(startRefreshing);

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 143],
] as const)('%s during a refresh waits until the new token is stored', async (signal, code) => {
  const program = await during(at, interrupt(signal));
  expect((await program.finished).code).toBe(code);
  expect(await at.run(['token'])).toMatchObject({ code: 0, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});

test('a command killed after the rotation frees the lock, and the next one says that the sign-in has ended', async () => {
  const before = await at.stored();
  at.sandbox.control.fault('token', { kind: 'slow', ms: 20_000 });
  const program = startProcess(['token'], { env: at.env });
  await expect.poll(at.refreshes, { timeout: 10_000 }).toEqual(['ok']);
  program.kill('SIGKILL');
  expect((await program.finished).code).toBe('SIGKILL');
  expect(await at.run(['token'])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('next: run `hooktrail login`\n'),
  });
  expect(at.refreshes()).toEqual(['ok', 'invalid_grant']);
  expect(await at.stored()).toEqual(before);
});

test('a command killed before its request was carried out loses nothing', async () => {
  const arrived = new Promise<void>((resolve) => {
    const run = () => new Promise(() => resolve());
    at.sandbox.control.fault('token', { kind: 'run', run });
  });
  const program = startProcess(['token'], { env: at.env });
  await arrived;
  program.kill('SIGKILL');
  await program.finished;
  expect(await at.run(['token'])).toMatchObject({ code: 0, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});

test('a suspended command keeps the lock, and both end with the one new token', async () => {
  let waiting: ReturnType<typeof startHooktrail> | undefined;
  const suspended = await during(at, async ({ kill, pid }) => {
    kill('SIGSTOP');
    await expect.poll(() => readFile(`/proc/${pid}/stat`, 'utf8')).toMatch(/^\d+ \(.*\) T /);
    // A holder that is silent for this long would be replaced if it were not known to be suspended.
    waiting = at.start(['token'], { context: { lockRhythm: { beat: 4000, silence: 50 } } });
    await clock.slept(20);
  });
  await expect.poll(at.refreshes, { timeout: 10_000 }).toEqual(['ok']);
  await clock.slept(20);
  expect(waiting?.stdout).toBe('');
  suspended.kill('SIGCONT');
  const [first, second] = await Promise.all([suspended.finished, waiting?.finished]);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(second).toEqual(first);
  expect(at.refreshes()).toEqual(['ok']);
});

test('a command whose standard output was closed still stores the new token', async () => {
  const program = await during(at, ({ closeStdout }) => closeStdout());
  expect((await program.finished).code).toBe(0);
  expect(await at.run(['token'])).toMatchObject({ code: 0, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});
