import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Context, Machine } from '../../src/context.ts';
import { withLock } from '../../src/lock/lock.ts';
import { describeSelf } from '../../src/lock/lock-holder.ts';
import { createContext } from '../support/context.ts';

let home: string;
let log: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  home = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-lock-'));
  log = path.join(home, 'log');
  await writeFile(log, '');
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(home, { recursive: true, force: true });
});

function worker(rounds: number, hold: number): ChildProcess {
  const script = path.resolve(import.meta.dirname, '../support/lock-worker.ts');
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', script, home, log, String(rounds), String(hold)],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  children.push(child);
  return child;
}

function here(changes: Partial<Machine> = {}): Context {
  const context = createContext();
  return { ...context, machine: { ...context.machine, userHome: home, ...changes } };
}

const lines = async () => (await readFile(log, 'utf8')).split('\n').filter(Boolean);
const entered = async (child: ChildProcess) =>
  expect.poll(lines, { timeout: 20_000, interval: 20 }).toContain(`enter ${child.pid}`);
const folder = async () => {
  const locks = path.join(home, '.hooktrail', 'locks');
  return path.join(locks, (await readdir(locks))[0] as string);
};

/** Leaves a lock behind that a process described by `holder` took. */
async function leaveLock(holder: object): Promise<string> {
  await withLock('worker', here(), async () => undefined);
  const file = path.join(await folder(), '2.lock');
  await writeFile(file, JSON.stringify(holder));
  return file;
}

test('never two at once, although holders are killed all the time', { timeout: 120_000 }, async () => {
  const workers = Array.from({ length: 6 }, () => worker(25, 5));
  const all = Promise.all(workers.map((child) => once(child, 'exit')));
  let running = true;
  void all.then(() => {
    running = false;
  });
  const victims = new Set<number>();
  while (running && victims.size < 12) {
    const victim = worker(1000, 1);
    await Promise.race([entered(victim), all]);
    victim.kill('SIGKILL');
    victims.add(victim.pid as number);
  }
  await all;
  let inside: string | undefined;
  let rounds = 0;
  for (const line of await lines()) {
    const [what, pid = ''] = line.split(' ');
    if (what === 'enter') {
      // A victim that was killed inside never left.
      expect(inside === undefined || victims.has(Number(inside)), `${line} while ${inside} was inside`).toBe(
        true,
      );
      inside = pid;
    } else {
      expect(pid).toBe(inside);
      inside = undefined;
      if (!victims.has(Number(pid))) rounds++;
    }
  }
  expect(rounds).toBe(150);
  expect((await readdir(await folder())).length).toBeLessThan(40);
});

test('a lock whose holder was killed is taken over at once', async () => {
  const holder = worker(1, 60_000);
  await entered(holder);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  expect(await withLock('worker', here(), async () => 'mine', { patience: 1000 })).toBe('mine');
});

test('a holder that is suspended keeps the lock; who waits is told which process and what to do', async () => {
  const holder = worker(1, 60_000);
  await entered(holder);
  holder.kill('SIGSTOP');
  const waiting = withLock('worker', here(), async () => 'mine', { patience: 1500 });
  await expect(waiting).rejects.toMatchObject({
    exitCode: 1,
    message: `another hooktrail process (${holder.pid}) kept the sign-in locked for 2 s: it is suspended`,
    next: `let it go on (\`fg\`, or \`kill -CONT ${holder.pid}\`), or end it`,
  });
});

test('a process number that was given to another process does not keep a lock', async () => {
  const { machine } = here();
  await leaveLock({ ...(await describeSelf(machine)), pid: process.ppid, started: '1' });
  expect(await withLock('worker', here(), async () => 'mine', { patience: 1000 })).toBe('mine');
});

test('a lock from before the machine was started again is taken over', async () => {
  const { machine } = here();
  await leaveLock({ ...(await describeSelf(machine)), boot: 'another' });
  expect(await withLock('worker', here(), async () => 'mine', { patience: 1000 })).toBe('mine');
});

test.each([
  [
    'of another machine',
    async (machine: Machine) => ({
      ...(await describeSelf(machine)),
      hostname: 'elsewhere',
      boot: 'another',
    }),
  ],
  [
    'of another container',
    async (machine: Machine) => ({ ...(await describeSelf(machine)), processes: 'pid:[1]' }),
  ],
  ['that cannot be read', async () => ({})],
])('a holder %s is waited for, but not for ever', async (_name, describe) => {
  const file = await leaveLock(await describe(here().machine));
  await expect(withLock('worker', here(), async () => 'mine', { patience: 300 })).rejects.toMatchObject({
    exitCode: 1,
  });
  const old = new Date(Date.now() - 11 * 60_000);
  await utimes(file, old, old);
  expect(await withLock('worker', here(), async () => 'mine', { patience: 300 })).toBe('mine');
});

test('a holder that was given up sees it, and does not free the lock of its successor', async () => {
  const seen: boolean[] = [];
  await withLock('worker', here(), async (lock) => {
    seen.push(await lock.isStillHeld());
    const file = path.join(await folder(), '1.lock');
    await writeFile(
      file,
      JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), processes: 'pid:[1]' }),
    );
    const old = new Date(Date.now() - 11 * 60_000);
    await utimes(file, old, old);
    await withLock('worker', here(), async (successor) => {
      seen.push(await lock.isStillHeld(), await successor.isStillHeld());
    });
  });
  expect(seen).toEqual([true, false, true]);
});

test('what the holder did ends the wait of the others without the lock', async () => {
  const order: string[] = [];
  const holding = withLock('worker', here(), async () => {
    await new Promise((later) => setTimeout(later, 300));
    order.push('done');
    return 'first';
  });
  await new Promise((later) => setTimeout(later, 50));
  const waiting = withLock('worker', here(), async () => 'took the lock', {
    meanwhile: async () => order.at(-1),
  });
  expect(await Promise.all([holding, waiting])).toEqual(['first', 'done']);
});

test('an interrupt ends the wait', async () => {
  const abort = new AbortController();
  const reason = new Error('interrupted');
  const waiting = withLock('worker', here(), async () => {
    const second = withLock('worker', { ...here(), signal: abort.signal }, async () => 'never');
    setTimeout(() => abort.abort(reason), 100);
    return await second.catch((error) => error.name);
  });
  expect(await waiting).toBe('AbortError');
});

test('without a home that can be written the lock is in a folder of the user alone', async () => {
  const nowhere = here({ userHome: path.join(log, 'a-file-is-no-home') });
  expect(await withLock('worker', nowhere, async () => 'mine')).toBe('mine');
  const shared = `/tmp/hooktrail-${os.userInfo().uid}`;
  expect((await readdir(shared)).length).toBeGreaterThan(0);
  const squatted = here({ userHome: path.join(log, 'a-file-is-no-home'), userId: 4_000_000 });
  await mkdir('/tmp/hooktrail-4000000', { recursive: true });
  try {
    await expect(withLock('worker', squatted, async () => 'mine')).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('it is not a folder of this user alone'),
    });
  } finally {
    await rm('/tmp/hooktrail-4000000', { recursive: true });
  }
});
