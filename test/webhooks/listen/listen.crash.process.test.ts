import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startHandler } from '../../support/handler.ts';
import { accepted, duplicate } from '../../support/listening.ts';
import { startListeningProcess } from '../../support/process.ts';
import { faultRounds, noteFaults, randomOf } from '../../support/seed.ts';
import type { PlainAnswer } from '../../support/server.ts';

const SENDERS = 24;
const ROUNDS = faultRounds(3, 300);

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
