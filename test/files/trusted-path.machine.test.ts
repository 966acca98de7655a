import { chmod, lchown, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isForCode, refusePlanted, replaceableBy } from '../../src/files/folders.ts';
import { openVault } from '../../src/secrets/stored-sign-ins.ts';
import { createContext } from '../support/context.ts';
import { createHome } from '../support/home.ts';
import { available } from '../support/machine/requirement.ts';
import { hooktrail } from '../support/program.ts';
import { startSearching } from '../support/searching.ts';

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

  test('is accepted on Windows, which protects such folders by access lists', async () => {
    await symlink(own, path.join(shared, 'x'));
    await lchown(path.join(shared, 'x'), 1001, 1001);
    expect(() =>
      refusePlanted(path.join(shared, 'x'), 'the report', { ...user, platform: 'win32' }),
    ).not.toThrow();
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
    await chmod(own, 0o770);
    expect(() => refusePlanted(path.join(own, 'theirs', 'x'), 'the report', user)).not.toThrow();
  });

  test.each([
    ['the user', 1000],
    ['root', 0],
    ['an unmapped user, as root is in a container', 65_534],
  ])('is accepted through a link in a folder of %s that nobody else can write to', async (_, owner) => {
    const place = path.join(own, 'link');
    await symlink(shared, place);
    await lchown(place, 1001, 1001);
    await lchown(own, owner, owner);
    expect(() => refusePlanted(path.join(place, 'x'), 'the report', user)).not.toThrow();
  });

  test.each([
    ['that its group can write to', 1000, 0o770],
    ['of another user', 1001, 0o755],
  ])('is refused through a link of another user in a folder %s', async (_, owner, mode) => {
    const place = path.join(own, 'link');
    await symlink(shared, place);
    await lchown(place, 1001, 1001);
    await lchown(own, owner, owner);
    await chmod(own, mode);
    expect(() => refusePlanted(path.join(place, 'x'), 'the report', user)).toThrow(
      expect.objectContaining({
        message: `the report: ${place} is a link of another user (1001)`,
        next: 'choose a path in a folder that only you can write to',
      }),
    );
  });

  test.each(['token', 'login', 'logout'])('is refused for the settings: %s', async (command) => {
    await using home = await createHome();
    const config = path.join(shared, 'config.json');
    await writeFile(config, '{"version":1,"profiles":{"default":{"base-url":"http://127.0.0.1:1/"}}}');
    await lchown(config, 1001, 1001);
    const { code, stderr } = await hooktrail([command], {
      env: { ...home.env, HOOKTRAIL_CONFIG_DIR: shared },
    });
    const error = `error: the settings: ${config} is a file that another user (1001) put`;
    expect([code, stderr]).toEqual([2, expect.stringContaining(error)]);
  });

  test.each([
    ['the export', 'planted', ['events', 'export', 'planted']],
    ['the export', 'planted', ['events', 'export', 'planted/below']],
    ['--state', 'planted', ['events', 'watch', '--state', 'planted']],
    ['--state', 'mine.lock', ['events', 'watch', '--state', 'mine']],
    ['--output-file', 'planted', ['events', 'search', '--output-file', 'planted']],
    ['--journal', 'planted', ['webhooks', 'recover', '--since', '1d', '--dry-run', '--journal', 'planted/j']],
    ['the key', 'planted', ['keygen', 'planted']],
  ])('is refused for %s, where %s is a link: %j', async (named, planted, args) => {
    await using searching = await startSearching({ events: 5 });
    const link = path.join(shared, planted);
    await symlink(own, link);
    await lchown(link, 1001, 1001);
    // A recovery that would only list wants a journal that is there.
    const there = named === '--journal' ? ['j'] : [];
    for (const name of there) await writeFile(path.join(own, name), '# hooktrail journal\n', { mode: 0o600 });
    const asked = searching.queries().length;
    const { code, stderr } = await searching.run(args, { cwd: shared });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(
        new RegExp(
          `^error: ${named}: (${shared}/)?${planted} is a link that another user \\(1001\\) put into`,
        ),
      ),
    });
    expect(await readdir(own)).toEqual(there);
    expect(searching.queries()).toHaveLength(asked);
  });

  test('is not followed for secrets: the mode of its target stays, and nothing is stored there', async () => {
    const [target, place] = [path.join(own, 'target'), path.join(shared, 'secrets')];
    await mkdir(target, { mode: 0o755 });
    await symlink(target, place);
    await lchown(place, 1001, 1001);
    const context = createContext({
      environment: { HOOKTRAIL_CONFIG_DIR: shared, HOOKTRAIL_PASSPHRASE: `htk1-${'k'.repeat(43)}` },
    });
    const binding = {
      profile: 'default',
      authUrl: 'https://id.example',
      clientId: 'client',
      serviceOrigin: 'https://events.example',
    };
    for (const store of [
      async () => (await openVault('file', binding, context)).probe(true),
      async () => (await openVault('file', binding, context)).write({ refreshToken: 'token' }),
    ])
      await expect(store()).rejects.toMatchObject({
        exitCode: 2,
        message: `the secrets: ${place} is a link that another user (1001) put into a folder that everybody can write to`,
      });
    expect((await stat(target)).mode & 0o777).toBe(0o755);
    expect(await readdir(target)).toEqual([]);
  });
});

describe.skipIf(!available('root'))('a path that others could replace', () => {
  const machine = { platform: process.platform, userId: 1000, userHome: '/home/user' };
  let home: string;

  beforeEach(async () => {
    home = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-replaceable-'));
    await chmod(home, 0o755);
    await lchown(home, 1000, 1000);
    await mkdir(path.join(home, 'cache'), { mode: 0o700 });
    await mkdir(path.join(home, 'cache', 'compiled'), { mode: 0o700 });
    for (const name of ['cache', 'cache/compiled']) await lchown(path.join(home, name), 1000, 1000);
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  const setUps: Record<
    string,
    { does: () => Promise<unknown>; danger: () => string | undefined; isCode: boolean }
  > = {
    'belongs to the user with all its folders': {
      does: async () => undefined,
      danger: () => undefined,
      isCode: true,
    },
    'belongs to root': {
      does: () => lchown(path.join(home, 'cache'), 0, 0),
      danger: () => undefined,
      isCode: true,
    },
    'belongs to another user': {
      does: () => lchown(path.join(home, 'cache', 'compiled'), 1001, 1001),
      danger: () => `${path.join(home, 'cache', 'compiled')} belongs to another user (1001)`,
      isCode: false,
    },
    'belongs to an unmapped user': {
      does: () => lchown(path.join(home, 'cache', 'compiled'), 65_534, 65_534),
      danger: () => `${path.join(home, 'cache', 'compiled')} belongs to another user (65534)`,
      isCode: false,
    },
    'is in a folder of an unmapped user, as root is in a container': {
      does: () => lchown(path.join(home, 'cache'), 65_534, 65_534),
      danger: () => undefined,
      isCode: true,
    },
    'holds what the user put there': {
      does: async () => {
        await mkdir(path.join(home, 'cache', 'compiled', 'v22'));
        await lchown(path.join(home, 'cache', 'compiled', 'v22'), 1000, 1000);
      },
      danger: () => undefined,
      isCode: true,
    },
    "is in another user's folder": {
      does: () => lchown(path.join(home, 'cache'), 1001, 1001),
      danger: () => `${path.join(home, 'cache')} belongs to another user (1001)`,
      isCode: false,
    },
    'is in a home of another user': {
      does: () => lchown(home, 1001, 1001),
      danger: () => `${home} belongs to another user (1001)`,
      isCode: false,
    },
    'is in a folder of a group that can write': {
      does: () => chmod(home, 0o775),
      danger: () => `others can write to the folder ${home}`,
      isCode: false,
    },
    'is in a folder like /tmp': {
      does: () => chmod(home, 0o1777),
      danger: () => undefined,
      isCode: true,
    },
    'is behind a link of another user': {
      does: async () => {
        await rm(path.join(home, 'cache'), { recursive: true });
        await mkdir(path.join(home, 'mine', 'compiled'), { recursive: true });
        await symlink('mine', path.join(home, 'cache'));
        await lchown(path.join(home, 'cache'), 1001, 1001);
      },
      danger: () => `${path.join(home, 'cache')} belongs to another user (1001)`,
      isCode: false,
    },
    'can be written by others': {
      does: () => chmod(path.join(home, 'cache', 'compiled'), 0o1777),
      danger: () => undefined,
      isCode: false,
    },
    'holds what another user planted': {
      does: async () => {
        const planted = path.join(home, 'cache', 'compiled', 'v22');
        await mkdir(planted);
        await lchown(planted, 1001, 1001);
      },
      danger: () => undefined,
      isCode: false,
    },
  };

  test.each(Object.keys(setUps))(
    'since it %s: with what words, and may code come from there',
    async (name) => {
      const setUp = setUps[name] as (typeof setUps)[string];
      await setUp.does();
      const folder = path.join(home, 'cache', 'compiled');
      expect(replaceableBy(folder, machine)).toBe(setUp.danger());
      expect(isForCode(folder, machine)).toBe(setUp.isCode);
    },
  );

  test("takes no folder of ours: nothing is created in another user's home", async () => {
    await rm(path.join(home, 'cache'), { recursive: true });
    await lchown(home, 1001, 1001);
    expect(isForCode(path.join(home, 'cache', 'compiled'), machine)).toBe(false);
    expect(await readdir(home)).toEqual([]);
  });

  test('is not created in a folder that others can write to, or below a file', async () => {
    const root = { ...machine, userId: 0 };
    await lchown(home, 0, 0);
    await rm(path.join(home, 'cache'), { recursive: true });
    await writeFile(path.join(home, 'file'), '');
    expect(isForCode(path.join(home, 'file', 'compiled'), root)).toBe(false);
    await chmod(home, 0o1777);
    expect(isForCode(path.join(home, 'cache', 'compiled'), root)).toBe(false);
    expect(await readdir(home)).toEqual(['file']);
  });

  test('is created for the user alone', async () => {
    const root = { ...machine, userId: 0 };
    await lchown(home, 0, 0);
    await rm(path.join(home, 'cache'), { recursive: true });
    expect(isForCode(path.join(home, 'cache', 'compiled'), root)).toBe(true);
    expect((await stat(path.join(home, 'cache', 'compiled'))).mode & 0o777).toBe(0o700);
  });
});
