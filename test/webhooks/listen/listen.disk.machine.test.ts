import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, inject, test } from 'vitest';
import { readJournal } from '../../../src/webhooks/journal.ts';
import { thisMachine } from '../../support/context.ts';
import { startHandler } from '../../support/handler.ts';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, portOf, post, startRecovering } from '../../support/listening.ts';
import { available } from '../../support/machine/requirement.ts';
import {
  describeFaults,
  expectNoHarm,
  hasOutcomes,
  KINDS,
  SIGNALS,
  startStraced,
  traceCommand,
} from '../../support/machine/strace-faults.ts';
import { type Running, startProcess } from '../../support/process.ts';
import { hooktrail } from '../../support/program.ts';
import { idsOf } from '../../support/searching.ts';
import { drawnCases } from '../../support/seed.ts';

test.skipIf(!available('prlimit'))(
  'when a full disk has room again, deliveries are accepted again behind the record that was cut',
  async () => {
    await using handler = await startHandler();
    await using home = await createHome();
    const listener = await startLimited(home.env, '-S -f 1', '', '--forward-to', handler.url);
    const sent = async (from: number, to: number) => {
      const statuses: number[] = [];
      for (let id = from; id < to; id++) statuses.push(await listener.send(id));
      return statuses;
    };
    const statuses = await sent(0, 25);
    const full = handler.received.length;
    // The limit of 512 bytes is inside one of the records.
    const whole = statuses.indexOf(502);
    expect(whole).toBeGreaterThan(5);
    expect(statuses).toEqual([...Array(whole).fill(200), ...Array(25 - whole).fill(502)]);
    expect(full).toBe(whole + 1);
    execFileSync('/usr/bin/prlimit', [`--pid=${listener.pid}`, '--fsize=unlimited:']);
    expect(new Set(await sent(whole, 40))).toEqual(new Set([200]));
    listener.kill();
    await listener.closed;
    expect((await readJournal(listener.journal, thisMachine()))?.ids.size).toBe(40);
    // The event that the full disk cut off is written first, and does not reach the handler again.
    expect([...handler.taken]).toEqual(Array.from({ length: 40 }, (_, id) => [String(id), 1]));
  },
);

// The limit cuts the last line, since it is not a multiple of the line length.
const PAD = 333;

test.each(['with', 'without'])(
  'the line of each acknowledged delivery is whole in a file that cannot grow, %s a handler',
  async (kind) => {
    await using handler = await startHandler();
    await using home = await createHome();
    const forward = kind === 'with' ? ['--forward-to', handler.url] : [];
    const listener = await startLimited(home.env, '-f 16', '> "$out"', ...forward);
    const acknowledged: string[] = [];
    for (let id = 0; id < 100 && listener.isRunning(); id++)
      if ((await listener.send(id, PAD)) === 200) acknowledged.push(String(id));
    expect(await listener.closed).toEqual([1, null]);
    expect(listener.errors.at(-1)).toMatch(/^error: the output cannot be written: file too large \(EFBIG\)/);
    expect(acknowledged.length).toBeGreaterThan(10);
    expect(await listener.ids()).toEqual(acknowledged);
  },
);

test('a delivery that was answered 502, since its line could not be written, gets its line when it is sent again', async () => {
  await using handler = await startHandler();
  await using home = await createHome();
  const start = (limit: string) =>
    startLimited(home.env, `-f ${limit}`, '>> "$out"', '--forward-to', handler.url);
  const limited = await start('16');
  let refused = 0;
  while (refused < 100 && (await limited.send(refused, PAD)) === 200) refused++;
  await limited.closed;
  const again = await start('unlimited');
  expect(await again.send(refused, PAD)).toBe(200);
  again.kill();
  await again.closed;
  // No part of the line that did not fit stands before it.
  expect(await again.ids()).toEqual(Array.from({ length: refused + 1 }, (_, id) => String(id)));
});

/** Starts a listener whose files cannot grow above some blocks of 512 bytes, and reads what it says. */
async function startLimited(
  env: Readonly<Record<string, string>>,
  limit: string,
  rest: string,
  ...args: string[]
) {
  const words = ['-c', `ulimit ${limit} && out=$1 && shift && exec "$@" ${rest}`, 'sh'];
  const listen = ['webhooks', 'listen', '--port', '0', ...args];
  const home = env['HOME'] as string;
  const output = path.join(home, 'events.ndjson');
  const journal = path.join(home, 'events.journal');
  const all = [...words, output, process.execPath, inject('program'), ...listen, '--journal', journal];
  const program = spawn('sh', all, {
    env: { ...env, HOOKTRAIL_API_TOKEN: API_TOKEN, NODE_DISABLE_COMPILE_CACHE: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const closed = once(program, 'close');
  const errors: string[] = [];
  const lines = createInterface(program.stderr);
  const port = await new Promise<number>((resolve, reject) => {
    lines.on('line', (line) => {
      errors.push(line);
      const port = /listening on http:\/\/127\.0\.0\.1:(\d+)\//.exec(line)?.[1];
      if (port) resolve(Number(port));
    });
    lines.on('close', () => reject(new Error(errors.join('\n'))));
  });
  // A last line that did not fit is no line.
  const ids = async () => idsOf((await readFile(output, 'utf8')).replace(/[^\n]*$/, ''));
  const send = (id: number | string, pad = 0) =>
    post(port, JSON.stringify({ eventId: String(id), pad: 'x'.repeat(pad) })).then(
      ({ status }) => status,
      () => 0,
    );
  const [kill, isRunning] = [() => program.kill('SIGKILL'), () => program.exitCode === null];
  return { pid: program.pid, journal, closed, errors, ids, send, kill, isRunning };
}

const EVENTS = 6;

describeFaults('a fault at any file operation of a listener that also serves a recovery', () => {
  test.each(['pread64', 'statx'])(
    'a journal that fails at %s is an error, and keeps what it holds',
    async (call) => {
      await using handler = await startHandler();
      await using home = await createHome();
      const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
      const journal = path.join(home.folder, 'events.journal');
      const args = ['webhooks', 'listen', '--port', '0', '--journal', journal, '--forward-to', handler.url];
      const listener = startProcess(args, { env });
      expect((await post(await portOf(listener), '{"eventId":"a"}')).status).toBe(200);
      listener.kill('SIGTERM');
      await listener.finished;
      const held = await readFile(journal, 'utf8');
      const fault = ['-P', journal, '-e', `trace=${call}`, '-e', `inject=${call}:error=EIO`];
      const { program } = startStraced(env, args, ...fault);
      expect(await program.finished).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^error: .*\(EIO\)/),
      });
      expect(await readFile(journal, 'utf8')).toBe(held);
    },
  );

  test.each(drawnCases('listen and recover', 1, KINDS))(
    '%s: what it acknowledged is printed, journaled and forwarded once; what the recovery says was forwarded was',
    async (kind, codes) => {
      await using at = await startRecovering({ events: EVENTS, tokenLifetimeSeconds: 864_000 });
      const { handler, env } = at;
      const home = env['HOME'] as string;
      const folder = path.join(home, 'journals');
      const journal = path.join(folder, 'events.journal');
      const fresh = async () => {
        await rm(folder, { recursive: true, force: true });
        await mkdir(folder, { mode: 0o700 });
        handler.taken.clear();
      };
      const args = ['webhooks', 'listen', '--port', '0', '--journal', journal, '--forward-to', handler.url];
      const timesOf = (id: string) => handler.taken.get(id) ?? 0;
      const isDelivery = (id: string) => id.length === 1;
      const recoveredTimes = () =>
        [...handler.taken].filter(([id]) => !isDelivery(id)).map(([, times]) => times);
      /**
       * Sends deliveries, two of them at once, and recovers everything, through the listener if there is one.
       */
      const use = async (program: Running) => {
        const acknowledged: string[] = [];
        const port = await portOf(program).catch(() => undefined);
        const send = async (eventId: string) => {
          const answer = port && (await post(port, JSON.stringify({ eventId })).catch(() => undefined));
          if (answer && answer.status === 200) acknowledged.push(eventId);
        };
        for (const id of ['a', 'b']) await send(id);
        await Promise.all([send('c'), send('d')]);
        const recovery = at.args('--journal', journal, '--new-journal', '--retry-for', '1s', '--ndjson');
        const recovered = await hooktrail(recovery, { env });
        const taken = recoveredTimes().length;
        program.kill('SIGTERM');
        return { result: await program.finished, acknowledged, recovered, taken };
      };
      await fresh();
      const isOurs = (file: string) => file.startsWith(home) && !file.includes('/compiled/');
      const command = await traceCommand(env, args, isOurs, async (program) => {
        const whole = await use(program);
        expect(whole).toMatchObject({
          acknowledged: expect.arrayContaining(['a', 'b', 'c', 'd']),
          taken: EVENTS,
        });
        expect([whole.result.code, whole.recovered]).toMatchObject([
          143,
          {
            code: 0,
            stderr: expect.stringContaining(`${EVENTS} forwarded; 0 in the journal already; 0 left\n`),
          },
        ]);
      });
      const ofJournal = command.operations.filter((operation) => operation.path === journal);
      expect(ofJournal.length).toBeGreaterThan(EVENTS);
      await expectNoHarm(`listen and recover, ${kind}`, command, codes, async (start) => {
        await fresh();
        const first = await use(start());
        const printed = idsOf(first.result.stdout);
        const once = first.acknowledged.every((id) => timesOf(id) === 1 && printed.includes(id));
        // Another listener knows what was acknowledged, and takes the rest.
        const again = await use(startProcess(args, { env }));
        const known = first.acknowledged.every((id) => timesOf(id) === 1);
        const all = again.acknowledged.length === 4 && handler.taken.size === 4 + EVENTS;
        const told =
          hasOutcomes(first.recovered) &&
          (codes === SIGNALS || first.result.code === 143 || hasOutcomes(first.result));
        // Exit code 0 of a recovery says that the handler has all events, and that they are in the journal.
        const isTrue =
          first.recovered.code !== 0 ||
          (first.taken === EVENTS &&
            again.recovered.stderr.startsWith(`0 forwarded; ${EVENTS} in the journal`) &&
            // An event that the journal could not note after the handler took it comes again: with one
            // fault, one event.
            recoveredTimes().filter((times) => times > 1).length <= 1);
        const isRecovered = again.recovered.code === 0;
        return once && known && all && told && isTrue && isRecovered
          ? undefined
          : { once, known, all, told, isTrue, first, again };
      });
    },
  );
});
