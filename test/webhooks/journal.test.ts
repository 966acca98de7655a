import {
  appendFile,
  copyFile,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Context } from '../../src/context.ts';
import { eventKey } from '../../src/webhooks/event-key.ts';
import type { Journal } from '../../src/webhooks/journal.ts';
import { HEADER, joinedRecord, Kind, keyRecord } from '../../src/webhooks/journal-record.ts';
import { knownIds } from '../../src/webhooks/known-ids.ts';
import { openJournal } from '../../src/webhooks/open-journal.ts';
import { createContext } from '../support/context.ts';

let folder: string;
let file: string;
const opened: Journal[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-journal-'));
  file = path.join(folder, 'events.journal');
});

afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close();
  await rm(folder, { recursive: true, force: true });
});

async function open(keep?: number, now?: () => number): Promise<Journal> {
  const context = createContext();
  const clock: Context['clock'] = now ? { ...context.clock, now } : context.clock;
  const { journal } = await openJournal(file, { keep }, { ...context, clock });
  opened.push(journal);
  return journal;
}

async function close(journal: Journal): Promise<void> {
  opened.splice(opened.indexOf(journal), 1);
  await journal.close();
}

const key = (id: number | string) => eventKey(String(id));
const take = async () => true;
const refuse = async () => false;

/** A journal with the events 1 to `count`, closed. */
async function written(count: number): Promise<Buffer> {
  const journal = await open();
  for (let id = 1; id <= count; id++) expect(await journal.once(key(id), take)).toBe('accepted');
  await close(journal);
  return await readFile(file);
}

function held(journal: Journal, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1).filter((id) => journal.has(key(id)));
}

test('hands each event over once, and again only when it was refused', async () => {
  let journal = await open();
  expect(await journal.once(key('a'), refuse)).toBe('refused');
  expect(await journal.once(key('a'), take)).toBe('accepted');
  expect(await journal.once(key('a'), () => expect.fail('handed over twice'))).toBe('duplicate');
  await expect(
    journal.once(key('b'), async () => {
      throw new Error('the handler broke');
    }),
  ).rejects.toThrow('the handler broke');
  expect(await journal.once(key('b'), take)).toBe('accepted');
  await close(journal);
  journal = await open();
  expect(await journal.once(key('a'), () => expect.fail('handed over twice'))).toBe('duplicate');
  expect([journal.size, journal.has(key('b')), journal.has(key('c'))]).toEqual([2, true, false]);
});

/** What a process that had handed over the events 1 to `count` would leave when it was killed. */
function left(count: number): Buffer {
  // A number that no process has.
  const holder = { pid: 2 ** 30, hostname: os.hostname(), nonce: 'x' };
  const done = Array.from({ length: count }, (_, index) =>
    keyRecord(Kind.done, key(index + 1), 1_700_000_000),
  );
  return Buffer.concat([HEADER, joinedRecord({ number: 7, holder }), ...done]);
}

describe('a file that a killed process left', () => {
  test('is cut behind its last whole record, whatever byte the process was killed at', {
    timeout: 120_000,
  }, async () => {
    const whole = left(3);
    const start = whole.length - 3 * 25;
    for (let size = 0; size <= whole.length; size++) {
      await writeFile(file, whole.subarray(0, size));
      const journal = await open();
      const count = Math.max(0, Math.min(3, Math.floor((size - start) / 25)));
      expect([size, held(journal, 7)]).toEqual([
        size,
        Array.from({ length: count }, (_, index) => index + 1),
      ]);
      expect(await journal.once(key(7), take)).toBe('accepted');
      await close(journal);
      // Nothing of a torn record stays between the whole ones.
      const { damaged } = await reopened();
      expect([size, damaged]).toEqual([size, 0]);
    }
  });

  test('loses no more than the record that was damaged', async () => {
    const whole = left(6);
    const start = whole.length - 6 * 25;
    for (let at = start; at < start + 150; at++) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] as number) ^ 0x10;
      await writeFile(file, damaged);
      const journal = await open();
      const lost = Math.floor((at - start) / 25) + 1;
      expect([at, held(journal, 6)]).toEqual([at, [1, 2, 3, 4, 5, 6].filter((id) => id !== lost)]);
      await close(journal);
    }
  });

  test('is read past anything that is no record', async () => {
    const whole = left(3);
    const cut = whole.length - 50;
    for (const junk of [
      Buffer.alloc(5000),
      Buffer.alloc(3, 0xd1),
      Buffer.from('hello\n'),
      Buffer.alloc(900, 0xa1),
    ]) {
      await writeFile(file, Buffer.concat([whole.subarray(0, cut), junk, whole.subarray(cut)]));
      const { damaged, count } = await reopened();
      expect([damaged, count]).toEqual([junk.length, 3]);
    }
  });

  async function reopened(): Promise<{ damaged: number; count: number }> {
    const { journal, damaged } = await openJournal(file, {}, createContext());
    const count = journal.size;
    await journal.close();
    return { damaged, count };
  }
});

describe('another program', () => {
  test('that writes into the file ends the journal: nothing is acknowledged any more', async () => {
    for (const meddle of [
      () => appendFile(file, 'a line of my own\n'),
      () => truncate(file, HEADER.length),
      async () => {
        await copyFile(file, `${file}.copy`);
        await rename(`${file}.copy`, file);
      },
      () => rm(file),
    ]) {
      await rm(file, { force: true });
      const journal = await open();
      expect(await journal.once(key(1), take)).toBe('accepted');
      await meddle();
      await expect(journal.once(key(2), take)).rejects.toThrow(/was (replaced|removed)|changed the journal/);
      await expect(journal.failed).rejects.toMatchObject({ exitCode: 1 });
      await expect(journal.once(key(1), take)).rejects.toThrow();
      await close(journal);
    }
  });

  test('is noticed while nothing is delivered', async () => {
    const journal = await open();
    await appendFile(file, 'x');
    await expect(journal.failed).rejects.toThrow('another program changed the journal');
  });

  test("'s file is refused and left as it is", async () => {
    await writeFile(file, 'hooktrail-journal-2\n...');
    await expect(open()).rejects.toMatchObject({
      exitCode: 2,
      message: `--journal: ${file} is not a journal of this version of hooktrail`,
    });
    await expect(knownIds(file)).rejects.toMatchObject({ exitCode: 2 });
    expect(await readFile(file, 'utf8')).toBe('hooktrail-journal-2\n...');
  });

  test.each(['/dev/null', os.tmpdir(), '/nowhere/at/all'])('cannot have %s for a journal', async (place) => {
    file = place;
    await expect(open()).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^--journal: /),
    });
  });
});

describe('a second process', () => {
  test('learns of what the first is handing over before it may hand over anything', async () => {
    const first = await open();
    let answer: (taken: boolean) => void = () => {};
    const underWay = first.once(
      key('x'),
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const second = await open();
    const copy = second.once(key('x'), () => expect.fail('handed over twice'));
    expect(await Promise.race([copy, setTimeout(300, 'waiting')])).toBe('waiting');
    answer(true);
    expect(await Promise.all([underWay, copy])).toEqual(['accepted', 'duplicate']);
  });

  test('takes over what the first was refused', async () => {
    const first = await open();
    let answer: (taken: boolean) => void = () => {};
    const underWay = first.once(
      key('x'),
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const second = await open();
    const copy = second.once(key('x'), take);
    expect(await Promise.race([copy, setTimeout(100, 'waiting')])).toBe('waiting');
    answer(false);
    expect(await Promise.all([underWay, copy])).toEqual(['refused', 'accepted']);
    expect(await first.once(key('x'), () => expect.fail('handed over twice'))).toBe('duplicate');
  });

  test('and the first agree again and again on who comes first', async () => {
    const first = await open();
    for (let round = 0; round < 20; round++) {
      const second = await open();
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
      await close(second);
      expect(await first.once(key(`alone ${round}`), take)).toBe('accepted');
    }
  });

  test('by another path meets the first at the same file', async () => {
    const first = await open();
    expect(await first.once(key('x'), take)).toBe('accepted');
    const link = path.join(folder, 'link');
    await symlink(file, link);
    file = link;
    const second = await open();
    expect(await first.once(key('y'), take)).toBe('accepted');
    expect(await second.once(key('y'), () => expect.fail('handed over twice'))).toBe('duplicate');
  });

  test('that only looks leaves no trace', async () => {
    const before = await written(3);
    expect((await knownIds(file)).size).toBe(3);
    expect(await readFile(file)).toEqual(before);
    expect((await knownIds(path.join(folder, 'none'))).size).toBe(0);
  });
});

describe('keeping', () => {
  const DAY = 86_400_000;

  test('ids are forgotten when they are older than asked, and the file shrinks', async () => {
    const now = Date.now();
    let journal = await open(DAY, () => now - 2 * DAY);
    for (let id = 1; id <= 4000; id++) void journal.once(key(id), take);
    expect(await journal.once(key('old'), take)).toBe('accepted');
    await close(journal);
    journal = await open(DAY, () => now - DAY / 2);
    expect(await journal.once(key('young'), take)).toBe('accepted');
    expect(journal.has(key('old'))).toBe(false);
    await close(journal);
    journal = await open(DAY, () => now);
    expect([journal.size, journal.has(key('old')), journal.has(key('young'))]).toEqual([1, false, true]);
    expect((await stat(file)).size).toBeLessThan(1000);
    expect(await journal.once(key('old'), take)).toBe('accepted');
  });

  test('without an age nothing is forgotten, and the file is written anew without what is of no use', async () => {
    const now = Date.now();
    let journal = await open(undefined, () => now - 5000 * DAY);
    expect(await journal.once(key('old'), take)).toBe('accepted');
    await close(journal);
    for (let round = 0; round < 250; round++) {
      journal = await open();
      await close(journal);
    }
    expect((await stat(file)).size).toBeLessThan(70_000);
    journal = await open();
    expect(journal.has(key('old'))).toBe(true);
  });
});

test('each record takes 25 bytes', async () => {
  const journal = await open();
  const before = (await stat(file)).size;
  await Promise.all(Array.from({ length: 1000 }, (_, id) => journal.once(key(id), take)));
  expect((await stat(file)).size).toBe(before + 25_000);
});
