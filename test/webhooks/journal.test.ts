import { createHash } from 'node:crypto';
import fs, { closeSync, openSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import {
  appendFile,
  copyFile,
  readdir,
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
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { eventKey } from '../../src/ids/event-keys.ts';
import { defaultJournal, type Journal, openJournal, readJournal } from '../../src/webhooks/journal.ts';
import { createContext, thisMachine } from '../support/context.ts';
import { held, key, refuse, take, useJournalFolder } from '../support/journal.ts';
import { takePartsOfWrites } from '../support/opened-files.ts';
import { drawnCases, sampleSize } from '../support/seed.ts';

const place = useJournalFolder();
const NOW = Date.UTC(2026, 10, 20, 12);

test('forwards each event once, no duplicate, and again only if it was refused', async () => {
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

test('forwards copies that arrive together once, and both again if it was refused', async () => {
  const journal = await place.open();
  for (const [accepted, outcomes] of [
    [false, ['refused', 'refused']],
    [true, ['accepted', 'duplicate']],
  ] as const) {
    let forwarded = 0;
    const forward = async () => {
      forwarded++;
      await setImmediate();
      return accepted;
    };
    expect(await Promise.all([journal.once(key('a'), forward), journal.once(key('a'), forward)])).toEqual(
      outcomes,
    );
    expect(forwarded).toBe(1);
  }
});

test('a delivery that arrives while another one is written does not take that for a change of the file', async () => {
  const journal = await place.open();
  const { size } = statSync(place.file);
  const first = journal.once(key('a'), take);
  // The write begins in the next turn of the event loop, and ends for this process in a later one.
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  await setImmediate();
  const until = process.hrtime.bigint() + 5_000_000_000n;
  while (statSync(place.file).size === size && process.hrtime.bigint() < until);
  expect(statSync(place.file).size).toBe(size + 44);
  const second = journal.once(key('b'), take);
  expect([await first, await second]).toEqual(['accepted', 'accepted']);
});

test('is idle when the deliveries in progress have ended', async () => {
  const journal = await place.open();
  let end = (_accepted: boolean) => {};
  const delivery = journal.once(
    key('a'),
    () =>
      new Promise((resolve) => {
        end = resolve;
      }),
  );
  let isIdle = false;
  const idle = journal.idle().then(() => {
    isIdle = true;
  });
  await setImmediate();
  expect(isIdle).toBe(false);
  end(true);
  await delivery;
  await idle;
});

test('a profile has a journal of its own in the configuration folder, and one for each subscription', async () => {
  const { machine } = createContext();
  const context = { machine, environment: { HOOKTRAIL_CONFIG_DIR: place.folder } };
  expect(defaultJournal('work', context)).toBe(path.join(place.folder, 'webhooks', 'work.journal'));
  expect(defaultJournal('work', context, '0F8FAD5B')).toBe(
    path.join(place.folder, 'webhooks', 'work~0f8fad5b.journal'),
  );
  expect(await readdir(place.folder)).toEqual(['webhooks']);
  const inTheWay = path.join(place.folder, 'file');
  await writeFile(inTheWay, '');
  expect(() => defaultJournal('work', { machine, environment: { HOOKTRAIL_CONFIG_DIR: inTheWay } })).toThrow(
    expect.objectContaining({
      exitCode: 2,
      message: `cannot create a journal in ${inTheWay}/webhooks: not a directory (ENOTDIR)`,
      next: 'make the folder writable, or choose a file elsewhere with --journal',
    }),
  );
});

test('is told from every other file on this machine', async () => {
  const journal = await place.open();
  const { dev, ino } = await stat(place.file);
  expect(journal.identity).toBe(`${dev}/${ino}`);
});

test('is text: a line for each start and for each event, with the key and the seconds', async () => {
  const journal = await place.open(undefined, () => NOW);
  const id = '0F8FAD5B-D9CB-469F-A165-70867728950E';
  await Promise.all([journal.once(eventKey(id), take), journal.once(eventKey('no GUID'), take)]);
  expect(await readFile(place.file, 'utf8')).toBe(
    `# hooktrail journal, opened 2026-11-20T12:00:00.000Z by process ${process.pid}\n` +
      '0f8fad5bd9cb469fa16570867728950e 1795176000\n' +
      `${createHash('sha256').update('no GUID').digest('hex').slice(0, 32)} 1795176000\n`,
  );
});

test('is read without the lines that begin with #, as people may cut them off', async () => {
  await writeFile(place.file, '0f8fad5bd9cb469fa16570867728950e 1795176000\n');
  expect((await readJournal(place.file, thisMachine()))?.ids.size).toBe(1);
  const journal = await place.open();
  expect([journal.has('0f8fad5bd9cb469fa16570867728950e'), journal.damaged]).toEqual([true, 0]);
});

test('looking at a journal leaves no trace', async () => {
  const journal = await place.open();
  for (const id of [1, 2, 3]) expect(await journal.once(key(id), take)).toBe('accepted');
  const before = await readFile(place.file);
  expect((await readJournal(place.file, thisMachine()))?.ids.size).toBe(3);
  expect(await readFile(place.file)).toEqual(before);
  expect(await readJournal(path.join(place.folder, 'none'), thisMachine())).toBeUndefined();
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

  test('that waits is told so, and opens the journal when the first has closed it', async () => {
    const first = await place.open();
    const told: string[] = [];
    const second = openJournal(
      place.file,
      { onWait: ({ message }) => void told.push(message) },
      createContext(),
    );
    while (told.length === 0) await setImmediate();
    expect(told).toEqual([expect.stringContaining(`kept the journal ${first.path} locked`)]);
    await place.close(first);
    await (await second).close();
  });

  test('with another path waits for the first at the same file, also one that a link made', async () => {
    const link = path.join(place.folder, 'link');
    await symlink(path.basename(place.file), link);
    for (const [file, other] of [
      [link, place.file],
      [place.file, link],
    ] as const) {
      const first = await place.openAs(file);
      expect(first.path).toBe(place.file);
      await expect(place.openAs(other)).rejects.toThrow(`the journal ${place.file}`);
      await place.close(first);
    }
  });
});

describe('another program', () => {
  const changed = () => ({
    exitCode: 1,
    message: `another program changed the journal ${place.file} while it was in use`,
    next: 'do not change the file while hooktrail runs; start the command again to continue with the intact records',
  });
  const moved = (how: string) => () => ({
    exitCode: 1,
    message: `the journal ${place.file} was ${how} while it was in use`,
    next: 'do not change the file while hooktrail runs; --keep removes old ids',
  });

  test.each([
    ['adds a line to', changed, () => appendFile(place.file, 'a line of my own\n')],
    ['cuts', changed, () => truncate(place.file, 20)],
    [
      'replaces',
      moved('replaced'),
      () => copyFile(place.file, `${place.file}.copy`).then(() => rename(`${place.file}.copy`, place.file)),
    ],
    ['removes', moved('removed'), () => rm(place.file)],
  ])(
    'that %s the file ends the journal: nothing is acknowledged any more',
    async (_name, expected, meddle) => {
      const journal = await place.open();
      expect(await journal.once(key(1), take)).toBe('accepted');
      await meddle();
      await expect(journal.once(key(2), () => expect.fail('forwarded'))).rejects.toMatchObject(expected());
      expect(journal.failed.reason).toMatchObject(expected());
      await expect(journal.once(key(1), take)).rejects.toMatchObject(expected());
    },
  );

  test('that changes the file for a moment ends the journal', async () => {
    const journal = await place.open();
    const { size } = await stat(place.file);
    await appendFile(place.file, 'x');
    await expect(journal.once(key(1), take)).rejects.toMatchObject(changed());
    await truncate(place.file, size);
    await expect(journal.once(key(1), () => expect.fail('forwarded'))).rejects.toMatchObject(changed());
  });

  test('that changes the file during a delivery has it refused; another delivery adds nothing to the file', async () => {
    const journal = await place.open();
    const added = 'a line of my own\n';
    const first = journal.once(key(1), async () => {
      await appendFile(place.file, added);
      await expect(journal.once(key(2), take)).rejects.toMatchObject(changed());
      return true;
    });
    await expect(first).rejects.toMatchObject(changed());
    expect(await readFile(place.file, 'utf8')).toMatch(new RegExp(`^#.*\n${added}$`));
    await rm(place.file);
    const again = await place.openAs(`${place.file}.2`);
    await expect(
      again.once(key(1), () => appendFile(`${place.file}.2`, added).then(() => true)),
    ).rejects.toMatchObject({
      message: `another program changed the journal ${place.file}.2 while it was in use`,
    });
  });

  test('that took over the journal ends the former holder before it forwards anything more', async () => {
    const journal = await place.open();
    expect(await journal.once(key(1), take)).toBe('accepted');
    // As a new holder does when it opens the journal.
    await appendFile(place.file, '# hooktrail journal, opened by another\n');
    await expect(journal.once(key(2), () => expect.fail('forwarded'))).rejects.toThrow('changed the journal');
  });

  test("'s file is refused and left as it is", async () => {
    for (const content of ['events-journal-2\n...', 'x0f8fad5bd9cb469fa16570867728950e 1795176000\n']) {
      await writeFile(place.file, content);
      const refused = {
        exitCode: 2,
        message: `--journal: ${place.file} is not a journal of hooktrail`,
        next: 'choose another file; this one is left as it is',
      };
      await expect(place.open()).rejects.toMatchObject(refused);
      await expect(readJournal(place.file, thisMachine())).rejects.toMatchObject(refused);
      expect(await readFile(place.file, 'utf8')).toBe(content);
      expect(await readdir(place.folder)).toEqual(['events.journal']);
    }
    await writeFile(place.file, '# hook');
    expect((await place.open()).size).toBe(0);
  });

  test("'s file that begins with NULs is no journal any more", async () => {
    const content = `${'\0'.repeat(40)}# hooktrail journal`;
    await writeFile(place.file, content);
    await expect(place.open()).rejects.toMatchObject({
      exitCode: 2,
      message: `--journal: ${place.file} begins with NULs: a power failure may have lost its content`,
      next: 'move it away, and recover with --new-journal: events that the handler has come again',
    });
    expect(await readFile(place.file, 'utf8')).toBe(content);
  });

  test.each([
    ['/dev/null', '/dev/null cannot be used: it is not a regular file'],
    [os.tmpdir(), `${os.tmpdir()} cannot be used: it is not a regular file`],
    ['/nowhere/at/all', '/nowhere/at/all cannot be used: no such file or directory (ENOENT)'],
  ])('cannot use %s as a journal', async (at, why) => {
    await expect(place.openAs(at)).rejects.toMatchObject({
      exitCode: 2,
      message: `--journal: ${why}`,
      next: 'choose a file in a folder that exists and is writable',
    });
  });

  test("'s file in the place of the lock's folder is refused", async () => {
    await writeFile(`${place.file}.lock`, '');
    await expect(place.open()).rejects.toMatchObject({
      exitCode: 2,
      message: `--journal: ${place.file}.lock cannot be used: it is not a folder`,
    });
  });

  test('that fills the disk leaves no room for a journal: the command is not wrong', async () => {
    const opening = vi.spyOn(fs, 'openSync').mockImplementation(() => {
      const message = 'ENOSPC: no space left on device, open';
      throw Object.assign(new Error(message), { code: 'ENOSPC', syscall: 'open' });
    });
    onTestFinished(() => opening.mockRestore());
    await expect(place.open()).rejects.toMatchObject({
      exitCode: 1,
      message: `--journal: ${place.file} cannot be used: no space left on device (ENOSPC)`,
      next: 'make room, and run the command again',
    });
  });

  test.each([
    ['events.journal', 'ELOOP'],
    ['nowhere/journal', 'ENOENT'],
  ])('that makes the journal a link to %s is refused, and keeps no lock', async (target, code) => {
    await symlink(target, place.file);
    await expect(place.open()).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(`(${code})`),
    });
    await rm(place.file);
    expect(await (await place.open()).once(key(1), take)).toBe('accepted');
  });
});

/** A comment of that many bytes, which a journal may begin with. */
const comment = (bytes: number) => `${'# hooktrail journal'.padEnd(bytes - 1, '.')}\n`;

/** The descriptors of this process that are open at the test's journal. */
function descriptors(): number[] {
  const isHere = (fd: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).replace(' (deleted)', '') === place.file;
    } catch {
      return false;
    }
  };
  return readdirSync('/proc/self/fd').filter(isHere).map(Number);
}

describe.skipIf(process.platform !== 'linux')('descriptors', () => {
  test('none is left of a journal that is refused, read, rewritten or closed', async () => {
    await writeFile(place.file, 'no journal');
    await expect(place.open()).rejects.toThrow('is not a journal');
    await writeFile(place.file, `${comment(70_000)}0f8fad5bd9cb469fa16570867728950e 1795176000\n`);
    await readJournal(place.file, thisMachine());
    expect(descriptors()).toEqual([]);
    const journal = await place.open();
    expect(descriptors()).toHaveLength(1);
    await place.close(journal);
    expect(descriptors()).toEqual([]);
  });

  /** Forwards an event, and meanwhile opens another file in the place of the journal's descriptor. */
  const broken = (journal: Journal, id: string, file: string, flags: string) =>
    journal.once(key(id), async () => {
      const [fd] = descriptors();
      closeSync(fd as number);
      expect(openSync(file, flags)).toBe(fd);
      return true;
    });

  test('what a full disk did not take is written before the next delivery is forwarded, or at the end', async () => {
    const journal = await place.open();
    const [fd] = descriptors();
    const full = async (id: string) => {
      await expect(broken(journal, id, '/dev/full', 'w')).rejects.toMatchObject({
        exitCode: 1,
        message: `the journal ${place.file} cannot be written: no space left on device (ENOSPC)`,
        next: 'free some space; deliveries are refused until then, and the service sends them again',
      });
      expect(journal.failed.aborted).toBe(false);
      closeSync(fd as number);
      expect(openSync(place.file, 'a+')).toBe(fd);
    };
    const keys = async () =>
      (await readFile(place.file, 'utf8')).split('\n').map((line) => line.slice(0, 32));
    await full('first');
    expect(await journal.once(key('first'), () => expect.fail('forwarded'))).toBe('duplicate');
    const first = ['# hooktrail journal, opened 2026-', key('first')].map((line) => line.slice(0, 32));
    expect(await keys()).toEqual([...first, '']);
    await full('second');
    await place.close(journal);
    expect(await keys()).toEqual([...first, key('second'), '']);
  });

  test('a disk that fails ends the journal', async () => {
    const journal = await place.open();
    const failed = {
      exitCode: 1,
      message: `the journal ${place.file} cannot be written: bad file descriptor (EBADF)`,
      cause: expect.objectContaining({ code: 'EBADF' }),
    };
    await expect(broken(journal, 'lost', place.file, 'r')).rejects.toMatchObject(failed);
    expect(journal.failed.reason).toMatchObject(failed);
  });
});

describe('keeping', () => {
  const DAY = 86_400_000;

  test('ids are looked for that are too old when half of the age has passed since the last time', async () => {
    let now = NOW;
    const first = await place.open(DAY, () => now);
    await first.once(key('old'), take);
    await place.close(first);
    now += DAY;
    const journal = await place.open(DAY, () => now);
    for (const [passed, isKnown] of [
      [DAY / 2 - 1, true],
      [DAY / 2, false],
      [DAY - 1, false],
    ] as const) {
      now = NOW + DAY + passed;
      await journal.once(key(`at ${passed}`), take);
      expect([passed, journal.has(key('old'))]).toEqual([passed, isKnown]);
    }
  });

  /** A journal with records and a comment of `useless` bytes. */
  const withUseless = (records: number, useless: number) =>
    `${comment(useless)}${Array.from({ length: records }, (_, id) => `${key(id)} 1795176000\n`).join('')}`;

  test.each([
    ['at least 64 KiB are of no use', 2, 64 * 1024],
    ['at least a quarter is of no use', 4500, 66_000],
  ])(
    'the file is rewritten if more than %s, and then holds the same ids',
    async (_name, records, useless) => {
      for (const more of [0, 1]) {
        const content = withUseless(records, useless + more);
        await writeFile(place.file, content);
        const journal = await place.open(undefined, () => NOW);
        expect(journal.size).toBe(records);
        await place.close(journal);
        const opened = `# hooktrail journal, opened 2026-11-20T12:00:00.000Z by process ${process.pid}\n`;
        const kept = more ? content.slice(content.indexOf('\n') + 1) : content;
        expect((await readFile(place.file, 'utf8')) === `${more ? opened : ''}${kept}${opened}`).toBe(true);
      }
    },
  );

  test('a file that another program changed is not rewritten', async () => {
    let now = NOW;
    await writeFile(place.file, withUseless(1, 64 * 1024 + 1 - 44));
    const journal = await place.open(DAY, () => now);
    await appendFile(place.file, 'a line of my own\n');
    now += 2 * DAY;
    await expect(journal.once(key('young'), take)).rejects.toThrow('another program changed the journal');
    expect(await readFile(place.file, 'utf8')).toContain('\na line of my own\n');
  });

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

  test('more ids than are written at once are all in the shorter file', async () => {
    await writeFile(place.file, withUseless(24_000, 1_000_000));
    let journal = await place.open();
    await place.close(journal);
    const lines = (await readFile(place.file, 'utf8')).split('\n');
    expect(lines.filter((line) => /^[0-9a-f]{32} 1795176000$/.test(line))).toHaveLength(24_000);
    expect(lines.slice(0, 1).concat(lines.slice(-2))).toEqual([
      expect.stringMatching(/^# hooktrail journal, opened /),
      expect.stringMatching(/^# hooktrail journal, opened /),
      '',
    ]);
    journal = await place.open();
    expect([journal.size, journal.damaged]).toEqual([24_000, 0]);
  });

  test('the shorter file is whole on a nearly full disk, which takes a part of a write', async () => {
    await writeFile(place.file, withUseless(3, 100_000));
    takePartsOfWrites(20);
    const journal = await place.open();
    expect(await journal.once(key('young'), take)).toBe('accepted');
    await place.close(journal);
    const again = await place.open();
    expect([again.size, again.damaged]).toEqual([4, 0]);
    expect((await stat(place.file)).size).toBeLessThan(1000);
  });

  const fault = Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' });

  test('a journal whose shorter file cannot take its place is used as it is, and leaves none', async () => {
    await writeFile(place.file, withUseless(1, 100_000));
    const renaming = vi.spyOn(fs.promises, 'rename').mockRejectedValue(fault);
    onTestFinished(() => renaming.mockRestore());
    const journal = await place.open();
    renaming.mockRestore();
    expect(await journal.once(key('young'), take)).toBe('accepted');
    expect((await stat(place.file)).size).toBeGreaterThan(100_000);
    expect(await readdir(place.folder)).toEqual(['events.journal', 'events.journal.lock']);
  });

  test('a journal whose shorter file may be lost with the power is not used', async () => {
    let now = NOW;
    await writeFile(place.file, withUseless(4000, 0));
    const journal = await place.open(DAY, () => now);
    now += 2 * DAY;
    const { open } = fs.promises;
    const opening = vi.spyOn(fs.promises, 'open').mockImplementation(async (file, ...rest) => {
      if (file === place.folder) throw fault;
      return open(file, ...rest);
    });
    onTestFinished(() => opening.mockRestore());
    const refused = {
      exitCode: 1,
      message: `the journal ${place.file} cannot be synced: i/o error (EIO)`,
      cause: { code: 'EIO' },
    };
    await expect(journal.once(key('young'), () => expect.fail('forwarded'))).rejects.toMatchObject(refused);
    expect(journal.failed.reason).toMatchObject(refused);
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

test('any beginning of a journal is a journal with the events that are whole in it', async () => {
  const { whole, sizes } = await grown(3);
  const ends = upTo(whole.length + 1).map((end) => end - 1);
  // Most can go wrong at the end of a line.
  const atLines = ends.filter((end) => sizes.some((size) => Math.abs(size - end) <= 1));
  for (const size of new Set([...atLines, ...drawnCases('beginnings', sampleSize(8, 24), ends)])) {
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
  const start = sizes[0] as number;
  const places = Array.from({ length: whole.length - start }, (_, index) => start + index);
  for (const at of drawnCases('changed bytes', sampleSize(20, 60), places)) {
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

test('what is no record is skipped and counted, and what stands before and behind it is read', async () => {
  const { whole, sizes } = await grown(3);
  const cut = sizes[1] as number;
  for (const [junk, damaged] of [
    [Buffer.alloc(5000), 0],
    [Buffer.alloc(3, 0xd1), 0],
    ['hello\n', 1],
    ['hello\nyou\n', 2],
    [`${key(4)} 1795176000 \n`, 1],
    ['\n', 0],
    ['# hello\n', 0],
    ['a'.repeat(40), 0],
    ['1'.repeat(200_000), 0],
  ] as const) {
    await writeFile(
      place.file,
      Buffer.concat([whole.subarray(0, cut), Buffer.from(junk), whole.subarray(cut)]),
    );
    const journal = await place.open();
    const start = junk.toString().slice(0, 50);
    expect([start, held(journal, 4), journal.damaged]).toEqual([start, [1, 2, 3], damaged]);
    await place.close(journal);
  }
});

test('a torn end is cut off, however long it is, and hides nothing that follows', async () => {
  const { whole } = await grown(2);
  for (const torn of [whole.subarray(-44, -1), Buffer.alloc(9 * 1024 * 1024, '1')]) {
    await writeFile(place.file, Buffer.concat([whole, torn]));
    let journal = await place.open();
    expect(await journal.once(key(3), take)).toBe('accepted');
    await place.close(journal);
    journal = await place.open();
    expect([held(journal, 3), journal.damaged]).toEqual([[1, 2, 3], 0]);
    expect((await stat(place.file)).size).toBeLessThan(1000);
    await place.close(journal);
  }
});

test('a record that crosses the end of a read is one', async () => {
  for (const before of [1, 20, 43]) {
    await writeFile(
      place.file,
      `${comment(4 * 1024 * 1024 - before)}${key(1)} 1795176000\n${key(2)} 1795176000\n`,
    );
    expect([...((await readJournal(place.file, thisMachine()))?.ids ?? [])]).toEqual([
      [key(1), 1_795_176_000],
      [key(2), 1_795_176_000],
    ]);
  }
});
