import { existsSync } from 'node:fs';
import { readFile, realpath, symlink } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { knownIds } from '../../../src/webhooks/journal/known-ids.ts';
import { key, take, useJournalFolder } from '../../support/journal.ts';

const place = useJournalFolder();

/** A journal with the events 1 to `count`, closed. */
async function written(count: number): Promise<Buffer> {
  const journal = await place.open();
  for (let id = 1; id <= count; id++) expect(await journal.once(key(id), take)).toBe('accepted');
  await place.close(journal);
  return await readFile(place.file);
}

describe('a second process', () => {
  test('learns of what the first is handing over before it may hand over anything', async () => {
    const first = await place.open();
    let answer: (taken: boolean) => void = () => {};
    const underWay = first.once(
      key('x'),
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const second = await place.open();
    const copy = second.once(key('x'), () => expect.fail('handed over twice'));
    expect(await Promise.race([copy, setTimeout(300, 'waiting')])).toBe('waiting');
    answer(true);
    expect(await Promise.all([underWay, copy])).toEqual(['accepted', 'duplicate']);
  });

  test('takes over what the first was refused', async () => {
    const first = await place.open();
    let answer: (taken: boolean) => void = () => {};
    const underWay = first.once(
      key('x'),
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const second = await place.open();
    const copy = second.once(key('x'), take);
    expect(await Promise.race([copy, setTimeout(100, 'waiting')])).toBe('waiting');
    answer(false);
    expect(await Promise.all([underWay, copy])).toEqual(['refused', 'accepted']);
    expect(await first.once(key('x'), () => expect.fail('handed over twice'))).toBe('duplicate');
  });

  test('and the first agree again and again on who comes first', async () => {
    const first = await place.open();
    for (let round = 0; round < 20; round++) {
      const second = await place.open();
      let count = 0;
      const hand = async () => {
        await setTimeout(round % 3);
        count++;
        return true;
      };
      const outcomes = await Promise.all(
        [first, second, first, second].map((journal) => journal.once(key(`r${round}`), hand)),
      );
      expect([outcomes.sort(), count]).toEqual([['accepted', 'duplicate', 'duplicate', 'duplicate'], 1]);
      await place.close(second);
      expect(await first.once(key(`alone ${round}`), take)).toBe('accepted');
    }
  });

  test('by another path meets the first at the same file', async () => {
    const first = await place.open();
    expect(await first.once(key('x'), take)).toBe('accepted');
    const link = path.join(place.folder, 'link');
    await symlink(place.file, link);
    const { journal: second } = await place.openAs(link);
    expect(await first.once(key('y'), take)).toBe('accepted');
    expect(await second.once(key('y'), () => expect.fail('handed over twice'))).toBe('duplicate');
  });

  test('by a link that leads to no file yet meets the first at that file', async () => {
    const link = path.join(place.folder, 'link');
    await symlink('events.journal', link);
    const { journal: first } = await place.openAs(link);
    expect(await first.once(key('x'), take)).toBe('accepted');
    expect(first.path).toBe(await realpath(place.file));
    const second = await place.open();
    expect(await second.once(key('x'), () => expect.fail('handed over twice'))).toBe('duplicate');
    expect(existsSync(`${link}.lock`)).toBe(false);
  });

  test('that only looks leaves no trace', async () => {
    const before = await written(3);
    expect((await knownIds(place.file)).size).toBe(3);
    expect(await readFile(place.file)).toEqual(before);
    expect((await knownIds(path.join(place.folder, 'none'))).size).toBe(0);
  });
});
