import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { changeConfig, configPath, readConfig } from '../../src/settings/settings.ts';
import { createContext } from '../support/context.ts';
import { createHome } from '../support/home.ts';

test('a process that lost the lock over the settings leaves the file to the one that took it', async () => {
  await using home = await createHome();
  const { machine, ...rest } = createContext({ environment: home.env });
  const context = { ...rest, machine: { ...machine, userHome: home.folder } };
  await changeConfig(context, (config) => {
    config.profiles['default'] = { vendor: 'first' };
  });
  const lock = path.join(path.dirname(configPath(context)), 'locks', 'settings');
  const late = changeConfig(context, (config) => {
    config.profiles['default'] = { vendor: 'late' };
    writeFileSync(path.join(lock, '3.lock'), '{}\n');
  });
  await expect(late).rejects.toThrow('another process changed the settings meanwhile');
  expect((await readConfig(context)).profiles).toEqual({ default: { vendor: 'first' } });
});

test('a link to the settings stays, and the file behind it gets the change', async () => {
  await using home = await createHome();
  const context = createContext({ environment: home.env });
  const [link, files] = [configPath(context), path.join(home.folder, 'dotfiles')];
  const target = path.join(files, 'hooktrail.json');
  mkdirSync(path.dirname(link), { recursive: true });
  symlinkSync(target, link);
  for (const vendor of ['first', 'second']) {
    await changeConfig(context, (config) => {
      config.profiles['default'] = { vendor };
    });
    expect(readlinkSync(link)).toBe(target);
    expect(JSON.parse(readFileSync(target, 'utf8')).profiles).toEqual({ default: { vendor } });
    expect(readdirSync(files)).toEqual(['hooktrail.json']);
  }
});

test('a byte order mark, as editors of Windows write it, is no damage', async () => {
  await using home = await createHome();
  const context = createContext({ environment: home.env });
  const file = configPath(context);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, '\ufeff{"version":1,"profiles":{"default":{"vendor":"first"}}}\r\n');
  expect((await readConfig(context)).profiles).toEqual({ default: { vendor: 'first' } });
});
