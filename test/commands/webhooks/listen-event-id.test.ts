import { expect, test } from 'vitest';
import { startHandler } from '../../support/handler.ts';
import { accepted, duplicate, startListening } from '../../support/listening.ts';

test('an eventId is distinguished from every other one, whatever text it is', async () => {
  await using handler = await startHandler();
  await using listening = await startListening('--forward-to', handler.url);
  const ids = ['\\ud800', '\\ud801', '\\ufffd', '\\u0000', ' ', '__proto__', 'x'.repeat(100_000)];
  for (const id of ids) expect(await listening.send(`{"eventId":"${id}"}`)).toMatchObject(accepted);
  for (const id of ids) expect(await listening.send(`{"eventId":"${id}"}`)).toMatchObject(duplicate);
  expect(handler.received).toHaveLength(ids.length);
});

test('an eventId is found however its name is escaped; the last of several counts', async () => {
  await using handler = await startHandler();
  await using listening = await startListening('--forward-to', handler.url);
  expect(await listening.send('{"\\u0065vent\\u0049d":"a"}')).toMatchObject(accepted);
  expect(await listening.send('{"eventId":"a"}')).toMatchObject(duplicate);
  expect(await listening.send('{"eventId":"a","event\\u0049d":"b"}')).toMatchObject(accepted);
  expect(await listening.send('{"eventId":"c","eventId":"b"}')).toMatchObject(duplicate);
  expect((await listening.send('{"event\\\\u0049d":"d","eventI\\u0064s":"e"}')).status).toBe(400);
  expect(handler.received).toHaveLength(2);
});

test('an eventId cannot forge log lines', async () => {
  await using handler = await startHandler();
  await using listening = await startListening('--forward-to', handler.url);
  handler.answer = () => 500;
  await listening.send(`{"eventId":"a\\nwarning: b\\u001b[31m ${'x'.repeat(5000)}"}`);
  await listening.program.printed('stderr', /the handler answered 500: thanks\n/);
  expect(listening.program.stderr.split('\n')[1]).toBe(
    `warning: a\\u000awarning: b\\u001b[31m ${'x'.repeat(82)}… (5,018 characters): the handler answered 500: thanks`,
  );
});
