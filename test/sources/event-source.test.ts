import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { eventFilters, type FilterFlags } from '../../src/filters/filter-flags.ts';
import type { FormatName } from '../../src/formats/format-registry.ts';
import { TimeColumn } from '../../src/items/time-column.ts';
import { MarketplaceMix } from '../../src/names/marketplaces.ts';
import { queryString } from '../../src/paging/event-query.ts';
import type { FoundPage } from '../../src/paging/page.ts';
import { RunSettings } from '../../src/settings/settings.ts';
import {
  EventSource,
  mixText,
  unknownOutcomesText,
  withEventSource,
} from '../../src/sources/event-source.ts';
import { parseInstant } from '../../src/time/instant.ts';
import { NOON } from '../support/clock.ts';
import { createContext, fakeOutput, inputOf } from '../support/context.ts';
import { idsIn, itemsOf } from '../support/found.ts';
import { fakeReporter, reporterTo } from '../support/outputs.ts';
import { type Searching, startSearching } from '../support/searching.ts';
import { itemOf } from '../support/shape.ts';

type Fields = Readonly<Record<string, unknown>>;

const failed = (eventId: string) => ({ eventId, publishStatus: 'FAILED' });
const delivered = (eventId: string) => ({ eventId, publishStatus: 'SUCCESS' });
const ofMarketplace = (...marketplaceIds: string[]) => ({ eventId: 'e', headers: { marketplaceIds } });

interface Given {
  readonly pages?: readonly (Fields & { readonly total?: number })[][];
  /** The size of the whole result, in each page. */
  readonly total?: number | undefined;
  readonly isService?: boolean;
  /** True for a service whose items have their outcome. */
  readonly hasStatuses?: boolean;
  readonly flags?: FilterFlags;
  readonly filters?: EventFilters;
  readonly format?: FormatName | 'pretty';
}

/** A source of these pages. `asked`: the searches that were made, in words. */
function sourceOf({ pages = [], total, isService = false, flags = {}, format, ...given }: Given = {}) {
  const asked: string[] = [];
  const said: string[] = [];
  const reporter = reporterTo((line) => void said.push(line));
  const filters = given.filters ?? eventFilters(flags, NOON);
  async function* read(...[chosen, within, direction]: Parameters<EventSource['read']>) {
    const { after } = within ?? {};
    asked.push([chosen.statuses.join(), after?.text, direction].filter(Boolean).join(' '));
    const isChosen = ({ publishStatus }: Fields) =>
      chosen.statuses.length === 0 || chosen.statuses.some((status) => status === publishStatus);
    for (const page of pages) {
      const found = page.filter(isChosen);
      // A service may leave out what it filters by.
      const items =
        isService && !given.hasStatuses ? found.map(({ publishStatus: _, ...others }) => others) : found;
      yield { items: itemsOf(...items), total } satisfies FoundPage;
    }
  }
  let doubts = 0;
  const service = {
    count: async () => [],
    typesOnOffer: [],
    askNames: () => {
      throw new Error('no names are asked for');
    },
    doubt: async () => void doubts++,
  };
  const place = {
    name: 'a place',
    filters,
    window: undefined,
    isReadOnce: false,
    service: isService ? service : undefined,
  };
  const call = { context: createContext(), reporter } as never;
  const options = format ? { format: { format } } : {};
  const source = new EventSource(place, read, new MarketplaceMix(), options, call);
  return { source, asked, said, doubts: () => doubts };
}

async function outcomesOf(
  given: Given,
  ...how: [EventFilters?, Parameters<EventSource['read']>[1]?, 'newest first'?]
) {
  const { source, ...more } = sourceOf(given);
  const [filters = source.filters, ...others] = how;
  const found: [string[], boolean | undefined][] = [];
  for await (const { items, haveFailed } of source.readOutcomes(filters, ...others))
    if (items.count > 0) found.push([idsIn(items), haveFailed]);
  return { found, source, ...more };
}

describe('the outcomes of events', () => {
  const pages = [
    [failed('a'), delivered('b')],
    [delivered('c'), { eventId: 'd', publishStatus: 'PENDING' }],
  ];

  test('are in the events themselves', async () => {
    const { found, asked, source, said } = await outcomesOf({ pages });
    expect(found).toEqual([
      [['a', 'b'], undefined],
      [['c', 'd'], undefined],
    ]);
    expect(asked).toEqual(['']);
    expect([source.warnOfUnknown(), said]).toEqual([0, []]);
    const ofService = await outcomesOf({ pages, isService: true, hasStatuses: true });
    expect([ofService.found, ofService.asked]).toEqual([found, ['']]);
  });

  test('are asked of a service that leaves them out, and the rest is unknown', async () => {
    const { found, asked, source, said } = await outcomesOf({ pages, isService: true });
    expect(found).toEqual([
      [['a'], true],
      [['b'], false],
      [['c'], false],
    ]);
    expect(asked).toEqual(['', 'FAILED', 'SUCCESS']);
    expect([source.warnOfUnknown(), said]).toEqual([
      1,
      ['incomplete: 1 event skipped: publishStatus is neither SUCCESS nor FAILED'],
    ]);
  });

  test('of a service that gives its count are asked after one page', async () => {
    const { found, source } = await outcomesOf({ pages, isService: true, total: 4 });
    expect(found.length).toBe(3);
    expect(source.warnOfUnknown()).toBe(1);
  });

  test('are asked as the filters, the times and the direction say', async () => {
    const within = { after: parseInstant('2026-11-20T11:00:00Z'), before: undefined };
    const { found, asked } = await outcomesOf(
      { pages, isService: true, total: 4 },
      eventFilters({ failed: true }, NOON),
      within,
      'newest first',
    );
    expect(found).toEqual([[['a'], true]]);
    expect(asked).toEqual(Array(2).fill('FAILED 2026-11-20T11:00:00Z newest first'));
  });

  test('of a service without events are asked no further', async () => {
    const { found, asked, source } = await outcomesOf({ pages: [[], []], isService: true, total: 0 });
    expect([found, asked, source.warnOfUnknown()]).toEqual([[], [''], 0]);
  });

  test('of a first page without events are looked for in the next', async () => {
    const { asked } = await outcomesOf({ pages: [[], [{ eventId: 'd' }]], isService: true });
    expect(asked).toEqual(['', 'FAILED', 'SUCCESS']);
  });

  test('of stored events that have none are not asked for', async () => {
    const { found, asked, source } = await outcomesOf({ pages: [[{ eventId: 'd' }]] });
    expect([found, asked, source.warnOfUnknown()]).toEqual([[[['d'], undefined]], [''], 0]);
  });

  test('that are unknown are added to those of the caller, and are never fewer than none', async () => {
    const { source, said } = await outcomesOf({ pages, isService: true });
    expect(source.warnOfUnknown(1_233)).toBe(1_234);
    expect(said).toEqual([`incomplete: ${unknownOutcomesText(1_234)}`]);
    expect(unknownOutcomesText(1_234)).toBe(
      '1,234 events skipped: publishStatus is neither SUCCESS nor FAILED',
    );
    expect(sourceOf().source.warnOfUnknown(-1)).toBe(0);
  });
});

test('pages that were kept are shown until the end, or a signal', async () => {
  const ending = new AbortController();
  const filters = new EventFilters();
  const place = { name: 'a place', filters, window: undefined, isReadOnce: false, service: undefined };
  const context = createContext({ signal: ending.signal });
  const call = { context, reporter: fakeReporter() } as never;
  const source = new EventSource(place, async function* () {}, new MarketplaceMix(), {}, call);
  async function* kept() {
    for (const id of ['a', 'b', 'c']) yield { items: itemsOf(failed(id)), haveFailed: true };
  }
  const seen: string[] = [];
  for await (const { items } of source.showKept(kept())) seen.push(...idsIn(items));
  expect(seen).toEqual(['a', 'b', 'c']);
  const reason = new Error('interrupted');
  const stopped = (async () => {
    for await (const _ of source.showKept(kept())) ending.abort(reason);
  })();
  await expect(stopped).rejects.toBe(reason);
});

test('events without a time are counted with a warning', () => {
  const { source, said } = sourceOf();
  expect(source.warnOfUnknown(0, { unknown: 0 })).toBe(0);
  expect(said).toEqual([]);
  expect(source.warnOfUnknown(0, { unknown: 2 })).toBe(0);
  expect(said).toEqual([
    'incomplete: 2 events counted, but in no span of time: createdOn is missing or not a time',
  ]);
});

describe('events of several marketplaces', () => {
  const pages = [[ofMarketplace('1')], [ofMarketplace('2'), ofMarketplace('3')]];
  const readAll = async (given: Given) => {
    const made = sourceOf({ pages, ...given });
    for await (const _ of made.source.read(made.source.filters));
    return made;
  };
  const TEXT = 'events of several marketplaces are mixed here (1, 2 …): --marketplace chooses one';

  test('are told to people, after everything was read', async () => {
    expect(mixText(['1', '2', '3'])).toBe(TEXT);
    const { source, said } = await readAll({ format: 'table' });
    expect(source.mixedMarketplaces).toEqual(['1', '2']);
    expect(said).toEqual([]);
    await source.adviseOnResult(3);
    expect(said).toEqual([`notice: ${TEXT}`]);
    for (const format of ['pretty', 'ndjson', 'csv', undefined] as const) {
      const { source, said } = await readAll(format ? { format } : {});
      await source.adviseOnResult(3);
      expect([format, said]).toEqual([format, []]);
    }
  });

  test('are no mix where there is one, or somebody chose', async () => {
    const { source, said } = await readAll({ pages: pages.slice(0, 1), format: 'table' });
    expect(source.mixedMarketplaces).toBeUndefined();
    await source.adviseOnResult(1);
    expect(said).toEqual([]);
    const filters = new EventFilters({ marketplaceChoice: 'settings' });
    expect((await readAll({ filters })).source.mixedMarketplaces).toBeUndefined();
  });
});

test('an empty result is doubted by the service, and no other', async () => {
  const { source, doubts } = sourceOf({ isService: true });
  await source.adviseOnResult(1);
  expect(doubts()).toBe(0);
  await source.adviseOnResult(0);
  expect(doubts()).toBe(1);
  await sourceOf().source.adviseOnResult(0);
});

describe('the window of a file', () => {
  const windowOf = (times: readonly string[], flags: FilterFlags = {}) => {
    const column = new TimeColumn();
    for (const time of times) column.push(time);
    const { after, before, isSpan } = sourceOf({ flags }).source.windowOf(column.bounds);
    return [after.text, before.text, isSpan];
  };

  test('is the span of its events, moved outward as its bounds are exclusive', () => {
    expect(windowOf(['2026-11-20T10:00:00Z', '2026-11-20T08:00:00Z'])).toEqual([
      '2026-11-20T07:59:59.999Z',
      '2026-11-20T10:00:01Z',
      true,
    ]);
    expect(windowOf(['2026-11-20T08:00:00.5Z'])).toEqual([
      '2026-11-20T08:00:00.499Z',
      '2026-11-20T08:00:01Z',
      true,
    ]);
  });

  test('without times is the one that was asked for, or a day', () => {
    expect(windowOf([])).toEqual(['2026-11-19T12:00:01Z', '2026-11-20T12:00:01Z', undefined]);
    expect(windowOf(['soon'], { after: '2h' })).toEqual([
      '2026-11-20T10:00:00Z',
      '2026-11-20T12:00:01Z',
      undefined,
    ]);
  });
});

describe('stored events as a source', () => {
  async function fromInput(events: readonly Fields[], flags: FilterFlags = {}) {
    const said: string[] = [];
    const text = events.map((event) => `${JSON.stringify(itemOf(event))}\n`).join('');
    const call = {
      settings: {} as never,
      context: createContext({ stdin: inputOf(text) }),
      reporter: reporterTo((line) => void said.push(line)),
    };
    const filters = eventFilters({ ...flags, from: '-' }, NOON);
    return await withEventSource(call, { from: '-', filters, concurrency: 1 }, async (source) => {
      const ids: string[] = [];
      for await (const { items } of source.read(filters)) ids.push(...idsIn(items));
      const { name, isReadOnce, window, service } = source;
      return {
        ids,
        said,
        name,
        isReadOnce,
        service,
        window: window && [window.after.text, window.before.text],
      };
    });
  }

  test('have a name, are read once from a pipe, and ask no service', async () => {
    expect(await fromInput([failed('a'), delivered('b')], { failed: true })).toEqual({
      ids: ['a'],
      said: [],
      name: 'standard input',
      isReadOnce: true,
      service: undefined,
      window: undefined,
    });
  });

  test('have the window that was asked for, unless it has not begun', async () => {
    const window = async (flags: FilterFlags) => (await fromInput([failed('a')], flags)).window;
    expect(await window({ after: '2h' })).toEqual(['2026-11-20T10:00:00Z', '2026-11-20T12:00:01Z']);
    expect(await window({ before: '2h' })).toBeUndefined();
    expect(await window({ after: '2026-11-21' })).toBeUndefined();
  });

  test('of failures alone are doubted, unless failures were asked for', async () => {
    expect((await fromInput([failed('a')])).said).toEqual([
      'incomplete: all events of standard input have failed: delivered ones may be missing from it',
    ]);
    expect((await fromInput([failed('a')], { failed: true })).said).toEqual([]);
  });

  test('of a file are called by its path', async () => {
    const call = { settings: {} as never, context: createContext(), reporter: fakeReporter() };
    const filters = eventFilters({ from: 'events.ndjson' }, NOON);
    const options = { from: 'events.ndjson', filters, concurrency: 1 };
    const found = await withEventSource(call, options, async ({ name, isReadOnce }) => [name, isReadOnce]);
    expect(found).toEqual(['events.ndjson', false]);
  });

  test('with times that leave nothing are refused before anything is read', async () => {
    const flags = { after: '2026-11-20', before: '2026-11-19' };
    await expect(fromInput([failed('a')], flags)).rejects.toThrow('leave no time between them');
  });
});

describe('a service as a source', () => {
  let at: Searching;
  beforeAll(async () => {
    at = await startSearching({ events: 0 });
  });
  afterAll(async () => {
    await at[Symbol.asyncDispose]();
  });
  afterEach(() => {
    at.control.clearFaults();
    at.control.behaviour.omit = [];
  });

  async function asked<Result>(
    flags: FilterFlags,
    work: (source: EventSource) => Promise<Result>,
    { isTerminal = false, format }: { isTerminal?: boolean; format?: FormatName } = {},
  ) {
    const said: string[] = [];
    const stderr = fakeOutput(isTerminal ? 80 : undefined);
    const context = createContext({ environment: at.env, stderr });
    const call = {
      settings: new RunSettings({}, context, { version: 1, profiles: {} }),
      context,
      reporter: reporterTo((line) => void said.push(line)),
    };
    const options = { from: undefined, filters: eventFilters(flags, NOON), concurrency: 2 };
    const result = await withEventSource(call, format ? { ...options, format: { format } } : options, work);
    return { result, said };
  }
  const TYPE = 'document.signed';

  test('has the name of its host, a window, its own names of types, and may be read again', async () => {
    const { result, said } = await asked({ type: [TYPE.toUpperCase()] }, async (source) => source);
    expect([result.name, result.isReadOnce]).toEqual([new URL(at.sandbox.settings.baseUrl).host, false]);
    expect(result.filters.eventTypes).toEqual([TYPE]);
    expect(result.service?.typesOnOffer).toContain(TYPE);
    expect([result.window?.after.text, result.window?.before.text]).toEqual([
      '2026-11-19T12:00:01Z',
      '2026-11-20T12:00:01Z',
    ]);
    expect(said).toEqual([]);
    expect(result.windowOf({ first: undefined, last: undefined })).toBe(result.window);
  });

  test('gives its events as they are asked for', async () => {
    const [first, second] = [1, 2].map((hour) =>
      at.control.addEvent({ createdOn: `2026-10-20T0${hour}:00:00Z`, publishStatus: 'FAILED' }),
    );
    const within = {
      after: parseInstant('2026-10-20T00:00:00Z'),
      before: parseInstant('2026-10-21T00:00:00Z'),
    };
    const { result } = await asked({}, async (source) => {
      const ids: string[][] = [];
      for (const direction of ['newest first', 'oldest first'] as const) {
        const found: string[] = [];
        for await (const { items } of source.read(source.filters, within, direction))
          found.push(...idsIn(items));
        ids.push(found);
      }
      return ids;
    });
    const ids = [first?.eventId, second?.eventId] as string[];
    expect(result).toEqual([ids.toReversed(), ids]);
  });

  test('counts each distinct search once, and shares the answers', async () => {
    at.control.addEvent({ createdOn: '2026-09-20T01:00:00Z', publishStatus: 'FAILED' });
    const queriesOf = (month: number) =>
      eventFilters({ after: `2026-0${month}-01`, before: `2026-0${month}-28` }, NOON).queries(NOON)[0];
    const queries = [queriesOf(8), queriesOf(9), queriesOf(8)];
    const before = at.queries().length;
    const { result } = await asked({}, async ({ service }) => await service?.count(queries));
    expect(result).toEqual([0, 1, 0]);
    const distinct = new Set(queries.map((query) => queryString(query)));
    expect(at.queries().length - before).toBe(distinct.size);
  });

  test('that gives no count is an error with another way', async () => {
    at.control.behaviour.omit = ['count'];
    const [query] = eventFilters({}, NOON).queries(NOON);
    await expect(asked({}, async ({ service }) => await service?.count([query]))).rejects.toMatchObject({
      message: 'the service gives no count, and statistics are made of its counts',
      next: 'add `--where eventId`: then the events are read and counted here',
    });
  });

  test('sees mixed marketplaces in the answers to counts', async () => {
    for (const marketplaces of [['2001'], ['2002']])
      at.control.addEvent({
        createdOn: '2026-07-20T01:00:00Z',
        marketplaces,
        publishStatus: marketplaces[0] === '2001' ? 'FAILED' : 'SUCCESS',
      });
    const queries = (['FAILED', 'SUCCESS'] as const).map(
      (status) =>
        eventFilters({ after: '2026-07-20', before: '2026-07-21', status: [status] }, NOON).queries(NOON)[0],
    );
    const { result, said } = await asked(
      {},
      async (source) => {
        await source.service?.count(queries);
        await source.adviseOnResult(2);
        return source.mixedMarketplaces;
      },
      { format: 'table' },
    );
    expect(result).toEqual(['2001', '2002']);
    expect(said).toEqual([`notice: ${mixText(['2001', '2002'])}`]);
  });

  test('knows the names of its subscriptions, asked for once', async () => {
    await asked({}, async ({ service }) => {
      const names = service?.askNames();
      expect(names).toBeDefined();
      expect(service?.askNames()).toBe(names);
    });
  });

  test.each<[string, FilterFlags, string | undefined]>([
    ['its own day', {}, 'notice: next: `--since 30d` looks further back than a day'],
    ['two hours', { after: '2h' }, 'notice: next: `--since 1d` looks further back'],
    ['an end alone', { before: '1h' }, 'notice: next: `--since 7d` looks further back'],
    ['a long time', { after: '60d' }, undefined],
    ['both ends', { after: '2h', before: '1h' }, undefined],
  ])('says in a terminal how to look further back than %s, where nothing is', async (_, flags, hint) => {
    const empty = async (source: EventSource) => await source.adviseOnResult(0);
    expect((await asked(flags, empty, { isTerminal: true })).said).toEqual(hint ? [hint] : []);
    expect((await asked(flags, empty)).said).toEqual([]);
  });

  test('warns of a type that is not on offer instead', async () => {
    const empty = async (source: EventSource) => await source.adviseOnResult(0);
    const { said } = await asked({ type: ['document.sined'] }, empty, { isTerminal: true });
    expect(said).toEqual([
      "usage: 'document.sined' is not among the event types on offer; did you mean document.signed?",
    ]);
  });

  test('refuses times that have not begun or leave nothing, before any request', async () => {
    const before = at.sandbox.log.length;
    await expect(asked({ after: '2026-11-22' }, async () => {})).rejects.toThrow('is in the future');
    await expect(asked({ after: '2h', before: '3h' }, async () => {})).rejects.toThrow('leave no time');
    expect(at.sandbox.log.length).toBe(before);
  });

  test('takes the window by the clock of the service', async () => {
    at.control.behaviour.clockOffsetMs = 3_600_000;
    const { result } = await asked({ after: '2h' }, async ({ window }) => window?.after.text);
    at.control.behaviour.clockOffsetMs = 0;
    expect(result).toBe('2026-11-20T11:00:00Z');
  });
});
