import { existsSync } from 'node:fs';
import { chmod, chown, lchown, mkdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { advise, hooktrail } from '../../src/advice.ts';
import { readJournal } from '../../src/webhooks/journal.ts';
import { thisMachine } from '../support/context.ts';
import { key, take, useJournalFolder } from '../support/journal.ts';
import { available } from '../support/machine/requirement.ts';

const place = useJournalFolder();
const NOBODY = 65_534;

describe.skipIf(!available('root'))('another user', () => {
  test('cannot have the journal made at a link, or locked by a folder, that it planted', async () => {
    const shared = path.join(place.folder, 'shared');
    await mkdir(shared);
    await chmod(shared, 0o1777);
    const file = path.join(shared, 'events.journal');
    const target = path.join(place.folder, 'target');
    const planted = (at: string) => ({
      exitCode: 2,
      message: `--journal: ${at} that another user (65534) put into a folder that everybody can write to`,
    });
    await symlink(target, file);
    await lchown(file, NOBODY, NOBODY);
    await expect(place.openAs(file)).rejects.toMatchObject(planted(`${file} is a link`));
    expect(existsSync(target)).toBe(false);
    await rm(file);
    await mkdir(`${file}.lock`);
    await lchown(`${file}.lock`, NOBODY, NOBODY);
    await expect(place.openAs(file)).rejects.toMatchObject(planted(`${file}.lock is a folder`));
    expect(existsSync(file)).toBe(false);
    await rm(`${file}.lock`, { recursive: true });
    expect(await (await place.openAs(file)).once(key(1), take)).toBe('accepted');
  });

  test("cannot give its own journal, or a lock's folder, to be used", async () => {
    const foreign = (at: string) => ({
      exitCode: 2,
      message: `--journal: ${at} belongs to another user (65534)`,
      next: advise`run the command as that user, whose listener can also recover by itself (${hooktrail('webhooks listen --recover')}), or choose another file`,
    });
    await mkdir(`${place.file}.lock`);
    await chown(`${place.file}.lock`, NOBODY, NOBODY);
    await expect(place.open()).rejects.toMatchObject(foreign(`${place.file}.lock`));
    await chown(`${place.file}.lock`, 0, 0);
    await place.close(await place.open());
    await chown(place.file, NOBODY, NOBODY);
    await expect(place.open()).rejects.toMatchObject(foreign(place.file));
    const machine = thisMachine();
    await expect(readJournal(place.file, machine)).rejects.toMatchObject(foreign(place.file));
    // Its own, on Windows, which knows no such owners, and root's.
    for (const [owner, reader] of [
      [NOBODY, { ...machine, userId: NOBODY }],
      [NOBODY, { ...machine, platform: 'win32' }],
      [0, { ...machine, userId: NOBODY }],
    ] as const) {
      await chown(place.file, owner, owner);
      expect((await readJournal(place.file, reader))?.ids.size).toBe(0);
    }
  });
});
