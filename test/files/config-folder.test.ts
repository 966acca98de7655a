import path from 'node:path';
import { expect, test } from 'vitest';
import { cacheFolder, configFolder } from '../../src/files/folders.ts';
import { createContext } from '../support/context.ts';

test.each([
  ['/data/hooktrail', '/data/hooktrail'],
  ['~/hooktrail', '/home/me/hooktrail'],
  ['~', '/home/me'],
  ['~me', path.resolve('~me')],
])('HOOKTRAIL_CONFIG_DIR=%s is %s, also where no shell has expanded it', (given, expected) => {
  const { machine } = createContext();
  const context = { machine, environment: { HOOKTRAIL_CONFIG_DIR: given, HOME: '/home/me' } };
  expect([configFolder(context), cacheFolder(context)]).toEqual([expected, path.join(expected, 'cache')]);
});
