import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Generations } from '../../src/lock/generations.ts';

const holder = (nonce: string) => ({ pid: 1, hostname: 'here', nonce });
let folder: string;
let generations: Generations;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-generations-'));
  generations = new Generations(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('one of many claims of a number wins', async () => {
  const claims = await Promise.all(
    Array.from({ length: 50 }, (_, i) => generations.claim(1, holder(String(i)))),
  );
  expect(claims.filter(Boolean)).toHaveLength(1);
  expect(await readdir(folder)).toEqual(['1.lock']);
});

test('a claim of a number that was used and tidied away is withdrawn', async () => {
  for (let number = 1; number <= 20; number++) {
    expect(await generations.claim(number, holder('a'))).toBe(true);
    await generations.tidy(number);
  }
  expect(await generations.claim(3, holder('late'))).toBe(false);
  expect(await generations.isHeld(20, holder('a'))).toBe(true);
  expect((await readdir(folder)).sort()).not.toContain('3.lock');
});

test('a released number stays the highest', async () => {
  await generations.claim(1, holder('a'));
  await generations.release(1, holder('a'));
  expect(await generations.latest()).toMatchObject({ number: 1, released: true });
  expect(await generations.claim(1, holder('b'))).toBe(false);
  expect(await generations.claim(2, holder('b'))).toBe(true);
});

test('nobody releases what another holds', async () => {
  await generations.claim(1, holder('a'));
  await generations.release(1, holder('b'));
  expect(await generations.latest()).toMatchObject({ number: 1, released: false });
});

test('a file that was created and not filled yet counts as held', async () => {
  await writeFile(path.join(folder, '1.lock'), '');
  expect(await generations.latest()).toEqual({ number: 1, released: false });
});
