import { chown, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { givenSecret } from '../../src/secrets/given-secret.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { available } from '../support/machine/requirement.ts';

const at = forEachTest(createHome);
const give = (file: string) =>
  givenSecret('HOOKTRAIL_PASSPHRASE', createContext({ environment: { HOOKTRAIL_PASSPHRASE_FILE: file } }));

test.skipIf(!available('root'))('a secret file that belongs to another user is an error', async () => {
  const place = path.join(at.folder, 'secret');
  await writeFile(place, 'the secret\n', { mode: 0o600 });
  await chown(place, 1001, 1001);
  await expect(give(place)).rejects.toMatchObject({
    exitCode: 2,
    message: `HOOKTRAIL_PASSPHRASE_FILE: ${place} belongs to another user (1001), who can write it`,
    next: 'name a file of your own',
  });
});

test.skipIf(!available('root'))('a secret file in a folder of another user is an error', async () => {
  const theirs = path.join(at.folder, 'theirs');
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
