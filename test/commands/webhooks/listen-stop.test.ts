import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { startHandler } from '../../support/handler.ts';
import { API_TOKEN, accepted, duplicate, startListening } from '../../support/listening.ts';
import { startHooktrail } from '../../support/program.ts';

describe('stopping', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('on %s deliveries in progress are finished and journaled', async (signal, code) => {
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
    const late = () =>
      new Promise((resolve) => {
        const socket = connect(listening.port, '127.0.0.1', () => resolve(socket.destroy() && 'connected'));
        socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
      });
    await expect.poll(late).toBe('ECONNREFUSED');
    answer(200);
    expect(await sent).toMatchObject(accepted);
    const result = await listening.program.finished;
    expect(result.code).toBe(code);
    expect(result.stdout).toBe('{"eventId":"last"}\n');
    handler.answer = () => 200;
    await listening.restart('SIGTERM');
    expect(await listening.send('{"eventId":"last"}')).toMatchObject(duplicate);
  });

  test('when nobody reads the lines any more, it exits successfully and acknowledges nothing', async () => {
    await using listening = await startListening();
    expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
    listening.program.closeStdout();
    const answer = await listening.send('{"eventId":"b"}').catch(() => ({ status: 0 }));
    expect([0, 502]).toContain(answer.status);
    expect((await listening.program.finished).code).toBe(0);
  });

  test('takes at most ten seconds if the handler never answers', async () => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url, '--forward-timeout', '3600');
    handler.answer = () => new Promise(() => undefined);
    const sent = listening.send('{"eventId":"a"}');
    await expect.poll(() => handler.received.length).toBe(1);
    listening.program.kill('SIGINT');
    await listening.program.printed('stderr', /waiting up to 10 s for 1 delivery in progress\n/);
    await clock.asleep(10_000);
    // A second passes before it says that it is waiting.
    clock.advance(9_000);
    expect((await sent).status).toBe(502);
    expect((await listening.program.finished).code).toBe(130);
  });

  test.each([
    ['sends nothing', ''],
    ['has sent half of its headers', 'POST / HTTP/1.1\r\nHost: x\r\n'],
    [
      'has sent half of a body',
      `POST / HTTP/1.1\r\nHost: x\r\nApi-Token: ${API_TOKEN}\r\nContent-Length: 40\r\n\r\n{"eventId":`,
    ],
  ])('does not wait for a sender that %s', { timeout: 9_000 }, async (_name, text) => {
    await using listening = await startListening();
    const socket = connect(listening.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => undefined).write(text);
    expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
    listening.program.kill('SIGTERM');
    expect((await listening.program.finished).code).toBe(143);
  });

  test('while another listener has the journal, it waits, and a signal ends the wait', async () => {
    await using listening = await startListening();
    const { env, journal } = listening;
    const args = ['webhooks', 'listen', '--port', '0', '--journal', journal];
    const other = startHooktrail(args, { env });
    await other.printed('stderr', /waiting for another hooktrail process \(\d+\) that has the journal \S+\n/);
    other.kill('SIGTERM');
    expect((await other.finished).code).toBe(143);
    const next = startHooktrail(args, { env });
    await next.printed('stderr', /waiting for/);
    listening.program.kill('SIGTERM');
    await next.printed('stderr', /listening on/);
    next.kill('SIGTERM');
    expect((await next.finished).code).toBe(143);
  });
});
