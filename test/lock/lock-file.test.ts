import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Claim, claimLock, readLock, tidyLock } from '../../src/lock/lock-file.ts';

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
  expect(await claim(2, 'late')).toBeUndefined();
  expect(await claims[19]?.isHeld()).toBe(true);
  expect((await readdir(folder)).sort()).not.toContain('3.lock');
});

test('a claim after a number that is gone is withdrawn: the folder was swept and recreated', async () => {
  const fresh = await claim(0, 'fresh');
  expect(await claim(6, 'late')).toBeUndefined();
  expect(await fresh?.isHeld()).toBe(true);
  expect(await readdir(folder)).toEqual(['1.lock']);
});

test('a released number stays the highest', async () => {
  await (await claim(0, 'a'))?.release();
  expect(await readLock(folder)).toMatchObject({ number: 1, released: true });
  expect(await claim(0, 'b')).toBeUndefined();
  expect(await claim(1, 'b')).toBeDefined();
});

test('nobody releases a lock that another process holds', async () => {
  const first = await claim(0, 'a');
  const second = await claim(1, 'b');
  expect([await first?.isHeld(), await second?.isHeld()]).toEqual([false, true]);
  await first?.release();
  expect(await readLock(folder)).toMatchObject({ number: 2, released: false });
});

test('a file that was created but is still empty counts as held', async () => {
  await writeFile(path.join(folder, '1.lock'), '');
  expect(await readLock(folder)).toEqual({ number: 1, released: false, text: '' });
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
