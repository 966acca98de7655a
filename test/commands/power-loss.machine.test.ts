import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { startExporting } from '../support/exporting.ts';
import { type RecordedRun, recordRun } from '../support/machine/power-loss.ts';
import { describeFaults } from '../support/machine/strace-faults.ts';
import { hooktrail } from '../support/program.ts';
import { faultRounds, noteFaults, randomOf } from '../support/seed.ts';
import { startSigningIn } from '../support/signing-in.ts';

/**
 * Loses the power at some moments of a run, the last of them always among these; with `npm run faults` at each, twice.
 * `broken` resolves to what did not hold, if anything: nothing may.
 */
async function eachLoss(
  kind: string,
  run: RecordedRun,
  broken: (hasEnded: boolean) => Promise<unknown>,
): Promise<void> {
  const random = randomOf(kind);
  const rounds = faultRounds(16, 2 * run.moments);
  const found: unknown[] = [];
  for (let round = 0; round < rounds; round++) {
    const isEnd = round % 4 === 0;
    const any = rounds > run.moments ? round % run.moments : random.below(run.moments);
    const steps = isEnd ? run.moments - 1 : any;
    await run.lose(steps, random);
    const one = await broken(steps === run.moments - 1);
    if (one !== undefined) found.push({ steps, of: run.moments - 1, one });
  }
  noteFaults(`${kind}, a loss of power`, rounds, rounds - found.length);
  expect(found).toEqual([]);
}

describeFaults('a loss of power at any moment', () => {
  test.each(['logout', 'logout --all --yes', 'profiles delete default'])(
    'of %s leaves a sign-in that can be deleted again, or none; what was said to be deleted is gone',
    async (line) => {
      const args = line.split(' ');
      await using at = await startSigningIn();
      await at.signIn();
      const folder = at.env['HOOKTRAIL_CONFIG_DIR'] as string;
      // The settings come from the profile alone.
      const env = Object.fromEntries(
        Object.entries(at.env).filter(([name]) => !/AUTH_URL|BASE_URL|CLIENT_ID/.test(name)),
      );
      const run = await recordRun(env, args, folder);
      expect(run.result).toMatchObject({ code: 0 });
      expect(run.moments).toBeGreaterThan(2);
      const isProfile = args[0] === 'profiles';
      const vaults = async () =>
        (await readdir(path.join(folder, 'secrets')).catch((): string[] => [])).filter((name) =>
          name.endsWith('.vault'),
        );
      await eachLoss(line, run, async (hasEnded) => {
        const { stdout } = await at.run(['profiles', 'list', '--json'], { env });
        const names = (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
        const left = await vaults();
        // Secrets without a profile would be hard to find.
        const isTrue =
          names.length === 1 ? !(hasEnded && isProfile) : isProfile && names.length + left.length === 0;
        const isGone = !hasEnded || left.length === 0;
        const again = names.length === 1 ? await at.run(args, { env }) : undefined;
        const isDone = (again?.code ?? 0) === 0 && (await vaults()).length === 0;
        return isTrue && isGone && isDone ? undefined : { names, left, again };
      });
    },
  );

  test('of export --update loses no event that the service has deleted, and the next update ends with all', async () => {
    await using at = await startExporting({ events: 60, tokenLifetimeSeconds: 864_000 });
    const args = ['--page-size', '2', '--update'];
    expect((await at.export('--page-size', '2')).code).toBe(0);
    const old = await at.ids();
    const { control } = at.sandbox;
    at.forget(old.slice(5));
    clock.advance(30 * 60_000);
    const added = Array.from({ length: 7 }, () => control.addEvent().eventId);
    clock.advance(2_000);
    const all = [...old, ...added].sort();
    const run = await recordRun(at.env, ['events', 'export', at.directory, ...args], at.directory);
    expect(run.result).toMatchObject({ code: 0 });
    expect((await at.ids()).sort()).toEqual(all);
    expect(run.moments).toBeGreaterThan(20);
    await eachLoss('export --update', run, async (hasEnded) => {
      const counted = await hooktrail(['events', 'count', '--from', at.directory], { env: at.env });
      const isTrue = counted.code === 0 ? Number(counted.stdout) >= (hasEnded ? all : old).length : !hasEnded;
      const after = await at.export(...args);
      const held =
        isTrue && after.code === 0 && JSON.stringify((await at.ids()).sort()) === JSON.stringify(all);
      return held ? undefined : { counted, after, parts: await at.parts() };
    });
    expect(await readFile(path.join(at.directory, 'manifest.json'), 'utf8')).toContain('sha256');
  });
});
