import { describe, expect, test } from 'vitest';
import { eventFilters, type FilterFlags } from '../../src/filters/filter-flags.ts';
import { type Service, type ServiceRequest, waitText } from '../../src/http/service.ts';
import { type FindOptions, openSearch, openWithProgress, readNotice } from '../../src/sources/find-events.ts';
import { parseInstant } from '../../src/time/instant.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { clock, NOON } from '../support/clock.ts';
import { createContext, fakeOutput, thisMachine } from '../support/context.ts';
import { idsIn } from '../support/found.ts';
import { fakeReporter } from '../support/outputs.ts';
import { itemOf, knownOf } from '../support/shape.ts';

const MINUTE_MS = 60_000;
const START = /limit\((\d+),(\d+)\)/;
type Asked = Pick<ServiceRequest, 'url' | 'onRetry' | 'signal'>;

interface Given {
  /** Seconds by which the service's clock is ahead; null if it sends none. */
  readonly ahead?: number | null;
  readonly failed?: readonly string[];
  readonly before?: (asked: Asked) => void;
}

/** A service that lists these events, a minute apart and the newest first, with the queries that it got. */
function serviceOf(ids: readonly string[], { ahead = 0, failed = [], before = () => {} }: Given = {}) {
  const asked: string[] = [];
  const events = ids.map((eventId, at) =>
    itemOf({
      eventId,
      createdOn: new Date(NOON - (at + 1) * MINUTE_MS).toISOString(),
      publishStatus: failed.includes(eventId) ? 'FAILED' : 'SUCCESS',
    }),
  );
  const send = async (request: Asked) => {
    before(request);
    const query = decodeURIComponent(request.url.search.slice(1));
    asked.push(query);
    const [, start = 1, count = 1] = (START.exec(query) ?? []).map(Number);
    const status = /publishStatus,(\w+)/.exec(query)?.[1];
    const found = status ? events.filter((event) => knownOf(event).publishStatus === status) : events;
    const items = found.slice(start - 1, start - 1 + count);
    const nextPage = request.url.href.replace(
      /limit\([^)]*\)|limit%28[^&]*/,
      `limit(${start + count},${count})`,
    );
    const next = start - 1 + count < found.length ? nextPage : null;
    const headers = ahead === null ? {} : { date: new Date(clock.now() + ahead * 1000).toUTCString() };
    return { status: 200, headers, body: Buffer.from(JSON.stringify({ count: found.length, items, next })) };
  };
  const { signal } = new AbortController();
  const baseUrl = new URL('https://events.example.com/v1');
  return { service: { baseUrl, clock, signal, send } as unknown as Service, asked };
}

async function search(
  { service, asked }: ReturnType<typeof serviceOf>,
  flags: FilterFlags,
  options: Partial<FindOptions> = {},
) {
  const doubts: string[] = [];
  const opened = await openSearch(service, eventFilters(flags, NOON), {
    pageSize: 2,
    concurrency: 1,
    clock,
    signal: new AbortController().signal,
    onDoubt: (doubt, kind = 'incomplete') => void doubts.push(`${kind}: ${doubt}`),
    ...options,
  });
  const askedBefore = asked.length;
  const ids: string[] = [];
  const totals: (number | undefined)[] = [];
  for await (const { items, total } of opened.pages) {
    ids.push(...idsIn(items));
    totals.push(total);
  }
  return { ids, totals, doubts, asked, askedBefore, opened };
}

const ALL = ['e', 'd', 'c', 'b', 'a'];

describe('a search', () => {
  test('reads pages of its size, as many as its limit needs', async () => {
    const all = await search(serviceOf(ALL), {});
    expect([all.ids, all.totals[0], all.askedBefore]).toEqual([ALL, 5, 0]);
    const until = 'lt(createdOn,2026-11-20T12:00:01Z)';
    expect(all.asked).toEqual(['limit(1,2)', `${until}&limit(3,2)`, `${until}&limit(5,2)`]);
    expect(all.opened.queries).toEqual([{ after: undefined, before: undefined }]);
    expect(all.opened.lookedAt()).toBeUndefined();
    const limited = await search(serviceOf(ALL), {}, { limit: 3 });
    expect([limited.ids, limited.asked.length]).toEqual([['e', 'd', 'c'], 2]);
    const one = await search(serviceOf(ALL), {}, { limit: 1 });
    expect([one.ids, one.asked]).toEqual([['e'], ['limit(1,1)']]);
  });

  test('asks first for relative times, no more than it needs, and reads the answer as the first page', async () => {
    const { ids, asked, askedBefore } = await search(serviceOf(ALL), { after: '2h' }, { limit: 1 });
    expect([ids, askedBefore]).toEqual([['e'], 1]);
    expect(asked).toEqual(['gt(createdOn,2026-11-20T10:00:00Z)&limit(1,1)']);
    const filtered = await search(serviceOf(ALL), { after: '2h', where: ['eventId != e'] }, { limit: 1 });
    expect([filtered.ids, filtered.asked[0]]).toEqual([
      ['d'],
      'gt(createdOn,2026-11-20T10:00:00Z)&limit(1,2)',
    ]);
  });

  test('counts relative times by the clock of the service, and doubts the one of the machine once', async () => {
    const { asked, doubts, ids } = await search(serviceOf(ALL, { ahead: 60 }), {
      after: '2h',
      status: ['FAILED', 'SUCCESS'],
    });
    expect(ids).toEqual(ALL);
    expect(asked.at(-1)).toContain('gt(createdOn,2026-11-20T10:01:00Z)');
    expect(doubts).toEqual([
      "incomplete: this machine's clock is 60 s behind the service's: times are counted from the service's",
    ]);
  });

  test('within other times asks nothing about the clock', async () => {
    const within = {
      after: parseInstant('2026-11-20T04:00:00Z'),
      before: parseInstant('2026-11-20T06:00:00Z'),
    };
    const { asked, askedBefore, opened } = await search(
      serviceOf(ALL, { ahead: 60 }),
      { after: '2h', failed: true },
      { within },
    );
    expect(askedBefore).toBe(0);
    expect(opened.queries).toEqual([{ ...within, publishStatus: 'FAILED' }]);
    expect(asked).toEqual([
      'gt(createdOn,2026-11-20T04:00:00Z)&lt(createdOn,2026-11-20T06:00:00Z)&eq(publishStatus,FAILED)&limit(1,2)',
    ]);
  });

  test('knows when the service answered first, by the clock of the service', async () => {
    const { opened } = await search(serviceOf(ALL, { ahead: 60 }), {});
    expect(await opened.askedAt).toBe(NOON + MINUTE_MS);
    let answers = 0;
    const later = serviceOf(ALL, { before: () => void (answers++ > 0 && clock.advance(5_000)) });
    expect(await (await search(later, {})).opened.askedAt).toBe(NOON);
    expect(await (await search(serviceOf(ALL, { ahead: null }), {})).opened.askedAt).toBeUndefined();
  });

  test('that filters here reads until its limit is found, and counts what it looked at', async () => {
    const { ids, asked, opened, totals } = await search(
      serviceOf(ALL),
      { where: ['eventId != e', 'eventId != d'] },
      { limit: 1 },
    );
    expect([ids, asked[0]]).toEqual([['c'], 'limit(1,2)']);
    expect(opened.lookedAt()).toBe(4);
    expect(new Set(totals)).toEqual(new Set([undefined]));
  });

  test('doubts conditions that name a field that no event has', async () => {
    const { doubts } = await search(serviceOf(ALL), { where: ['nothing = 1'] });
    expect(doubts).toEqual([expect.stringMatching(/^usage: .*nothing/)]);
  });

  test('of several queries gives the events of all, in one order', async () => {
    const { ids, asked } = await search(serviceOf(ALL, { failed: ['d', 'a'] }), {
      status: ['FAILED', 'SUCCESS'],
    });
    expect(ids).toEqual(ALL);
    expect(asked.filter((query) => query.startsWith('eq(publishStatus,FAILED)'))).not.toHaveLength(0);
  });
});

describe('requests at a time', () => {
  /** Returns how many requests of a search were at most open at the same time. */
  async function mostAtOnce(concurrency: number, flags: FilterFlags = {}) {
    const given = serviceOf(Array.from({ length: 60 }, (_, at) => `e${at}`));
    let open = 0;
    let most = 0;
    const send = async (request: ServiceRequest) => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open--;
      return given.service.send(request);
    };
    const service = { ...given.service, send } as Service;
    const { ids } = await search({ ...given, service }, flags, { concurrency });
    expect(new Set(ids).size).toBe(60);
    return most;
  }

  test('are as many as allowed, which all queries share', async () => {
    expect(await mostAtOnce(1)).toBe(1);
    expect(await mostAtOnce(4)).toBe(4);
    expect(await mostAtOnce(4, { status: ['FAILED', 'SUCCESS'] })).toBeLessThanOrEqual(4);
  });

  test('tell whoever waits', async () => {
    const retries: unknown[] = [];
    const retry = { reason: 'busy', delay: 5, status: 429 };
    const given = serviceOf(ALL, { before: ({ onRetry }) => onRetry?.(retry) });
    await search(given, {}, { onRetry: (attempt) => void retries.push(attempt) });
    expect(retries).toEqual([retry, retry, retry]);
  });
});

describe('a direction', () => {
  test('is the order of the result, with a limit counted from that end', async () => {
    const newest = await search(serviceOf(ALL), {}, { direction: 'newest first', limit: 2 });
    expect([newest.ids, newest.asked]).toEqual([['e', 'd'], ['limit(1,2)']]);
    const oldest = await search(serviceOf(ALL), {}, { direction: 'oldest first', limit: 2 });
    expect(oldest.ids).toEqual(['a', 'b']);
    // The first page, the count, and the last two: not all five.
    expect(oldest.asked).toEqual(['limit(1,2)', 'limit(1,1)', 'limit(4,2)']);
    expect((await search(serviceOf(ALL), {}, { direction: 'oldest first' })).ids).toEqual([...ALL].reverse());
  });

  test('with filters that run here, or of several queries, reads all events', async () => {
    for (const flags of [
      { where: ['eventId != a'] },
      { status: ['FAILED', 'SUCCESS'], where: ['eventId != a'] },
    ]) {
      const { ids } = await search(serviceOf(ALL), flags, { direction: 'oldest first', limit: 2 });
      expect(ids).toEqual(['b', 'c']);
    }
    const both = await search(
      serviceOf(ALL, { failed: ['d'] }),
      { status: ['FAILED', 'SUCCESS'] },
      { direction: 'oldest first', limit: 2 },
    );
    expect(both.ids).toEqual(['a', 'b']);
    expect(both.asked.some((query) => query.includes('limit(4,'))).toBe(false);
  });
});

describe('a notice of what was read', () => {
  const after = parseInstant('2026-11-20T10:00:00Z');
  const before = parseInstant('2026-11-20T12:00:00Z');
  const settings = { profile: 'live', baseUrl: new URL('https://events.example.com:8443/v1') };
  const notice = (
    bounds: Parameters<typeof readNotice>[1],
    lookedAt?: number,
    zone: TimeZone = UTC,
    timezone = 'UTC',
  ) => readNotice('searched', bounds, lookedAt, zone, settings, { machine: { ...thisMachine(), timezone } });

  test('has the times, the service and the profile', () => {
    const place = "events.example.com:8443 (profile 'live')";
    expect(notice({})).toBe(`searched ${place}`);
    expect(notice({ after })).toBe(`searched events created after 2026-11-20T10:00:00Z, at ${place}`);
    expect(notice({ before })).toBe(`searched events created before 2026-11-20T12:00:00Z, at ${place}`);
    expect(notice({ after, before })).toBe(
      `searched events created after 2026-11-20T10:00:00Z and before 2026-11-20T12:00:00Z, at ${place}`,
    );
    expect(notice({}, 1)).toBe(`searched 1 event at ${place}`);
    expect(notice({ after }, 2_000)).toBe(
      `searched 2,000 events created after 2026-11-20T10:00:00Z, at ${place}`,
    );
    expect(notice({}, 0)).toBe(`searched 0 events at ${place}`);
  });

  test('adds the local time to UTC where it differs, and to no other zone', () => {
    expect(notice({ after }, undefined, UTC, 'Europe/Berlin')).toContain(
      'after 2026-11-20T10:00:00Z (2026-11-20T11:00:00+01:00 here), at ',
    );
    const berlin = new TimeZone('Europe/Berlin');
    expect(notice({ after }, undefined, berlin, 'America/New_York')).toContain(
      'after 2026-11-20T11:00:00+01:00, at ',
    );
  });
});

describe('a search with progress', () => {
  const open = async (given: Given) => {
    const reporter = fakeReporter();
    const stderr = fakeOutput(80);
    const { service } = serviceOf(ALL, given);
    // Such a terminal gets a line every ten seconds.
    const context = createContext({ stdout: fakeOutput(80), stderr, environment: { TERM: 'dumb' } });
    const search = await openWithProgress(
      service,
      eventFilters({ after: '2h' }, NOON),
      { concurrency: 1 },
      context,
      reporter,
    );
    let events = 0;
    for await (const { items } of search.pages) events += items.count;
    return { events, said: reporter.said, shown: stderr.text };
  };

  test('says doubts as warnings, and reads in large pages', async () => {
    expect(await open({ ahead: 60 })).toEqual({
      events: 5,
      said: [
        "warning: this machine's clock is 60 s behind the service's: times are counted from the service's",
      ],
      shown: '',
    });
  });

  test('shows the events read of all, and waits', async () => {
    const retry = { reason: 'busy', delay: 5_000, status: 503 };
    const before = ({ onRetry }: Asked) => {
      clock.advance(11_000);
      onRetry?.(retry);
      clock.advance(11_000);
    };
    const { shown } = await open({ before, ahead: null });
    expect(shown).toBe(`reading; ${waitText(retry)}\nreading: 5 of 5 events (100%)\n`);
  });
});
