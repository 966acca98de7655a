import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Manifest } from '../../src/export/export-manifest.ts';
import type { Part } from '../../src/export/export-part.ts';
import { countAnyStatus, recount } from '../../src/export/recount.ts';
import { readPage } from '../../src/paging/page.ts';
import { knownInstant } from '../../src/time/instant.ts';
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

describe('a recount asks', () => {
  /** The end of the part at an index: a day each, from the first of the month on. */
  const endOf = (index: number) => knownInstant(Date.UTC(2026, 10, index + 1));
  const END = knownInstant(Date.UTC(2026, 10, 20));
  const WHOLE = `lt(createdOn,${END.text})`;
  const FAILED = '&eq(publishStatus,FAILED)';
  const ofPart = (index: number) => `lt(createdOn,${endOf(index).text})`;

  const read = (counted: number | null, ofAnyStatus: number | null = null, held = counted ?? 0): Reading => {
    return { read: { held: { events: held, bytes: 1, sha256: 'a' }, counted, ofAnyStatus } };
  };
  const SETTLED: Reading = { ...read(2), isSettled: true };
  const PLANNED: Reading = { expected: 2 };

  type Reading = Partial<Part>;

  interface Case {
    readonly parts: readonly Reading[];
    readonly filters?: Manifest['filters'];
    readonly isFailed?: boolean;
    /** What the service counts, by the search; it does not count others. */
    readonly counts: Readonly<Record<string, number>>;
  }

  /** Recounts an export. The searches that were asked come without their page. */
  async function recounted({ parts, filters = {}, isFailed = false, counts }: Case) {
    const asked: string[] = [];
    const fetchPage = async (url: URL) => {
      const query = decodeURIComponent(url.search.slice(1)).replace(/&limit.*/, '');
      asked.push(query);
      const count = counts[query];
      const body = count === undefined ? '{"items":[]}' : `{"count":${count},"items":[]}`;
      return { page: readPage(Buffer.from(body)), serviceTime: undefined };
    };
    const status = isFailed ? { publishStatus: 'FAILED' } : {};
    const manifest = {
      filters,
      queries: [{ before: END, ...status }],
      parts: parts.map((reading, index) => {
        return { file: 'part-000001.ndjson', query: 0, after: null, before: endOf(index), ...reading };
      }),
    };
    const client = {
      baseUrl: new URL('https://events.example.com'),
      fetchPage,
      concurrency: () => 1,
      signal: new AbortController().signal,
    };
    const { total, changed } = await recount(manifest as never, client as never);
    return { total, changed, asked };
  }

  test.each<[string, Case, Awaited<ReturnType<typeof recounted>>]>([
    [
      'once where the whole agrees',
      { parts: [read(2), read(3)], counts: { [WHOLE]: 5 } },
      { total: 5, changed: [], asked: [WHOLE] },
    ],
    [
      'for each part where the whole does not agree',
      { parts: [read(2), read(3)], counts: { [WHOLE]: 6, [ofPart(0)]: 2, [ofPart(1)]: 4 } },
      { total: 6, changed: [1], asked: [WHOLE, ofPart(0), ofPart(1)] },
    ],
    [
      'no more where the service does not count',
      { parts: [read(2), read(3)], counts: {} },
      { total: Number.NaN, changed: [], asked: [WHOLE] },
    ],
    [
      'for a part that is still to be read',
      { parts: [read(2), PLANNED], counts: { [WHOLE]: 4, [ofPart(0)]: 2, [ofPart(1)]: 2 } },
      { total: 4, changed: [1], asked: [WHOLE, ofPart(0), ofPart(1)] },
    ],
    [
      'for what was read, not for what filters here have kept of it',
      { parts: [read(9, null, 1)], filters: { where: 'a = b' }, counts: { [ofPart(0)]: 9 } },
      { total: Number.NaN, changed: [], asked: [ofPart(0)] },
    ],
    [
      'for parts that have not settled',
      { parts: [read(2), SETTLED], counts: { [ofPart(0)]: 3, [ofPart(1)]: 9 } },
      { total: Number.NaN, changed: [0], asked: [ofPart(0)] },
    ],
    [
      'nothing of a part that the service does not count',
      { parts: [read(2), SETTLED], counts: {} },
      { total: Number.NaN, changed: [], asked: [ofPart(0)] },
    ],
    [
      'with a status for each part and for any status, where one of the parts has a count of those',
      {
        parts: [read(2, 5), read(3)],
        isFailed: true,
        counts: {
          [`${WHOLE}${FAILED}`]: 5,
          [`${ofPart(0)}${FAILED}`]: 2,
          [`${ofPart(1)}${FAILED}`]: 3,
          [ofPart(0)]: 6,
        },
      },
      {
        total: 5,
        changed: [0],
        asked: [`${WHOLE}${FAILED}`, `${ofPart(0)}${FAILED}`, `${ofPart(1)}${FAILED}`, ofPart(0), ofPart(1)],
      },
    ],
  ])('%s', async (_, given, expected) => {
    expect(await recounted(given)).toEqual(expected);
  });
});

test('events of any status are counted for the parts of searches with a status alone', async () => {
  const asked: string[] = [];
  const fetchPage = async (url: URL) => {
    asked.push(decodeURIComponent(url.search.slice(1)));
    return { page: readPage(Buffer.from('{"count":7,"items":[]}')), serviceTime: undefined };
  };
  const before = knownInstant(0);
  const part = { file: 'part-000001.ndjson', after: null, before, expected: 1 };
  const manifest = {
    queries: [{ eventType: 'a' }, { eventType: 'b', publishStatus: 'FAILED' }],
    parts: [
      { ...part, query: 0 },
      { ...part, query: 1 },
    ],
  };
  const client = {
    baseUrl: new URL('https://events.example.com'),
    fetchPage,
    concurrency: () => 1,
    signal: new AbortController().signal,
  };
  expect([...(await countAnyStatus(manifest as never, [0, 1], client as never))]).toEqual([[1, 7]]);
  expect(asked).toEqual(['lt(createdOn,1970-01-01T00:00:00Z)&eq(eventType,b)&limit(1,1)']);
});
