import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { machine, systemClock } from '../src/system.ts';

test('a sleep longer than a timer of Node can wait does not end at once', async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error) => void warnings.push(name);
  process.on('warning', note);
  try {
    const over = new AbortController();
    const sleeping = systemClock.sleep(2 ** 31, over.signal);
    // Node says so when it takes a delay for one of a millisecond.
    await turn();
    over.abort(new Error('over'));
    await expect(sleeping).rejects.toThrow('over');
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', note);
  }
});

test.each([
  [undefined, '/'],
  ['', '/'],
  ['/data', '/data'],
])('with HOME=%s a user id that the user database lacks has the home %s', (home, expected) => {
  vi.stubEnv('HOME', home);
  const known = os.userInfo;
  onTestFinished(() => {
    os.userInfo = known;
    syncBuiltinESMExports();
    vi.unstubAllEnvs();
  });
  os.userInfo = () => {
    throw new Error('uv_os_get_passwd returned ENOENT');
  };
  syncBuiltinESMExports();
  expect(machine().userHome).toBe(expected);
});
