import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readEnvironment } from '../../src/context.ts';
import { KeptList, type ListName } from '../../src/files/kept-list.ts';
import { keepSubscriptions, keptSubscriptions, wordFor } from '../../src/names/kept-subscriptions.ts';
import type { RunSettings } from '../../src/settings/settings.ts';
import { thisMachine } from '../support/context.ts';
import { createHome, type Home } from '../support/home.ts';

const owner = { profile: 'default', baseUrl: new URL('https://events.example.com/v1') };
const serviceOf = (around: ReturnType<typeof surroundingsOf>) => ({
  keptList: (name: ListName) => new KeptList(name, owner, around),
});
const settingsOf = (checked: object) => ({ checked: () => checked }) as unknown as RunSettings;
const surroundingsOf = ({ env, folder }: Home) => ({
  environment: readEnvironment(env),
  machine: { ...thisMachine(), userHome: folder },
});
const subscription = (id: string, callbackUrl: string | undefined) =>
  ({ id, callbackUrl, state: 'on', marketplaces: [], eventTypes: [] }) as const;

/** The one file of the cache. */
async function cacheIn(home: Home): Promise<string> {
  const entries = await readdir(home.folder, { recursive: true, withFileTypes: true });
  const [file] = entries.filter((entry) => entry.isFile());
  return path.join(file?.parentPath as string, file?.name as string);
}

test('completion has the listed subscriptions of its profile and service, without secrets', async () => {
  await using home = await createHome();
  const around = surroundingsOf(home);
  expect(keptSubscriptions(settingsOf(owner), around)).toEqual([]);
  const listed = [
    subscription('a', 'https://user:pw@hooks.example.com/in/k3y?token=secret'),
    subscription('b', undefined),
    subscription('c', 'mailto:ops@example.com'),
    subscription('d', 'https://d.example.com/in'),
  ];
  await keepSubscriptions(listed, serviceOf(around));
  const kept = [
    { id: 'a', name: 'hooks.example.com/in/…' },
    { id: 'd', name: 'd.example.com/in' },
  ];
  expect(keptSubscriptions(settingsOf(owner), around)).toEqual(kept);
  expect(JSON.parse(await readFile(await cacheIn(home), 'utf8'))).toEqual(kept);
  for (const other of [{ profile: 'work' }, { baseUrl: new URL('https://other.example.com/v1') }])
    expect(keptSubscriptions(settingsOf({ ...owner, ...other }), around)).toEqual([]);
  expect(keptSubscriptions(settingsOf({ profile: 'default' }), around)).toEqual([]);
  const invalid = { checked: () => expect.fail('invalid settings') } as unknown as RunSettings;
  expect(keptSubscriptions(invalid, around)).toEqual([]);
});

test.each([
  ['{', []],
  ['{"id":"a","name":"b"}', []],
  ['[null,"a",{"id":1,"name":"b"},{"id":"a","name":2},{"id":"a","name":"b"}]', [{ id: 'a', name: 'b' }]],
])('of the cache %s only subscriptions are used', async (content, subscriptions) => {
  await using home = await createHome();
  const around = surroundingsOf(home);
  await keepSubscriptions([], serviceOf(around));
  await writeFile(await cacheIn(home), content);
  expect(keptSubscriptions(settingsOf(owner), around)).toEqual(subscriptions);
});

test('a cache that cannot be written is no error', async () => {
  await using home = await createHome();
  const around = surroundingsOf(home);
  await keepSubscriptions([], serviceOf(around));
  const file = await cacheIn(home);
  await writeFile(path.join(home.folder, 'file'), '');
  const inFile = { ...home.env, HOOKTRAIL_CONFIG_DIR: path.join(home.folder, 'file') };
  const blocked = { ...around, environment: readEnvironment(inFile) };
  await keepSubscriptions([subscription('d', 'https://d.example.com/in')], serviceOf(blocked));
  expect(await readFile(file, 'utf8')).toBe('[]');
  expect(keptSubscriptions(settingsOf(owner), blocked)).toEqual([]);
});

test.each([
  ['a', 'hooks.example.com/in/'],
  ['b', 'b'],
  ['c', 'c.example.com/in'],
])('the word for subscription %s is %s', (id, word) => {
  const all = [
    { id: 'a', name: 'hooks.example.com/in/…/x' },
    { id: 'b', name: 'b.example.com' },
    { id: 'b2', name: 'b.example.com/in' },
    { id: 'c', name: 'c.example.com/in' },
  ];
  expect(wordFor(all.find((one) => one.id === id)!, all)).toBe(word);
});
