import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { type Exporting, startExporting } from '../support/exporting.ts';
import { times } from '../support/sandbox.ts';
import { valuesIn } from '../support/searching.ts';
import { drawnCases, sampleSize } from '../support/seed.ts';
import { knownOf, pathInEvent } from '../support/shape.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const allIds = ({ control }: Exporting) => control.store.newestIds(control.store.size).sort();

/**
 * Exports, while the service refuses the request after that many: the export fails unless it ends before.
 */
async function exportRefused(at: Exporting, requests: number, args: readonly string[]): Promise<void> {
  at.control.fault('events', ...times(requests, { kind: 'pass' }), { kind: 'status', status: 403 });
  const { code } = await at.export(...args);
  const isRefused = at.control.pendingFaults === 0;
  at.control.clearFaults();
  expect([requests, code]).toEqual([requests, isRefused ? 1 : 0]);
}

// The export sends about 130 requests.
test('an export with partitions that fails at any request is completed by the next run', async () => {
  await using at = await startExporting({ events: 150 });
  const args = ['--partition', 'day', '--page-size', '5'];
  for (const requests of drawnCases('partitions', sampleSize(1, 3), upTo(120))) {
    await rm(at.directory, { recursive: true, force: true });
    await exportRefused(at, requests, args);
    expect(await at.export(...args)).toMatchObject({ code: 0 });
    expect((await at.ids()).sort()).toEqual(allIds(at));
    for (const name of await at.parts()) {
      const items = valuesIn(await readFile(path.join(at.directory, name), 'utf8'));
      const days = items.map((item) => `date=${knownOf(item).createdOn.slice(0, 10)}`);
      expect([...new Set(days)]).toEqual([path.dirname(name)]);
    }
  }
});

// The update sends about 25 to 40 requests, as events are added.
test('an update of an export that fails at any request is completed by the next run', async () => {
  await using at = await startExporting({ events: 150 });
  const args = ['--page-size', '5', '--status', 'FAILED,SUCCESS'];
  expect((await at.export(...args)).code).toBe(0);
  for (const requests of drawnCases('update', sampleSize(1, 4), upTo(40))) {
    clock.advance(60_000);
    for (let event = 0; event < 7; event++) at.control.addEvent();
    clock.advance(2000);
    const held = await at.ids();
    await exportRefused(at, requests, [...args, '--update']);
    // Read offline meanwhile, it holds what it held, and no event twice.
    const ids = ['--jq', `.[].${pathInEvent('eventId')}`];
    const { stdout } = await at.search('--from', at.directory, ...ids);
    const offline = stdout.trimEnd().split('\n');
    expect(new Set(offline).size).toBe(offline.length);
    expect(offline).toEqual(expect.arrayContaining(held));
    expect((await at.export(...args, '--update')).code).toBe(0);
    expect((await at.ids()).sort()).toEqual(allIds(at));
  }
});
