import { stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { startHandler } from '../../support/handler.ts';
import { API_TOKEN, accepted, duplicate, startListening, underWay } from '../../support/listening.ts';
import { startListeningProcess } from '../../support/listening-process.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';

describe('a delivery', () => {
  test('is forwarded byte for byte, with its content type and token, and printed as one line', async () => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url);
    const body = Buffer.from(
      `\ufeff{ "eventId" : "${ID}",\n\t"n": 1.10, "big": 9007199254740993, "s": "a \\" b\\u00e9é", "n": 2 }\r\n`,
    );
    const type = 'application/cloudevents+json; charset=utf-8';
    expect(await listening.send(body, { 'content-type': type })).toMatchObject(accepted);
    expect(handler.received).toHaveLength(1);
    const [handed] = handler.received;
    expect(handed?.body.equals(body)).toBe(true);
    expect(handed).toMatchObject({ method: 'POST', url: '/hooks?tenant=1' });
    expect(handed?.headers).toMatchObject({
      'content-type': type,
      'api-token': API_TOKEN,
      'content-length': String(body.length),
    });
    await listening.program.printed('stdout', /\n/);
    expect(listening.program.stdout).toBe(
      `{"eventId":"${ID}","n":1.10,"big":9007199254740993,"s":"a \\" b\\u00e9é","n":2}\n`,
    );
  });

  test('without a handler is accepted once it is printed', async () => {
    await using listening = await startListening();
    expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
    expect(listening.program.stdout).toBe('{"eventId":"a"}\n');
  });

  test('that was accepted before is acknowledged and not forwarded, also after a restart and a crash', async () => {
    await using handler = await startHandler();
    await using listening = await startListeningProcess('--forward-to', handler.url);
    expect(await listening.send(`{"eventId":"${ID}"}`)).toMatchObject(accepted);
    expect(await listening.send(`{"eventId":"${ID.toUpperCase()}","copy":true}`)).toMatchObject(duplicate);
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGINT'] as const) {
      await listening.restart(signal);
      expect(await listening.send(`{"eventId":"${ID}"}`)).toMatchObject(duplicate);
    }
    expect(handler.received).toHaveLength(1);
  });

  test('whose copy is in progress waits for its outcome', async () => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url, '--health', '/health');
    let answer: (status: number) => void = () => {};
    const answers = () =>
      new Promise<number>((resolve) => {
        answer = resolve;
      });
    for (const status of [500, 200]) {
      handler.answer = answers;
      const before = handler.received.length;
      const copies = [1, 2, 3].map(() => listening.send('{"eventId":"twin"}'));
      await expect.poll(() => handler.received.length).toBe(before + 1);
      // All three, and the health request, wait for an answer.
      await expect.poll(() => underWay(listening)).toBe(4);
      answer(status);
      const outcomes = (await Promise.all(copies)).map(({ status, body }) => `${status} ${body}`).sort();
      expect(handler.received).toHaveLength(before + 1);
      if (status === 200) {
        expect(outcomes).toEqual([`200 ${accepted.body}`, `200 ${duplicate.body}`, `200 ${duplicate.body}`]);
      } else {
        expect(outcomes).toEqual(
          Array(3).fill('502 {"code":"handler.failed","message":"the handler did not accept the delivery"}'),
        );
      }
    }
  });

  test.each([500, 404, 302, 401])(
    'that the handler answers %i is a 502, and can come again',
    async (status) => {
      await using handler = await startHandler();
      await using listening = await startListening('--forward-to', handler.url);
      handler.answer = () => status;
      expect((await listening.send('{"eventId":"a"}')).status).toBe(502);
      await listening.program.printed(
        'stderr',
        new RegExp(`warning: a: the handler answered ${status}: thanks\n`),
      );
      handler.answer = () => 204;
      expect(await listening.send('{"eventId":"a"}')).toMatchObject(accepted);
      expect(handler.received).toHaveLength(2);
    },
  );

  test('is a 502 if the handler is not there, or does not answer in time', async () => {
    const handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url, '--forward-timeout', '1');
    handler.answer = () => new Promise(() => undefined);
    expect((await listening.send('{"eventId":"a"}')).status).toBe(502);
    await handler[Symbol.asyncDispose]();
    expect((await listening.send('{"eventId":"b"}')).status).toBe(502);
    await listening.program.printed(
      'stderr',
      /warning: a: the handler did not answer: \S+ took more than 1 s/,
    );
  });

  test('is journaled only if the handler accepted it', async () => {
    await using handler = await startHandler();
    await using listening = await startListening('--forward-to', handler.url);
    const before = (await stat(listening.journal)).size;
    handler.answer = () => 503;
    await listening.send('{"eventId":"a"}');
    expect((await stat(listening.journal)).size).toBe(before);
    handler.answer = () => 200;
    await listening.send('{"eventId":"a"}');
    expect((await stat(listening.journal)).size).toBe(before + 44);
  });
});
