import { describe, expect, test } from 'vitest';
import type { Direction } from '../../src/items/item-times.ts';
import { Items } from '../../src/items/items.ts';
import { type FoundPage, type PageClient, readPage } from '../../src/paging/page.ts';
import { inDirection, readInDirection, readTail, sortByCreation } from '../../src/sources/creation-order.ts';
import { type Instant, parseInstant } from '../../src/time/instant.ts';
import { itemOf, knownOf } from '../support/shape.ts';

/** A service that has so many events at each request in order, the last number from then on. */
function serviceWith(...totals: readonly number[]) {
  const asked: string[] = [];
  const fetchPage: PageClient['fetchPage'] = async (url) => {
    const [start = 0, count = 0] =
      /limit\((\d+),(\d+)\)/.exec(decodeURIComponent(url.search))?.slice(1).map(Number) ?? [];
    asked.push(`${start},${count}`);
    const total = totals[Math.min(asked.length, totals.length) - 1] ?? 0;
    const ids = Array.from(
      { length: Math.max(0, Math.min(count, total - start + 1)) },
      (_, index) => start + index,
    );
    const items = ids.map((id) => `{"eventId":"${id}"}`).join(',');
    return { page: readPage(Buffer.from(`{"count":${total},"items":[${items}]}`)), serviceTime: undefined };
  };
  const client = { baseUrl: new URL('http://service'), fetchPage };
  const tail = async (limit: number) => {
    const items = await readTail(client, {}, limit, new AbortController().signal);
    return items && [...items.values()].map((item) => Number((item as { eventId: string }).eventId));
  };
  return { asked, tail };
}
const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe('the last events in the order of the service', () => {
  test('are read in pages of 500, and are all where there are fewer', async () => {
    const many = serviceWith(1100);
    expect(await many.tail(700)).toEqual(range(401, 1100));
    expect(many.asked).toEqual(['1,1', '401,500', '901,200']);
    const exact = serviceWith(1100);
    expect(await exact.tail(500)).toEqual(range(601, 1100));
    expect(exact.asked).toEqual(['1,1', '601,500']);
    expect(await serviceWith(3).tail(5)).toEqual([1, 2, 3]);
    expect(await serviceWith(0).tail(5)).toEqual([]);
  });

  test('are read anew while their number changes, three times at most', async () => {
    const once = serviceWith(1100, 1101);
    expect(await once.tail(2)).toEqual([1100, 1101]);
    expect(once.asked).toEqual(['1,1', '1099,2', '1,1', '1100,2']);
    // In a later page too.
    expect(await serviceWith(1100, 1100, 1101).tail(700)).toEqual(range(402, 1101));
    const changing = serviceWith(...range(10, 30));
    expect(await changing.tail(2)).toBeUndefined();
    expect(changing.asked).toHaveLength(7);
  });

  test('are not known where the service does not count, and nothing else is asked for then', async () => {
    const asked: string[] = [];
    const fetchPage: PageClient['fetchPage'] = async (url) => {
      asked.push(url.search);
      return { page: readPage(Buffer.from('{"items":[{}]}')), serviceTime: undefined };
    };
    const client = { baseUrl: new URL('http://service'), fetchPage };
    expect(await readTail(client, {}, 5, new AbortController().signal)).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  test('are read anew where a page holds fewer than it should', async () => {
    const service = serviceWith(10, 10);
    expect(await service.tail(0)).toEqual([]);
    let asked = 0;
    const fetchPage: PageClient['fetchPage'] = async () => {
      asked++;
      const page = readPage(Buffer.from('{"count":2,"items":[{}]}'));
      return { page, serviceTime: undefined };
    };
    const client = { baseUrl: new URL('http://service'), fetchPage };
    expect(await readTail(client, {}, 2, new AbortController().signal)).toBeUndefined();
    expect(asked).toBe(7);
  });
});

/** Events as their ids, with the second of their creation; without one, it is unknown. */
type Listed = readonly [id: string, second?: number];
const pageOf = (events: readonly Listed[], total?: number): FoundPage => {
  const texts = events.map(([eventId, second]) => {
    const createdOn = second === undefined ? undefined : `2026-11-20T12:00:0${second}Z`;
    return Buffer.from(JSON.stringify(itemOf({ eventId, createdOn })));
  });
  return { items: Items.of(texts), total };
};
const idsOf = (items: Items) => [...items.values()].map((item) => knownOf(item as object).eventId);
async function read(pages: AsyncIterable<FoundPage>) {
  const found: unknown[] = [];
  for await (const { items, total } of pages) found.push([...idsOf(items), total]);
  return found;
}

describe('events in a direction', () => {
  /** A service that lists these pages; `asked` are the limits of its readings. */
  function listing(...pages: FoundPage[]) {
    const asked: number[] = [];
    async function* reading(limit: number) {
      asked.push(limit);
      yield* pages;
    }
    return { asked, reading };
  }
  const NEWEST_FIRST = [
    pageOf(
      [
        ['c', 3],
        ['b', 2],
      ],
      3,
    ),
    pageOf([['a', 1]], 3),
  ];

  test('are read as they are where the service lists them so', async () => {
    const { asked, reading } = listing(...NEWEST_FIRST);
    const tail = () => expect.fail('the last events were read');
    expect(await read(readInDirection(reading, 'newest first', 2, tail))).toEqual([
      ['c', 'b', 3],
      ['a', 3],
    ]);
    expect(asked).toEqual([2]);
    expect(await read(readInDirection(listing().reading, 'newest first', 2))).toEqual([]);
  });

  test('are the last ones of the service, turned, where it lists the other way', async () => {
    const { asked, reading } = listing(...NEWEST_FIRST);
    const last = pageOf([
      ['b', 2],
      ['a', 1],
    ]).items;
    expect(await read(readInDirection(reading, 'oldest first', 2, async () => last))).toEqual([
      ['a', 'b', 3],
    ]);
    expect(asked).toEqual([2]);
  });

  test('are read as they are where only the first page looked as if it were the other way', async () => {
    const { asked, reading } = listing(
      pageOf([
        ['b', 2],
        ['a', 1],
      ]),
      pageOf([
        ['d', 4],
        ['c', 3],
      ]),
    );
    const last = pageOf([
      ['d', 4],
      ['c', 3],
    ]).items;
    const found = await read(readInDirection(reading, 'oldest first', 2, async () => last));
    expect(found).toEqual([
      ['b', 'a', undefined],
      ['d', 'c', undefined],
    ]);
    expect(asked).toEqual([2, 2]);
  });

  test.each<[string, number, (() => Promise<Items | undefined>) | undefined]>([
    ['whose last ones cannot be read', 2, async () => undefined],
    ['without another way to read the last ones', 2, undefined],
    ['without a limit', Number.POSITIVE_INFINITY, () => expect.fail('the last events were read')],
  ])('%s are all read, and sorted', async (_, limit, tail) => {
    const { asked, reading } = listing(...NEWEST_FIRST);
    const ids = limit === 2 ? ['a', 'b'] : ['a', 'b', 'c'];
    expect(await read(readInDirection(reading, 'oldest first', limit, tail))).toEqual([[...ids, 3]]);
    expect(asked).toEqual([limit, Number.POSITIVE_INFINITY]);
  });

  test('are given in pages of 500', async () => {
    const events = Array.from({ length: 501 }, (_, index): Listed => [String(index)]);
    async function* pages() {
      yield pageOf(events);
    }
    const found = await read(inDirection(pages(), 'newest first', 1000));
    expect(found.map((page) => (page as string[]).length - 1)).toEqual([500, 1]);
  });
});

describe('sorting by creation', () => {
  const sorted = (events: readonly Listed[], direction: Direction, assumed?: Direction) => {
    const dated = events.map(([id, second]) => ({
      id,
      createdOn: second === undefined ? undefined : (parseInstant(`2026-11-20T12:00:0${second}Z`) as Instant),
    }));
    return sortByCreation(dated, direction, assumed)
      .map(({ id }) => id)
      .join('');
  };
  const MIXED: Listed[] = [['a', 2], ['b'], ['c', 3], ['d', 1], ['e']];

  test('puts unknown times last in either direction', () => {
    expect(sorted(MIXED, 'newest first')).toBe('cadbe');
    expect(sorted(MIXED, 'oldest first')).toBe('dacbe'.replace('be', 'eb'));
  });

  test.each<[string, Listed[], Direction, string]>([
    [
      'are left as they are where they came in that direction',
      [
        ['a', 2],
        ['b', 2],
        ['c', 1],
      ],
      'newest first',
      'abc',
    ],
    [
      'are turned with the others',
      [
        ['a', 2],
        ['b', 2],
        ['c', 1],
      ],
      'oldest first',
      'cba',
    ],
    [
      'are turned with the others',
      [
        ['a', 1],
        ['b', 2],
        ['c', 2],
      ],
      'newest first',
      'cba',
    ],
    [
      'are left as they are where all are',
      [
        ['a', 1],
        ['b', 1],
      ],
      'oldest first',
      'ab',
    ],
    [
      'are left as they are where all are',
      [
        ['a', 1],
        ['b', 1],
      ],
      'newest first',
      'ab',
    ],
    ['are left as they are where none is known', [['a'], ['b']], 'oldest first', 'ab'],
  ])('events of the same moment %s', (_, events, direction, expected) => {
    expect(sorted(events, direction)).toBe(expected);
  });

  test('goes by the assumed order where no time tells', () => {
    for (const events of [
      [['a'], ['b']],
      [
        ['a', 1],
        ['b', 1],
      ],
    ] as Listed[][]) {
      expect(sorted(events, 'oldest first', 'newest first')).toBe('ba');
      expect(sorted(events, 'newest first', 'newest first')).toBe('ab');
    }
    expect(
      sorted(
        [
          ['a', 1],
          ['b', 2],
        ],
        'oldest first',
        'newest first',
      ),
    ).toBe('ab');
  });
});
