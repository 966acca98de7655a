import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { type Refreshing, startRefreshing } from '../support/refreshing.ts';

/** Starts `token`, and does something to it once its refresh has arrived; the answer comes a second later. */
async function during(at: Refreshing, act: (program: ReturnType<typeof start>) => void) {
  const arrived = new Promise<void>((resolve) => {
    const run = async () => {
      resolve();
      await new Promise((later) => setTimeout(later, 1000));
    };
    at.sandbox.control.fault('token', { kind: 'run', run });
  });
  const program = start(['token'], { env: at.env });
  await arrived;
  act(program);
  return program;
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 143],
] as const)('%s during a refresh waits until the new token is stored', async (signal, code) => {
  await using at = await startRefreshing();
  const program = await during(at, ({ kill }) => kill(signal));
  expect([code, 0]).toContain((await program.finished).code);
  expect(await at.run(['token'])).toMatchObject({ code: 0, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});

test('a search interrupted during its refresh stores the new token', async () => {
  await using at = await startRefreshing();
  const arrived = new Promise<void>((resolve) => {
    const run = async () => {
      resolve();
      await new Promise((later) => setTimeout(later, 1000));
    };
    at.sandbox.control.fault('token', { kind: 'run', run });
  });
  const program = start(['events', 'search', '--json'], { env: at.env });
  await arrived;
  program.kill('SIGINT');
  expect((await program.finished).code).toBe(130);
  expect(await at.run(['token'])).toMatchObject({ code: 0, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});

test('a command killed after the rotation frees the lock, and the next one says that the sign-in has ended', async () => {
  await using at = await startRefreshing();
  const before = await at.stored();
  at.sandbox.control.fault('token', { kind: 'slow', ms: 20_000 });
  const program = start(['token'], { env: at.env });
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

test('a command killed before its request was carried out costs nothing', async () => {
  await using at = await startRefreshing();
  const arrived = new Promise<void>((resolve) => {
    const run = () => new Promise(() => resolve());
    at.sandbox.control.fault('token', { kind: 'run', run });
  });
  const program = start(['token'], { env: at.env });
  await arrived;
  program.kill('SIGKILL');
  await program.finished;
  expect(await at.run(['token'])).toMatchObject({ code: 0, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});

test('a suspended command keeps the lock, and both end with the one new token', async () => {
  await using at = await startRefreshing();
  const suspended = await during(at, ({ kill }) => kill('SIGSTOP'));
  const waiting = start(['token'], { env: at.env });
  await expect.poll(at.refreshes, { timeout: 10_000 }).toEqual(['ok']);
  // Longer than anything but a suspended holder would take.
  await new Promise((later) => setTimeout(later, 1500));
  expect(waiting.stdout).toBe('');
  suspended.kill('SIGCONT');
  const [first, second] = await Promise.all([suspended.finished, waiting.finished]);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(second).toEqual(first);
  expect(at.refreshes()).toEqual(['ok']);
});

test('a command whose standard output was closed stores the new token all the same', async () => {
  await using at = await startRefreshing();
  const program = await during(at, ({ closeStdout }) => closeStdout());
  expect((await program.finished).code).toBe(0);
  expect(await at.run(['token'])).toMatchObject({ code: 0, stderr: '' });
  expect(at.refreshes()).toEqual(['ok']);
});
