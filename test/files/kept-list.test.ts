import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { KeptList } from '../../src/files/kept-list.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';

const at = forEachTest(createHome);
const listOf = (baseUrl: string, profile = 'default') => {
  const context = createContext({ environment: { HOOKTRAIL_CONFIG_DIR: at.folder } });
  return new KeptList('event-types', { profile, baseUrl: new URL(baseUrl) }, context);
};

test('each base URL of a host has a file of its own for what the service listed, in the cache', () => {
  const { file } = listOf('https://events.example/tenant-a');
  expect(file).toBe(path.join(at.folder, 'cache', 'event-types-default-events.example%2Ftenant-a.json'));
  expect(listOf('https://events.example/tenant-a/').file).toBe(file);
  expect(listOf('https://events.example/tenant-b').file).not.toBe(file);
  expect(listOf('https://events.example/tenant-a', 'other').file).not.toBe(file);
});

test('a list is kept until another takes its place', async () => {
  const list = listOf('https://events.example/');
  expect(list.read()).toBeUndefined();
  await list.replace(['a']);
  await list.replace(['b']);
  expect(listOf('https://events.example/').read()).toEqual(['b']);
  await writeFile(list.file, '["half');
  expect(list.read()).toBeUndefined();
});

test('a list that cannot be kept is no error', async () => {
  await writeFile(path.join(at.folder, 'cache'), 'a file in the place of the folder');
  const list = listOf('https://events.example/');
  await list.replace(['a']);
  expect(list.read()).toBeUndefined();
});
