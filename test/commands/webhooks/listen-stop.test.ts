import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startHandler } from '../../support/handler.ts';
import { accepted, duplicate, startListening } from '../../support/listening.ts';

describe('stopping', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('on %s what is under way is finished and journaled', async (signal, code) => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url);
    let answer: (status: number) => void = () => {};
    handler.answer = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const sent = listening.send('{"eventId":"last"}');
    await expect.poll(() => handler.received.length).toBe(1);
    listening.program.kill(signal);
    await setTimeout(300);
    await expect(listening.send('{"eventId":"late"}')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    answer(200);
    expect(await sent).toMatchObject(accepted);
    const result = await listening.program.finished;
    expect(result.code).toBe(code);
    expect(result.stdout).toBe('{"eventId":"last"}\n');
    handler.answer = () => 200;
    await listening.restart('SIGKILL');
    expect(await listening.send('{"eventId":"last"}')).toMatchObject(duplicate);
  });

  test('when nobody reads the lines any more, it ends well and acknowledges nothing', async () => {
    await using listening = await startListening();
    expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
    listening.program.closeStdout();
    const answer = await listening.send('{"eventId":"b"}').catch(() => ({ status: 0 }));
    expect([0, 502]).toContain(answer.status);
    expect((await listening.program.finished).code).toBe(0);
  });
});
