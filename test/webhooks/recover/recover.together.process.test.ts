import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { clock } from '../../support/clock.ts';
import { API_TOKEN, ended, hurried, portOf, post, startRecovering } from '../../support/listening.ts';
import { type Running, startProcess } from '../../support/process.ts';
import { hooktrail, startHooktrail } from '../../support/program.ts';
import { drawnCases } from '../../support/seed.ts';
import { inShape } from '../../support/shape.ts';

const orders = drawnCases('order', inShape({ published: 2, flat: 1 }), ['the listener', 'a recovery']);

test.each(orders)(
  'two recoveries and a listener on one journal forward each event once, where %s came first',
  { timeout: 120_000 },
  async (order) => {
    const events = 150;
    await using recovering = await startRecovering({ events });
    const { handler, env } = recovering;
    const { store } = recovering.searching.sandbox.control;
    handler.answer = async () => {
      await setTimeout(Math.random() * 15);
      return Math.random() < 0.1 ? 503 : 200;
    };
    const recover = () => startProcess(recovering.args('--new-journal', '--concurrency', '4'), { env });
    const first: Running[] = [];
    if (order === 'a recovery') {
      first.push(recover());
      await expect.poll(() => handler.received.length).toBeGreaterThan(0);
    }
    const listener = startProcess(recovering.listenArgs(), { env });
    const [, port] = await listener.printed('stderr', /listening on http:\/\/127\.0\.0\.1:(\d+)\//);
    const recoveries = [...first, recover(), recover()];

    // Meanwhile the service delivers the same events, each until it is acknowledged.
    const ids = store.newestIds(events).sort();
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let eventId = ids.pop(); eventId !== undefined; eventId = ids.pop()) {
          while ((await post(Number(port), JSON.stringify({ eventId }))).status !== 200) await setTimeout(20);
        }
      }),
    );
    const results = await Promise.all(recoveries.map(({ finished }) => finished));
    expect(results.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(
      results.map(() =>
        expect.stringMatching(
          /^0 (warning: .*\n)?\d+ forwarded; \d+ in the journal already; 0 left\n(\d+ of these .*\n)?$/,
        ),
      ),
    );
    expect([...handler.taken.values()]).toEqual(Array(events).fill(1));
    listener.kill('SIGTERM');
    expect((await listener.finished).code).toBe(143);
  },
);

test('a recovery takes over from a killed listener, and recovers its deliveries in progress', {
  timeout: 120_000,
}, async () => {
  await using recovering = await startRecovering({ events: 20 });
  const { handler, env } = recovering;
  const [eventId] = recovering.searching.sandbox.control.store.newestIds(1) as [string];
  handler.answer = () => new Promise(() => undefined);
  const listener = startProcess(recovering.listenArgs('--health', '/health'), { env });
  const [, port] = await listener.printed('stderr', /listening on http:\/\/127\.0\.0\.1:(\d+)\//);
  const sent = post(Number(port), JSON.stringify({ eventId })).catch(() => undefined);
  await expect.poll(() => handler.received.length).toBe(1);
  handler.answer = () => 200;
  const recovery = startProcess(recovering.args('--new-journal'), { env });
  // All others are forwarded; this one waits for the listener until it is killed.
  await expect.poll(() => handler.taken.size).toBe(19);
  // The answers to the others are sent. In progress: this test's request and the recovery's.
  const health = async () => (await fetch(`http://127.0.0.1:${port}/health`)).json();
  await expect.poll(health).toMatchObject({ accepted: 19, underWay: 2 });
  expect(handler.taken.has(eventId)).toBe(false);
  listener.kill('SIGKILL');
  expect(await recovery.finished).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^20 forwarded; 0 in the journal already; 0 left\n/),
  });
  expect(handler.taken.get(eventId)).toBe(1);
  await sent;
});

test('while a listener forwards elsewhere, a recovery is an error that names both', async () => {
  await using recovering = await startRecovering({ events: 3 });
  const { handler, env, journal } = recovering;
  const other = 'http://127.0.0.1:9/other';
  for (const [flags, words] of [
    [['--forward-to', other], `forwards to ${other}`],
    [[], 'forwards to no handler'],
  ] as const) {
    const listener = startHooktrail(['webhooks', 'listen', '--port', '0', '--journal', journal, ...flags], {
      env,
    });
    await portOf(listener);
    expect(await recovering.recover()).toEqual({
      code: 2,
      stdout: '',
      stderr:
        '0 forwarded; 0 in the journal already; 3 left\n' +
        `error: --forward-to: a running \`webhooks listen\` has the journal ${journal} and ${words}, not to ${handler.url}\n` +
        'next: name the same handler, stop the listener, or choose another journal\n',
    });
    await ended(listener);
  }
  expect(handler.received).toEqual([]);
});

test("through a listener, refused events are listed with the handler's answer", async () => {
  await using recovering = await startRecovering({ events: 3 });
  const { handler, env } = recovering;
  handler.answer = () => 422;
  const listener = startHooktrail(recovering.listenArgs(), { env });
  await portOf(listener);
  const { code, stderr } = await recovering.recover('--quiet');
  expect([code, stderr]).toEqual([
    1,
    'error: 3 events were not recovered\n' +
      '  3: the handler answered 422: thanks\n' +
      'next: run the same command again with --since 2026-09-21T12:00:00Z to retry them\n',
  ]);
  handler.answer = () => 200;
  expect((await recovering.recover()).stderr).toMatch(/^3 forwarded; 0 in the journal already; 0 left\n/);
  expect((await recovering.recover()).stderr).toBe('0 forwarded; 3 in the journal already; 0 left\n');
  expect(listener.stdout.split('\n')).toHaveLength(4);
  await ended(listener);
});

test('a recovery without an Api-Token warns only of events that do not go through a listener', async () => {
  await using recovering = await startRecovering({ events: 3 });
  const { handler, searching } = recovering;
  const listener = startHooktrail(recovering.listenArgs(), { env: recovering.env });
  await portOf(listener);
  const recover = async () => (await hooktrail(recovering.args('--failed'), { env: searching.env })).stderr;
  searching.sandbox.control.addEvent({ publishStatus: 'FAILED' });
  expect(await recover()).toMatch(/^\d forwarded; 0 in the journal already; 0 left\n$/);
  expect(handler.received.map(({ headers }) => headers['api-token'])).toContain(API_TOKEN);
  await ended(listener);
  searching.sandbox.control.addEvent({ publishStatus: 'FAILED' });
  expect(await recover()).toMatch(/^warning: .*the handler gets no.*\n1 forwarded; \d in/);
});

test('a long recovery lets a listener have the journal after some seconds, and continues through it', async () => {
  await using recovering = await startRecovering({ events: 30 });
  const { handler, env } = recovering;
  const answers: (() => void)[] = [];
  handler.answer = () => new Promise((resolve) => answers.push(() => resolve(200)));
  const recovery = startHooktrail(recovering.args('--new-journal', '--concurrency', '2'), { env });
  await expect.poll(() => answers.length).toBe(2);
  const listener = startHooktrail(recovering.listenArgs(), { env });
  await listener.printed('stderr', /waiting for another hooktrail process/);
  clock.advance(6_000);
  // The moment in which the journal is free lasts: a listener on a busy machine would miss it.
  clock.run();
  handler.answer = () => 200;
  for (const answer of answers) answer();
  const port = await portOf(listener);
  expect(await post(port, '{"eventId":"of the listener"}')).toMatchObject({ status: 200 });
  expect(await recovery.finished).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^30 forwarded; 0 in the journal already; 0 left$/m),
  });
  expect([...handler.taken.values()]).toEqual(Array(31).fill(1));
  expect(listener.stdout.split('\n').length).toBe(30);
  await ended(listener);
});

test('a listener that does not answer is an error that says what to do', async () => {
  await using recovering = await startRecovering({ events: 1, tokenLifetimeSeconds: 864_000 });
  const { env, journal } = recovering;
  const listener = startProcess(recovering.listenArgs(), { env });
  await portOf(listener);
  listener.kill('SIGSTOP');
  const { code, stderr } = await hurried(startHooktrail(recovering.args(), { env }));
  expect([code, stderr]).toEqual([
    1,
    '0 forwarded; 0 in the journal already; 1 left\n' +
      `error: another hooktrail process (${listener.pid}) has the journal ${journal}, and does not answer this one\n` +
      `next: continue it (\`fg\`, or \`kill -CONT ${listener.pid}\`), or end it; in another container, or of another user, it recovers with \`hooktrail webhooks listen --recover\`\n`,
  ]);
  listener.kill('SIGCONT');
  expect((await recovering.recover()).code).toBe(0);
  await ended(listener);
});
