import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import {
  DISK_ERRORS,
  describeFaults,
  expectNoHarm,
  FULL,
  hasOutcomes,
  SIGNALS,
  traceCommand,
} from '../support/machine/strace-faults.ts';
import { spawnHooktrail } from '../support/process.ts';
import { drawnCases } from '../support/seed.ts';
import { ID, startChanging } from './changing-service.ts';

const at = forEachTest(startChanging);
const RENEW = ['subscriptions', 'renew', ID, '--yes'];
const CREATE = [
  'subscriptions',
  'create',
  '--url',
  'https://hooks.example.com/in',
  '--type',
  'order.*',
  '--marketplace',
  '2001',
  '--yes',
];

const CASES = [
  ['one error', DISK_ERRORS],
  ['a full disk', FULL],
  ['a signal', SIGNALS],
] as const;

async function emptyHome(): Promise<void> {
  for (const name of await readdir(at.home.folder))
    await rm(path.join(at.home.folder, name), { recursive: true });
}

/**
 * Runs a command with a fault at each file operation. Afterwards the saved token has to be the one that the
 * service has, unless its loss was said or the command was killed.
 */
async function sweep(
  what: string,
  args: readonly string[],
  codes: Parameters<typeof expectNoHarm>[2],
  anew: () => Promise<void>,
): Promise<void> {
  await anew();
  const isOurs = (file: string) => file.startsWith(at.home.folder) && !file.includes('/compiled/');
  const command = await traceCommand(at.env, args, isOurs);
  expect(command.operations.length).toBeGreaterThan(10);
  await expectNoHarm(what, command, codes, async (start) => {
    await anew();
    const before = at.sent('POST').length;
    const result = await start().finished;
    const after = await spawnHooktrail(['subscriptions', 'token', ID], { env: at.env });
    const isUnasked = at.sent('POST').length === before;
    const isValid = after.stdout === `${at.kept.token}\n`;
    const isDoubted = /may be invalid/.test(after.stderr) || after.code !== 0;
    const isLost = /is lost/.test(result.stderr);
    const isKilled = result.code === 'SIGKILL' || Number(result.code) >= 128;
    // A signal while Node starts ends the process before the program can take it.
    const isTooEarly = isUnasked && SIGNALS.includes(String(result.code));
    const isSaid = isKilled || isTooEarly || hasOutcomes(result);
    const isHeld = isValid || isLost || isUnasked || (isKilled && isDoubted);
    return isSaid && isHeld ? undefined : { result, after, token: at.kept.token };
  });
}

describeFaults('a fault at any file operation of renew', () => {
  test.each(drawnCases('renew', 1, CASES))(
    '%s: the saved token is the valid one, or the loss is said',
    async (kind, codes) => {
      await sweep(`renew, ${kind}`, RENEW, codes, async () => {
        await emptyHome();
        await spawnHooktrail(RENEW, { env: at.env });
      });
    },
  );
});

describeFaults('a fault at any file operation of create', () => {
  test.each(drawnCases('create', 1, CASES))(
    '%s: the new token is saved, or its loss is said',
    async (kind, codes) => {
      await sweep(`create, ${kind}`, CREATE, codes, emptyHome);
    },
  );
});
