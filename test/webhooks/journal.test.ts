import { createHash } from 'node:crypto';
import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventKey } from '../../src/webhooks/delivery.ts';
import { readIds } from '../../src/webhooks/journal.ts';
import { createContext, thisMachine } from '../support/context.ts';
import { held, key, refuse, take, useJournalFolder } from '../support/journal.ts';

const place = useJournalFolder();
const NOW = Date.UTC(2026, 10, 20, 12);

test('forwards each event once, and again only if it was refused', async () => {
  let journal = await place.open();
  expect(await journal.once(key('a'), refuse)).toBe('refused');
  expect(await journal.once(key('a'), take)).toBe('accepted');
  expect(await journal.once(key('a'), () => expect.fail('forwarded twice'))).toBe('duplicate');
  await expect(
    journal.once(key('b'), async () => {
      throw new Error('the handler broke');
    }),
  ).rejects.toThrow('the handler broke');
  expect(await journal.once(key('b'), take)).toBe('accepted');
  await place.close(journal);
  journal = await place.open();
  expect(await journal.once(key('a'), () => expect.fail('forwarded twice'))).toBe('duplicate');
  expect([journal.size, journal.has(key('b')), journal.has(key('c'))]).toEqual([2, true, false]);
});

test('is text: a line for each start and for each event, with the key and the seconds', async () => {
  const journal = await place.open(undefined, () => NOW);
  const id = '0F8FAD5B-D9CB-469F-A165-70867728950E';
  await journal.once(eventKey(id), take);
  await journal.once(eventKey('no GUID'), take);
  expect(await readFile(place.file, 'utf8')).toBe(
    `# hooktrail journal, opened 2026-11-20T12:00:00.000Z by process ${process.pid}\n` +
      '0f8fad5bd9cb469fa16570867728950e 1795176000\n' +
      `${createHash('sha256').update('no GUID').digest('hex').slice(0, 32)} 1795176000\n`,
  );
});

test('is read without the lines that begin with #, as people may cut them off', async () => {
  await writeFile(place.file, '0f8fad5bd9cb469fa16570867728950e 1795176000\n');
  expect((await readIds(place.file, thisMachine()))?.size).toBe(1);
  const journal = await place.open();
  expect([journal.has('0f8fad5bd9cb469fa16570867728950e'), journal.damaged]).toEqual([true, 0]);
});

test('looking at a journal leaves no trace', async () => {
  const journal = await place.open();
  for (const id of [1, 2, 3]) expect(await journal.once(key(id), take)).toBe('accepted');
  const before = await readFile(place.file);
  expect((await readIds(place.file, thisMachine()))?.size).toBe(3);
  expect(await readFile(place.file)).toEqual(before);
  expect(await readIds(path.join(place.folder, 'none'), thisMachine())).toBeUndefined();
});

describe('a second writer', () => {
  test('learns who has the journal', async () => {
    const first = await place.open();
    await expect(place.open()).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining(`kept the journal ${first.path} locked`),
    });
    await place.close(first);
    expect(await (await place.open()).once(key(1), take)).toBe('accepted');
  });

  test('with another path waits for the first at the same file', async () => {
    const first = await place.open();
    const link = path.join(place.folder, 'link');
    await symlink(place.file, link);
    await expect(place.openAs(link)).rejects.toThrow(`the journal ${first.path}`);
  });
});

describe('keeping', () => {
  const DAY = 86_400_000;

  test('ids older than the given age are forgotten, and the file shrinks', async () => {
    let journal = await place.open(DAY, () => NOW - 2 * DAY);
    for (let id = 1; id <= 4000; id++) void journal.once(key(id), take);
    expect(await journal.once(key('old'), take)).toBe('accepted');
    await place.close(journal);
    journal = await place.open(DAY, () => NOW - DAY / 2);
    expect(await journal.once(key('young'), take)).toBe('accepted');
    expect(journal.has(key('old'))).toBe(false);
    await place.close(journal);
    journal = await place.open(DAY, () => NOW);
    expect([journal.size, journal.has(key('old')), journal.has(key('young'))]).toEqual([1, false, true]);
    expect((await stat(place.file)).size).toBeLessThan(1000);
    expect(await journal.once(key('old'), take)).toBe('accepted');
  });

  test('ids are forgotten while the journal is used, and nothing else is', async () => {
    let now = NOW;
    const journal = await place.open(DAY, () => now);
    const old = Array.from({ length: 5000 }, (_, index) => journal.once(key(`old ${index}`), take));
    expect(new Set(await Promise.all(old))).toEqual(new Set(['accepted']));
    const { size } = await stat(place.file);
    now += 2 * DAY;
    const first = journal.once(key('young'), take);
    // Deliveries that arrive meanwhile are written into the new file.
    const during = journal.once(key('meanwhile'), take);
    expect([await first, await during]).toEqual(['accepted', 'accepted']);
    expect((await stat(place.file)).size).toBeLessThan(size / 10);
    expect(await journal.once(key('young'), take)).toBe('duplicate');
    expect(await journal.once(key('old 1'), take)).toBe('accepted');
    expect(await journal.once(key('old 1'), take)).toBe('duplicate');
    expect(await journal.once(key('meanwhile'), take)).toBe('duplicate');
  });

  test('deliveries that are written while ids are forgotten are all journaled', async () => {
    let now = NOW;
    let journal = await place.open(DAY, () => now);
    const all: Promise<unknown>[] = [];
    for (let round = 0; round < 20; round++) {
      now += DAY;
      for (let id = 0; id < 50; id++) all.push(journal.once(key(`${round} ${id}`), take));
      await Promise.race([all.at(-50), all.at(-1)]);
    }
    await Promise.all(all);
    await place.close(journal);
    journal = await place.open(DAY, () => now);
    expect([journal.size, journal.damaged]).toEqual([100, 0]);
  });

  test('without an age nothing is forgotten, and the file is rewritten without unused records', async () => {
    let journal = await place.open(undefined, () => NOW - 5000 * DAY);
    expect(await journal.once(key('old'), take)).toBe('accepted');
    await place.close(journal);
    const content = await readFile(place.file, 'utf8');
    // The file as thousands of starts leave it.
    await writeFile(place.file, content + `${content.split('\n')[0]}\n`.repeat(3000));
    journal = await place.open();
    expect((await readFile(place.file, 'utf8')).split('\n').map((line) => line[0])).toEqual([
      '#',
      key('old')[0],
      '#',
      undefined,
    ]);
    expect(journal.has(key('old'))).toBe(true);
  });

  test('a journal that cannot be rewritten is used as it is', async () => {
    // The name of a temporary file beside it would be too long.
    const file = path.join(place.folder, 'j'.repeat(240));
    const { clock } = createContext();
    const at = (now: number) => ({ clock: { ...clock, now: () => now } });
    const journal = await place.openAs(file, at(NOW - 2 * DAY), DAY);
    await Promise.all(Array.from({ length: 4000 }, (_, id) => journal.once(key(id), take)));
    await place.close(journal);
    const again = await place.openAs(file, at(NOW), DAY);
    expect(again.size).toBe(0);
    expect(await again.once(key('young'), take)).toBe('accepted');
  });
});

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
    // Over the lines, which have 44 bytes, each place meets each change.
    const change = [0x01, 0x10, 0x80][at % 3] as number;
    const damaged = Buffer.from(whole);
    damaged[at] = (damaged[at] as number) ^ change;
    await writeFile(place.file, damaged);
    const journal = await place.open();
    const owner = sizes.findIndex((end) => at < end);
    const kept = upTo(4).filter((id) => id !== owner && id !== owner + 1);
    expect([at, change, held(journal, 4)]).toEqual([at, change, expect.arrayContaining(kept)]);
    await place.close(journal);
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
