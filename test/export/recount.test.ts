import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Exporting, startExporting } from '../support/exporting.ts';
import { times } from '../support/sandbox.ts';

const small = ['--page-size', '5'];

/** Changes the service's events once, when all parts are on the disk and nothing is counted again yet. */
function whenAllIsRead({ directory, control }: Exporting, change: () => void): void {
  let isDone = false;
  const run = () => {
    if (isDone || !isAllRead(directory)) return;
    isDone = true;
    change();
  };
  control.fault('events', ...times(1000, { kind: 'run', run }));
}

function isAllRead(directory: string): boolean {
  try {
    const { parts } = JSON.parse(readFileSync(path.join(directory, 'manifest.json'), 'utf8'));
    return parts.every(({ sha256 }: { sha256: string | null }) => sha256 !== null);
  } catch {
    // Nothing is planned yet.
    return false;
  }
}

/** The times of the newest, a middle and the oldest of the service's events: they lie in different parts. */
function timesOf({ control }: Exporting) {
  const { events } = control.store.page({}, 1, Number.POSITIVE_INFINITY);
  const [newest, middle, oldest] = [events[0], events[events.length >> 1], events.at(-1)];
  return [newest, middle, oldest].map((event) => event?.createdOn as string) as [string, string, string];
}

describe('after all parts were read, an export finds', () => {
  test.each([[[]], [['--where', 'eventId']]])(
    'an event that appeared late in one of them %j',
    async (filters) => {
      await using exporting = await startExporting({ events: 300 });
      const [, middle] = timesOf(exporting);
      let late = '';
      whenAllIsRead(exporting, () => {
        late = exporting.control.addEvent({ createdOn: middle }).eventId;
      });
      expect(await exporting.export(...small, ...filters)).toMatchObject({ code: 0 });
      expect((await exporting.parts()).length).toBeGreaterThan(3);
      expect(await exporting.ids()).toContain(late);
      expect((await exporting.ids()).sort()).toEqual(exporting.control.store.newestIds(301).sort());
    },
  );

  test('one that appeared late where another has left the filter', async () => {
    await using exporting = await startExporting({ events: 300 });
    const { control } = exporting;
    const [, middle] = timesOf(exporting);
    const leaving = control.addEvent({ createdOn: middle, publishStatus: 'FAILED' }).eventId;
    let late = '';
    whenAllIsRead(exporting, () => {
      control.setStatus(leaving, 'SUCCESS');
      late = control.addEvent({ createdOn: middle, publishStatus: 'FAILED' }).eventId;
    });
    expect(await exporting.export(...small, '--failed')).toMatchObject({ code: 0 });
    expect(await exporting.ids()).toContain(late);
  });

  test('one that came into the filter in one part while another left it in a second part', async () => {
    await using exporting = await startExporting({ events: 300 });
    const { control } = exporting;
    const [newest, , oldest] = timesOf(exporting);
    const leaving = control.addEvent({ createdOn: newest, publishStatus: 'FAILED' }).eventId;
    const coming = control.addEvent({ createdOn: oldest, publishStatus: 'SUCCESS' }).eventId;
    // Enough failures between the two for several parts.
    const [, middle] = timesOf(exporting);
    for (let event = 0; event < 100; event++)
      control.addEvent({ createdOn: middle, publishStatus: 'FAILED' });
    whenAllIsRead(exporting, () => {
      control.setStatus(leaving, 'SUCCESS');
      control.setStatus(coming, 'FAILED');
    });
    expect(await exporting.export(...small, '--failed')).toMatchObject({ code: 0 });
    expect((await exporting.parts()).length).toBeGreaterThan(1);
    expect(await exporting.ids()).toContain(coming);
    expect(await exporting.ids()).not.toContain(leaving);
  });
});

test('a service that counts more in all than in the parts is reported, and the export is not finished', async () => {
  await using exporting = await startExporting({ events: 300 });
  const { store } = exporting.control;
  const page = store.page.bind(store);
  // The oldest part has no lower bound either: the whole has the latest upper one.
  let latest = '';
  store.page = (filter, start, size) => {
    const { before = '' } = filter;
    if (before > latest) latest = before;
    const found = page(filter, start, size);
    const isWhole = filter.after === undefined && before === latest;
    return isWhole ? { ...found, count: found.count + 1 } : found;
  };
  const { code, stderr } = await exporting.export(...small);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(
      'error: the export is not complete: 300 events were written, the service counts 301\n',
    ),
  ]);
  expect((await exporting.manifest())['finishedAt']).toBeNull();
});
