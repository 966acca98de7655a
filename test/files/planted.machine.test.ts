import { chmod, lchown, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { refusePlanted } from '../../src/files/planted.ts';
import { available } from '../support/requirement.ts';

/** Only root can create files of another user. */
describe.skipIf(!available('root'))('a path through a folder that everybody can write to', () => {
  const user = { platform: process.platform, userId: 1000 };
  let shared: string;
  let own: string;

  beforeEach(async () => {
    const top = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-planted-'));
    await chmod(top, 0o755);
    [shared, own] = [path.join(top, 'shared'), path.join(top, 'own')];
    for (const folder of [shared, own]) await mkdir(folder);
    await chmod(shared, 0o1777);
  });
  afterEach(() => rm(path.dirname(shared), { recursive: true, force: true }));

  const refusal = (place: string, kind: string) =>
    expect.objectContaining({
      exitCode: 2,
      message: `the report: ${place} is a ${kind} that another user (1001) put into a folder that everybody can write to`,
      next: 'choose a path in a folder that only you can write to',
    });

  test.each([
    ['link', 1001],
    ['link', 1000],
    ['link', 0],
    ['folder', 1001],
    ['folder', 1000],
    ['file', 1001],
    ['file', 1000],
  ] as const)('with a %s of user %i', async (kind, owner) => {
    const place = path.join(shared, 'x');
    if (kind === 'link') await symlink(path.join(own, 'target'), place);
    else if (kind === 'folder') await mkdir(place);
    else await writeFile(place, '');
    await lchown(place, owner, owner);
    const check = () => refusePlanted(kind === 'folder' ? path.join(place, 'y') : place, 'the report', user);
    if (owner === 1001) expect(check).toThrow(refusal(place, kind));
    else expect(check).not.toThrow();
  });

  test('is also refused behind a link of the user', async () => {
    await mkdir(path.join(shared, 'theirs'));
    await lchown(path.join(shared, 'theirs'), 1001, 1001);
    await symlink(path.join(shared, 'theirs'), path.join(own, 'mine'));
    await lchown(path.join(own, 'mine'), 1000, 1000);
    expect(() => refusePlanted(path.join(own, 'mine', 'x.html'), 'the report', user)).toThrow(
      refusal(path.join(shared, 'theirs'), 'folder'),
    );
  });

  test('is accepted if nothing exists there yet, or if links form a circle', async () => {
    await symlink('circle', path.join(own, 'circle'));
    for (const place of [path.join(shared, 'new'), path.join(own, 'circle', 'x')])
      expect(() => refusePlanted(place, 'the report', user)).not.toThrow();
  });

  test('is accepted from anyone in a folder that only its owner can write to', async () => {
    await mkdir(path.join(own, 'theirs'));
    await lchown(path.join(own, 'theirs'), 1001, 1001);
    expect(() => refusePlanted(path.join(own, 'theirs', 'x'), 'the report', user)).not.toThrow();
  });
});
