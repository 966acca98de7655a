import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Call } from '../../src/command.ts';
import { eventFilters, type FilterFlags } from '../../src/filters/filter-flags.ts';
import { eventsById, type Got, getEvents, storedById } from '../../src/get/get-events.ts';
import type { Service } from '../../src/http/service.ts';
import { EMPTY_LIST } from '../../src/ids/event-ids.ts';
import { clock, NOON } from '../support/clock.ts';
import { createContext, fakeOutput, inputOf } from '../support/context.ts';
import { createHome } from '../support/home.ts';
import { reporterTo } from '../support/outputs.ts';
import { itemOf, knownOf } from '../support/shape.ts';

const [A, B, C] = ['a', 'b', 'c'].map((letter) => `0f8fad5b-d9cb-469f-a165-7086772895${letter}0`) as [
  string,
  string,
  string,
];
const BARE = A.replaceAll('-', '');
type Fields = Readonly<Record<string, unknown>>;
const textOf = (fields: Fields) => JSON.stringify(itemOf(fields));

function callWith(stdin = '', signal = new AbortController().signal) {
  const said: string[] = [];
  const stdout = fakeOutput();
  const context = createContext({ stdout, stdin: inputOf(stdin), signal });
  const call = { context, reporter: reporterTo((line) => void said.push(line)), settings: {} };
  return { call: call as unknown as Call, said, stdout };
}

async function found(events: AsyncIterable<Got>): Promise<[string, string[]][]> {
  const all: [string, string[]][] = [];
  for await (const { id, items } of events)
    all.push([id, [...items.values()].map((item) => knownOf(item as object).subscriptionId)]);
  return all;
}

describe('events of a file, by their ids', () => {
  const events = [
    { eventId: B, subscriptionId: 's1', publishStatus: 'FAILED' },
    { eventId: A, subscriptionId: 's2', publishStatus: 'FAILED' },
    { eventId: B.toUpperCase(), subscriptionId: 's3', publishStatus: 'SUCCESS' },
    { subscriptionId: 's4' },
  ];
  const get = async (ids: readonly string[], flags: FilterFlags = {}, stored: readonly Fields[] = events) => {
    const { call, said } = callWith(stored.map((event) => `${textOf(event)}\n`).join(''));
    const filters = eventFilters({ ...flags, from: '-' }, NOON);
    return { all: await found(storedById(() => ids, '-', { filters }, call)), said };
  };

  test('come in the order of the ids, with all their records', async () => {
    expect(await get([A, B, C])).toEqual({
      all: [
        [A, ['s2']],
        [B, ['s1', 's3']],
        [C, []],
      ],
      said: [],
    });
  });

  test('are the same in any case, with hyphens or without', async () => {
    expect((await get([A.toUpperCase()])).all).toEqual([[A.toUpperCase(), ['s2']]]);
    expect((await get([A], {}, [{ eventId: BARE, subscriptionId: 's' }])).all).toEqual([[A, ['s']]]);
    expect((await get([BARE])).all).toEqual([[BARE, ['s2']]]);
    expect((await get(['order-1'], {}, [{ eventId: 'Order-1', subscriptionId: 's' }])).all).toEqual([
      ['order-1', ['s']],
    ]);
  });

  test('are those that the filters match, and doubts are told', async () => {
    expect((await get([B], { failed: true })).all).toEqual([[B, ['s1']]]);
    expect((await get([B], { where: ['nothing = 1'] })).said).toEqual([
      expect.stringMatching(/^usage: .*nothing/),
    ]);
  });
});

describe('events of a service, by their ids', () => {
  async function get(
    ids: readonly string[],
    answer: (query: string) => readonly Fields[],
    flags: FilterFlags = {},
    concurrency = 2,
  ) {
    const asked: string[] = [];
    const { call, said } = callWith();
    const service = {
      baseUrl: new URL('https://events.example.com/v1'),
      clock,
      signal: call.context.signal,
      send: async ({ url }: { url: URL }) => {
        const query = decodeURIComponent(url.search.slice(1));
        asked.push(query);
        const items = answer(query).map(textOf);
        return { status: 200, headers: {}, body: Buffer.from(`{"items":[${items}]}`) };
      },
    } as unknown as Service;
    const filters = eventFilters(flags, NOON);
    const all = await found(eventsById(() => ids, service, { filters, concurrency }, call));
    return { all, asked, said };
  }

  test('are asked for one by one, with all their records', async () => {
    const { all, asked } = await get([A, B], (query) =>
      query.includes(A)
        ? [
            { eventId: A, subscriptionId: 's1' },
            { eventId: A.toUpperCase(), subscriptionId: 's2' },
          ]
        : [],
    );
    expect(all).toEqual([
      [A, ['s1', 's2']],
      [B, []],
    ]);
    expect(asked).toEqual([`eq(eventId,${A})&limit(1,500)`, `eq(eventId,${B})&limit(1,500)`]);
  });

  test('are asked for in each search of the filters', async () => {
    const { all, asked } = await get(
      [A],
      (query) => [{ eventId: A, subscriptionId: query.includes('FAILED') ? 's1' : 's2' }],
      { status: ['FAILED', 'SUCCESS'], after: '2026-11-20' },
    );
    expect(all).toEqual([[A, ['s1', 's2']]]);
    expect(asked.length).toBe(2);
    expect(asked[0]).toContain('gt(createdOn,2026-11-20');
  });

  test('are those that the filters match which run here, and doubts are told', async () => {
    const { all, said } = await get(
      [A],
      () => [
        { eventId: A, subscriptionId: 's1', n: 1 },
        { eventId: A, subscriptionId: 's2' },
      ],
      { where: ['subscriptionId = s2', '!nothing'] },
    );
    expect(all).toEqual([[A, ['s2']]]);
    expect(said.every((line) => line.startsWith('usage: '))).toBe(true);
    const doubted = await get([A], () => [{ eventId: A, subscriptionId: 's1' }], { where: ['nothing = 1'] });
    expect(doubted.said).toEqual([expect.stringMatching(/^usage: .*nothing/)]);
  });

  test('come as the ids do, also before an error in these', async () => {
    const ids = async function* () {
      yield A;
      yield B;
      throw new Error('a bad line');
    };
    const { call } = callWith();
    const service = {
      baseUrl: new URL('https://events.example.com/v1'),
      clock,
      signal: call.context.signal,
      send: async () => ({ status: 200, headers: {}, body: Buffer.from('{"items":[]}') }),
    } as unknown as Service;
    const filters = eventFilters({}, NOON);
    const got: string[] = [];
    const reading = (async () => {
      for await (const { id } of eventsById(ids, service, { filters, concurrency: 1 }, call)) got.push(id);
    })();
    await expect(reading).rejects.toThrow('a bad line');
    expect(got).toEqual([A, B]);
  });

  test('of another id are an error, unless they have none', async () => {
    await expect(get([A], () => [{ eventId: B }])).rejects.toThrow(
      `the service was asked for the event ${A} and answered with ${B}`,
    );
    await expect(get([A], () => [{ eventId: A }, { eventId: B }])).rejects.toThrow('and answered with');
    expect((await get([A], () => [{ subscriptionId: 's' }])).all).toEqual([[A, ['s']]]);
    expect((await get([A], () => [{ eventId: BARE, subscriptionId: 's' }])).all).toEqual([[A, ['s']]]);
  });
});

describe('printing events by their ids', () => {
  interface Given {
    readonly stored: readonly (Fields | string)[];
    readonly ids?: readonly string[];
    readonly flags?: FilterFlags;
    readonly batch?: number;
    readonly format?: 'ndjson' | 'json' | 'table';
  }
  async function print({ stored, ids = [A, B], flags = {}, batch = 1, format = 'ndjson' }: Given) {
    const lines = stored.map((event) => `${typeof event === 'string' ? event : textOf(event)}\n`).join('');
    const { call, said, stdout } = callWith(lines);
    const filters = eventFilters({ ...flags, from: '-' }, NOON);
    const missing = await getEvents(
      {
        ...{ ids, filters, batch, from: '-', mayBeEmpty: false, takesNames: false, concurrency: 1 },
        isForPeople: format === 'table',
        format: { format, list: 'events' },
      },
      call,
    );
    return { missing, said, text: stdout.text, writes: stdout.writes };
  }
  const a = { eventId: A, publishStatus: 'FAILED' };
  const b = { eventId: B, publishStatus: 'FAILED' };

  test('returns how many are missing, and names each, with a next step for the first', async () => {
    const { missing, said, text } = await print({ stored: [b], ids: [A, B, C] });
    expect([missing, text]).toEqual([2, `${textOf(b)}\n`]);
    expect(said).toEqual([
      `not-found: the event ${A} was not found`,
      `not-found: the event ${C} was not found`,
    ]);
  });

  test('says that filters may have excluded them', async () => {
    const { said } = await print({ stored: [], ids: [A, B], flags: { failed: true } });
    expect(said).toEqual([
      `not-found: the event ${A} was not found by these filters; without the filters it may be found`,
      `not-found: the event ${B} was not found by these filters`,
    ]);
    expect((await print({ stored: [], ids: [A], flags: { id: [A] } })).said).toEqual([
      `not-found: the event ${A} was not found`,
    ]);
  });

  test('prints a batch together, and the rest at the end', async () => {
    const stored = [a, b];
    const each = await print({ stored });
    const together = await print({ stored, batch: 2 });
    const later = await print({ stored, batch: 3 });
    for (const { text } of [each, together, later]) expect(text).toBe(`${textOf(a)}\n${textOf(b)}\n`);
    expect(each.writes).toBeGreaterThan(together.writes);
    expect(later.writes).toBe(together.writes);
  });

  test('says that a list of ids is empty, where that is no mistake', async () => {
    await using home = await createHome();
    const file = path.join(home.folder, 'events.ndjson');
    await writeFile(file, textOf(a));
    const { call, said, stdout } = callWith();
    const filters = eventFilters({ from: file }, NOON);
    const missing = await getEvents(
      {
        ...{ ids: undefined, filters, batch: 1, from: file, mayBeEmpty: true, takesNames: false },
        ...{ concurrency: 1, isForPeople: false, format: { format: 'ndjson', list: 'events' } },
      },
      call,
    );
    expect([missing, said, stdout.text]).toEqual([0, [`notice: ${EMPTY_LIST}`], '']);
  });

  test('without events prints nothing to people, and an empty list to programs', async () => {
    const nothing = await print({ stored: [], format: 'table' });
    expect([nothing.text, nothing.said.length]).toEqual(['', 2]);
    expect(nothing.said.every((line) => line.startsWith('not-found: '))).toBe(true);
    expect((await print({ stored: [], format: 'json' })).text).toBe('[]\n');
    expect((await print({ stored: [a], format: 'json' })).text).toContain(textOf(a));
    expect((await print({ stored: [a], format: 'table' })).text).toContain(A);
  });
});
