import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import { startExporting } from '../support/exporting.ts';
import { idsOf } from '../support/searching.ts';
import { drawnCases, sampleSize } from '../support/seed.ts';
import { inShape, shape } from '../support/shape.ts';
import { killedAfter, small } from './ended-export.ts';

/** Each takes seconds. */
const few = sampleSize(1, inShape({ published: 2, flat: 1 }));

describe('between a crash and the same command again', () => {
  test('events that arrive meanwhile stay out: a time such as 7d was resolved once', async () => {
    await using exporting = await startExporting({ events: 5_000 });
    await killedAfter(exporting, 2, '--since', '7d');
    const { pin, queries } = await exporting.manifest();
    clock.set(Date.parse(pin as string) + 1);
    for (let n = 0; n < 30; n++) exporting.sandbox.control.addEvent();
    await killedAfter(exporting, 2, '--since', '7d');
    expect((await exporting.export(...small, '--since', '7d')).code).toBe(0);
    const manifest = await exporting.manifest();
    expect([manifest['pin'], manifest['queries']]).toEqual([pin, queries]);
    const { after } = (queries as { after: string }[])[0] as { after: string };
    const window = ['--after', after, '--before', pin as string];
    expect(await exporting.lines()).toBe((await exporting.search('--ndjson', ...window)).stdout);
  });

  test.each(drawnCases(`changed status ${shape}`, few, [[], ['--partition', 'day']]).map((by) => [by]))(
    'a status that changed between the runs has its last value, and hides no other event %j',
    async (by) => {
      await using exporting = await startExporting({ events: 3_000 });
      await killedAfter(exporting, 3, '--failed', '--page-size', '2', ...by);
      const done = await exporting.ids();
      const all = idsOf((await exporting.search('--failed', '--ndjson')).stdout);
      const healthy = idsOf((await exporting.search('--status', 'SUCCESS', '--ndjson')).stdout);
      for (const id of [done[0], done[1], done.at(-1), all.at(-1)])
        exporting.control.setStatus(id as string, 'SUCCESS');
      for (const id of [healthy[0], healthy.at(-1)]) exporting.control.setStatus(id as string, 'FAILED');
      expect((await exporting.export('--failed', '--page-size', '2', ...by)).code).toBe(0);
      const now = idsOf((await exporting.search('--failed', '--ndjson')).stdout);
      expect((await exporting.ids()).sort()).toEqual(now.sort());
    },
  );

  test('a late event in the second that two parts share is there once', async () => {
    await using exporting = await startExporting({ events: 600 });
    await killedAfter(exporting, 1);
    const first = (await exporting.manifest()).parts[0] as unknown as { after: string; file: string };
    const createdOn = new Date(Date.parse(first.after) + 500).toISOString();
    const late = exporting.sandbox.control.addEvent({ createdOn }).eventId;
    const once = async () => expect((await exporting.ids()).filter((id) => id === late)).toEqual([late]);
    expect((await exporting.export(...small)).code).toBe(0);
    await once();
    // Now the newer part is read once more, and contains the event too.
    await appendFile(path.join(exporting.directory, first.file), '{}\n');
    expect((await exporting.export(...small)).code).toBe(0);
    await once();
    expect(await exporting.ids()).toHaveLength(601);
  });
});
