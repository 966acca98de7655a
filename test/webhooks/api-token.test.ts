import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { Context } from '../../src/context.ts';
import { emptyMemory } from '../../src/context.ts';
import { generateKey } from '../../src/secrets/sealed-file.ts';
import { forgetSignIns } from '../../src/secrets/stored-sign-ins.ts';
import { findApiToken } from '../../src/webhooks/api-token.ts';
import { saveApiToken } from '../../src/webhooks/listen/expected-token.ts';
import { createContext, type MemoryKeychain, memoryKeychain } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';

let context: Context;

const at = forEachTest(createHome);
beforeEach(async () => {
  const keychain = memoryKeychain();
  const { machine, ...rest } = createContext({ loadKeychain: async () => keychain });
  const { HOOKTRAIL_PASSPHRASE } = at.env;
  const environment = { HOOKTRAIL_CONFIG_DIR: at.folder, HOOKTRAIL_PASSPHRASE };
  // On other systems than Linux, the program uses its keychain without a check before.
  context = { ...rest, environment, machine: { ...machine, platform: 'darwin' } };
});

const withVariable = (token: string): Context => ({
  ...context,
  environment: { ...context.environment, HOOKTRAIL_API_TOKEN: token },
});

test.each(['keychain', 'file'] as const)(
  'a token saved in the %s is found only for its profile',
  async (store) => {
    const place = { profile: 'staging', store };
    expect(await findApiToken(place, context)).toBeUndefined();
    await saveApiToken('first', place, context);
    await saveApiToken('second', place, context);
    expect(await findApiToken(place, context)).toBe('second');
    expect(await findApiToken({ ...place, profile: 'default' }, context)).toBeUndefined();
    expect(await findApiToken(place, withVariable('given'))).toBe('given');
  },
);

test('signing out keeps the token: it belongs to a subscription', async () => {
  const place = { profile: 'default', store: 'keychain' } as const;
  await saveApiToken('kept', place, context);
  for (const profile of ['default', undefined])
    expect(await forgetSignIns(profile, context)).toEqual({ removed: 0 });
  expect(await findApiToken(place, context)).toBe('kept');
});

test.each(['keychain', 'file'] as const)(
  'profiles delete deletes the token from the %s, and that of no other profile',
  async (store) => {
    const [staging, other] = [
      { profile: 'staging', store },
      { profile: 'other', store },
    ];
    for (const place of [staging, other]) await saveApiToken('secret', place, context);
    const config = { version: 1, profiles: { staging: {}, other: {} } };
    await writeFile(path.join(at.folder, 'config.json'), JSON.stringify(config));
    const { environment, machine, loadKeychain } = context;
    const options = { env: environment as Record<string, string>, context: { machine, loadKeychain } };
    expect(await hooktrail(['profiles', 'delete', 'STAGING'], options)).toMatchObject({ code: 0 });
    expect(await findApiToken(staging, context)).toBeUndefined();
    expect(await findApiToken(other, context)).toBe('secret');
  },
);

test('another key does not open the file', async () => {
  const place = { profile: 'default', store: 'file' } as const;
  const withKey = (key: string): Context => ({
    ...context,
    environment: { ...context.environment, HOOKTRAIL_PASSPHRASE: key },
    memory: emptyMemory(),
  });
  await saveApiToken('secret', place, withKey(generateKey()));
  await expect(findApiToken(place, withKey(generateKey()))).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/^the saved Api-Token in \S+ cannot be read$/),
    details: ['it is damaged, or was saved with another passphrase or in another store'],
  });
});

test.each(['', ' x', 'x\n', 'ä'])('the token %j is not a header value', async (token) => {
  const result = await findApiToken({ profile: 'p', store: 'keychain' }, withVariable(token)).catch(
    (error) => error,
  );
  if (token === '') expect(result).toBeUndefined();
  else expect(result.message).toMatch(/^HOOKTRAIL_API_TOKEN: invalid token/);
});

test('--save-token tries the store before it asks for a token, and says if it gives back something else', async () => {
  await using home = await createHome();
  const save = async (change: Partial<MemoryKeychain>) => {
    const machine = { ...context.machine, platform: 'darwin' as const };
    const loadKeychain = async () => ({ ...memoryKeychain(), ...change });
    const env = { ...home.env, HOOKTRAIL_STORE: 'keychain' };
    const options = { env, terminal: 200, context: { machine, loadKeychain } };
    return await hooktrail(['webhooks', 'listen', '--save-token', '--no-color'], options);
  };
  const text = (details: string) =>
    expect.stringMatching(new RegExp(`^error: the OS keychain refused\n  ${details}\nnext: `));
  expect(await save({ set: () => Promise.reject(new Error('denied')) })).toMatchObject({
    code: 2,
    stderr: text('denied'),
  });
  expect(await save({ get: async () => 'damaged' })).toMatchObject({
    code: 2,
    stderr: text('what was stored could not be read back'),
  });
});
