import { rm } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { ended, portOf, type Recovering, startRecovering } from '../../support/listening.ts';
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
import { type Running, startProcess } from '../../support/process.ts';

const EVENTS = 6;

/** Resolves when the listener listens, or has ended. */
const started = (listener: Running) => portOf(listener).catch(() => undefined);

function listenArgs({ journal, handler }: Recovering): string[] {
  return ['webhooks', 'listen', '--port', '0', '--journal', journal, '--forward-to', handler.url];
}

/** Recovers everything, whoever has the journal. */
function startRecovery(at: Recovering): Running {
  return startProcess(at.args('--new-journal', '--retry-for', '1s'), { env: at.env });
}

async function forget({ journal, handler }: Recovering): Promise<void> {
  for (const suffix of ['', '.lock', '.compacting'])
    await rm(journal + suffix, { recursive: true, force: true });
  handler.received.length = 0;
  handler.taken.clear();
}

describe.skipIf(!available('the right to trace a process (strace)'))(
  'a fault at any file operation of a listener that serves a recovery',
  { timeout: 600_000 },
  () => {
    test.each([
      ['one error', DISK_ERRORS],
      ['a disk that is full from then on', FULL],
      ['a signal', SIGNALS],
    ] as const)('%s: what is said to be forwarded was, and nothing is lost', async (kind, codes) => {
      await using at = await startRecovering({ events: EVENTS, tokenLifetimeSeconds: 864_000 });
      const home = at.env['HOME'] as string;
      const { program, operations } = await startTraced(
        at.env,
        listenArgs(at),
        (file) => file.startsWith(home) && !file.includes('/compiled/'),
      );
      await portOf(program);
      expect(await startRecovery(at).finished).toMatchObject({ code: 0 });
      program.kill('SIGTERM');
      expect((await program.finished).code).toBe(143);
      const found = await operations();
      expect(found.filter(({ path: file }) => file === at.journal).length).toBeGreaterThan(EVENTS);
      const broken = await eachOperation(
        `listen and recover, ${kind}`,
        found,
        codes,
        async (operation, code) => {
          await forget(at);
          const listener = await startFaulty(at.env, listenArgs(at), operation, code, found);
          await started(listener);
          const result = await startRecovery(at).finished;
          const takenBy = at.handler.taken.size;
          await ended(listener);
          const told = isTold(result) && isTold({ ...(await listener.finished), code: 0 });
          // Exit code 0 says that the handler has all events.
          const isTrue = result.code !== 0 || takenBy === EVENTS;
          const after = await startRecovery(at).finished;
          const isWhole = after.code === 0 && at.handler.taken.size === EVENTS;
          // An event that the journal could not note after the handler took it comes again: with one fault, one event.
          const doubled = [...at.handler.taken.values()].filter((times) => times > 1).length;
          const isOnce = result.code !== 0 || doubled <= 1;
          // Each event that is reported as forwarded is in the journal.
          const isNoted =
            result.code !== 0 || after.stderr.startsWith(`0 forwarded; ${EVENTS} in the journal`);
          return told && isTrue && isWhole && isOnce && isNoted
            ? undefined
            : { result, after, taken: [...at.handler.taken], listener: await listener.finished };
        },
      );
      expect(broken).toEqual([]);
    });
  },
);
