import path from 'node:path';
import { expect, test } from 'vitest';
import { times } from '../support/sandbox.ts';
import { type Searching, startSearching } from '../support/searching.ts';

const MOST = 4;

/**
 * The number of requests that wait for an answer, at each request after the first ones and those that were on
 * their way.
 */
async function requestsAtOnce(at: Searching, args: readonly string[], isBusy: boolean): Promise<number[]> {
  const underWay: number[] = [];
  const note = () => void underWay.push(at.sandbox.log.filter(({ ms }) => ms === undefined).length);
  const busy = { kind: 'status', status: 429, headers: { 'retry-after': '1' } } as const;
  at.control.clearFaults();
  at.control.fault('events', ...times(3, { kind: 'pass' }));
  if (isBusy) at.control.fault('events', busy);
  at.control.fault('events', ...times(MOST, { kind: 'pass' }), ...times(500, { kind: 'run', run: note }));
  const { code, stderr } = await at.run([...args, '--concurrency', `${MOST}`]);
  expect([code, stderr]).toEqual([0, expect.anything()]);
  expect(underWay.length).toBeGreaterThan(MOST);
  return underWay;
}

test.each([
  ['search', ['search', '--ndjson', '--page-size', '10']],
  [
    'search of two types',
    ['search', '--ndjson', '--page-size', '5', '--type', 'document.signed,document.viewed'],
  ],
  ['count', ['count', '--type', Array.from({ length: 24 }, (_, at) => `type.${at}`).join(',')]],
  ['stats', ['stats', '--buckets', '24', '--since', '24h']],
  ['export', ['export', 'folder', '--page-size', '10']],
] as const)('%s asks for half as much at once after 429', async (_, args) => {
  await using at = await startSearching({ events: 400, latencyMs: 15 });
  const line = ['events', ...args];
  expect(Math.max(...(await requestsAtOnce(at, line, false)))).toBeGreaterThan(MOST / 2);
  const other = line.map((word) => (word === 'folder' ? path.join(at.env['HOME'] as string, 'other') : word));
  expect(Math.max(...(await requestsAtOnce(at, other, true)))).toBeLessThanOrEqual(MOST / 2);
});

test('watch asks for half as much at once after 429', async () => {
  // Its pages have 500 events: the latency has to outlast the work on one.
  await using at = await startSearching({ events: 7_000, latencyMs: 150 });
  const line = ['events', 'watch', '--ndjson', '--since', '2020-01-01', '--until', 'now'];
  expect(Math.max(...(await requestsAtOnce(at, line, false)))).toBeGreaterThan(MOST / 2);
  expect(Math.max(...(await requestsAtOnce(at, line, true)))).toBeLessThanOrEqual(MOST / 2);
});

test('get asks for half as much at once after 429', async () => {
  await using at = await startSearching({ events: 400, latencyMs: 15 });
  const line = ['events', 'get', ...at.control.store.newestIds(24), '--ndjson'];
  expect(Math.max(...(await requestsAtOnce(at, line, false)))).toBeGreaterThan(MOST / 2);
  expect(Math.max(...(await requestsAtOnce(at, line, true)))).toBeLessThanOrEqual(MOST / 2);
});
