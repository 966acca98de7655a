import { expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { startHandler } from '../../support/handler.ts';
import { createHome } from '../../support/home.ts';
import { API_TOKEN, ended, portOf, post, startListening } from '../../support/listening.ts';
import { startHooktrail } from '../../support/program.ts';

test('on a terminal each delivery is a line, with a summary at the end', async () => {
  // The time stands still, even while the listener waits before its next warning.
  clock.skips = 0;
  const handler = await startHandler();
  await using home = await createHome();
  const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const args = ['webhooks', 'listen', '--port', '0', '--no-color', '--forward-to', handler.url];
  const program = startHooktrail(args, { env, terminal: 100 });
  try {
    const port = await portOf(program);
    await post(port, '{"eventId":"0f8fad5b-d9cb-469f-a165-70867728950e","eventType":"order.created"}');
    await post(port, '{"eventId":"0f8fad5b-d9cb-469f-a165-70867728950e","eventType":"order.created"}');
    handler.answer = () => 500;
    await post(port, '{"eventId":"b\\u001b[31m"}');
    await post(port, 'x');
    await handler[Symbol.asyncDispose]();
    await post(port, '{"eventId":"c"}');
    program.kill('SIGINT');
    expect((await program.finished).code).toBe(130);
    const line = (type: string, id: string, said: string) =>
      `12:00:00  ${type.padEnd(31)}  ${id.padEnd(36)}  ${said} N ms\n`;
    expect(program.stdout.replaceAll(/ +\d+ ms/g, ' N ms')).toBe(
      line('order.created', '0f8fad5b-d9cb-469f-a165-70867728950e', '200') +
        line('order.created', '0f8fad5b-d9cb-469f-a165-70867728950e', 'duplicate') +
        line('-', 'b\\u001b[31m', '500') +
        line('-', 'c', 'no answer'),
    );
    // The line of ^C ends before the summary.
    expect(program.stderr.split('\n').slice(-3)).toEqual([
      '',
      '1 accepted, 1 duplicate, 2 failed, 1 rejected',
      '',
    ]);
  } finally {
    await ended(program);
  }
});

test('on a terminal of 80 columns the id of an event is whole, and its type is cut', async () => {
  await using home = await createHome();
  const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const args = ['webhooks', 'listen', '--port', '0', '--no-color'];
  const program = startHooktrail(args, { env, terminal: 80 });
  try {
    const eventId = '0f8fad5b-d9cb-469f-a165-70867728950e';
    await post(await portOf(program), JSON.stringify({ eventId, eventType: 'recipient.authenticated' }));
    program.kill('SIGINT');
    await program.finished;
    expect(program.stdout).toBe(`12:00:00  recipient.authenti…  ${eventId}  accepted\n`);
  } finally {
    await ended(program);
  }
});

test('the lines on a terminal have the time of --timezone', async () => {
  await using home = await createHome();
  const env = { ...home.env, HOOKTRAIL_API_TOKEN: API_TOKEN };
  const args = ['webhooks', 'listen', '--port', '0', '--no-color', '--timezone', 'Asia/Kolkata'];
  const program = startHooktrail(args, { env, terminal: 100 });
  try {
    await post(await portOf(program), '{"eventId":"a","eventType":"order.created"}');
    program.kill('SIGINT');
    await program.finished;
    expect(program.stdout).toMatch(/^17:30:00\+05:30 {2}order\.created {14}a {37}accepted {3} +\d+ ms\n$/);
  } finally {
    await ended(program);
  }
});

test('--health answers GET with counts as JSON, and accepts no deliveries', async () => {
  await using handler = await startHandler();
  await using listening = await startListening('--forward-to', handler.url, '--health', '/health');
  await listening.send('{"eventId":"a"}');
  await listening.send('{"eventId":"a"}');
  await listening.send('x');
  handler.answer = () => 503;
  await listening.send('{"eventId":"b"}');
  const health = await listening.send('', { 'api-token': undefined }, { method: 'GET', path: '/health?x' });
  expect(health.status).toBe(200);
  expect(health.headers['content-type']).toBe('application/json');
  expect(JSON.parse(health.body)).toEqual({
    since: expect.stringMatching(/^2026-11-20T12:00:0\d\.\d{3}Z$/),
    accepted: 1,
    duplicates: 1,
    failed: 1,
    rejected: 1,
    recovered: 0,
    underWay: 1,
    known: 1,
  });
  expect((await listening.send('{"eventId":"c"}', {}, { path: '/health' })).status).toBe(404);
});
