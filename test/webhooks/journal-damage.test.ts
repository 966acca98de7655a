import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { held, key, left, take, useJournalFolder } from '../support/journal.ts';

const place = useJournalFolder();

describe('a file that a killed process left', () => {
  test('is cut after its last whole record, whatever byte the process was killed at', {
    timeout: 120_000,
  }, async () => {
    const whole = left(3);
    const start = whole.length - 3 * 25;
    for (let size = 0; size <= whole.length; size++) {
      await writeFile(place.file, whole.subarray(0, size));
      const journal = await place.open();
      const count = Math.max(0, Math.min(3, Math.floor((size - start) / 25)));
      expect([size, held(journal, 7)]).toEqual([
        size,
        Array.from({ length: count }, (_, index) => index + 1),
      ]);
      expect(await journal.once(key(7), take)).toBe('accepted');
      await place.close(journal);
      // No part of a torn record remains between the whole ones.
      const { damaged } = await reopened();
      expect([size, damaged]).toEqual([size, 0]);
    }
  });

  test('loses only the damaged record', async () => {
    const whole = left(6);
    const start = whole.length - 6 * 25;
    for (let at = start; at < start + 150; at++) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] as number) ^ 0x10;
      await writeFile(place.file, damaged);
      const journal = await place.open();
      const lost = Math.floor((at - start) / 25) + 1;
      expect([at, held(journal, 6)]).toEqual([at, [1, 2, 3, 4, 5, 6].filter((id) => id !== lost)]);
      await place.close(journal);
    }
  });

  test('is read across anything that is not a record', async () => {
    const whole = left(3);
    const cut = whole.length - 50;
    for (const junk of [
      Buffer.alloc(5000),
      Buffer.alloc(3, 0xd1),
      Buffer.from('hello\n'),
      Buffer.alloc(900, 0xa1),
    ]) {
      await writeFile(place.file, Buffer.concat([whole.subarray(0, cut), junk, whole.subarray(cut)]));
      const { damaged, count } = await reopened();
      expect([damaged, count]).toEqual([junk.length, 3]);
    }
  });

  async function reopened(): Promise<{ damaged: number; count: number }> {
    const journal = await place.open();
    const { damaged, size: count } = journal;
    await place.close(journal);
    return { damaged, count };
  }
});
