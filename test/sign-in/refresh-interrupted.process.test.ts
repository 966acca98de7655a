import { mkdir, open, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
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

test.each(['before', 'after'])(
  'a command killed %s the rotation frees the lock, and the next one says that the token may be spent',
  async (when) => {
    const arrived = new Promise<void>((resolve) => {
      const run = () => new Promise(() => resolve());
      const slow = { kind: 'slow', ms: 20_000 } as const;
      at.sandbox.control.fault('token', when === 'before' ? { kind: 'run', run } : slow);
      if (when === 'after') resolve();
    });
    const [[name, before] = []] = await at.stored();
    const program = startProcess(['token'], { env: at.env });
    await arrived;
    const sent = when === 'before' ? [] : ['ok'];
    await expect.poll(at.refreshes).toEqual(sent);
    program.kill('SIGKILL');
    expect((await program.finished).code).toBe('SIGKILL');
    const { code, stderr } = await at.run(['token']);
    expect(code).toBe(4);
    expect(stderr).toMatch(
      new RegExp(
        `^error: the sign-in may be lost: process ${program.pid} sent its refresh token at \\S+Z, and stored no new one\n` +
          ' {2}that process has ended\n {2}a refresh token works once, so it is not sent again\n' +
          'next: run `hooktrail login`\n$',
      ),
    );
    expect(at.refreshes()).toEqual(sent);
    expect(await at.stored()).toMatchObject(new Map([[name, before]]));
    // The access token lasts for some more seconds, and no other can be had.
    const mark = /^renewal {4}the refresh token may be spent: a process that ended sent it at \S+Z$/m;
    const lasting = await at.run(['status']);
    expect(lasting).toMatchObject({ code: 0, stdout: expect.stringMatching(mark) });
    expect(lasting.stdout).toMatch(/^token {6}.* left, until \S+, then sign in again$/m);
    clock.advance(180_000);
    const ended = await at.run(['status']);
    expect(ended).toMatchObject({ code: 4, stdout: expect.stringMatching(mark) });
    expect(ended.stdout).toContain('signed in  no: the sign-in may be lost\n');
    // A sign-in leaves no mark.
    await at.signIn();
    expect((await at.run(['token'])).code).toBe(0);
  },
);

const LOCKS = path.join('config', 'locks');

/** The folder of the sign-in's lock: the settings have another. */
async function lockFolder(): Promise<string> {
  const locks = path.join(at.home.folder, LOCKS);
  const [name = ''] = (await readdir(locks)).filter((entry) => entry !== 'settings');
  return path.join(locks, name);
}

/** Changes one byte of the file that the holder has. */
async function changeByte(position: number, byte: string): Promise<void> {
  const folder = await lockFolder();
  const numbers = (await readdir(folder)).map((name) => Number.parseInt(name, 10));
  const handle = await open(path.join(folder, `${Math.max(...numbers)}.lock`), 'r+');
  await handle.write(byte, position);
  await handle.close();
}

test.each([
  ['its folder is removed', async () => rm(await lockFolder(), { recursive: true })],
  ['the folder of all locks is removed', () => rm(path.join(at.home.folder, LOCKS), { recursive: true })],
  [
    'an empty folder takes the place of its own',
    async () => {
      const folder = await lockFolder();
      await rename(folder, `${folder}.away`);
      await mkdir(folder);
    },
  ],
  ['its file looks released', () => changeByte(0, 'R')],
  ['its file is damaged', () => changeByte(0, 'x')],
  ['its file names another process', () => changeByte('{"pid":'.length, '9')],
])('a token that is being spent is not spent again if, of the lock, %s', async (_, attack) => {
  let second: ReturnType<typeof startHooktrail> | undefined;
  const first = await during(at, async () => {
    await attack();
    second = at.start(['token']);
    await clock.slept(20);
    expect(second.stdout).toBe('');
  });
  const [one, other] = await Promise.all([first.finished, second?.finished]);
  expect(one).toMatchObject({ code: 0, stderr: '' });
  expect(other).toEqual(one);
  expect(at.refreshes()).toEqual(['ok']);
});

test('a link in place of the lock is refused, and the token is not spent again', async () => {
  const first = await during(at, async () => {
    const folder = await lockFolder();
    await rename(folder, `${folder}.away`);
    await symlink(`${folder}.away`, folder);
    const { code, stderr } = await at.run(['token']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is a link')]);
  });
  expect(await first.finished).toMatchObject({ code: 0, stderr: '' });
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
  await expect.poll(at.refreshes).toEqual(['ok']);
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
