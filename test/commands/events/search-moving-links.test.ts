import { describe, expect, test } from 'vitest';
import type { Fault } from '../../support/sandbox.ts';
import { idsOf, startSearching } from '../../support/searching.ts';

describe('a result that changes while its links are followed', () => {
  test.each([
    ['smaller pages than asked for', { maxPageSize: 3 }],
    ['smaller pages than asked for, and no links', { maxPageSize: 3, links: 'none' as const }],
  ])('%s: a FAILED event that turns SUCCESS hides no others', async (_, behaviour) => {
    // The number of failed events depends on the time of day.
    await using searching = await startSearching({ events: 1000 });
    const { control } = searching.sandbox;
    const ids = idsOf((await searching.search('--ndjson', '--failed')).stdout);
    expect(ids.length).toBeGreaterThan(20);
    Object.assign(control.behaviour, behaviour);
    // Three events that were already printed, so the rest moves up by a whole page.
    const flip = () => {
      for (const id of ids.slice(0, 3)) control.setStatus(id, 'SUCCESS');
    };
    control.fault('events', { kind: 'pass' }, { kind: 'pass' }, { kind: 'pass' }, { kind: 'run', run: flip });
    const { code, stdout } = await searching.search('--ndjson', '--failed', '--page-size', '5');
    expect(idsOf(stdout).sort()).toEqual([...ids].sort());
    expect(code).toBe(0);
  });

  test('one that never stops changing ends in an error, not in a short result', async () => {
    await using searching = await startSearching({ events: 600 });
    const { control } = searching.sandbox;
    const ids = idsOf((await searching.search('--ndjson', '--failed')).stdout);
    control.behaviour.maxPageSize = 3;
    const flips = ids.map((id): Fault => ({ kind: 'run', run: () => control.setStatus(id, 'SUCCESS') }));
    control.fault('events', { kind: 'pass' }, ...flips);
    const { code, stdout, stderr } = await searching.search('--ndjson', '--failed', '--page-size', '5');
    expect(stderr).toMatch(/^error: the result is not complete: \d+ events were read, the service counts /);
    expect(code).toBe(1);
    expect(new Set(idsOf(stdout)).size).toBe(idsOf(stdout).length);
  });
});
