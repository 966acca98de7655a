import { readFile, stat, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { held, key, take, useJournalFolder } from '../support/journal.ts';

const place = useJournalFolder();

/** A journal with the events 1 to `count`; `sizes[n]` is its size when it had n of them. */
async function grown(count: number): Promise<{ whole: Buffer; sizes: number[] }> {
  const journal = await place.open();
  const sizes = [(await stat(place.file)).size];
  for (let id = 1; id <= count; id++) {
    expect(await journal.once(key(id), take)).toBe('accepted');
    sizes.push((await stat(place.file)).size);
  }
  await place.close(journal);
  return { whole: await readFile(place.file), sizes };
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('any beginning of a journal is a journal with the events that are whole in it', {
  timeout: 120_000,
}, async () => {
  const { whole, sizes } = await grown(3);
  for (let size = 0; size <= whole.length; size++) {
    await writeFile(place.file, whole.subarray(0, size));
    let journal = await place.open();
    const count = sizes.filter((end) => end <= size).length - 1;
    expect([size, held(journal, 7)]).toEqual([size, upTo(Math.max(0, count))]);
    expect(await journal.once(key(7), take)).toBe('accepted');
    await place.close(journal);
    // Nothing that was torn hides what follows it.
    journal = await place.open();
    expect([size, held(journal, 7), journal.damaged]).toEqual([size, [...upTo(Math.max(0, count)), 7], 0]);
    await place.close(journal);
  }
});

test('a changed byte costs no event but the one that it belongs to, and the one behind it at most', async () => {
  const { whole, sizes } = await grown(4);
  for (let at = sizes[0] as number; at < whole.length; at++) {
    for (const change of [0x01, 0x10, 0x80]) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] as number) ^ change;
      await writeFile(place.file, damaged);
      const journal = await place.open();
      const owner = sizes.findIndex((end) => at < end);
      const kept = upTo(4).filter((id) => id !== owner && id !== owner + 1);
      expect([at, change, held(journal, 4)]).toEqual([at, change, expect.arrayContaining(kept)]);
      await place.close(journal);
    }
  }
});

test('what is no record is skipped, and what stands before and behind it is read', async () => {
  const { whole, sizes } = await grown(3);
  const cut = sizes[1] as number;
  for (const junk of [
    Buffer.alloc(5000),
    Buffer.alloc(3, 0xd1),
    'hello\n',
    '\n',
    'a'.repeat(40),
    '1'.repeat(200_000),
  ]) {
    await writeFile(
      place.file,
      Buffer.concat([whole.subarray(0, cut), Buffer.from(junk), whole.subarray(cut)]),
    );
    const journal = await place.open();
    expect([junk.toString().slice(0, 50), held(journal, 3)]).toEqual([
      junk.toString().slice(0, 50),
      [1, 2, 3],
    ]);
    await place.close(journal);
  }
});
