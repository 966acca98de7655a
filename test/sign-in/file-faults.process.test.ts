import { expect, test } from 'vitest';
import { browserCommand } from '../support/browser.ts';
import { DISK_ERRORS, eachFault, FULL, isTold, runFailing } from '../support/file-faults.ts';
import type { Result } from '../support/process.ts';
import { type SigningIn, startSigningIn } from '../support/signing-in.ts';

// A key instead of a passphrase avoids scrypt, since this signs in hundreds of times.
const key = `htk1-${'k'.repeat(43)}`;

/** Signs in so that the next command has to refresh the token. */
async function signInWithTokenDue(at: SigningIn, env: Readonly<Record<string, string>>): Promise<void> {
  const { behaviour } = at.sandbox.control;
  behaviour.tokenLifetimeSeconds = 30;
  expect(await at.run(['login'], { env })).toMatchObject({ code: 0 });
  behaviour.tokenLifetimeSeconds = 1800;
}

test('one failing operation on a file during a refresh never loses the sign-in', {
  timeout: 600_000,
}, async () => {
  await using at = await startSigningIn();
  const env = { ...at.env, HOOKTRAIL_PASSPHRASE: key };
  const due = () => signInWithTokenDue(at, env);
  await due();
  const { operations } = await runFailing(env, ['token'], 0, 'EIO');
  expect(operations).toBeGreaterThan(20);
  const refused = () => at.sandbox.log.filter(({ error }) => error === 'invalid_grant').length;
  const faults = ['refresh, one fault at each file operation', operations as number, DISK_ERRORS] as const;
  const broken = await eachFault(...faults, async (number, code) => {
    await due();
    const before = refused();
    const { result } = await runFailing(env, ['token'], number, code);
    const after = await at.run(['token'], { env });
    return isTold(result) && after.code === 0 && refused() === before ? undefined : { result, after };
  });
  expect(broken).toEqual([]);
  const interrupted = await eachFault(
    'refresh, a signal at each file operation',
    operations as number,
    ['SIGINT', 'SIGTERM'],
    async (number, code) => {
      await due();
      const before = refused();
      const { result } = await runFailing(env, ['token'], number, code);
      const after = await at.run(['token'], { env });
      const ended = [0, code === 'SIGINT' ? 130 : 143, code].includes(result.code);
      return ended && after.code === 0 && refused() === before ? undefined : { result, after };
    },
  );
  expect(interrupted).toEqual([]);
});

test('a disk that fills during a refresh: the token is not spent, or the new one is stored, or the error says that the sign-in is lost', {
  timeout: 600_000,
}, async () => {
  await using at = await startSigningIn();
  const env = { ...at.env, HOOKTRAIL_PASSPHRASE: key };
  const due = () => signInWithTokenDue(at, env);
  /** Runs `token` and returns how the provider answered its refreshes. */
  const token = async (run: () => Promise<Result>) => {
    const before = at.sandbox.log.length;
    const result = await run();
    const requests = at.sandbox.log.slice(before).filter(({ grantType }) => grantType === 'refresh_token');
    return { ...result, refreshes: requests.map(({ error }) => error ?? 'ok') };
  };
  await due();
  const { operations } = await runFailing(env, ['token'], 0, 'FULL');
  expect(operations).toBeGreaterThan(20);
  const kind = 'refresh, the disk fills at each file operation';
  const broken = await eachFault(kind, operations as number, FULL, async (number, code) => {
    await due();
    const full = await token(async () => (await runFailing(env, ['token'], number, code)).result);
    // The disk has room again.
    const after = await token(() => at.run(['token'], { env }));
    const isRefused = full.code === 2 && full.refreshes.length === 0;
    const isStored = full.code === 0 && full.refreshes.join() === 'ok';
    const isLost = full.code === 4 && /^error: the sign-in is lost: /.test(full.stderr);
    const held =
      (isRefused && after.code === 0 && after.refreshes.join() === 'ok') ||
      (isStored && after.stdout === full.stdout && after.refreshes.length === 0) ||
      (isLost && after.code === 4 && after.refreshes.join() === 'invalid_grant');
    return isTold(full) && held ? undefined : { full, after };
  });
  expect(broken).toEqual([]);
});

test('one failing operation on a file during a sign-in is reported, and a sign-in that succeeds is stored', {
  timeout: 600_000,
}, async () => {
  await using at = await startSigningIn();
  const env = { ...at.env, HOOKTRAIL_PASSPHRASE: key, HOOKTRAIL_BROWSER: browserCommand };
  const { operations } = await runFailing(env, ['login'], 0, 'EIO');
  expect(operations).toBeGreaterThan(20);
  for (const [kind, codes] of [
    ['login, one fault at each file operation', DISK_ERRORS],
    ['login, the disk fills at each file operation', FULL],
  ] as const) {
    const broken = await eachFault(kind, operations as number, codes, async (number, code) => {
      const { result } = await runFailing(env, ['login'], number, code);
      const after = await at.run(['token'], { env });
      // If this sign-in failed, the previous one is still there.
      return isTold(result) && after.code === 0 ? undefined : { result, after };
    });
    expect(broken).toEqual([]);
  }
});
