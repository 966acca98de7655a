import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { StartProgram } from '../../src/context.ts';
import { eventKey } from '../../src/ids/event-keys.ts';
import { readJournal } from '../../src/webhooks/journal.ts';
import { clock } from '../support/clock.ts';
import { thisMachine } from '../support/context.ts';
import { startExporting } from '../support/exporting.ts';
import { startHandler } from '../support/handler.ts';
import { createHome } from '../support/home.ts';
import { API_TOKEN, portOf, post } from '../support/listening.ts';
import { describeFaults } from '../support/machine/strace-faults.ts';
import { startSearching } from '../support/searching.ts';
import { faultRounds, noteFaults, randomOf, sampleSize } from '../support/seed.ts';
import { startSigningIn } from '../support/signing-in.ts';
import { type RecordedRun, recordRun, startRecording } from './power-loss.ts';

/** A lock whose holder the disk has lost half of is waited out: for milliseconds, not for 20 s. */
const context = { lockRhythm: { beat: 4_000, silence: 50 } };

/**
 * Loses the power at some moments of a run, the last of them always among these; with `npm run faults` at
 * each, twice. `broken` resolves to what did not hold, if anything: nothing may.
 */
async function eachLoss(
  kind: string,
  run: RecordedRun,
  broken: (hasEnded: boolean, steps: number) => Promise<unknown>,
): Promise<void> {
  const random = randomOf(kind);
  const rounds = faultRounds(8, 2 * run.moments);
  const found: unknown[] = [];
  for (let round = 0; round < rounds; round++) {
    const isEnd = round % 4 === 0;
    const any = rounds > run.moments ? round % run.moments : random.below(run.moments);
    const steps = isEnd ? run.moments - 1 : any;
    await run.lose(steps, random);
    const one = await broken(steps === run.moments - 1, steps);
    if (one !== undefined) found.push({ steps, of: run.moments - 1, one });
  }
  noteFaults(`${kind}, a loss of power`, rounds, rounds - found.length);
  expect(found).toEqual([]);
}

/**
 * A service with so many events, and the command line of a watch that takes them all and keeps its place in a
 * folder.
 */
async function startWatched(count: number) {
  const at = await startSearching({ events: 0 });
  const folder = path.join(at.env['HOME'] as string, 'watched');
  await mkdir(folder, { mode: 0o700 });
  const ids = Array.from({ length: count }, (_, index) => {
    const createdOn = new Date(clock.now() - 60_000 + index).toISOString();
    return at.control.addEvent({ createdOn }).eventId;
  });
  const state = path.join(folder, 'place.json');
  const args = ['events', 'watch', '--since', '1h', '--until', 'now', '--quiet', '--state', state];
  return { ...at, folder, ids, args };
}

const idsIn = (text: string) =>
  [...text.matchAll(/"eventId":"([\da-f-]{36})"/g)].map(([, id]) => id as string);

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
        const { stdout } = await at.run(['profiles', 'list', '--json'], { env, context });
        const names = (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
        const left = await vaults();
        // Secrets without a profile would be hard to find.
        const isTrue =
          names.length === 1 ? !(hasEnded && isProfile) : isProfile && names.length + left.length === 0;
        const isGone = !hasEnded || left.length === 0;
        const again = names.length === 1 ? await at.run(args, { env, context }) : undefined;
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
    at.forget(old.slice(5));
    clock.advance(30 * 60_000);
    const added = Array.from({ length: 7 }, () => at.control.addEvent().eventId);
    clock.advance(2_000);
    const all = [...old, ...added].sort();
    const update = ['events', 'export', at.directory, ...args];
    const run = await recordRun(at.env, update, at.directory);
    expect(run.result).toMatchObject({ code: 0 });
    expect((await at.ids()).sort()).toEqual(all);
    expect(run.moments).toBeGreaterThan(20);
    await eachLoss('export --update', run, async (hasEnded) => {
      const counted = await at.run(['events', 'count', '--from', at.directory], { context });
      const isTrue = counted.code === 0 ? Number(counted.stdout) >= (hasEnded ? all : old).length : !hasEnded;
      const after = await at.run(update, { context });
      const held =
        isTrue && after.code === 0 && JSON.stringify((await at.ids()).sort()) === JSON.stringify(all);
      return held ? undefined : { counted, after, parts: await at.parts() };
    });
    expect(await readFile(path.join(at.directory, 'manifest.json'), 'utf8')).toContain('sha256');
  });

  test('of watch --state >> FILE loses no event: the next run prints those that the file does not hold', async () => {
    await using at = await startWatched(1200);
    const log = path.join(at.folder, 'log.ndjson');
    await writeFile(log, '');
    const args = [...at.args, '--ndjson'];
    const run = await recordRun(at.env, args, at.folder, log);
    expect(run.result).toMatchObject({ code: 0 });
    expect(idsIn(await readFile(log, 'utf8'))).toEqual(at.ids);
    await eachLoss('watch --state', run, async () => {
      const kept = idsIn(await readFile(log, 'utf8').catch(() => ''));
      const { code, stdout, stderr } = await at.run(args, { context });
      const all = new Set([...kept, ...idsIn(stdout)]);
      const missing = at.ids.filter((id) => !all.has(id));
      return code === 0 && missing.length === 0 ? undefined : { code, stderr, missing: missing.length };
    });
  });

  test('of watch --state -- COMMAND loses no event, and runs at most the last one again', async () => {
    await using at = await startWatched(6);
    const notes = path.join(at.folder, 'notes');
    const args = [...at.args, '--', 'sh', '-c', `echo "$HOOKTRAIL_EVENT_ID" >> "${notes}"`];
    const run = await recordRun(at.env, args, at.folder);
    expect(run.result).toMatchObject({ code: 0 });
    expect(run.appended(run.moments, notes).split('\n').filter(Boolean)).toEqual(at.ids);
    await eachLoss('watch --state -- COMMAND', run, async (_, steps) => {
      const before = run.appended(steps, notes).split('\n').filter(Boolean);
      const ran: string[] = [];
      const startProgram: StartProgram = async (_words, environment) => {
        ran.push(environment['HOOKTRAIL_EVENT_ID'] as string);
        return { ended: Promise.resolve(0), kill: () => undefined };
      };
      const { code, stderr } = await at.run(args, { context: { ...context, startProgram } });
      const isComplete = new Set([...before, ...ran]).size === at.ids.length;
      const again = before.filter((id) => ran.includes(id));
      const isTrue = code === 0 && isComplete && again.every((id) => id === before.at(-1));
      return isTrue ? undefined : { code, stderr, before, ran };
    });
  });

  test('of webhooks listen loses no event that it acknowledged, though its process was killed before', async () => {
    await using handler = await startHandler();
    await using home = await createHome();
    const random = randomOf('power loss');
    const folder = path.join(home.folder, 'journals');
    await mkdir(folder, { mode: 0o700 });
    const journal = path.join(folder, 'events.journal');
    const args = ['webhooks', 'listen', '--port', '0', '--journal', journal, '--forward-to', handler.url];
    const recording = await startRecording(folder);
    const unanswered = new Set<string>();
    const kills = sampleSize(2, 4);
    for (let round = 0; round < kills; round++) {
      const program = recording.start({ ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN }, args);
      const port = await portOf(program);
      const send = async (eventId: string) => {
        // Some are sent twice, simultaneously: an event acknowledged as known has to be on the disk, too.
        const copies = random.float() < 0.2 ? 2 : 1;
        unanswered.add(eventId);
        const sent = () => post(port, JSON.stringify({ eventId })).then(() => unanswered.delete(eventId));
        await Promise.all(Array.from({ length: copies }, sent));
      };
      // The next process acknowledges as known what a killed one may have written.
      for (const id of [...unanswered]) await send(id);
      const senders = Array.from({ length: 16 }, async (_, sender) => {
        for (let index = 0; index < 12; index++) await send(`${round} ${sender} ${index}`);
      });
      await senders[random.below(16)];
      program.kill('SIGKILL');
      await Promise.allSettled(senders);
      await program.finished;
    }
    const recorded = await recording.recorded();
    expect(recorded.acknowledged(recorded.moments).length).toBeGreaterThan((kills * 16 * 12) / 2);
    const rounds = faultRounds(40, 2_000);
    for (let round = 0; round < rounds; round++) {
      const steps = random.below(recorded.moments);
      await recorded.lose(steps, random);
      const ids = await readJournal(journal, thisMachine()).catch(() => undefined);
      const lost = recorded.acknowledged(steps).filter((id) => !ids?.ids.has(eventKey(id)));
      expect(lost, `a loss of power behind step ${steps}`).toEqual([]);
    }
    noteFaults('listen, a loss of power', rounds, rounds);
  });
});
