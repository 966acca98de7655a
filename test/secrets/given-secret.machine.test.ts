import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { givenSecret } from '../../src/secrets/given-secret.ts';
import { createContext } from '../support/context.ts';
import { available } from '../support/machine/requirement.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-given-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const give = (file: string) =>
  givenSecret('HOOKTRAIL_PASSPHRASE', createContext({ environment: { HOOKTRAIL_PASSPHRASE_FILE: file } }));

test.skipIf(!available('root'))('a secret file that belongs to another user is an error', async () => {
  const place = path.join(folder, 'secret');
  await writeFile(place, 'the secret\n', { mode: 0o600 });
  await chown(place, 1001, 1001);
  await expect(give(place)).rejects.toMatchObject({
    exitCode: 2,
    message: `HOOKTRAIL_PASSPHRASE_FILE: ${place} belongs to another user (1001), who can write it`,
    next: 'name a file of your own',
  });
});

test.skipIf(!available('root'))('a secret file in a folder of another user is an error', async () => {
  const theirs = path.join(folder, 'theirs');
  const place = path.join(theirs, 'secret');
  await mkdir(theirs);
  await writeFile(place, 'the secret\n', { mode: 0o600 });
  await chown(theirs, 1001, 1001);
  await expect(give(place)).rejects.toMatchObject({
    exitCode: 2,
    message: `HOOKTRAIL_PASSPHRASE_FILE: others can replace ${place}, since ${theirs} belongs to another user (1001)`,
    next: 'name a file in a folder that only you can write to',
  });
});
