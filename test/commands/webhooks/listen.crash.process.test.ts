import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Random } from '../../../src/sandbox/random.ts';
import { eventKey } from '../../../src/webhooks/delivery.ts';
import { readIds } from '../../../src/webhooks/journal.ts';
import { thisMachine } from '../../support/context.ts';
import { startHandler } from '../../support/handler.ts';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, accepted, duplicate, portOf, post } from '../../support/listening.ts';
import { startListeningProcess, startProcess } from '../../support/process.ts';
import { valuesIn } from '../../support/searching.ts';
import { faultRounds, noteFaults, randomOf } from '../../support/seed.ts';
import type { PlainAnswer } from '../../support/server.ts';

const SENDERS = 24;
const ROUNDS = faultRounds(5, 300);

test(`SIGKILL at ${ROUNDS} random moments in mid-load loses and doubles nothing that was acknowledged`, {
  timeout: 60_000 + ROUNDS * 5_000,
}, async () => {
  await using handler = await startHandler();
  await using listening = await startListeningProcess('--forward-to', handler.url);
  const random = randomOf('SIGKILL');
  const acknowledged = new Set<string>();
  const open = new Set<string>();
  const send = async (eventId: string): Promise<PlainAnswer | undefined> => {
    const answer = await listening.send(JSON.stringify({ eventId })).catch(() => undefined);
    if (answer?.status === 200) acknowledged.add(eventId);
    return answer;
  };

  for (let round = 0; round < ROUNDS; round++) {
    let isKilled = false;
    // The moment of the kill: a delivery arrives at the handler, or is answered.
    let left = 1 + random.below(300);
    let kill: () => void = () => {};
    const killed = new Promise<void>((resolve) => {
      kill = resolve;
    });
    const count = () => {
      if (--left === 0) kill();
    };
    handler.answer = () => {
      count();
      return 200;
    };
    const senders = Array.from({ length: SENDERS }, async () => {
      while (!isKilled) {
        const eventId = randomUUID();
        open.add(eventId);
        await send(eventId);
        count();
      }
    });
    await killed;
    listening.program.kill('SIGKILL');
    isKilled = true;
    await Promise.all(senders);
    await listening.restart('SIGKILL');
  }
  handler.answer = () => 200;

  for (const eventId of acknowledged) {
    expect(handler.taken.get(eventId), `${eventId} was acknowledged`).toBe(1);
    expect((await send(eventId))?.body).toBe('{"outcome":"duplicate"}');
  }
  // Unacknowledged events are sent again, and none of them is lost either.
  for (const eventId of open) expect((await send(eventId))?.status).toBe(200);
  const doubled = [...handler.taken].filter(([, times]) => times > 1);
  expect(handler.taken.size).toBe(open.size);
  expect(doubled.length).toBeLessThanOrEqual(ROUNDS * SENDERS);
  noteFaults(`listen, SIGKILL in mid-load, ${acknowledged.size} acknowledged`, ROUNDS, ROUNDS);
});

const LOSSES = faultRounds(100, 2_000);
const STARTS = 4;
const TRACED_SENDERS = 16;
const EACH = 12;

type Step =
  | { readonly op: 'write'; readonly at: number; readonly bytes: string }
  | { readonly op: 'written'; readonly at: number; readonly length: number }
  | { readonly op: 'cut'; readonly size: number }
  | { readonly op: 'sync' | 'folder' }
  | { readonly op: 'ack'; readonly id: string };

/**
 * Returns what a file may contain after a power failure following a step: all synced data, and for each unsynced write
 * as much as the disk happened to have stored.
 */
function fileAfter(steps: readonly Step[], random: Random): Buffer | undefined {
  let disk: Buffer = Buffer.alloc(0);
  let pending: { at: number; bytes: Buffer }[] = [];
  let hasName = false;
  const take = ({ at, bytes }: { at: number; bytes: Buffer }) => {
    const grown = Buffer.alloc(Math.max(disk.length, at + bytes.length));
    disk.copy(grown);
    bytes.copy(grown, at);
    disk = grown;
  };
  for (const step of steps) {
    if (step.op === 'write') pending.push({ at: step.at, bytes: Buffer.from(step.bytes, 'base64') });
    else if (step.op === 'written') {
      const [one] = pending.filter(({ at }) => at === step.at);
      expect(one).toBeDefined();
      pending = pending.filter((other) => other !== one);
      take({ at: step.at, bytes: (one as { bytes: Buffer }).bytes.subarray(0, step.length) });
    } else if (step.op === 'sync') {
      for (const one of pending) take(one);
      pending = [];
    } else if (step.op === 'cut') disk = Buffer.from(disk.subarray(0, step.size));
    else if (step.op === 'folder') hasName = true;
  }
  for (const { at, bytes } of pending) {
    if (random.float() < 0.5) take({ at, bytes: bytes.subarray(0, random.below(bytes.length + 1)) });
  }
  return hasName ? disk : undefined;
}

test.skipIf(process.platform !== 'linux')(
  `a loss of power at any of ${LOSSES} moments loses nothing that was acknowledged`,
  { timeout: 600_000 },
  async () => {
    await using handler = await startHandler();
    await using home = await createHome();
    const random = randomOf('power loss');
    const journal = path.join(home.folder, 'events.journal');
    const trace = path.join(home.folder, 'trace');
    const preload = path.resolve(import.meta.dirname, '../../support/sync-trace.cjs');
    const env = {
      ...home.env,
      HOOKTRAIL_API_TOKEN: API_TOKEN,
      HOOKTRAIL_SYNC_TRACE: trace,
      HOOKTRAIL_TRACED_JOURNAL: journal,
      NODE_OPTIONS: `${home.env['NODE_OPTIONS']} --require="${preload}"`,
    };
    const unanswered = new Set<string>();
    for (let round = 0; round < STARTS; round++) {
      const args = ['webhooks', 'listen', '--port', '0', '--journal', journal, '--forward-to', handler.url];
      const program = startProcess(args, { env });
      const port = await portOf(program);
      const send = async (id: string) => {
        // Some are sent twice, simultaneously: an event acknowledged as known has to be on the disk, too.
        const copies = random.float() < 0.2 ? 2 : 1;
        const body = JSON.stringify({ eventId: id });
        unanswered.add(id);
        const sent = () => post(port, body, { 'x-event-id': id }).then(() => unanswered.delete(id));
        await Promise.all(Array.from({ length: copies }, sent));
      };
      // The next process acknowledges as known what a killed one may have written.
      for (const id of [...unanswered]) await send(id);
      const senders = Array.from({ length: TRACED_SENDERS }, async (_, sender) => {
        for (let index = 0; index < EACH; index++) await send(`${round} ${sender} ${index}`);
      });
      await senders[random.below(TRACED_SENDERS)];
      program.kill('SIGKILL');
      await Promise.allSettled(senders);
      await program.finished;
    }
    const steps = valuesIn<Step>(await readFile(trace, 'utf8'));
    const acks = steps.filter(({ op }) => op === 'ack').length;
    expect(acks).toBeGreaterThan((STARTS * TRACED_SENDERS * EACH) / 2);
    for (let loss = 0; loss < LOSSES; loss++) {
      const moment = random.below(steps.length + 1);
      const before = steps.slice(0, moment);
      const content = fileAfter(before, random);
      const image = path.join(home.folder, 'after.journal');
      if (content) await writeFile(image, content);
      const ids = content && (await readIds(image, thisMachine()));
      const lost = before.filter((step) => step.op === 'ack' && !ids?.has(eventKey(step.id)));
      expect(lost, `a loss of power behind step ${moment}`).toEqual([]);
    }
    noteFaults(`listen, a loss of power, ${acks} acknowledged`, LOSSES, LOSSES);
  },
);

test('what was accepted before is acknowledged and not forwarded, also after a restart and a crash', async () => {
  await using handler = await startHandler();
  await using listening = await startListeningProcess('--forward-to', handler.url);
  const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
  expect(await listening.send(`{"eventId":"${id}"}`)).toMatchObject(accepted);
  expect(await listening.send(`{"eventId":"${id.toUpperCase()}","copy":true}`)).toMatchObject(duplicate);
  for (const signal of ['SIGTERM', 'SIGKILL', 'SIGINT'] as const) {
    await listening.restart(signal);
    expect(await listening.send(`{"eventId":"${id}"}`)).toMatchObject(duplicate);
  }
  expect(handler.received).toHaveLength(1);
});
