import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type Claim,
  claimLock,
  conditionOf,
  describeSelf,
  type HolderCondition,
  lockingFault,
  readLock,
  tidyLock,
} from '../../src/lock/lock-file.ts';
import { thisMachine } from '../support/context.ts';

const holder = (nonce: string) => ({ pid: 1, hostname: 'here', nonce });
let top: string;
let folder: string;
const claims: Claim[] = [];

beforeEach(async () => {
  top = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-lock-file-'));
  folder = path.join(top, 'lock');
  await mkdir(folder);
});
afterEach(async () => {
  for (const claim of claims.splice(0)) await claim.release().catch(() => undefined);
  await rm(top, { recursive: true, force: true });
});

async function claim(previous: number, nonce: string): Promise<Claim | undefined> {
  const made = await claimLock(folder, previous, holder(nonce));
  if (made) claims.push(made);
  return made;
}

/** One operation of the file system does this instead, until the end of the test. */
function replace(
  name: 'open' | 'openSync' | 'readFile' | 'readdir' | 'readlink',
  other: (...args: unknown[]) => unknown,
) {
  const spy = name === 'openSync' ? vi.spyOn(fs, name) : vi.spyOn(fs.promises, name);
  spy.mockImplementation(other as never);
  // The lock imports it by its name.
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
}
const { open, readdir: list, readFile: read } = fs.promises;
const fail = (code: string) => Promise.reject(Object.assign(new Error(code), { code }));

test('one of many claims of a number wins', async () => {
  const made = await Promise.all(Array.from({ length: 50 }, (_, i) => claim(0, String(i))));
  expect(made.filter(Boolean)).toHaveLength(1);
  expect(await readdir(folder)).toEqual(['1.lock']);
});

test('a claim of a number that was used and tidied away is withdrawn', async () => {
  for (let number = 1; number <= 20; number++) {
    expect(await claim(number - 1, 'a')).toBeDefined();
    await tidyLock(folder, number);
  }
  const kept = [12, 13, 14, 15, 16, 17, 18, 19, 20].map((number) => `${number}.lock`);
  expect((await readdir(folder)).sort()).toEqual(kept);
  expect(await claim(2, 'late')).toBeUndefined();
  expect(await claims[19]?.isHeld()).toBe(true);
  expect((await readdir(folder)).sort()).toEqual(kept);
});

test('a claim after a number that is gone is withdrawn: the folder was swept and recreated', async () => {
  const fresh = await claim(0, 'fresh');
  expect(await claim(6, 'late')).toBeUndefined();
  expect(await fresh?.isHeld()).toBe(true);
  expect(await readdir(folder)).toEqual(['1.lock']);
});

test('a claim below a higher number is withdrawn, although the one before it is there', async () => {
  for (const number of [3, 7]) await writeFile(path.join(folder, `${number}.lock`), 'R');
  expect(await claim(3, 'late')).toBeUndefined();
  expect(await readdir(folder)).toEqual(['3.lock', '7.lock']);
});

test('a released number stays the highest, and its file is closed', async () => {
  const released = await claim(0, 'a');
  await released?.release();
  await expect(released?.beat()).rejects.toThrow('file closed');
  expect(await readLock(folder)).toMatchObject({ number: 1, released: true });
  expect(await claim(0, 'b')).toBeUndefined();
  expect(await claim(1, 'b')).toBeDefined();
});

test('nobody releases a lock that another process holds', async () => {
  const first = await claim(0, 'a');
  const second = await claim(1, 'b');
  expect([await first?.isHeld(), await second?.isHeld()]).toEqual([false, true]);
  // The same number of another holder, or of an unknown one, in a folder that was swept; the same holder's
  // next number.
  for (const [number, text] of [
    [2, JSON.stringify(holder('c'))],
    [2, ''],
    [3, JSON.stringify(holder('b'))],
  ] as const) {
    await writeFile(path.join(folder, `${number}.lock`), text);
    expect(await second?.isHeld()).toBe(false);
  }
  await rm(path.join(folder, '3.lock'));
  await first?.release();
  expect(await readLock(folder)).toMatchObject({ number: 2, released: false });
});

test('a lock whose folder is gone is not held', async () => {
  const made = await claim(0, 'a');
  expect(await made?.isHeld()).toBe(true);
  await rm(folder, { recursive: true });
  expect(await made?.isHeld()).toBe(false);
});

test('the highest number can be claimed', async () => {
  const [last, highest] = [999_999_999_999_998, 999_999_999_999_999];
  await writeFile(path.join(folder, `${last}.lock`), 'R');
  expect(await claim(last, 'a')).toMatchObject({ number: highest });
});

test('a file that is removed after it was listed is passed over', async () => {
  await writeFile(path.join(folder, '1.lock'), 'R');
  replace('readdir', async (place, options) => {
    const names = await list(place as string, options as never);
    await rm(path.join(folder, '1.lock'), { force: true });
    await writeFile(path.join(folder, '20.lock'), 'R');
    return names;
  });
  expect(await readLock(folder)).toMatchObject({ number: 20 });
  replace('readdir', async () => ['1.lock', '20.lock']);
  await tidyLock(folder, 20);
  expect(await list(folder)).toEqual(['20.lock']);
});

test('a file that cannot be read is the error of the system', async () => {
  await writeFile(path.join(folder, '1.lock'), 'R');
  replace('openSync', () => {
    throw Object.assign(new Error('too many'), { code: 'EMFILE' });
  });
  await expect(readLock(folder)).rejects.toThrow('too many');
});

test('what is no number is no lock', async () => {
  for (const name of ['0.lock', '01.lock', 'x1.lock', '1.lock.tmp', '1xlock', `1${'0'.repeat(15)}.lock`])
    await writeFile(path.join(folder, name), '');
  expect(await readLock(folder)).toEqual({ number: 0, text: '', released: true });
  await tidyLock(folder, 100);
  expect(await readdir(folder)).toHaveLength(6);
  await writeFile(path.join(folder, `1${'0'.repeat(14)}.lock`), 'R');
  await writeFile(path.join(folder, '999.lock'), '');
  expect(await readLock(folder)).toEqual({ number: 1e14, text: 'R', released: true });
});

test.each(['', 'no JSON', 'null', '{"pid":1}', '{"pid":"1","hostname":"here"}', '{"hostname":"here"}', ' R'])(
  'a file that holds %j is held by somebody unknown',
  async (text) => {
    await writeFile(path.join(folder, '1.lock'), text);
    expect(await readLock(folder)).toEqual({ number: 1, released: false, text });
  },
);

test('a folder that cannot be used is the error of the system', async () => {
  await expect(claimLock(path.join(top, 'nowhere'), 0, holder('a'))).rejects.toThrow('ENOENT');
  await mkdir(path.join(folder, '1.lock'));
  await expect(readLock(folder)).rejects.toMatchObject({ code: expect.not.stringMatching('ENOENT') });
});

describe.skipIf(process.platform !== 'linux')('the condition of a holder', () => {
  const machine = { ...thisMachine(), hasProcess: () => false };

  test('is found out by what a holder says of itself', async () => {
    const self = await describeSelf(machine);
    expect(self).toEqual({
      pid: process.pid,
      started: expect.stringMatching(/^\d{2,}$/),
      hostname: os.hostname(),
      boot: (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim(),
      processes: expect.stringMatching(/^pid:\[\d+\]$/),
      nonce: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(await describeSelf({ ...machine, platform: 'win32' })).toEqual({
      pid: process.pid,
      hostname: os.hostname(),
      nonce: expect.not.stringContaining(self.nonce),
    });
    const gone = { pid: 2 ** 22 + 1 };
    for (const [changes, condition] of [
      [{}, 'running'],
      [{ started: '1' }, 'dead'],
      [{ started: undefined }, 'unknown'],
      [gone, 'dead'],
      [{ boot: 'another' }, 'dead'],
      [{ boot: 'another', hostname: 'elsewhere' }, 'unknown'],
      // Containers on one kernel.
      [{ hostname: 'elsewhere' }, 'running'],
      [{ hostname: 'elsewhere', ...gone }, 'dead'],
      [{ hostname: 'elsewhere', boot: undefined, ...gone }, 'unknown'],
      [{ boot: undefined }, 'running'],
      [{ processes: 'pid:[1]', ...gone }, 'unknown'],
    ] as const)
      expect([changes, await conditionOf({ ...self, ...changes }, machine)]).toEqual([changes, condition]);
    // Here nothing tells the boot, so that another one proves nothing.
    const elsewhere = { ...self, processes: undefined, hostname: 'elsewhere' };
    for (const one of [{ ...elsewhere, hostname: self.hostname }, elsewhere])
      expect(
        await conditionOf(one, { ...machine, platform: 'darwin', hasProcess: () => one !== elsewhere }),
      ).toBe('unknown');
    for (const hasProcess of [() => true, () => undefined])
      expect(await conditionOf({ ...self, ...gone }, { ...machine, hasProcess })).toBe('unknown');
  });

  test.each<[string, string, HolderCondition]>([
    ['ENOENT', 'has no process', 'dead'],
    ['ESRCH', 'ended while it was read', 'dead'],
    ['EMFILE', 'could not be read', 'unknown'],
  ])('after %s, when it %s, is %s', async (code, _, condition) => {
    const self = await describeSelf(machine);
    replace('readFile', async (file, encoding) =>
      String(file).endsWith('/stat') ? await fail(code) : await read(file as string, encoding as 'utf8'),
    );
    expect(await conditionOf(self, machine)).toBe(condition);
    expect(await describeSelf(machine)).toMatchObject({ started: undefined });
  });

  test('is unknown where the system hides what tells processes apart', async () => {
    replace('readlink', () => fail('EACCES'));
    const self = await describeSelf(machine);
    expect(self.processes).toBeUndefined();
    expect(await conditionOf(self, machine)).toBe('unknown');
    replace('readFile', () => fail('EACCES'));
    expect(await describeSelf(machine)).toMatchObject({ boot: undefined });
  });

  test('is that of its process: running, suspended, or a zombie, whatever its name', async () => {
    const program = path.join(top, ') Z 1 (');
    await copyFile('/bin/sleep', program);
    // The child of a program that was replaced is reaped by nobody.
    const child = spawn('/bin/sh', ['-c', 'true & echo $!; exec "$0" 60', program]);
    const [zombie] = (await once(child.stdout, 'data')) as [Buffer];
    const pid = child.pid as number;
    const self = await describeSelf(machine);
    const state = async (of: number) =>
      conditionOf({ ...self, ...(await describeSelf({ ...machine, pid: of })) }, machine);
    await expect.poll(() => state(Number(zombie))).toBe('dead');
    await expect.poll(async () => readFile(`/proc/${pid}/comm`, 'utf8')).toBe(') Z 1 (\n');
    expect(await state(pid)).toBe('running');
    child.kill('SIGSTOP');
    await expect.poll(() => state(pid)).toBe('suspended');
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
});

test('each beat changes the text, and the holder can be read all the time', async () => {
  const made = await claim(0, 'a');
  const texts: string[] = [];
  for (let beat = 0; beat < 3; beat++) {
    await made?.beat();
    const { text, holder: found } = await readLock(folder);
    texts.push(text);
    expect(found).toEqual(holder('a'));
  }
  expect(new Set(texts).size).toBe(3);
  await made?.release();
  expect(await readFile(path.join(folder, '1.lock'), 'utf8')).toMatch(/^R.*\n000000003$/);
});

describe('what locks rest on', () => {
  test('is there on a file system as it should be, and nothing of the trial remains', async () => {
    expect(await lockingFault(folder)).toBeUndefined();
    expect(await readdir(folder)).toEqual([]);
  });

  test('is missing where a file can be created twice', async () => {
    replace('open', (file) => open(file as string, 'a+'));
    expect(await lockingFault(folder)).toBe('two processes can create the same file');
    expect(await readdir(folder)).toEqual([]);
  });

  test('is missing where the second creation fails for another reason', async () => {
    let opened = 0;
    replace('open', (file, flags) => (opened++ === 0 ? open(file as string, flags as string) : fail('EIO')));
    expect(await lockingFault(folder)).toBe('two processes can create the same file');
    expect(await readdir(folder)).toEqual([]);
  });

  test.each(['', '1'])('is missing where a reader is left with the content %j', async (content) => {
    replace('readFile', async () => content);
    expect(await lockingFault(folder)).toBe('what one process writes, another does not see');
  });

  test('is missing where a listing lacks a new file', async () => {
    replace('readdir', async (place) =>
      (await list(place as string)).filter((name) => !name.startsWith('probe-')),
    );
    expect(await lockingFault(folder)).toBe('a new file is not listed');
  });
});
