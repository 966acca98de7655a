import { describe, expect, test } from 'vitest';
import type { Manifest } from '../../src/export/export-manifest.ts';
import { type Part, withReading } from '../../src/export/export-part.ts';
import { beginExport, planUpdate, warnOfLaterDated } from '../../src/export/export-plan.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { parseCondition } from '../../src/items/item-conditions.ts';
import { type FetchPage, readPage } from '../../src/paging/page.ts';
import { type Instant, milliseconds, parseInstant } from '../../src/time/instant.ts';
import { version } from '../../src/version.ts';

const baseUrl = new URL('https://events.example.com/');
const NOW = Date.parse('2026-11-20T12:00:00.400Z');

interface Stored {
  readonly at: string;
  readonly type?: string;
}

/** A service with a clock of its own that counts its events; only their times and types matter. */
function startService(events: readonly Stored[], { serviceMs = 0, isDated = true, isCounting = true } = {}) {
  const asked: string[] = [];
  const naps: number[] = [];
  const state = { now: NOW, serviceMs, isDated, isCounting, events: [...events] };
  const fetchPage: FetchPage = async (url) => {
    const query = decodeURIComponent(url.search.slice(1));
    asked.push(query);
    const bound = (key: string) => Date.parse(query.match(`${key}\\(createdOn,([^)]+)\\)`)?.[1] ?? '');
    const [after, before] = [bound('gt'), bound('lt')];
    const type = /eq\(eventType,([^)]+)\)/.exec(query)?.[1];
    const found = state.events.filter((event) => {
      const at = Date.parse(event.at);
      return !(at <= after) && !(at >= before) && (type === undefined || event.type === type);
    });
    const count = state.isCounting ? `"count":${found.length},` : '';
    const time = Math.floor((state.now + state.serviceMs) / 1000) * 1000;
    const page = readPage(Buffer.from(`{${count}"items":[]}`));
    return { page, serviceTime: state.isDated ? time : undefined };
  };
  const clock = {
    now: () => state.now,
    sleep: async (ms: number) => {
      naps.push(ms);
    },
  };
  const signal = new AbortController().signal;
  const client = { baseUrl, fetchPage, pageSize: 1, concurrency: () => 1, clock, signal } as never;
  return { client, asked, naps, state };
}

const IDENTITY = {
  service: baseUrl.href,
  filters: {},
  gzip: false,
  partition: undefined,
  fileFormat: undefined,
};
const instant = (text: string) => parseInstant(text) as Instant;
const given = (flag: string, text: string) => {
  return { flag, text, time: { kind: 'instant' as const, instant: instant(text) } };
};

/** Each part as its name, its search, its bounds, and what is expected or held of it. */
const shown = ({ parts }: Pick<Manifest, 'parts'>) =>
  parts.map((part) => {
    const { file, query, after, before, expected, read, isSettled } = part;
    const state = isSettled ? 'settled' : 'written';
    const content = read ? `${state} ${read.held.events}` : `planned ${expected}`;
    return [file, query, after?.text ?? null, before.text, content];
  });

/** The export after all its parts were read as planned. */
function finished(planned: Manifest, finishedAt: string): Manifest {
  const written = (part: Part): Part => {
    if (part.read) return part;
    const events = part.expected ?? 0;
    const held = { events, bytes: 9, sha256: 'a' };
    return withReading(part, { held, counted: events, ofAnyStatus: null });
  };
  return { ...planned, finishedAt, events: 0, parts: planned.parts.map(written) };
}

/** Twelve events in each of some seconds. Parts have at most fifteen. */
const inSeconds = (...texts: string[]) =>
  texts.flatMap((at) => Array.from({ length: 12 }, () => ({ at: `2026-11-20T${at}.5Z` })));

describe('a new export', () => {
  test('ends at the full second after the time of the service, which has to pass first', async () => {
    const { client, asked, naps } = startService(inSeconds('11:00:00'), { serviceMs: 86_400_000 });
    const manifest = await beginExport(new EventFilters(), IDENTITY, client);
    expect(manifest).toMatchObject({
      format: 'hooktrail-export',
      version: 1,
      hooktrail: version,
      ...IDENTITY,
      pin: { text: '2026-11-21T12:00:01Z' },
      queries: [{ after: undefined, before: { text: '2026-11-21T12:00:01Z' } }],
      startedAt: '2026-11-20T12:00:00.400Z',
      finishedAt: null,
      events: null,
    });
    expect(naps).toEqual([1000]);
    expect(asked.slice(0, 2)).toEqual(['limit(1,1)', 'lt(createdOn,2026-11-21T12:00:01Z)&limit(1,1)']);
  });

  test("ends by this machine's clock where the service sends no time", async () => {
    const { client, naps } = startService([], { isDated: false });
    const { pin } = await beginExport(new EventFilters(), IDENTITY, client);
    expect([pin.text, naps]).toEqual(['2026-11-20T12:00:01Z', [600]]);
  });

  test('ends at --until where that has passed, and waits for nothing', async () => {
    const { client, naps } = startService(inSeconds('11:00:00'));
    const filters = new EventFilters({ before: given('--until', '2026-11-20T11:30:00Z') });
    const manifest = await beginExport(filters, IDENTITY, client);
    expect([manifest.pin.text, naps]).toEqual(['2026-11-20T11:30:00Z', [0]]);
  });

  test.each([
    ['2026-11-20T00:00:00Z', '19'],
    ['2026-11-20T00:00:00.1Z', '20'],
  ])('with a folder for each day that ends at %s ends in that of the %sth', async (until, day) => {
    const { client } = startService([{ at: '2026-11-19T23:00:00Z' }]);
    const filters = new EventFilters({
      after: given('--since', '2026-11-19T22:00:00Z'),
      before: given('--until', until),
    });
    const { parts } = await beginExport(filters, { ...IDENTITY, partition: 'day' }, client);
    expect(parts[0]?.file).toBe(`date=2026-11-${day}/part-000001.ndjson`);
  });

  test('of one that begins later is refused', async () => {
    const { client } = startService([]);
    const filters = new EventFilters({ after: given('--since', '2026-11-20T12:00:02Z') });
    await expect(beginExport(filters, IDENTITY, client)).rejects.toThrow(
      "--since: 2026-11-20T12:00:02Z is in the future: the service's time is 2026-11-20T12:00:00Z",
    );
  });

  test('has parts that reach a second into the next older one, and into nothing before its beginning', async () => {
    const { client } = startService(inSeconds('11:59:57', '11:59:59'));
    const filters = new EventFilters({ after: given('--since', '2026-11-20T11:59:55.2Z') });
    expect(shown(await beginExport(filters, IDENTITY, client))).toEqual([
      ['part-000001.ndjson', 0, '2026-11-20T11:59:58Z', '2026-11-20T12:00:01Z', 'planned 12'],
      ['part-000002.ndjson', 0, '2026-11-20T11:59:55.2Z', '2026-11-20T11:59:59Z', 'planned 12'],
    ]);
  });

  test('begins no part before --since, into whose second it reaches', async () => {
    const { client } = startService(inSeconds('11:59:58', '11:59:59'));
    const filters = new EventFilters({ after: given('--since', '2026-11-20T11:59:58.2Z') });
    expect(shown(await beginExport(filters, IDENTITY, client)).map(([, , after]) => after)).toEqual([
      '2026-11-20T11:59:58.2Z',
      '2026-11-20T11:59:58.2Z',
    ]);
  });

  test('whose end lies within a second has a part up to that end', async () => {
    const { client } = startService(inSeconds('11:59:58', '11:59:59'));
    const filters = new EventFilters({ before: given('--until', '2026-11-20T11:59:59.7Z') });
    expect(shown(await beginExport(filters, IDENTITY, client))).toEqual([
      ['part-000001.ndjson', 0, '2026-11-20T11:59:58Z', '2026-11-20T11:59:59.7Z', 'planned 12'],
      ['part-000002.ndjson', 0, null, '2026-11-20T11:59:59Z', 'planned 12'],
    ]);
  });

  test('of several searches has the parts of each, newest first, in the form that it is to have', async () => {
    const events = ['a', 'b'].flatMap((type) => inSeconds('11:59:58').map(({ at }) => ({ at, type })));
    const { client } = startService(events);
    const filters = new EventFilters({ values: { eventType: ['a', 'b'] } });
    const identity = { ...IDENTITY, gzip: true, partition: 'day' as const };
    const manifest = await beginExport(filters, identity, client);
    expect(manifest).toMatchObject({ version: 1, ...identity });
    expect(manifest.queries.map(({ eventType, before }) => [eventType, before?.text])).toEqual([
      ['a', '2026-11-20T12:00:01Z'],
      ['b', '2026-11-20T12:00:01Z'],
    ]);
    const day = 'date=2026-11-20';
    expect(shown(manifest).map(([file, query, , , content]) => [file, query, content])).toEqual([
      [`${day}/part-000001.ndjson.gz`, 0, 'planned 12'],
      ['date=2026-11-19/part-000002.ndjson.gz', 0, 'planned 0'],
      [`${day}/part-000003.ndjson.gz`, 1, 'planned 12'],
      ['date=2026-11-19/part-000004.ndjson.gz', 1, 'planned 0'],
    ]);
  });

  test('of a service that does not count is one part, of which nothing is expected', async () => {
    const { client } = startService(inSeconds('11:59:58'), { isCounting: false });
    expect(shown(await beginExport(new EventFilters(), IDENTITY, client))).toEqual([
      ['part-000001.ndjson', 0, null, '2026-11-20T12:00:01Z', 'planned null'],
    ]);
  });
});

describe('an update', () => {
  const HOUR_MS = 3_600_000;

  /** An export that was made now, and the service an hour and a half later, with more events. */
  async function updating(filters = new EventFilters(), finishedAt = '2026-11-20T12:00:05.000Z') {
    const service = startService(inSeconds('10:30:00'));
    const made = finished(await beginExport(filters, IDENTITY, service.client), finishedAt);
    service.state.now += 1.5 * HOUR_MS;
    service.state.events.push(...inSeconds('13:00:00'));
    return { ...service, made };
  }

  test('adds parts from an hour before the end on, in front of the parts that are there', async () => {
    const { client, made } = await updating();
    const planned = await planUpdate(new EventFilters(), made, client);
    expect(planned).toMatchObject({
      pin: { text: '2026-11-20T13:30:01Z' },
      queries: [{ before: { text: '2026-11-20T13:30:01Z' } }],
      finishedAt: null,
      events: null,
      overlapFrom: { text: '2026-11-20T11:00:01Z' },
      startedAt: made.startedAt,
    });
    expect(shown(planned)).toEqual([
      ['part-000002.ndjson', 0, '2026-11-20T11:00:01Z', '2026-11-20T13:30:01Z', 'planned 12'],
      ['part-000001.ndjson', 0, null, '2026-11-20T12:00:01Z', 'settled 12'],
    ]);
  });

  test.each([
    ['the end', '2026-11-20T12:00:05.000Z', 0, '2026-11-20T11:00:01Z'],
    ['the time at which it was finished', '2026-11-20T11:40:00.000Z', 0, '2026-11-20T10:40:00Z'],
    ["the service's present time", '2026-11-20T12:00:05.000Z', -3 * HOUR_MS, '2026-11-20T09:30:01Z'],
  ])('begins an hour before %s, where that is earliest', async (_, finishedAt, serviceMs, from) => {
    const { client, made, state } = await updating(new EventFilters(), finishedAt);
    state.serviceMs = serviceMs;
    const { overlapFrom } = await planUpdate(new EventFilters(), made, client);
    expect(overlapFrom && milliseconds(overlapFrom)).toBe(Date.parse(from));
  });

  test('begins with the export where that is less than an hour old', async () => {
    const filters = new EventFilters({ after: given('--since', '2026-11-20T11:30:00Z') });
    const { client, made } = await updating(filters);
    const planned = await planUpdate(filters, made, client);
    expect(shown(planned)[0]).toEqual([
      'part-000002.ndjson',
      0,
      '2026-11-20T11:30:00Z',
      '2026-11-20T13:30:01Z',
      'planned 12',
    ]);
    expect(planned.queries[0]?.after?.text).toBe('2026-11-20T11:30:00Z');
  });

  test('in the second of its end leaves the export as it is', async () => {
    const { client, state } = startService(inSeconds('11:00:00'));
    const made = finished(
      await beginExport(new EventFilters(), IDENTITY, client),
      '2026-11-20T12:00:01.000Z',
    );
    state.now += 500;
    expect(await planUpdate(new EventFilters(), made, client)).toBe(made);
  });

  test('reads all of a search that is new, behind what is there, and of others what is new', async () => {
    const ofType = (type: string, ...texts: string[]) => inSeconds(...texts).map(({ at }) => ({ at, type }));
    const { client, state } = startService([...ofType('a', '10:30:00'), ...ofType('b', '10:30:00')]);
    const before = new EventFilters({ values: { eventType: ['a', 'b'] } });
    const made = finished(await beginExport(before, IDENTITY, client), '2026-11-20T12:00:05.000Z');
    state.now += 1.5 * HOUR_MS;
    state.events.push(...ofType('b', '13:00:00'), ...ofType('c', '10:00:00'));
    // A type that the service offers no more stays a search.
    const now = new EventFilters({ values: { eventType: ['b', 'c'] } });
    const planned = await planUpdate(now, made, client);
    expect(planned.queries.map(({ eventType }) => eventType)).toEqual(['a', 'b', 'c']);
    expect(shown(planned).map(([file, query, after, , content]) => [file, query, after, content])).toEqual([
      ['part-000003.ndjson', 0, '2026-11-20T11:00:01Z', 'planned 0'],
      ['part-000001.ndjson', 0, null, 'settled 12'],
      ['part-000004.ndjson', 1, '2026-11-20T11:00:01Z', 'planned 12'],
      ['part-000002.ndjson', 1, null, 'settled 12'],
      ['part-000005.ndjson', 2, null, 'planned 12'],
    ]);
  });
});

describe('events that the service dates later than its clock', () => {
  const later = (seconds: number): Stored => ({
    at: new Date(Date.parse('2026-11-20T12:01:01Z') + seconds * 1000).toISOString(),
  });

  async function warnings(events: readonly Stored[], filters = new EventFilters(), isCounting = true) {
    const { client, asked, state } = startService(events);
    const manifest = await beginExport(new EventFilters(), IDENTITY, client);
    state.isCounting = isCounting;
    asked.length = 0;
    const said: string[] = [];
    const warning = (text: string, { kind }: { kind?: string } = {}) => said.push(`${kind}: ${text}`);
    await warnOfLaterDated(filters, { warning }, manifest, client);
    return { said, asked };
  }
  const END =
    "dated later than the service's clock and not in this export; --update adds them when their time has come";

  test('are told, if they are a minute later at least', async () => {
    expect((await warnings([later(-1), later(0)])).said).toEqual([]);
    expect((await warnings([later(0), later(1)])).said).toEqual([`incomplete: 1 event is ${END}`]);
    const { said, asked } = await warnings([later(1), later(2)]);
    expect(said).toEqual([`incomplete: 2 events are ${END}`]);
    expect(asked).toEqual(['gt(createdOn,2026-11-20T12:01:01Z)&limit(1,1)']);
  });

  test('are as many at most where filters run here', async () => {
    const filters = new EventFilters({ conditions: [parseCondition('a = b', '--where', NOW)] });
    expect((await warnings([later(1)], filters)).said).toEqual([`incomplete: up to 1 event is ${END}`]);
  });

  test('are counted for each search, and not where the service does not count', async () => {
    const events = ['a', 'a', 'b', 'c'].map((type) => ({ ...later(1), type }));
    const filters = new EventFilters({ values: { eventType: ['a', 'b'] } });
    expect((await warnings(events, filters)).said).toEqual([`incomplete: 3 events are ${END}`]);
    expect((await warnings(events, filters, false)).said).toEqual([]);
  });

  test.each([
    ['2026-11-20T12:01:01Z', []],
    [
      '2026-11-20T12:01:02Z',
      ['gt(createdOn,2026-11-20T12:01:01Z)&lt(createdOn,2026-11-20T12:01:02Z)&limit(1,1)'],
    ],
  ])('are not asked for where --until is %s', async (until, asked) => {
    const filters = new EventFilters({ before: given('--until', until) });
    expect((await warnings([later(0.5)], filters)).asked).toEqual(asked);
  });
});
