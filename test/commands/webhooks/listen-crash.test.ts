import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startHandler } from '../../support/handler.ts';
import { type Answer, startListeningProcess } from '../../support/listening.ts';

const SENDERS = 24;

test('a SIGKILL in mid-load loses and doubles nothing that was acknowledged', {
  timeout: 120_000,
}, async () => {
  await using handler = await startHandler();
  await using listening = await startListeningProcess('--forward-to', handler.url);
  const acknowledged = new Set<string>();
  const open = new Set<string>();
  const send = async (eventId: string): Promise<Answer | undefined> => {
    const answer = await listening.send(JSON.stringify({ eventId })).catch(() => undefined);
    if (answer?.status === 200) acknowledged.add(eventId);
    return answer;
  };

  for (let round = 0; round < 5; round++) {
    let isKilled = false;
    const senders = Array.from({ length: SENDERS }, async () => {
      while (!isKilled) {
        const eventId = randomUUID();
        open.add(eventId);
        await send(eventId);
      }
    });
    const before = acknowledged.size;
    await expect
      .poll(() => acknowledged.size, { timeout: 20_000, interval: 1 })
      .toBeGreaterThan(before + 50 * round);
    listening.program.kill('SIGKILL');
    isKilled = true;
    await Promise.all(senders);
    await listening.restart('SIGKILL');
  }

  for (const eventId of acknowledged) {
    expect(handler.taken.get(eventId), `${eventId} was acknowledged`).toBe(1);
    expect((await send(eventId))?.body).toBe('{"outcome":"duplicate"}');
  }
  // What nobody was told about comes again, and none of it is lost either.
  for (const eventId of open) expect((await send(eventId))?.status).toBe(200);
  const doubled = [...handler.taken].filter(([, times]) => times > 1);
  expect(handler.taken.size).toBe(open.size);
  expect(doubled.length).toBeLessThanOrEqual(5 * SENDERS);
});
