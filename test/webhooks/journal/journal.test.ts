import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { key, refuse, take, useJournalFolder } from '../../support/journal.ts';

const place = useJournalFolder();

test('hands each event over once, and again only when it was refused', async () => {
  let journal = await place.open();
  expect(await journal.once(key('a'), refuse)).toBe('refused');
  expect(await journal.once(key('a'), take)).toBe('accepted');
  expect(await journal.once(key('a'), () => expect.fail('handed over twice'))).toBe('duplicate');
  await expect(
    journal.once(key('b'), async () => {
      throw new Error('the handler broke');
    }),
  ).rejects.toThrow('the handler broke');
  expect(await journal.once(key('b'), take)).toBe('accepted');
  await place.close(journal);
  journal = await place.open();
  expect(await journal.once(key('a'), () => expect.fail('handed over twice'))).toBe('duplicate');
  expect([journal.size, journal.has(key('b')), journal.has(key('c'))]).toEqual([2, true, false]);
});

test('each record takes 25 bytes', async () => {
  const journal = await place.open();
  const before = (await stat(place.file)).size;
  await Promise.all(Array.from({ length: 1000 }, (_, id) => journal.once(key(id), take)));
  expect((await stat(place.file)).size).toBe(before + 25_000);
});
describe('keeping', () => {
  const DAY = 86_400_000;

  test('ids are forgotten when they are older than asked, and the file shrinks', async () => {
    const now = Date.now();
    let journal = await place.open(DAY, () => now - 2 * DAY);
    for (let id = 1; id <= 4000; id++) void journal.once(key(id), take);
    expect(await journal.once(key('old'), take)).toBe('accepted');
    await place.close(journal);
    journal = await place.open(DAY, () => now - DAY / 2);
    expect(await journal.once(key('young'), take)).toBe('accepted');
    expect(journal.has(key('old'))).toBe(false);
    await place.close(journal);
    journal = await place.open(DAY, () => now);
    expect([journal.size, journal.has(key('old')), journal.has(key('young'))]).toEqual([1, false, true]);
    expect((await stat(place.file)).size).toBeLessThan(1000);
    expect(await journal.once(key('old'), take)).toBe('accepted');
  });

  test('without an age nothing is forgotten, and the file is written anew without what is of no use', async () => {
    const now = Date.now();
    let journal = await place.open(undefined, () => now - 5000 * DAY);
    expect(await journal.once(key('old'), take)).toBe('accepted');
    await place.close(journal);
    for (let round = 0; round < 250; round++) {
      journal = await place.open();
      await place.close(journal);
    }
    expect((await stat(place.file)).size).toBeLessThan(70_000);
    journal = await place.open();
    expect(journal.has(key('old'))).toBe(true);
  });

  test('a journal that cannot be written anew is used as it is', async () => {
    const now = Date.now();
    const journal = await place.open(DAY, () => now - 2 * DAY);
    await Promise.all(Array.from({ length: 4000 }, (_, id) => journal.once(key(id), take)));
    await place.close(journal);
    // Where the new file would be written, something is in the way.
    await mkdir(path.join(`${place.file}.compacting`, 'in the way'), { recursive: true });
    const again = await place.open(DAY, () => now);
    expect(again.size).toBe(0);
    expect(await again.once(key('young'), take)).toBe('accepted');
  });
});
