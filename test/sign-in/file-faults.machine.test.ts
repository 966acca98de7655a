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
  hasOutcomes,
  traceCommand,
} from '../support/machine/strace-faults.ts';
import type { Result } from '../support/process.ts';
import { editJson, times } from '../support/sandbox.ts';
import { drawnCases } from '../support/seed.ts';
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

const ERRORS_AND_FULL = [
  ['one error', DISK_ERRORS],
  ['a full disk', FULL],
] as const;
const INTERRUPTIONS = ['a signal', ['SIGINT', 'SIGTERM']] as const;
const LOGINS = [['login'], ['login', '--device'], ['login', '--client-credentials']].flatMap((args) =>
  ERRORS_AND_FULL.map(([kind, codes]) => [args.join(' '), kind, args, codes] as const),
);
const DELETIONS = [['logout'], ['profiles', 'delete', 'default']].map(
  (args) => [args.join(' '), args] as const,
);

/** strace counts calls by thread: the same one in another thread gets a second signal, which ends at once. */
const isInterrupted = ({ code }: Result) => [0, 130, 143, 'SIGINT', 'SIGTERM'].includes(code ?? '');

describeFaults('a fault at any file operation', () => {
  test.each(drawnCases('refresh', 1, [['one error', DISK_ERRORS] as const, INTERRUPTIONS]))(
    'of a refresh, %s there, never loses the sign-in',
    async (kind, codes) => {
      await sweep(`refresh, ${kind}`, ['token'], codes, 30, async (result) => {
        const after = await token();
        const isEnded = codes === DISK_ERRORS ? hasOutcomes(result) : isInterrupted(result);
        const isKept = after.code === 0 && !refreshes().includes('invalid_grant');
        return isEnded && isKept ? undefined : { result, after };
      });
    },
  );

  test.each(drawnCases('as the client', 1, [...ERRORS_AND_FULL, INTERRUPTIONS]))(
    'of a renewal as the client, %s there, leaves a sign-in that the next command renews',
    async (kind, codes) => {
      const check = async (result: Result) => {
        const after = await token();
        const isEnded = kind === 'a signal' ? isInterrupted(result) : hasOutcomes(result);
        return isEnded && after.code === 0 ? undefined : { result, after };
      };
      await sweep(`as the client, ${kind}`, ['token'], codes, 30, check, true);
    },
  );

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
      return hasOutcomes(result) && held ? undefined : { result, after, asked, askedAfter };
    });
  });

  test.each(drawnCases('login', 1, LOGINS))(
    'of %s is reported, %s, and there is a sign-in after it: the new one or the one of before',
    async (name, kind, args, codes) => {
      at.sandbox.control.fault(
        'device',
        ...times(
          1000,
          editJson((body) => ({ ...body, interval: 1 })),
        ),
      );
      await sweep(`${name}, ${kind}`, args, codes, 1800, async (result) => {
        const after = await token();
        return hasOutcomes(result) && after.code === 0 ? undefined : { result, after };
      });
    },
  );

  test.each(drawnCases('deletion', 1, DELETIONS))(
    'of %s is an error, and never deletes secrets whose tokens stay valid',
    async (name, args) => {
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
        const isGone = after.code === 0 || (name !== 'logout' && after.code === 2);
        return hasOutcomes(result) && isTrue && isDoneAfter && isGone ? undefined : { result, left, after };
      });
    },
  );
});
