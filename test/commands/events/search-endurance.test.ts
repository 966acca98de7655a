import { expect, test } from 'vitest';
import { settled } from '../../support/exporting.ts';
import { hooktrail, startHooktrail } from '../../support/program.ts';
import type { Fault } from '../../support/sandbox.ts';
import { idsOf, startSearching } from '../../support/searching.ts';
import { startSigningIn } from '../../support/signing-in.ts';

const passed = (times: number): Fault[] => Array.from({ length: times }, () => ({ kind: 'pass' }));

test('a token refused between pages is refreshed once, and nothing is lost', async () => {
  await using signingIn = await startSigningIn({ events: 400 });
  await signingIn.signIn();
  const { control, log } = signingIn.sandbox;
  control.fault('events', ...passed(5), { kind: 'run', run: () => control.revokeAccessTokens() });
  const { code, stdout, stderr } = await signingIn.run(['events', 'search', '--ndjson', '--page-size', '10']);
  expect(stderr).toBe('');
  expect(idsOf(stdout)).toEqual(control.store.newestIds(400));
  expect(code).toBe(0);
  expect(log.filter(({ grantType }) => grantType === 'refresh_token')).toHaveLength(1);
});

test('a request whose answer stalls is retried after a time without progress', async () => {
  await using searching = await startSearching({ events: 60 });
  const { control } = searching.sandbox;
  control.fault('events', { kind: 'pass' }, { kind: 'stall' });
  const { code, stdout } = await hooktrail(['events', 'search', '--ndjson', '--page-size', '10'], {
    env: searching.env,
    context: { requestLimits: { idle: 500 } },
  });
  expect(idsOf(stdout)).toEqual(control.store.newestIds(60));
  expect(code).toBe(0);
});

test('the search slows down for a service with a rate limit', { timeout: 60_000 }, async () => {
  await using searching = await startSearching({ events: 400, rateLimit: 20 });
  const { code, stdout } = await searching.search('--ndjson', '--page-size', '10', '--concurrency', '16');
  expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(400));
  expect(code).toBe(0);
});

test('one request in twenty failing in any way changes nothing in the result', {
  timeout: 120_000,
}, async () => {
  await using searching = await startSearching({ events: 2000, faultRate: 0.05 });
  const { code, stdout } = await searching.search('--ndjson', '--page-size', '20', '--concurrency', '8');
  expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(2000));
  expect(code).toBe(0);
});

test('constantly arriving events shift nothing, whatever the concurrency', {
  timeout: 60_000,
}, async () => {
  await using searching = await startSearching({ events: 5000 });
  const { control } = searching.sandbox;
  const before = new Set(control.store.newestIds(5000));
  const stop = control.startLive(200);
  const { code, stdout, stderr } = await searching.search(
    '--ndjson',
    '--page-size',
    '50',
    '--concurrency',
    '8',
  );
  stop();
  const ids = idsOf(stdout);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => before.has(id))).toEqual([...before]);
});

test('FAILED events that constantly turn SUCCESS hide no others', {
  timeout: 60_000,
}, async () => {
  await using searching = await startSearching({ events: 20_000 });
  const { control } = searching.sandbox;
  const ids = idsOf((await searching.search('--failed', '--ndjson')).stdout);
  const leaving = ids.filter((_, index) => index % 7 === 3);
  // Adds an event with each page that is requested.
  let next = 0;
  const leave = () => {
    const id = leaving[next++];
    if (id) control.setStatus(id, 'SUCCESS');
  };
  control.fault('events', ...Array.from({ length: 1000 }, (): Fault => ({ kind: 'run', run: leave })));
  const { code, stdout, stderr } = await searching.search(
    '--failed',
    '--ndjson',
    '--page-size',
    '10',
    '--concurrency',
    '4',
  );
  const printed = idsOf(stdout);
  expect(new Set(printed).size).toBe(printed.length);
  const left = new Set(leaving.slice(0, next));
  const stayed = ids.filter((id) => !left.has(id));
  expect(stayed.filter((id) => !printed.includes(id))).toEqual([]);
  // Whether the counts agree in the end depends on the order in which the pages arrive; if they do not, the error says
  // so.
  const error = `error: the result is not complete: ${printed.length} events were read, the service counts `;
  expect([code, stderr.slice(0, error.length)]).toEqual(code === 0 ? [0, ''] : [1, error]);
});

test.each([
  ['--json', /^\[\n\{.*\n\]\n$/s],
  ['--csv', /\r\n$/],
])('%s stays whole when the read fails in the middle', async (format, whole) => {
  await using searching = await startSearching({ events: 100 });
  const fault: Fault = { kind: 'status', status: 400, body: 'no' };
  searching.sandbox.control.fault('events', ...passed(3), ...Array.from({ length: 20 }, () => fault));
  const { code, stdout } = await searching.search(format, '--page-size', '10', '--concurrency', '1');
  expect(code).toBe(1);
  expect(stdout).toMatch(whole);
  if (format === '--json') expect(JSON.parse(stdout)).toHaveLength(30);
});

test('a slow reader slows the search down instead of filling the memory', { timeout: 60_000 }, async () => {
  await using searching = await startSearching({ events: 50_000 });
  const program = startHooktrail(['events', 'search', '--ndjson'], { env: searching.env, paused: true });
  await settled(() => searching.queries().length);
  // The size of a pipe, plus the pages read ahead; without back-pressure all 100 pages would be requested.
  expect(searching.queries().length).toBeLessThan(20);
  program.resume();
  const { code, stdout } = await program.finished;
  expect(code).toBe(0);
  expect(idsOf(stdout)).toHaveLength(50_000);
});
