import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { portOf, post } from '../../support/listening.ts';
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
import { startRecovering } from '../../support/recovering.ts';
import { available } from '../../support/requirement.ts';

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
