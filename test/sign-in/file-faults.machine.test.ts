import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { browserCommand } from '../support/browser.ts';
import { forEachTest } from '../support/each-test.ts';
import {
  DISK_ERRORS,
  describeFaults,
  expectNoHarm,
  type FaultCode,
  FULL,
  isTold,
  traceCommand,
} from '../support/machine/strace-faults.ts';
import type { Result } from '../support/process.ts';
import { editJson, times } from '../support/sandbox.ts';
import { startSigningIn } from '../support/signing-in.ts';

let env: Readonly<Record<string, string>>;
/** The length of the sandbox's log when the last run began. */
let begun = 0;
const at = forEachTest(startSigningIn);
beforeEach(async () => {
  env = { ...at.env, HOOKTRAIL_BROWSER: browserCommand };
});

/**
 * Signs in anew, from nothing, so that all runs use the same files. The next command refreshes the token if
 * that is due.
 */
async function signInAnew(tokenLifetimeSeconds = 1800, asClient = false): Promise<void> {
  for (const name of await readdir(at.home.folder))
    await rm(path.join(at.home.folder, name), { recursive: true });
  const { behaviour } = at.sandbox.control;
  behaviour.tokenLifetimeSeconds = tokenLifetimeSeconds;
  if (asClient) await at.run(['login', '--client-credentials'], { env });
  else await at.signIn();
  behaviour.tokenLifetimeSeconds = 1800;
}

/** Tries faults in runs that each begin with a new sign-in. */
async function sweep(
  kind: string,
  args: readonly string[],
  codes: readonly FaultCode[],
  lifetimeSeconds: number,
  broken: (result: Result) => Promise<unknown>,
  asClient = false,
): Promise<void> {
  await signInAnew(lifetimeSeconds, asClient);
  const isOurs = (file: string) => file.startsWith(at.home.folder) && !file.includes('/compiled/');
  const command = await traceCommand(env, args, isOurs);
  expect(command.operations.length).toBeGreaterThan(20);
  await expectNoHarm(kind, command, codes, async (start) => {
    await signInAnew(lifetimeSeconds, asClient);
    begun = at.sandbox.log.length;
    return await broken(await start().finished);
  });
}

const requests = () => at.sandbox.log.slice(begun);
const refreshes = () =>
  requests()
    .filter(({ grantType }) => grantType === 'refresh_token')
    .map(({ error }) => error ?? 'ok');
const token = () => at.run(['token'], { env });

describeFaults('a fault at any file operation', () => {
  test('of a refresh, or a signal there, never loses the sign-in', async () => {
    for (const [kind, codes] of [
      ['refresh, one error', DISK_ERRORS],
      ['refresh, a signal', ['SIGINT', 'SIGTERM']],
    ] as const) {
      await sweep(kind, ['token'], codes, 30, async (result) => {
        const after = await token();
        const isEnded = codes === DISK_ERRORS ? isTold(result) : [0, 130, 143].includes(Number(result.code));
        const isKept = after.code === 0 && !refreshes().includes('invalid_grant');
        return isEnded && isKept ? undefined : { result, after };
      });
    }
  });

  test('of a renewal as the client, a full disk or a signal there, leaves a sign-in that the next command renews', async () => {
    for (const [kind, codes] of [
      ['as the client, one error', DISK_ERRORS],
      ['as the client, a full disk', FULL],
      ['as the client, a signal', ['SIGINT', 'SIGTERM']],
    ] as const) {
      const check = async (result: Result) => {
        const after = await token();
        const isSignal = kind.endsWith('signal');
        const isEnded = isSignal ? [0, 130, 143].includes(Number(result.code)) : isTold(result);
        return isEnded && after.code === 0 ? undefined : { result, after };
      };
      await sweep(kind, ['token'], codes, 30, check, true);
    }
  });

  test('of a refresh that fills the disk spends no token, or stores the new one, or says that the sign-in is lost', async () => {
    await sweep('refresh, a full disk', ['token'], FULL, 30, async (result) => {
      const asked = refreshes().join();
      // The disk has room again.
      const after = await token();
      const askedAfter = refreshes().join();
      const isRefused = result.code === 2 && asked === '' && after.code === 0 && askedAfter === 'ok';
      const isStored = result.code === 0 && asked === 'ok' && after.stdout === result.stdout;
      const isLost = result.code === 4 && /^error: the sign-in is lost: /.test(result.stderr);
      const held = isRefused || (isStored && askedAfter === 'ok') || (isLost && after.code === 4);
      return isTold(result) && held ? undefined : { result, after, asked, askedAfter };
    });
  });

  test.each([
    ['login', ['login']],
    ['login --device', ['login', '--device']],
    ['login --client-credentials', ['login', '--client-credentials']],
  ])(
    'of %s is reported, and there is a sign-in after it: the new one or the one of before',
    async (name, args) => {
      at.sandbox.control.fault(
        'device',
        ...times(
          1000,
          editJson((body) => ({ ...body, interval: 1 })),
        ),
      );
      for (const [kind, codes] of [
        ['one error', DISK_ERRORS],
        ['a full disk', FULL],
      ] as const) {
        await sweep(`${name}, ${kind}`, args, codes, 1800, async (result) => {
          const after = await token();
          return isTold(result) && after.code === 0 ? undefined : { result, after };
        });
      }
    },
  );

  test.each([
    ['logout', ['logout']],
    ['profiles delete', ['profiles', 'delete', 'default']],
  ])('of %s is an error, and never deletes secrets whose tokens stay valid', async (name, args) => {
    const secrets = () => readdir(path.join(at.home.folder, 'config', 'secrets')).catch((): string[] => []);
    const isRevoked = () =>
      requests().some(({ url, status }) => url.endsWith('/connect/revocation') && status === 200);
    await sweep(`${name}, one error`, args, DISK_ERRORS, 1800, async (result) => {
      const left = await secrets();
      const isDone = left.length === 0 && isRevoked();
      // A token is revoked before it is deleted, and exit 0 means that both happened.
      const isTrue =
        result.code === 0 ? isDone && !/warning/.test(result.stderr) : left.length > 0 || isRevoked();
      const after = await at.run(args, { env });
      const isDoneAfter = (await secrets()).length === 0 && isRevoked();
      // A profile is deleted once, also where only the folder could not be synced.
      const isGone = after.code === 0 || (name === 'profiles delete' && after.code === 2);
      return isTold(result) && isTrue && isDoneAfter && isGone ? undefined : { result, left, after };
    });
  });
});
