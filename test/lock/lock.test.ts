import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, renameSync, symlinkSync } from 'node:fs';
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Context, Machine } from '../../src/context.ts';
import { takeLock, whileHeld, withLock } from '../../src/lock/lock.ts';
import { conditionOf, describeSelf } from '../../src/lock/lock-file.ts';
import { clock, clockWith } from '../support/clock.ts';
import { createContext } from '../support/context.ts';

let home: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  home = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-lock-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(home, { recursive: true, force: true });
});

function here(changes: Partial<Machine> = {}): Context {
  const context = createContext();
  return { ...context, machine: { ...context.machine, userHome: home, ...changes } };
}

const folder = async (userHome = home) => {
  const locks = path.join(userHome, '.hooktrail', 'locks');
  return path.join(locks, (await readdir(locks))[0] as string);
};

/** Leaves a lock behind that seems to be held by the process in `holder`. */
async function leaveLock(holder: object): Promise<string> {
  await withLock('worker', here(), async () => undefined);
  const file = path.join(await folder(), '2.lock');
  await writeFile(file, JSON.stringify(holder));
  return file;
}

/** Leaves a lock behind that a process holds which does nothing. */
async function heldByProcess(): Promise<ChildProcess> {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  children.push(child);
  await leaveLock(await describeSelf({ ...here().machine, pid: child.pid as number }));
  return child;
}

test('a lock whose holder was killed is taken over at once', async () => {
  const holder = await heldByProcess();
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  expect(await withLock('worker', here(), async () => 'mine', { patience: 0 })).toBe('mine');
});

test('a suspended holder keeps the lock; a waiting process names it and says what to do', async () => {
  const holder = await heldByProcess();
  holder.kill('SIGSTOP');
  await expect.poll(() => readFile(`/proc/${holder.pid}/stat`, 'utf8')).toMatch(/\) T /);
  const waiting = withLock('worker', here(), async () => 'mine', { patience: 1500 });
  await expect(waiting).rejects.toMatchObject({
    exitCode: 1,
    message: `another hooktrail process (${holder.pid}) kept the sign-in locked for 2 s: it is suspended`,
    next: `continue it (\`fg\`, or \`kill -CONT ${holder.pid}\`), or end it`,
  });
});

test.each([
  ['whose process number was given to another process', { pid: process.ppid, started: '1' }],
  ['from before a reboot', { boot: 'another' }],
])('a lock %s is taken over at once', async (_name, changes) => {
  await leaveLock({ ...(await describeSelf(here().machine)), ...changes });
  const since = clock.now();
  expect(await withLock('worker', here(), async () => 'mine', { patience: 1000 })).toBe('mine');
  expect(clock.now()).toBe(since);
});

/** Short enough for a test. */
const rhythm = { beat: 50, silence: 400 };
const fast = (changes: Partial<Machine> = {}): Context => ({ ...here(changes), lockRhythm: rhythm });

test.each([
  [
    'of another machine',
    async (machine: Machine) => ({
      ...(await describeSelf(machine)),
      hostname: 'elsewhere',
      boot: 'another',
    }),
    ` (${process.pid} on elsewhere)`,
    `wait for process ${process.pid} on elsewhere, or end it`,
  ],
  [
    'of another container',
    async (machine: Machine) => ({ ...(await describeSelf(machine)), processes: 'pid:[1]' }),
    ` (${process.pid})`,
    `wait for process ${process.pid}, or end it`,
  ],
  ['that cannot be read', async () => ({}), '', 'run the command again'],
])('a holder %s is taken over after a silence, and no sooner', async (_name, describe, named, next) => {
  const file = await leaveLock(await describe(here().machine));
  let beats = 0;
  // The holder shows a sign of life whenever the waiting process sleeps.
  const sleep = async (milliseconds: number) => {
    appendFileSync(file, `\n${beats++}`);
    await clock.sleep(milliseconds);
  };
  const besides = { ...fast(), clock: clockWith({ sleep }) };
  const waiting = withLock('worker', besides, async () => 'mine', { patience: 1_000 });
  await expect(waiting).rejects.toMatchObject({
    exitCode: 1,
    message: `another hooktrail process${named} kept the sign-in locked for 1 s`,
    next,
    holder: named === '' ? undefined : named.slice(2, -1),
  });
  const since = clock.now();
  expect(await withLock('worker', fast(), async () => 'mine', { patience: 0 })).toBe('mine');
  expect(clock.now() - since).toBeGreaterThanOrEqual(rhythm.silence);
  expect(clock.now() - since).toBeLessThan(rhythm.silence + 100);
});

test('a waiting process looks every 15 to 50 ms, and every 200 ms whether the holder still runs', async () => {
  const asked: number[] = [];
  const slept: number[] = [];
  const machine = {
    platform: 'win32' as const,
    hasProcess: () => {
      asked.push(clock.now());
      return asked.length < 4;
    },
  };
  await leaveLock({ pid: 77, hostname: os.hostname(), nonce: 'x' });
  const sleep = async (milliseconds: number) => {
    slept.push(milliseconds);
    await clock.sleep(milliseconds);
  };
  const jitter = () => (slept.length % 3) / 2;
  const context = { ...here(machine), clock: clockWith({ sleep, jitter }) };
  const since = clock.now();
  expect(await withLock('worker', context, async () => 'mine', { patience: 60_000 })).toBe('mine');
  expect(asked.length).toBe(4);
  expect(asked[0]).toBe(since);
  for (const [index, at] of asked.slice(1).entries()) {
    const passed = at - (asked[index] as number);
    expect(passed).toBeGreaterThanOrEqual(200);
    expect(passed).toBeLessThan(250);
  }
  expect(new Set(slept)).toEqual(new Set([15, 32.5, 50]));
});

test('whether a new holder runs is asked at once', async () => {
  const machine = { platform: 'win32' as const, hasProcess: (pid: number) => pid === 77 };
  const left = { hostname: os.hostname(), nonce: 'x' };
  await leaveLock({ ...left, pid: 77 });
  let sleeps = 0;
  const sleep = async (milliseconds: number) => {
    if (sleeps++ === 0)
      await writeFile(path.join(await folder(), '3.lock'), JSON.stringify({ ...left, pid: 78 }));
    await clock.sleep(milliseconds);
  };
  const context = { ...here(machine), clock: clockWith({ sleep }) };
  expect(await withLock('worker', context, async () => 'mine')).toBe('mine');
  expect(sleeps).toBe(1);
});

test('a live holder is waited for as long as the patience lasts, a minute unless given', async () => {
  const running = `another hooktrail process (${process.pid}) kept`;
  await withLock('worker', here(), async () => {
    const since = clock.now();
    const sleep = async () => clock.advance(1_000);
    const patient = { ...here(), clock: clockWith({ sleep }) };
    await expect(withLock('worker', patient, async () => 'never')).rejects.toMatchObject({
      message: `${running} the sign-in locked for 60 s`,
      next: `wait for process ${process.pid}, or end it`,
    });
    expect(clock.now() - since).toBe(60_000);
    await expect(
      takeLock('worker', here(), { patience: 0, folder: await folder(), subject: 'the file' }),
    ).rejects.toMatchObject({ message: `${running} the file locked for 0 s` });
  });
});

test('work under a lock ends with the program, and when the lock is lost', () => {
  for (const ended of ['program', 'lock'] as const) {
    const [program, lock] = [new AbortController(), new AbortController()];
    const context = { ...here(), signal: program.signal };
    const { signal, machine } = whileHeld(context, { lost: lock.signal });
    expect(machine).toBe(context.machine);
    expect(signal.aborted).toBe(false);
    (ended === 'program' ? program : lock).abort(new Error(ended));
    expect(signal.reason).toMatchObject({ message: ended });
  }
});

test('more than ten requests under one lock are no leak that Node warns of', async () => {
  const warnings: string[] = [];
  const warn = ({ message }: Error) => warnings.push(message);
  const { signal } = whileHeld(here(), { lost: new AbortController().signal });
  process.on('warning', warn);
  for (let request = 0; request < 20; request++) signal.addEventListener('abort', () => undefined);
  await delay(1);
  process.off('warning', warn);
  expect(warnings).toEqual([]);
});

test('a clock that is set, or a waiting process that was suspended, makes no silence', async () => {
  await leaveLock({ ...(await describeSelf(here().machine)), hostname: 'elsewhere', boot: 'another' });
  let sleeps = 0;
  const jumping = async (milliseconds: number) => {
    clock.advance(sleeps++ % 2 === 0 ? 3_600_000 : -3_600_000);
    await clock.sleep(milliseconds);
  };
  const context = { ...here(), clock: clockWith({ sleep: jumping }) };
  await withLock('worker', context, async () => 'mine', { patience: 0 });
  // Of each hour forward a second counts, and of one back nothing: 20 s of silence have passed after this.
  expect(sleeps).toBe(39);
});

test('an empty file, as a power failure leaves it, delays others for no longer than the silence', async () => {
  const file = await leaveLock({});
  await writeFile(file, '');
  expect(await withLock('worker', fast(), async () => 'mine', { patience: 0 })).toBe('mine');
});

test('on a system without /proc a process is dead if its number is gone, and unknown otherwise', async () => {
  const { machine } = here({ platform: 'win32', hasProcess: (pid) => pid === 77 });
  const holder = { pid: 77, hostname: machine.hostname, nonce: 'x' };
  expect(await conditionOf(holder, machine)).toBe('unknown');
  expect(await conditionOf({ ...holder, pid: 78 }, machine)).toBe('dead');
  expect(await conditionOf({ ...holder, pid: 78, hostname: 'elsewhere' }, machine)).toBe('unknown');
  expect(await conditionOf({ ...holder, pid: 78 }, { ...machine, hasProcess: () => undefined })).toBe(
    'unknown',
  );
});

test('two names never share a lock', async () => {
  // Their hashes begin with the same 12 bits.
  const [one, other] = ['name 26', 'name 36'];
  const inner = () => withLock(other, here(), async () => 'both', { patience: 0 });
  expect(await withLock(one, here(), inner)).toBe('both');
});

test('a holder that lost the lock notices, gets an error, and does not free the lock of its successor', async () => {
  const slow = { ...rhythm, beat: 60_000 };
  const elsewhere = { ...here({ hostname: 'elsewhere' }), lockRhythm: slow };
  const seen: boolean[] = [];
  await withLock('worker', { ...here(), lockRhythm: slow }, async (lock) => {
    seen.push(await lock.isStillHeld());
    const file = path.join(await folder(), '1.lock');
    const text = await readFile(file, 'utf8');
    await writeFile(file, JSON.stringify({ ...JSON.parse(text.split('\n')[0] as string), processes: '' }));
    await withLock('worker', elsewhere, async (successor) => {
      seen.push(await lock.isStillHeld(), await successor.isStillHeld());
    });
  });
  expect(seen).toEqual([true, false, true]);
});

test('a sign of life that finds the lock gone aborts `lost`', async () => {
  const lock = await takeLock('worker', fast());
  expect(lock.lost.aborted).toBe(false);
  await writeFile(path.join(await folder(), '2.lock'), JSON.stringify(await describeSelf(here().machine)));
  await expect.poll(() => lock.lost.aborted).toBe(true);
  expect(lock.lost.reason).toMatchObject({
    exitCode: 1,
    message: 'another hooktrail process took over the sign-in, since this one gave no sign of life',
    next: 'run the command again when that process has ended',
  });
  await lock.release();
});

test('signs of life keep a lock, also while its folder cannot be read, and end when it is released', async () => {
  const beat = 50;
  // The home is a link. It changes at once, so no sign of life finds the folder gone.
  const [link, real, file] = ['link', 'real', 'file'].map((name) => path.join(home, name)) as [
    string,
    string,
    string,
  ];
  const pointTo = (target: string) => {
    symlinkSync(target, `${link}-new`);
    renameSync(`${link}-new`, link);
  };
  await mkdir(real);
  await writeFile(file, '');
  pointTo(real);
  const context = { ...here({ userHome: link }), lockRhythm: { ...rhythm, beat } };
  const { lost, release } = await takeLock('worker', context);
  const place = await folder(real);
  const beats = async () => Number((await readFile(path.join(place, '1.lock'), 'utf8')).split('\n')[1]);
  // The second sign of life is given when the first has found the lock as it should be.
  await expect.poll(beats).toBeGreaterThanOrEqual(2);
  pointTo(file);
  const since = await beats();
  await expect.poll(beats).toBeGreaterThanOrEqual(since + 3);
  expect(lost.aborted).toBe(false);
  pointTo(real);
  await release();
  const last = await readFile(path.join(place, '1.lock'), 'utf8').catch(String);
  await delay(3 * beat);
  expect(await readFile(path.join(place, '1.lock'), 'utf8').catch(String)).toBe(last);
  expect(lost.aborted).toBe(false);
});

test('the result of the holder, asked for when it is done, ends the wait of the others without the lock', async () => {
  const order: string[] = [];
  let waiting: Promise<string> | undefined;
  const holding = withLock('worker', here(), async () => {
    waiting = withLock('worker', here(), async () => 'took the lock', {
      meanwhile: async () => {
        order.push('asked');
        return order.join(', then ');
      },
    });
    await clock.slept();
    order.push('done');
    return 'first';
  });
  expect([await holding, await waiting]).toEqual(['first', 'done, then asked']);
});

test('an interrupt ends the wait', async () => {
  const abort = new AbortController();
  const reason = new Error('interrupted');
  const waiting = withLock('worker', here(), async () => {
    const second = withLock('worker', { ...here(), signal: abort.signal }, async () => 'never');
    await clock.slept();
    abort.abort(reason);
    return await second.catch((error) => error);
  });
  expect(await waiting).toBe(reason);
});

test('without a writable home the lock is in a folder that only the user can use', async () => {
  const file = path.join(home, 'file');
  await writeFile(file, '');
  const nobody = { userHome: path.join(file, 'a-file-is-no-home'), sharedFolder: home };
  expect(await withLock('worker', here(nobody), async () => 'mine')).toBe('mine');
  const hash = createHash('sha256').update('worker').digest('hex').slice(0, 32);
  expect(await readdir(path.join(home, `hooktrail-${os.userInfo().uid}`))).toEqual([hash]);
  expect(await withLock('worker', here({ ...nobody, userHome: '/proc/nowhere' }), async () => 'mine')).toBe(
    'mine',
  );
  const taken = path.join(home, 'hooktrail-4000000');
  await mkdir(taken);
  await expect(
    withLock('worker', here({ ...nobody, userId: 4_000_000 }), async () => 'mine'),
  ).rejects.toMatchObject({
    exitCode: 2,
    message: `the folder ${taken}, where hooktrail's processes lock each other out, cannot be used: ${taken} is not a folder that only this user can use`,
    next: 'make it a folder that this user can write to',
  });
  // On Windows there is no such folder.
  const place = path.join(nobody.userHome, '.hooktrail', 'locks', hash);
  await expect(
    withLock('worker', here({ ...nobody, platform: 'win32' }), async () => 'mine'),
  ).rejects.toMatchObject({
    exitCode: 2,
    message: `the folder ${place}, where hooktrail's processes lock each other out, cannot be used: not a directory (ENOTDIR)`,
  });
});

test('an unusable lock folder is an error with a reason and a next step', async () => {
  await withLock('worker', here(), async () => undefined);
  const place = await folder();
  await rm(place, { recursive: true });
  await writeFile(place, '');
  await expect(withLock('worker', here(), async () => 'never')).rejects.toMatchObject({
    exitCode: 2,
    message: `the folder ${place}, where hooktrail's processes lock each other out, cannot be used: file already exists (EEXIST)`,
    next: 'make it a folder that this user can write to',
  });
});

test('a lock that cannot be freed changes neither what the work returned nor what it threw', async () => {
  const vanish = async () => rm(await folder(), { recursive: true });
  expect(await withLock('worker', here(), () => vanish().then(() => 'saved'))).toBe('saved');
  const failing = withLock('worker', here(), async () => {
    await vanish();
    throw new Error('the error that matters');
  });
  await expect(failing).rejects.toThrow('the error that matters');
});

test('a holder that cannot check gets that error, and not that it lost the lock', async () => {
  await withLock('worker', here(), async (lock) => {
    const place = await folder();
    await rm(place, { recursive: true });
    await writeFile(place, '');
    await expect(lock.isStillHeld()).rejects.toMatchObject({
      exitCode: 2,
      next: 'make it a folder that this user can write to',
    });
    expect(lock.lost.aborted).toBe(false);
  });
});

test('a lock in a folder that was given keeps out processes with another home', async () => {
  const shared = path.join(home, 'volume', 'locks');
  const held = await takeLock('worker', here({ userHome: path.join(home, 'one') }), { folder: shared });
  const isTaken = () =>
    takeLock('worker', here({ userHome: path.join(home, 'other') }), { patience: 0, folder: shared }).then(
      async (lock) => {
        await lock.release();
        return true;
      },
      () => false,
    );
  expect(await isTaken()).toBe(false);
  await held.release();
  expect(await isTaken()).toBe(true);
  expect(await readdir(home)).not.toContain('one');
});

test('a folder that is removed is made again by those that wait, and one of them gets the lock', async () => {
  const held = await takeLock('worker', here());
  const order: string[] = [];
  const waiting = ['first', 'second', 'third'].map((name) =>
    withLock('worker', here(), async () => {
      order.push(name);
      await readdir(home);
      order.push(name);
    }),
  );
  await clock.slept(5);
  await rm(await folder(), { recursive: true });
  await Promise.all(waiting);
  // Each entered and left before the next.
  expect(order.filter((name, index) => name === order[index - (index % 2)])).toHaveLength(6);
  // Whoever had the lock before the removal has it no longer.
  expect(await held.isStillHeld()).toBe(false);
  await held.release();
});

test.each([
  [
    'a link in place of the folder',
    'it is not a folder',
    (place: string) => rename(place, `${place}.away`).then(() => symlink(`${place}.away`, place)),
  ],
  [
    'a link among its files',
    '9.lock in it is not a file',
    (place: string) => symlink('/dev/zero', path.join(place, '9.lock')),
  ],
  [
    'a folder among its files',
    '9.lock in it is not a file',
    (place: string) => mkdir(path.join(place, '9.lock')),
  ],
  [
    'the highest number',
    'it holds 999999999999999.lock, and no number follows that',
    (place: string) => writeFile(path.join(place, '999999999999999.lock'), 'R'),
  ],
])('%s is refused', async (_, problem, plant) => {
  await withLock('worker', here(), async () => undefined);
  const place = await folder();
  await plant(place);
  await expect(withLock('worker', here(), async () => undefined)).rejects.toMatchObject({
    exitCode: 2,
    message: `the folder ${place}, where hooktrail's processes lock each other out, cannot be used: ${problem}`,
  });
});

test('a file whose number has more than 15 digits is passed over', async () => {
  await withLock('worker', here(), async () => undefined);
  await writeFile(path.join(await folder(), '9999999999999999.lock'), '');
  expect(await withLock('worker', here(), async () => 'mine', { patience: 0 })).toBe('mine');
});

test('a holder knows the condition of another, and that the one it replaced is gone', async () => {
  const gone = { ...(await describeSelf(here().machine)), hostname: 'gone', boot: 'gone' };
  await leaveLock(gone);
  await withLock('worker', fast(), async (lock) => {
    expect(await lock.conditionOf(gone)).toBe('dead');
    expect(await lock.conditionOf({ ...gone, nonce: 'another' })).toBe('unknown');
    expect(await lock.conditionOf(lock.holder)).toBe('running');
  });
});

test('a lock on a volume whose holder has another boot id is waited out, since it may be another machine of that name', async () => {
  const volume = path.join(home, 'volume');
  await mkdir(volume);
  const options = { folder: volume };
  await withLock('worker', here(), async () => undefined, options);
  const file = path.join(volume, '2.lock');
  const self = await describeSelf(here().machine);
  await writeFile(file, `${JSON.stringify({ ...self, boot: 'another', pid: 1 })}\n`);
  let isTaken = false;
  const waiting = withLock('worker', fast(), async () => undefined, options).then(() => {
    isTaken = true;
  });
  // Signs of life for three silences, each within 4 naps of 50 ms at most.
  for (let beat = 0; beat < 15; beat++) {
    await Promise.race([clock.slept(4), waiting]);
    expect(isTaken).toBe(false);
    await appendFile(file, String(beat));
  }
  await waiting;
});

test('a folder that cannot be written is an error that names it', async () => {
  const folder = path.join(home, 'file', 'locks');
  await writeFile(path.join(home, 'file'), '');
  await expect(withLock('worker', here(), async () => undefined, { folder })).rejects.toThrow(
    /^the folder .*file.locks, where hooktrail's processes lock each other out, cannot be used/,
  );
});
