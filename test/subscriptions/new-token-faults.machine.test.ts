import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import {
  DISK_ERRORS,
  describeFaults,
  expectNoHarm,
  FULL,
  isTold,
  SIGNALS,
  traceCommand,
} from '../support/machine/strace-faults.ts';
import { spawnHooktrail } from '../support/process.ts';
import { ID, startChanging } from './changing-service.ts';

const at = forEachTest(startChanging);
const RENEW = ['subscriptions', 'renew', ID, '--yes'];

describeFaults('a fault at any file operation of renew', () => {
  test.each([
    ['one error', DISK_ERRORS],
    ['a full disk', FULL],
    ['a signal', SIGNALS],
  ])('%s: the saved token is the valid one, or the loss is said', async (kind, codes) => {
    const anew = async () => {
      for (const name of await readdir(at.home.folder))
        await rm(path.join(at.home.folder, name), { recursive: true });
      await spawnHooktrail(RENEW, { env: at.env });
    };
    await anew();
    const isOurs = (file: string) => file.startsWith(at.home.folder) && !file.includes('/compiled/');
    const command = await traceCommand(at.env, RENEW, isOurs);
    expect(command.operations.length).toBeGreaterThan(10);
    await expectNoHarm(`renew, ${kind}`, command, codes, async (start) => {
      await anew();
      const result = await start().finished;
      const after = await spawnHooktrail(['subscriptions', 'token', ID], { env: at.env });
      const isValid = after.stdout === `${at.kept.token}\n`;
      const isDoubted = /may be invalid/.test(after.stderr) || after.code !== 0;
      const isLost = /is lost/.test(result.stderr);
      const isKilled = result.code === null || Number(result.code) >= 128;
      const held = isValid || isLost || (isKilled && isDoubted);
      return (isKilled || isTold(result)) && held ? undefined : { result, after, token: at.kept.token };
    });
  });
});
