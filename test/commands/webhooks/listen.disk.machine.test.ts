import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, inject, test } from 'vitest';
import { readIds } from '../../../src/webhooks/journal.ts';
import { thisMachine } from '../../support/context.ts';
import { startHandler } from '../../support/handler.ts';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, portOf, post, startRecovering } from '../../support/listening.ts';
import { available } from '../../support/machine/requirement.ts';
import {
  DISK_ERRORS,
  eachOperation,
  FULL,
  isTold,
  SIGNALS,
  startFaulty,
  startTraced,
} from '../../support/machine/strace-faults.ts';
import { type Running, spawnHooktrail } from '../../support/process.ts';

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
    // The limit of 512 bytes is inside one of the records.
    const whole = statuses.indexOf(502);
    expect(whole).toBeGreaterThan(5);
    expect(statuses).toEqual([...Array(whole).fill(200), ...Array(25 - whole).fill(502)]);
    execFileSync('/usr/bin/prlimit', [`--pid=${listener.pid}`, '--fsize=unlimited:']);
    expect(new Set(await sent(whole, 40))).toEqual(new Set([200]));
    listener.kill();
    await listener.closed;
    expect((await readIds(listener.journal, thisMachine()))?.size).toBe(40);
    // Refused events reached the handler again, acknowledged ones did not.
    expect([...handler.taken.values()]).toEqual([
      ...Array(whole).fill(1),
      ...Array(25 - whole).fill(2),
      ...Array(15).fill(1),
    ]);
  },
);

// The limit cuts the last line, since it is not a multiple of the line length.
const PAD = 333;

test.skipIf(process.platform === 'win32').each(['with', 'without'])(
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
    expect(listener.errors.at(-1)).toMatch(/^error: the output cannot be written: EFBIG/);
    expect(acknowledged.length).toBeGreaterThan(10);
    expect(await listener.ids()).toEqual(acknowledged);
  },
);

test.skipIf(process.platform === 'win32')(
  'a delivery that was answered 502, since its line could not be written, gets its line when it is sent again',
  async () => {
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
  },
);

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
  const ids = async () =>
    (await readFile(output, 'utf8'))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).eventId);
  const send = (id: number | string, pad = 0) =>
    post(port, JSON.stringify({ eventId: String(id), pad: 'x'.repeat(pad) })).then(
      ({ status }) => status,
      () => 0,
    );
  const [kill, isRunning] = [() => program.kill('SIGKILL'), () => program.exitCode === null];
  return { pid: program.pid, journal, closed, errors, ids, send, kill, isRunning };
}

const KINDS = [
  ['one error', DISK_ERRORS],
  ['a disk that is full from then on', FULL],
  ['a signal', SIGNALS],
] as const;
const EVENTS = 4;

describe.skipIf(!available('the right to trace a process (strace)'))(
  'a fault at any file operation of a listener that also serves recover',
  { timeout: 600_000 },
  () => {
    test.each(KINDS)(
      '%s: what it acknowledged is printed, journaled and forwarded once',
      async (kind, codes) => {
        await using at = await startRecovering({ events: EVENTS });
        const { handler, env } = at;
        const home = env['HOME'] as string;
        const folder = path.join(home, 'journals');
        const journal = path.join(folder, 'events.journal');
        const fresh = async () => {
          await rm(folder, { recursive: true, force: true });
          await mkdir(folder, { mode: 0o700 });
          handler.taken.clear();
        };
        const args = [
          ...['webhooks', 'listen', '--port', '0', '--journal', journal],
          ...['--forward-to', handler.url],
        ];
        /** Sends deliveries, two of them at once, and recovers through the listener. Resolves to the acknowledged ids. */
        const use = async (program: Running) => {
          const acknowledged: string[] = [];
          const port = await portOf(program).catch(() => undefined);
          const send = async (eventId: string) => {
            const answer = await post(port as number, JSON.stringify({ eventId })).catch(() => undefined);
            if (answer?.status === 200) acknowledged.push(eventId);
          };
          let recovered: string | undefined;
          if (port !== undefined) {
            for (const id of ['a', 'b']) await send(id);
            await Promise.all([send('c'), send('d')]);
            const recovery = at.args('--journal', journal, '--retry-for', '1s', '--ndjson');
            const { code, stderr } = await spawnHooktrail(recovery, { env });
            recovered = `${code} ${stderr}`;
            program.kill('SIGTERM');
          }
          return { result: await program.finished, acknowledged, recovered };
        };
        await fresh();
        const traced = await startTraced(env, args, (file) => file.startsWith(home));
        const whole = await use(traced.program);
        expect([whole.acknowledged.sort(), whole.recovered]).toEqual([
          ['a', 'b', 'c', 'd'],
          expect.stringContaining(`0 ${EVENTS} forwarded; 0 in the journal already; 0 left\n`),
        ]);
        const operations = await traced.operations();
        expect(operations.length).toBeGreaterThan(40);
        const broken = await eachOperation(
          `listen, ${kind}`,
          operations,
          codes,
          async (operation, code) => {
            await fresh();
            const first = await use(await startFaulty(env, args, operation, code, operations));
            const printed = first.result.stdout
              .split('\n')
              .filter(Boolean)
              .map((line) => JSON.parse(line).eventId);
            const once = first.acknowledged.every(
              (id) => handler.taken.get(id) === 1 && printed.includes(id),
            );
            // Another listener knows what was acknowledged, and takes the rest.
            const again = await use((await startTraced(env, args, () => false)).program);
            const known = first.acknowledged.every((id) => handler.taken.get(id) === 1);
            const all = again.acknowledged.length === 4 && handler.taken.size === 4 + EVENTS;
            const told = codes === SIGNALS || first.result.code === 143 || isTold(first.result);
            const isRecovered = again.recovered?.startsWith('0 ');
            return once && known && all && told && isRecovered
              ? undefined
              : { once, known, all, told, first, again };
          },
          5,
        );
        expect(broken).toEqual([]);
      },
    );
  },
);
