import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createHome, type Home } from '../../support/home.ts';
import { hooktrail } from '../../support/program.ts';

const config = (home: Home, ...args: string[]) => hooktrail(['config', ...args], { env: home.env });

describe('config', () => {
  test('a setting can be set, listed, read and unset', async () => {
    await using home = await createHome();
    expect(await config(home, 'set', 'base-url', 'https://events.example.com/v1')).toEqual({
      code: 0,
      stdout: '',
      stderr: "saved base-url in profile 'default'\n",
    });
    await config(home, 'set', 'vendor', 'acme', '--profile', 'other');
    expect((await config(home)).stdout).toBe('base-url=https://events.example.com/v1\n');
    expect((await config(home, 'list', '--json', '--profile', 'other')).stdout).toBe('{"vendor":"acme"}\n');
    expect((await config(home, 'get', 'base-url')).stdout).toBe('https://events.example.com/v1\n');
    await config(home, 'unset', 'base-url');
    const gone = await config(home, 'get', 'base-url');
    expect(gone.code).toBe(2);
    expect(gone.stderr).toContain("error: base-url is not saved in the profile 'default'\n");
  });

  test('simultaneous changes are all kept', async () => {
    await using home = await createHome();
    const names = Array.from({ length: 8 }, (_, index) => `profile-${index}`);
    const ends = await Promise.all(
      names.map((name) => config(home, 'set', 'vendor', name, '--profile', name)),
    );
    expect(ends.map(({ code }) => code)).toEqual(names.map(() => 0));
    const listed = JSON.parse((await hooktrail(['profiles', '--json'], { env: home.env })).stdout);
    expect(listed.map(({ name }: { name: string }) => name).sort()).toEqual(names);
  });

  test('the file is private, and is at the path that `config path` prints', async () => {
    await using home = await createHome();
    await config(home, 'set', 'vendor', 'acme');
    const file = (await config(home, 'path')).stdout.trimEnd();
    expect(file).toBe(path.join(home.env['HOOKTRAIL_CONFIG_DIR'] as string, 'config.json'));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      version: 1,
      profiles: { default: { vendor: 'acme' } },
    });
  });

  test.each([
    [
      ['set', 'base-url', 'http://events.example.com'],
      "base-url: invalid value 'http://events.example.com': must be an https: URL",
    ],
    [['set', 'base-urll', 'x'], "there is no setting 'base-urll'"],
    [['get', 'vendr'], "there is no setting 'vendr'"],
    [['set', 'client-secret', 'x'], "'client-secret' is not saved in the settings: secrets never are"],
    [['set', 'store', 'keychian'], "store: invalid value 'keychian': must be keychain or file"],
    // A name server may resolve such a name to any address.
    [
      ['set', 'auth-url', 'http://id.localhost:8080'],
      "auth-url: invalid value 'http://id.localhost:8080': must be an https: URL (http: only for loopback hosts)",
    ],
    [
      ['set', 'redirect-uri', 'http://me:secret@127.0.0.1:8976/callback'],
      "redirect-uri: invalid value 'http://[redacted]@127.0.0.1:8976/callback': must be a URL without user name and password",
    ],
    [['set', 'issuer', 'nobody'], "issuer: invalid value 'nobody'"],
    [['set', 'vendor', 'a b'], "vendor: invalid value 'a b'"],
    [['set', 'scope', ''], "scope: invalid value ''"],
    [['list', '--profile', '../x'], "--profile: invalid value '../x'"],
  ])('%j is a usage error', async (args, message) => {
    await using home = await createHome();
    const { code, stderr } = await config(home, ...args);
    expect(stderr).toContain(`error: ${message}`);
    expect(code).toBe(2);
  });

  test.each(['{', '[]', '{"version":2}', '{"version":1,"profiles":{"a":{"vendor":1}}}'])(
    'a settings file that holds %s is reported, not replaced',
    async (text) => {
      await using home = await createHome();
      const folder = home.env['HOOKTRAIL_CONFIG_DIR'] as string;
      await mkdir(folder);
      await writeFile(path.join(folder, 'config.json'), text);
      const { code, stderr } = await config(home, 'set', 'vendor', 'acme');
      expect(stderr).toMatch(/^error: the settings in .* are damaged: /);
      expect(code).toBe(2);
      expect(await readFile(path.join(folder, 'config.json'), 'utf8')).toBe(text);
    },
  );
});

describe('profiles', () => {
  test('one is chosen by flag, then variable, then `profiles use`', async () => {
    await using home = await createHome();
    for (const name of ['one', 'two', 'three']) await config(home, 'set', 'vendor', name, '--profile', name);
    expect(await hooktrail(['profiles', 'use', 'one'], { env: home.env })).toMatchObject({
      code: 0,
      stdout: '',
    });
    const vendor = async (args: string[], env: Record<string, string> = {}) =>
      (
        await hooktrail(['config', 'get', 'vendor', ...args], { env: { ...home.env, ...env } })
      ).stdout.trimEnd();
    expect(await vendor([])).toBe('one');
    expect(await vendor([], { HOOKTRAIL_PROFILE: 'two' })).toBe('two');
    expect(await vendor(['--profile', 'three'], { HOOKTRAIL_PROFILE: 'two' })).toBe('three');
    const list = await hooktrail(['profiles', '--json'], { env: home.env });
    expect(
      JSON.parse(list.stdout).map((profile: { name: string; active: boolean }) => [
        profile.name,
        profile.active,
      ]),
    ).toEqual([
      ['one', true],
      ['two', false],
      ['three', false],
    ]);
  });

  test('an empty name is not a name', async () => {
    await using home = await createHome();
    expect(await hooktrail(['status', '--profile', ''], { env: home.env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: --profile: invalid value ''/),
    });
  });

  test('for an unknown one the nearest is suggested', async () => {
    await using home = await createHome();
    await config(home, 'set', 'vendor', 'acme', '--profile', 'production');
    for (const verb of ['use', 'delete']) {
      const { code, stderr } = await hooktrail(['profiles', verb, 'prodution'], { env: home.env });
      expect(stderr).toBe(
        `error: there is no profile 'prodution'\n  profiles: production\nnext: hooktrail profiles ${verb} production\n`,
      );
      expect(code).toBe(2);
    }
  });
});
