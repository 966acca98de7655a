import { existsSync } from 'node:fs';
import {
  appendFile,
  chmod,
  copyFile,
  lchown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readIds } from '../../src/webhooks/journal.ts';
import { thisMachine } from '../support/context.ts';
import { key, take, useJournalFolder } from '../support/journal.ts';
import { available } from '../support/machine/requirement.ts';

const place = useJournalFolder();

describe('another program', () => {
  test('that writes into the file ends the journal: nothing is acknowledged any more', async () => {
    for (const meddle of [
      () => appendFile(place.file, 'a line of my own\n'),
      () => truncate(place.file, 20),
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
      expect(journal.failed.reason).toMatchObject({ exitCode: 1 });
      await expect(journal.once(key(1), take)).rejects.toThrow();
      await place.close(journal);
    }
  });

  test('that took over the journal ends the former holder before it forwards anything more', async () => {
    const journal = await place.open();
    expect(await journal.once(key(1), take)).toBe('accepted');
    // As a new holder does when it opens the journal.
    await appendFile(place.file, '# hooktrail journal, opened by another\n');
    await expect(journal.once(key(2), () => expect.fail('forwarded'))).rejects.toThrow('changed the journal');
  });

  test("'s file is refused and left as it is", async () => {
    await writeFile(place.file, 'hooktrail-journal-2\n...');
    await expect(place.open()).rejects.toMatchObject({
      exitCode: 2,
      message: `--journal: ${place.file} is not a journal of hooktrail`,
    });
    await expect(readIds(place.file, thisMachine())).rejects.toMatchObject({ exitCode: 2 });
    expect(await readFile(place.file, 'utf8')).toBe('hooktrail-journal-2\n...');
    expect(await readdir(place.folder)).toEqual(['events.journal']);
  });

  test.each(['/dev/null', os.tmpdir(), '/nowhere/at/all'])('cannot use %s as a journal', async (at) => {
    await expect(place.openAs(at)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^--journal: /),
    });
  });

  test.skipIf(!available('root'))(
    'of another user cannot have the journal made at a link, or locked by a folder, that it planted',
    async () => {
      const shared = path.join(place.folder, 'shared');
      await mkdir(shared);
      await chmod(shared, 0o1777);
      const file = path.join(shared, 'events.journal');
      const target = path.join(place.folder, 'target');
      await symlink(target, file);
      await lchown(file, 65_534, 65_534);
      await expect(place.openAs(file)).rejects.toMatchObject({
        exitCode: 2,
        message: `--journal: ${file} is a link that another user (65534) put into a folder that everybody can write to`,
      });
      expect(existsSync(target)).toBe(false);
      await rm(file);
      await mkdir(`${file}.lock`);
      await lchown(`${file}.lock`, 65_534, 65_534);
      await expect(place.openAs(file)).rejects.toMatchObject({
        exitCode: 2,
        message: `--journal: ${file}.lock is a folder that another user (65534) put into a folder that everybody can write to`,
      });
      expect(existsSync(file)).toBe(false);
      await rm(`${file}.lock`, { recursive: true });
      expect(await (await place.openAs(file)).once(key(1), take)).toBe('accepted');
    },
  );
});
