import { appendFile, copyFile, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import os from 'node:os';
import { describe, expect, test } from 'vitest';
import { readIds } from '../../src/webhooks/journal-content.ts';
import { HEADER } from '../../src/webhooks/journal-records.ts';
import { key, take, useJournalFolder } from '../support/journal.ts';

const place = useJournalFolder();

describe('another program', () => {
  test('that writes into the file ends the journal: nothing is acknowledged any more', async () => {
    for (const meddle of [
      () => appendFile(place.file, 'a line of my own\n'),
      () => truncate(place.file, HEADER.length),
      async () => {
        await copyFile(place.file, `${place.file}.copy`);
        await rename(`${place.file}.copy`, place.file);
      },
      () => rm(place.file),
    ]) {
      await rm(place.file, { force: true });
      const journal = await place.open();
      expect(await journal.once(key(1), take)).toBe('accepted');
      await meddle();
      await expect(journal.once(key(2), take)).rejects.toThrow(/was (replaced|removed)|changed the journal/);
      await expect(journal.failed).rejects.toMatchObject({ exitCode: 1 });
      await expect(journal.once(key(1), take)).rejects.toThrow();
      await place.close(journal);
    }
  });

  test('is noticed while nothing is delivered', async () => {
    const journal = await place.open();
    await appendFile(place.file, 'x');
    await expect(journal.failed).rejects.toThrow('another program changed the journal');
  });

  test("'s file is refused and left as it is", async () => {
    await writeFile(place.file, 'hooktrail-journal-2\n...');
    await expect(place.open()).rejects.toMatchObject({
      exitCode: 2,
      message: `--journal: ${place.file} is not a journal of this version of hooktrail`,
    });
    await expect(readIds(place.file)).rejects.toMatchObject({ exitCode: 2 });
    expect(await readFile(place.file, 'utf8')).toBe('hooktrail-journal-2\n...');
    expect(await readdir(place.folder)).toEqual(['events.journal']);
  });

  test.each(['/dev/null', os.tmpdir(), '/nowhere/at/all'])('cannot have %s for a journal', async (at) => {
    await expect(place.openAs(at)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^--journal: /),
    });
  });
});
