import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { listRescued, listSecretFiles, openCopies } from '../../src/secrets/encrypted-file.ts';
import { createContext, thisMachine } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { available } from '../support/machine/requirement.ts';

const at = forEachTest(createHome);

/** Only root can give a file to another user. */
test.skipIf(!available('root'))(
  'what another user has put into the shared folder is neither read nor deleted, and no secret goes there',
  async () => {
    const sharedFolder = path.join(at.folder, 'shared');
    const environment = { HOOKTRAIL_CONFIG_DIR: at.folder };
    const context = { ...createContext({ environment }), machine: { ...thisMachine(), sharedFolder } };
    const file = path.join(at.folder, 'secrets', `a~${'0'.repeat(16)}.vault`);
    const copies = openCopies<{ readonly written: number }>(file, context);
    const latest = () => copies.read((content) => ({ written: Number(content) }));
    await mkdir(sharedFolder);
    await chmod(sharedFolder, 0o1777);
    const planted = await copies.rescue(Buffer.from('2'));
    await chown(path.join(sharedFolder, `hooktrail-${context.machine.userId}`), 1001, 1001);
    expect([await latest(), await listRescued(context)]).toEqual([undefined, []]);
    await copies.write(Buffer.from('1'));
    expect(await latest()).toEqual({ written: 1 });
    await writeFile(planted.replace('a~', 'b~'), '');
    expect((await listSecretFiles(context, undefined)).map((found) => found.file)).toEqual([file]);
    await copies.remove();
    expect(await latest()).toBeUndefined();
    expect(await readFile(planted, 'utf8')).toBe('2');
    await expect(copies.rescue(Buffer.from('3'))).rejects.toThrow(
      'is not a folder that only this user can use',
    );
  },
);
