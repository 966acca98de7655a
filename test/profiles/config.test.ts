import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { createHome, type Home } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

const config = (home: Home, ...args: string[]) => hooktrail(['config', ...args], home);

const home = forEachTest(createHome);

describe('config', () => {
  test('a setting can be set, listed, read and unset', async () => {
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

  test('a profile may have the name of a member of every object', async () => {
    const list = await config(home, 'list', '--json', '--profile', 'constructor');
    expect(list).toEqual({ code: 0, stdout: '{}\n', stderr: '' });
  });

  test('simultaneous changes are all kept', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `profile-${index}`);
    const ends = await Promise.all(
      names.map((name) => config(home, 'set', 'vendor', name, '--profile', name)),
    );
    expect(ends.map(({ code }) => code)).toEqual(names.map(() => 0));
    const listed = JSON.parse((await hooktrail(['profiles', '--json'], home)).stdout);
    expect(listed.map(({ name }: { name: string }) => name).sort()).toEqual(names);
  });

  test('the file is private, and is at the path that `config path` prints', async () => {
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
    '{',
    '[]',
    '{"version":2}',
    '{"version":1,"profile":5}',
    '{"version":1,"profiles":{"a":{"vendor":1}}}',
  ])('a settings file that holds %s is reported, not replaced', async (text) => {
    const folder = home.env['HOOKTRAIL_CONFIG_DIR'] as string;
    await mkdir(folder);
    await writeFile(path.join(folder, 'config.json'), text);
    const { code, stderr } = await config(home, 'set', 'vendor', 'acme');
    expect(stderr).toMatch(/^error: the settings in .* are damaged: /);
    expect(code).toBe(2);
    expect(await readFile(path.join(folder, 'config.json'), 'utf8')).toBe(text);
  });
});

describe('profiles', () => {
  test('one is chosen by flag, then variable, then `profiles use`', async () => {
    for (const name of ['one', 'two', 'three']) await config(home, 'set', 'vendor', name, '--profile', name);
    expect(await hooktrail(['profiles', 'use', 'one'], home)).toMatchObject({
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
    const list = await hooktrail(['profiles', '--json'], home);
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
});
