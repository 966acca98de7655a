import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../../src/sandbox/random.ts';
import type { ShapeName } from '../../src/sandbox/shapes/service-shape.ts';
import { measure } from '../bench/measure.ts';
import { program } from '../bench/processes.ts';
import { browserCommand } from '../support/browser.ts';
import { createHome } from '../support/home.ts';
import { freePort } from '../support/ports.ts';
import { sandboxEnv, startSandbox } from '../support/sandbox.ts';
import { ask } from '../support/server.ts';
import { CommandLog, checkChanges, checkRecords, withoutRepeats, writeCommand } from './command-log.ts';
import { AFTERMATH_MS, startHandlerLedger } from './handler-ledger.ts';
import { ageUnfinished, leftovers } from './leftovers.ts';
import { LongRunner } from './long-runner.ts';
import { ParallelCommands, recordName, runCommand } from './parallel-commands.ts';
import type { Verdict } from './verdict.ts';

interface SoakOptions {
  readonly shape: ShapeName;
  readonly minutes: number;
  readonly seed: number;
  /** The number of commands that run at once. */
  readonly commands: number;
}

export const FAULT_RATE = 0.05;
/** Short, so that it is renewed every minute: it counts as expired a minute before its end. */
const TOKEN_LIFETIME_SECONDS = 120;
const EVENT_INTERVAL_MS = 500;
const DUPLICATES = 0.1;
/** Share of the time in which the long-running commands are killed. Their memory is measured after it. */
const KILLED_SHARE = 1 / 3;
/** Share of the time for which a new process grows before its memory is measured. */
const WARM_UP_SHARE = 0.1;
/** The commands need a window to read. */
const FIRST_WAVE_MS = 10_000;
const SAMPLE_INTERVAL_MS = 2_000;
/** One in so many samples is printed. */
const SAMPLES_A_LINE = 60;
const RENEWAL_INTERVAL_MS = 8_000;
/** Connections that nobody uses are closed within this time. */
const QUIET_MS = 12_000;
/** What was sent is handled within this time, by a busy machine too. */
const SETTLING_MS = 240_000;
/** Sockets beyond those at the start: pools of connections are larger after heavy use. */
const MAX_SOCKETS = 8;

/** Runs a soak against a service with items of one shape. Returns the rows of what was measured. */
export async function soakInShape(
  { shape, minutes, seed, commands }: SoakOptions,
  verdict: Verdict,
): Promise<[string, string][]> {
  const random = new Random(seed);
  await using home = await createHome();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const apiToken = randomUUID();
  await using sandbox = await startSandbox({
    shape,
    events: 0,
    seed,
    autoApprove: true,
    tokenLifetimeSeconds: TOKEN_LIFETIME_SECONDS,
    deliveries: { url, apiToken, duplicates: DUPLICATES },
  });
  const { store, subscriptions, behaviour } = sandbox.control;
  // The machine's own clock and the user's processes alone: no time is given, unlike in tests.
  const env: NodeJS.ProcessEnv = {
    ...home.env,
    HOOKTRAIL_TEST_SHIFT: undefined,
    ...sandboxEnv(sandbox.settings),
    HOOKTRAIL_BROWSER: browserCommand,
  };
  const hooktrail = (args: readonly string[], lifeMs?: number) => runCommand(args, env, lifeMs, verdict);
  const signIn = () => measure({ file: process.execPath, args: [program, 'login', '--quiet'], env });
  await signIn();
  const takers = new Map<number, Promise<void>>();
  /** Signs in once for each process that took the sign-in with it. */
  const signInAgain = (taker: number): Promise<void> => {
    const again = takers.get(taker) ?? signIn().then(() => undefined);
    takers.set(taker, again);
    return again;
  };

  const rows = (subscriptions?.active().map(({ id }) => id) ?? [1, 2, 3].map(() => randomUUID())).slice(0, 3);
  const listened = subscriptions ? await createSubscription(url, hooktrail) : randomUUID();
  const deliver = store.onAdded;
  store.onAdded = (event) => event.subscriptionId === listened && deliver(event);

  const journal = path.join(home.folder, 'events.journal');
  await using handler = await startHandlerLedger(journal, new Random(seed + 1), verdict);
  const recordCommand = writeCommand(
    path.join(home.folder, 'note-record'),
    '$HOOKTRAIL_EVENT_ID $HOOKTRAIL_EVENT_SUBSCRIPTION_ID',
  );
  const changeCommand = writeCommand(
    path.join(home.folder, 'note-change'),
    '$HOOKTRAIL_CHANGE $HOOKTRAIL_SUBSCRIPTION_ID',
  );
  const [records, changes] = [new CommandLog(recordCommand), new CommandLog(changeCommand)];
  const own = subscriptions ? ['--subscription', listened] : [];
  const flags = ['--journal', journal, '--forward-to', handler.url, ...own];
  const following = ['--interval', '2s', '--overlap', '30s'];
  const ofListener = subscriptions ? env : { ...env, HOOKTRAIL_API_TOKEN: apiToken };
  const listener = new LongRunner(
    'webhooks listen',
    ['webhooks', 'listen', '--port', `${port}`, '--recover', '10m', '--recover-interval', '10s', ...flags],
    /listening on/,
    { env: ofListener, verdict, signInAgain },
  );
  const state = (name: string) => ['--state', path.join(home.folder, name)];
  const watch = new LongRunner(
    'events watch',
    ['events', 'watch', ...following, ...state('watch.json'), '--', recordCommand],
    /watching/,
    { env, verdict, signInAgain },
  );
  const health = new LongRunner(
    'health --watch',
    [
      ...['events', 'health', '--watch', ...following, ...state('health.json')],
      ...rows.flatMap((id) => ['--subscription', id]),
      ...['--', changeCommand],
    ],
    /watching health/,
    { env, verdict, signInAgain },
  );
  const runners = [listener, watch, health];
  await Promise.all(runners.map((runner) => runner.start()));
  await delay(QUIET_MS);
  const filesAtStart = runners.map((runner) => runner.openFiles());

  const began = Date.now();
  const end = began + minutes * 60_000;
  const killsEnd = began + minutes * 60_000 * KILLED_SHARE;
  behaviour.faultRate = FAULT_RATE;
  const isOver = () => Date.now() >= end;
  const pool = new ParallelCommands({
    env,
    home: home.folder,
    events: store,
    random: new Random(seed + 2),
    verdict,
    began,
    recover: [
      'webhooks',
      'recover',
      '--since',
      '10m',
      '--until',
      '2s',
      ...flags,
      ...(subscriptions ? [] : ['--subscription', listened]),
    ],
    // Without a listener that is ready, the recovery may be the journal's writer.
    noteKillOfRecovery: () => !listener.isReady && handler.noteKill(),
    signInAgain,
  });
  const renewed = { renewals: 0, failed: 0 };
  const expectedChanges = new Map<string, string[]>(rows.map((row) => [row, []]));

  async function addEvents(): Promise<void> {
    while (!isOver()) {
      store.add({ subscriptionId: listened });
      await delay(EVENT_INTERVAL_MS);
    }
  }

  async function killAgain(runner: LongRunner, note: () => void, draw: Random): Promise<void> {
    while (Date.now() < killsEnd) {
      await delay(3_000 + draw.below(12_000));
      await runner.kill(AFTERMATH_MS + draw.below(2_000), note);
    }
  }

  /** Makes a row fail and recover, again and again, and waits for each change to be reported. */
  async function changeHealth(row: string): Promise<void> {
    const add = async (publishStatus: 'SUCCESS' | 'FAILED', change: string) => {
      for (let count = 0; count < 4; count++) {
        store.add({ subscriptionId: row, publishStatus });
        await delay(EVENT_INTERVAL_MS);
      }
      const expected = expectedChanges.get(row) as string[];
      expected.push(`${change} ${row}`);
      const reported = () => withoutRepeats(changes.lines().filter((line) => line.endsWith(row))).length;
      if (!(await waitFor(() => reported() >= expected.length)))
        verdict.violation(`health --watch did not report '${change} ${row}'`);
    };
    while (!isOver()) {
      await add('FAILED', 'failing');
      await add('SUCCESS', 'recovered');
    }
  }

  async function renewTokens(): Promise<void> {
    while (subscriptions && !isOver()) {
      await delay(RENEWAL_INTERVAL_MS);
      const tokenNow = () => subscriptions.find(listened)?.apiToken as string;
      const old = tokenNow();
      const lifeMs = random.below(8) === 0 ? random.below(2_000) : undefined;
      const { code } = await hooktrail(['subscriptions', 'renew', listened, '--yes'], lifeMs);
      if (code !== 0) {
        renewed.failed++;
        continue;
      }
      renewed.renewals++;
      await probe(tokenNow(), 200);
      if (old !== tokenNow()) await probe(old, 401);
    }
  }

  /** Sends a delivery with that token right after a renewal has been printed. */
  async function probe(token: string, expected: number): Promise<void> {
    const eventId = randomUUID();
    handler.always.add(eventId);
    const kills = listener.killedAt.length;
    const wasReady = listener.isReady;
    const headers = { 'content-type': 'application/json', 'api-token': token };
    const body = JSON.stringify({ eventId, eventType: 'soak.probe', body: {} });
    const send = () => ask(url, { method: 'POST', headers, body }).then(({ status }) => status, String);
    let answer = await send();
    // On a busy machine the handler may be late. The token was right, and a service tries again.
    for (let tries = 1; answer === 502 && tries < 3; tries++) answer = await send();
    if (!wasReady || listener.killedAt.length > kills) return;
    if (answer !== expected)
      verdict.violation(`a delivery after a renewal was answered ${answer} in place of ${expected}`);
  }

  /** Writes again what a killed process was writing, as if an hour had passed. */
  async function removeUnfinished(): Promise<void> {
    ageUnfinished(home);
    await pool.finishExports();
    await signIn();
    await hooktrail(['event-types']);
    if (!subscriptions) return;
    await hooktrail(['subscriptions', 'list']);
    await hooktrail(['subscriptions', 'renew', listened, '--yes']);
  }

  async function sampleRunners(): Promise<void> {
    const minutesNow = () => ((Date.now() - began) / 60_000).toFixed(1);
    let count = 0;
    await delay(killsEnd - Date.now() + minutes * 60_000 * WARM_UP_SHARE);
    while (!isOver()) {
      const samples = runners.map((runner) => runner.sample());
      if (count++ % SAMPLES_A_LINE === 0) console.log(`after ${minutesNow()} min: ${samples.join('; ')}`);
      await delay(SAMPLE_INTERVAL_MS);
    }
  }

  async function runCommands(): Promise<void> {
    await delay(FIRST_WAVE_MS);
    while (!isOver()) {
      await pool.wave(commands);
      await delay(2_000);
    }
  }

  await Promise.all([
    addEvents(),
    killAgain(listener, handler.noteKill, new Random(seed + 3)),
    killAgain(watch, () => records.noteKill(), new Random(seed + 4)),
    killAgain(health, () => changes.noteKill(), new Random(seed + 5)),
    ...rows.map(changeHealth),
    renewTokens(),
    sampleRunners(),
    runCommands(),
  ]);

  const stored = store.page({}, 1, Number.POSITIVE_INFINITY).events;
  const expected = stored.filter(({ subscriptionId }) => subscriptionId === listened);
  await waitFor(() => expected.every(({ eventId }) => handler.takenAt.has(eventId)));
  const lost = expected.filter(({ eventId }) => !handler.takenAt.has(eventId));
  if (lost.length > 0)
    verdict.violation(`the handler did not get ${lost.length} events: ${lost.slice(0, 3).map(recordName)}`);
  await waitFor(() => new Set(records.lines()).size >= stored.length);
  const watched = checkRecords(records, stored.map(recordName), verdict);
  const reported = checkChanges(changes, expectedChanges, verdict);

  await removeUnfinished();
  await delay(QUIET_MS);
  const rowsOfRunners = runners.map((runner, index): [string, string] => {
    const files = runner.openFiles();
    for (const [kind, count] of files) {
      const before = filesAtStart[index]?.get(kind) ?? 0;
      if (count > before + (kind === 'socket' ? MAX_SOCKETS : 0))
        verdict.violation(
          `${runner.name} has ${count} open files of the kind ${kind}, ${before} at the start`,
        );
    }
    const counts = (some: ReadonlyMap<string, number> | undefined) =>
      [...(some ?? [])]
        .map(([kind, count]) => `${count} ${kind}`)
        .sort()
        .join(', ');
    return [
      runner.name,
      `${runner.killedAt.length} kills; ${runner.checkFlat()}; ${counts(filesAtStart[index])} at the start, ${counts(files)} at the end`,
    ];
  });
  await Promise.all(runners.map((runner) => runner.stop()));
  for (const text of await leftovers(home, verdict.killed)) verdict.violation(text);

  const grants = sandbox.log.filter(({ grantType }) => grantType === 'refresh_token');
  return [
    ['events', `${stored.length} records stored, ${expected.length} for the listener`],
    [
      'handler',
      `${handler.takenAt.size} taken, ${handler.counts.takenTwice} taken twice, ${handler.counts.refused} refused`,
    ],
    ['watch', `${watched.handled} handled, ${watched.repeated} repeated after kills`],
    ['health', `${reported.reported} changes, ${reported.repeated} repeated after kills`],
    [
      'renewals',
      subscriptions
        ? `${renewed.renewals} of the Api-Token, ${renewed.failed} lost or killed`
        : 'none in this shape',
    ],
    [
      'commands',
      `${pool.counts.run} run, ${pool.counts.killed} killed, ${pool.counts.exportsResumed} exports resumed`,
    ],
    [
      'sign-in',
      `${grants.length} refreshes, ${grants.filter(({ error }) => error !== undefined).length} refused, ${takers.size} sign-ins lost with a killed process`,
    ],
    ['requests', String(sandbox.log.length)],
    ...rowsOfRunners,
  ];
}

async function createSubscription(
  url: string,
  hooktrail: (args: readonly string[]) => Promise<{ stdout: string }>,
) {
  const flags = ['--type', 'document.*', '--marketplace', '2001', '--yes', '--json'];
  const { stdout } = await hooktrail(['subscriptions', 'create', '--url', url, ...flags]);
  return (JSON.parse(stdout) as { readonly subscriptionId: string }).subscriptionId;
}

/** Waits until the condition holds. Returns false if it did not in the time for settling. */
async function waitFor(holds: () => boolean): Promise<boolean> {
  for (const end = Date.now() + SETTLING_MS; Date.now() < end; await delay(200)) if (holds()) return true;
  return holds();
}
