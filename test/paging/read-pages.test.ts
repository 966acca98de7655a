import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { FetchPage, PageAnswer } from '../../src/paging/page.ts';
import { DOUBTFUL_EVENT, readPage } from '../../src/paging/page.ts';
import { IncompleteError, type ReadOptions, readPages } from '../../src/paging/read-pages.ts';
import { knownInstant } from '../../src/time/instant.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const DAY = 86_400_000;
const baseUrl = new URL('https://events.example.com');

interface Event {
  readonly eventId: string;
  readonly createdOn: string;
}

interface Service {
  readonly events: Event[];
  readonly order?: 'newest first' | 'oldest first';
  /** `late` is the count of the answer before; a function tells which answers have one. */
  readonly counts?: boolean | 'late' | ((answers: number) => boolean);
  readonly hasTime?: boolean;
  /** Items of a page at most, whatever is asked for. */
  readonly most?: number;
  readonly limit?: number;
  /** The link to the page that begins there; none says nothing of links. */
  readonly link?: ((start: number) => string) | undefined;
  /** Called before each answer, with the number of answers so far. */
  readonly before?: (answers: number) => void;
}

/** An event service in memory; its filters on time are those of the service description (part 4). */
function serve({ events, order = 'oldest first', counts = true, ...service }: Service) {
  const { before, hasTime = true, most = 500, limit, link } = service;
  const asked: string[] = [];
  let late: number | undefined;
  const fetchPage: FetchPage = async (url): Promise<PageAnswer> => {
    before?.(asked.length);
    const query = decodeURIComponent(url.search.slice(1));
    asked.push(query);
    const bound = (operator: string) => new RegExp(`${operator}\\(createdOn,([^)]+)\\)`).exec(query)?.[1];
    const time = (text: string) => Date.parse(text);
    const [after, until] = [bound('gt'), bound('lt')];
    const matching = events
      .filter(({ createdOn }) => after === undefined || time(createdOn) > time(after))
      .filter(({ createdOn }) => until === undefined || time(createdOn) < time(until))
      .sort((a, b) => time(a.createdOn) - time(b.createdOn) || a.eventId.localeCompare(b.eventId));
    if (order === 'newest first') matching.reverse();
    const [, start = '1', size = '500'] = /(?:limit\(|page=)(\d+),(\d+)/.exec(query) ?? [];
    const from = Number(start) - 1;
    const items = matching.slice(from, from + Math.min(Number(size), most));
    const count = counts === 'late' ? (late ?? matching.length) : matching.length;
    late = matching.length;
    const isCounted = typeof counts === 'function' ? counts(asked.length) : counts;
    const next = from + items.length;
    const body = {
      items,
      limit,
      ...(isCounted ? { count } : {}),
      ...(link ? { next: next < matching.length ? link(next + 1) : null } : {}),
    };
    return { page: readPage(Buffer.from(JSON.stringify(body))), serviceTime: hasTime ? NOW : undefined };
  };
  return { fetchPage, asked };
}

const at = (name: string, count: number, from: number, step: number): Event[] =>
  Array.from({ length: count }, (_, index) => ({
    eventId: `${name}-${String(index).padStart(4, '0')}`,
    createdOn: new Date(from + index * step).toISOString(),
  }));

/** Makes the change once the service has given that many answers. */
const after = (count: number, change: () => unknown) => (answers: number) =>
  void (answers === count && change());

async function idsRead(fetchPage: FetchPage, options: Partial<ReadOptions> = {}): Promise<string[]> {
  const signal = new AbortController().signal;
  const read = { query: {}, pageSize: 10, concurrency: () => 3, signal, ...options };
  const ids: string[] = [];
  for await (const { items } of readPages({ baseUrl, fetchPage }, read)) {
    const { events } = JSON.parse(`{"events":[${items.texts().join(',')}]}`) as { events: Event[] };
    ids.push(...events.map(({ eventId }) => eventId));
  }
  return ids;
}

test('events that join in front and push others over page boundaries bring none twice, although the count is late', async () => {
  const events = at('past', 24, NOW - DAY, 1000);
  const expected = events.map(({ eventId }) => eventId);
  const before = after(12, () => events.push(...at('late', 2, NOW - 2 * DAY, 1000)));
  const { fetchPage } = serve({ events, counts: 'late', before });
  const ids = await idsRead(fetchPage, { pageSize: 1, concurrency: () => 1 });
  expect(ids.sort()).toEqual(['late-0000', 'late-0001', ...expected]);
});

test('an event that joins at a page boundary hides no repeated one behind it', async () => {
  const events = at('past', 24, NOW - DAY, 1000);
  const expected = events.map(({ eventId }) => eventId);
  const joining = [...at('first', 1, NOW - 2 * DAY, 0), ...at('last', 1, NOW - DAY + 8500, 0)];
  const { fetchPage } = serve({ events, counts: 'late', before: after(1, () => events.push(...joining)) });
  const ids = await idsRead(fetchPage, { concurrency: () => 1 });
  expect(ids.sort()).toEqual(['first-0000', 'last-0000', ...expected]);
});

const startOf = (query: string) => Number(/(?:limit\(|page=)(\d+)/.exec(query)?.[1]);

describe('what a service leaves open', () => {
  const events = at('one', 24, NOW - DAY, 1000);
  const ids = events.map(({ eventId }) => eventId);
  const opaque = (start: number) => `?page=${start},10`;
  const uncounted =
    'the service does not count its events: whether these are all of them could not be checked';
  const elsewhere = (start: number) => `http://inner.example:8080/?limit(${start},10)`;
  const byNumber =
    "the service's links to the next page lead to http://inner.example:8080, not to https://events.example.com: pages are asked for by number";
  const noTime = 'the service sends no time: events that arrive meanwhile may shift the pages';

  const doubted: [string, Omit<Service, 'events'>, Partial<ReadOptions>, number[], string[]][] = [
    ['counts and time', {}, {}, [1, 11, 21], []],
    ['links', { link: (start) => `?limit(${start},10)` }, {}, [1, 11, 21], []],
    ['no count, no links', { counts: false }, {}, [1, 11, 21, 1], [uncounted]],
    ['no count at first', { counts: (n) => n > 1 }, {}, [1, 11, 21, 1], [uncounted]],
    ['a count at first alone', { counts: (n) => n === 1 }, {}, [1, 11, 21], []],
    ['no count, one page', { counts: false }, { pageSize: 25 }, [1], [uncounted]],
    ['no count, one page that tells its limit', { counts: false, limit: 500 }, { pageSize: 25 }, [1], []],
    ['no count, a last link', { counts: false, link: opaque }, { pageSize: 24 }, [1], []],
    ['no count, a limit', { counts: false }, { limit: 15 }, [1, 11], []],
    ['no time', { hasTime: false }, {}, [1, 11, 21], [noTime]],
    [
      'no time, links and no count',
      { hasTime: false, counts: false, link: opaque },
      {},
      [1, 11, 21],
      [noTime, uncounted],
    ],
    ['no time, one page', { hasTime: false }, { pageSize: 25 }, [1], []],
    ['no time, --until', { hasTime: false }, { query: { before: knownInstant(NOW) } }, [1, 11, 21], []],
    ['no time, a limit', { hasTime: false }, { limit: 10 }, [1], []],
    ['short pages with counts', { most: 8 }, {}, [1, 9, 17], []],
    [
      'short pages that tell their limit',
      { most: 8, limit: 8, counts: false },
      {},
      [1, 9, 17, 25, 1],
      [uncounted],
    ],
    ['a limit above the page', { limit: 500, counts: false }, {}, [1, 11, 21, 1], [uncounted]],
    ['links of no offset', { link: opaque }, {}, [1, 11, 21], []],
    ['links elsewhere', { link: elsewhere }, {}, [1, 11, 21], [byNumber]],
    ['links elsewhere, and short pages', { link: elsewhere, most: 8 }, {}, [1, 9, 17], [byNumber]],
    ['links elsewhere, and a limit in the first page', { link: elsewhere }, { limit: 10 }, [1], []],
  ];
  test.each(doubted)('is read to its end with %s, and told', async (_, service, options, starts, doubts) => {
    const { fetchPage, asked } = serve({ events: [...events], ...service });
    const told = new Set<string>();
    const found = await idsRead(fetchPage, { ...options, onDoubt: (doubt) => void told.add(doubt) });
    expect(found).toEqual(ids.slice(0, options.limit));
    expect([asked.map(startOf), [...told]]).toEqual([starts, doubts]);
  });

  test('links elsewhere without a count are an error', async () => {
    const { fetchPage } = serve({ events: [...events], counts: false, link: elsewhere });
    await expect(idsRead(fetchPage)).rejects.toThrow('leads away from https://events.example.com');
  });

  test('pages with links are read ahead too', async () => {
    const { fetchPage } = serve({
      events: at('one', 60, NOW - DAY, 1000),
      link: (start) => `?limit(${start},10)`,
    });
    let [running, most] = [0, 0];
    await idsRead(async (url) => {
      most = Math.max(most, ++running);
      await setImmediate();
      running--;
      return await fetchPage(url);
    });
    expect(most).toBe(3);
  });

  test('a page that is one event short is continued after its last one', async () => {
    const { fetchPage, asked } = serve({ events: events.slice(0, 15) });
    const found = await idsRead(async (url) => {
      const answer = await fetchPage(url);
      const { items } = answer.page;
      return asked.length === 2 ? { ...answer, page: { ...answer.page, items: items.first(4) } } : answer;
    });
    expect([found, asked.map(startOf)]).toEqual([ids.slice(0, 15), [1, 11, 15]]);
  });

  test('links in a circle end in an error when the first of them comes again', async () => {
    const { fetchPage, asked } = serve({
      events: [...events],
      link: (start) => (start > 11 ? '?limit(1,10)' : opaque(start)),
      counts: false,
    });
    await expect(idsRead(fetchPage)).rejects.toMatchObject({
      message: "the service's links to the next page lead in a circle",
      details: [
        'seen twice: https://events.example.com/integrator-events?lt(createdOn,2026-11-20T12:00:01Z)&limit(1,10)',
      ],
    });
    expect(asked.map(startOf)).toEqual([1, 11]);
    const later = serve({ events: [...events], link: () => '?limit(11,10)', counts: false });
    await expect(idsRead(later.fetchPage)).rejects.toThrow('lead in a circle');
    expect(later.asked.map(startOf)).toEqual([1, 11]);
  });

  test.each([
    ['events', [{ eventId: 'a' }, { eventId: 'b' }], [{ eventId: 'a' }, { eventId: 'b' }], true],
    ['others without an id', [1, 2], [1, 2], true],
    ['those that are all alike', [1, 1], [1, 1], false],
    ['some of them', [1, 2], [1, 3], false],
    ['the beginning of them', [1, 2, 3], [1, 2], false],
    [
      'an event that its own page repeats',
      [{ eventId: 'a' }, { eventId: 'a' }],
      [{ eventId: 'a' }, { eventId: 'b' }],
      false,
    ],
  ])(
    'a second page of the same items is an error, if these are %s: %j, %j, %s',
    async (_, first, second, isError) => {
      let answers = 0;
      const fetchPage: FetchPage = async () => {
        const body = { count: first.length + second.length, items: answers++ === 0 ? first : second };
        return { page: readPage(Buffer.from(JSON.stringify(body))), serviceTime: NOW };
      };
      const read = idsRead(fetchPage, { pageSize: first.length });
      if (isError)
        await expect(read).rejects.toThrow(
          'the service answered the same page twice: the result cannot be read to its end',
        );
      else expect(await read).toHaveLength(first.length + second.length);
    },
  );

  test('an event that leaves while links are followed hides no other', async () => {
    const changing = [...events];
    const { fetchPage, asked } = serve({
      events: changing,
      link: opaque,
      before: after(1, () => changing.shift()),
    });
    expect((await idsRead(fetchPage, { query: { before: knownInstant(NOW) } })).sort()).toEqual(ids);
    // All is read once more; two pages are asked for before the first one says that only its link leads on.
    expect(asked.map(startOf)).toEqual([1, 11, 21, 1, 11, 21, 11, 21]);
    const timeless = [...events];
    const other = serve({
      events: timeless,
      hasTime: false,
      before: after(1, () => timeless.shift()),
    });
    expect(await idsRead(other.fetchPage, { concurrency: () => 1 })).toEqual(ids);
    expect(other.asked.map(startOf)).toEqual([1, 11, 21, 1, 11, 21]);
  });

  test('events that join before all others are no reason to read again', async () => {
    const joining = at('one', 30, NOW - DAY, 1000);
    const { fetchPage, asked } = serve({
      events: joining,
      order: 'newest first',
      before: after(1, () => joining.push(...at('late', 1, NOW - 500, 1000))),
    });
    const found = await idsRead(fetchPage, { concurrency: () => 1 });
    expect(found).toHaveLength(30);
    expect(asked.map(startOf)).toEqual([1, 11, 21, 31]);
  });
});

describe("events dated after the service's own clock", () => {
  const past = at('past', 24, NOW - DAY, 1000);
  const sorted = (events: readonly Event[]) => events.map(({ eventId }) => eventId);

  test.each([1, 12, 30])('are read, %i of them, in either order, with counts and without', async (number) => {
    const events = [...past, ...at('tomorrow', number, NOW + DAY, 1000)];
    for (const counts of [true, false]) {
      const read = (order: 'newest first' | 'oldest first') =>
        idsRead(serve({ events: [...events], order, counts }).fetchPage);
      const order = (ids: string[]) => (counts ? ids : ids.sort());
      expect(order(await read('oldest first'))).toEqual(order(sorted(events)));
      expect(order(await read('newest first'))).toEqual(order(sorted(events).reverse()));
    }
  });

  test('in the very second that limits the read are read once', async () => {
    const events = [...past, ...at('now', 20, NOW - 1500, 150)];
    const { fetchPage } = serve({ events: [...events] });
    expect(await idsRead(fetchPage)).toEqual(sorted(events));
  });

  test.each(['oldest first', 'newest first'] as const)(
    'are read while others arrive, %s, each once',
    async (order) => {
      const events = [...past, ...at('tomorrow', 12, NOW + DAY, 1000)];
      const expected = sorted(events);
      const service = serve({
        events,
        order,
        before: (answers) => {
          if (answers % 2 === 1) events.push(...at(`new${answers}`, 1, NOW + 1000 + answers, 1));
        },
      });
      const ids = await idsRead(service.fetchPage);
      expect(ids.filter((id) => !id.startsWith('new')).sort()).toEqual(expected.sort());
      expect(new Set(ids).size).toBe(ids.length);
    },
  );

  test('are read with one more request, or none if they are on the only page', async () => {
    const events = [...past, ...at('tomorrow', 3, NOW + DAY, 1000)];
    const { fetchPage, asked } = serve({ events, most: 8 });
    expect(await idsRead(fetchPage)).toEqual(sorted(events));
    expect(asked.map((query) => query.split('&'))).toEqual([
      ['limit(1,10)'],
      ...[9, 1, 9, 17].map((start) => ['lt(createdOn,2026-11-20T12:00:01Z)', `limit(${start},10)`]),
      ['gt(createdOn,2026-11-20T12:00:00Z)', 'limit(1,10)'],
    ]);
    const single = serve({ events });
    expect(await idsRead(single.fetchPage, { pageSize: 30 })).toEqual(sorted(events));
    expect(single.asked).toHaveLength(1);
  });

  test('are read although an event that is added late makes up for them in the count', async () => {
    const events = [...past, ...at('tomorrow', 1, NOW + DAY, 1000)];
    const expected = sorted(events);
    const { fetchPage } = serve({
      events,
      order: 'newest first',
      before: after(1, () => events.push(...at('late', 1, NOW - 2 * DAY, 1000))),
    });
    expect(await idsRead(fetchPage, { concurrency: () => 1 })).toEqual(expect.arrayContaining(expected));
  });

  test('are not requested if the first count still holds', async () => {
    const { fetchPage, asked } = serve({ events: [...past] });
    await idsRead(fetchPage);
    expect(asked).toEqual([
      'limit(1,10)',
      'lt(createdOn,2026-11-20T12:00:01Z)&limit(11,10)',
      'lt(createdOn,2026-11-20T12:00:01Z)&limit(21,10)',
    ]);
  });

  test('an event that left after the first answer is not mistaken for one of them', async () => {
    const events = [...past];
    const service = serve({
      events,
      order: 'newest first',
      before: after(1, () => events.splice(0, 1)),
    });
    const ids = await idsRead(service.fetchPage);
    expect(ids).toEqual(sorted(past).reverse().slice(0, -1));
  });

  test('a service that counts more than it gives is an error', async () => {
    const { fetchPage } = serve({ events: [...past] });
    const counting: FetchPage = async (url) => {
      const answer = await fetchPage(url);
      return { ...answer, page: { ...answer.page, count: 27 } };
    };
    await expect(idsRead(counting)).rejects.toThrow(IncompleteError);
  });
});

describe('a service that counts fewer events than it gives', () => {
  const given = at('given', 34, NOW - DAY, 1000);
  /** Counts `count`, and gives links where there are more. */
  const miscounted = (
    count: number,
    change: (answer: PageAnswer) => Partial<PageAnswer> = () => ({}),
  ): FetchPage => {
    const { fetchPage } = serve({ events: given });
    return async (url) => {
      const answer = await fetchPage(url);
      const start = Number(/limit\((\d+),/.exec(url.search)?.[1]);
      const next = start + 10 <= given.length ? `?limit(${start + 10},10)` : null;
      return { ...answer, page: { ...answer.page, count, next }, ...change(answer) };
    };
  };
  const surplus = (counted: number) =>
    `the result is not complete: 34 events were read, the service counts ${counted}`;

  test.each([3, 9, 11, 20, 33])('ends in an error, when it counts %i of 34', async (count) => {
    await expect(idsRead(miscounted(count))).rejects.toThrow(surplus(count));
  });

  test('also where it counts one page of them, as the first page alone seems to be', async () => {
    await expect(idsRead(miscounted(10))).rejects.toThrow(
      'the result is not complete: 24 events were read, the service counts 10',
    );
  });

  test('also without its time', async () => {
    const fetchPage = miscounted(20, () => ({ serviceTime: undefined }));
    await expect(idsRead(fetchPage)).rejects.toThrow(surplus(20));
  });

  test('also on one page', async () => {
    await expect(idsRead(miscounted(3), { pageSize: 40 })).rejects.toThrow(surplus(3));
  });
});

describe('the limits of a read', () => {
  /**
   * A service that answers as `page` says: `n` counts requests, `start` is the first item that is asked for.
   */
  const answering = (
    page: (
      n: number,
      start: number,
      url: URL,
    ) => { items?: readonly Event[]; count?: number; next?: string | null },
  ) => {
    const asked: string[] = [];
    const fetchPage: FetchPage = async (url) => {
      asked.push(decodeURIComponent(url.search.slice(1)));
      const start = Number(/limit\((\d+),/.exec(url.search)?.[1]);
      const body = { items: [], ...page(asked.length, start, url) };
      return { page: readPage(Buffer.from(JSON.stringify(body))), serviceTime: NOW };
    };
    return { fetchPage, asked };
  };
  const events = at('one', 60, NOW - DAY, 1000);
  const ids = events.map(({ eventId }) => eventId);

  test.each([
    [10, [1]],
    [20, [1, 11]],
    [25, [1, 11, 21]],
  ])('of %i events ask for no page beyond', async (limit, starts) => {
    const { fetchPage, asked } = serve({ events: [...events] });
    expect(await idsRead(fetchPage, { limit })).toEqual(ids.slice(0, limit));
    expect(asked.map(startOf)).toEqual(starts);
  });

  test('hold also where events join meanwhile, and where they are dated after the clock of the service', async () => {
    const joining = [...events];
    const before = after(2, () => joining.push(...at('late', 1, NOW - 2 * DAY, 1000)));
    const changing = serve({ events: joining, before });
    expect(await idsRead(changing.fetchPage, { limit: 35, concurrency: () => 1 })).toEqual(ids.slice(0, 35));
    // Two were asked for ahead.
    expect(changing.asked.map(startOf)).toEqual([1, 11, 21, 31, 41, 51]);
    const later = serve({ events: [...events, ...at('tomorrow', 30, NOW + DAY, 1000)] });
    expect(await idsRead(later.fetchPage, { limit: 65 })).toHaveLength(65);
    expect(later.asked.slice(-2)).toEqual([
      'lt(createdOn,2026-11-20T12:00:01Z)&limit(51,10)',
      'gt(createdOn,2026-11-20T12:00:00Z)&limit(1,10)',
    ]);
  });

  test('20 empty pages in a row, each with a link to the next, end it; 19 do not', async () => {
    const { fetchPage, asked } = answering((n) => ({ next: `?limit(1,10)&page=${n}` }));
    await expect(idsRead(fetchPage)).rejects.toThrow(
      'the service answered 20 empty pages in a row, each with a link to the next',
    );
    expect(asked).toHaveLength(21);
    const nineteen = answering((n) => {
      if (n === 1) return { items: events.slice(0, 10), next: '?limit(11,10)&page=1' };
      return n < 21 ? { next: `?limit(11,10)&page=${n}` } : { items: events.slice(10, 12), next: null };
    });
    expect(await idsRead(nineteen.fetchPage)).toEqual(ids.slice(0, 12));
    // An item in between begins the row anew.
    const between = answering((n) => {
      if (n === 15) return { items: events.slice(0, 1), next: '?limit(1,10)&page=15' };
      return n < 32 ? { next: `?limit(1,10)&page=${n}` } : { items: events.slice(1, 2), next: null };
    });
    expect(await idsRead(between.fetchPage)).toEqual(ids.slice(0, 2));
  });

  test('a result of full pages alone is asked for no further', async () => {
    const exact = serve({ events: events.slice(0, 20) });
    expect(await idsRead(exact.fetchPage)).toEqual(ids.slice(0, 20));
    expect(exact.asked).toHaveLength(2);
    const single = serve({ events: events.slice(0, 10) });
    expect(await idsRead(single.fetchPage)).toEqual(ids.slice(0, 10));
    expect(single.asked).toHaveLength(1);
    const more = serve({ events: events.slice(0, 21) });
    expect(await idsRead(more.fetchPage)).toEqual(ids.slice(0, 21));
    expect(more.asked).toHaveLength(3);
  });

  test('a result whose count never comes true is read three times, then it is an error', async () => {
    const twelve = at('page', 120, NOW - DAY, 1000);
    const { fetchPage, asked } = serve({ events: twelve });
    const read = (countAt: (answers: number) => number) =>
      idsRead(
        async (url) => {
          const answer = await fetchPage(url);
          return { ...answer, page: { ...answer.page, count: countAt(asked.length) } };
        },
        { concurrency: () => 1 },
      );
    await expect(read(() => 121)).rejects.toMatchObject({
      message: 'the result is not complete: 120 events were read, the service counts 121',
      next: 'run it again; with --until in the past the result does not change',
    });
    const starts = Array.from({ length: 13 }, (_, page) => 1 + 10 * page);
    expect(asked.map(startOf)).toEqual([...starts, ...starts, ...starts]);
    await expect(read((answers) => 82 + answers)).rejects.toThrow(
      'the result is not complete: 120 events were read, the service counts 122 at first and 163 at last',
    );
  });

  test('an event that leaves before all is read once more is no reason to read it a third time', async () => {
    const { fetchPage, asked } = serve({ events: events.slice(0, 30) });
    const counting: FetchPage = async (url) => {
      const answer = await fetchPage(url);
      return { ...answer, page: { ...answer.page, count: asked.length > 4 ? 30 : 31 } };
    };
    expect(await idsRead(counting, { concurrency: () => 1 })).toEqual(ids.slice(0, 30));
    expect(asked.map(startOf)).toEqual([1, 11, 21, 31, 1, 11, 21]);
  });

  test('a count that falls with each answer takes the read back a hundred times, then no more', async () => {
    const { fetchPage, asked } = answering((n, start) => ({
      count: 1000 - n,
      items: events.slice(start - 1, start + 9),
    }));
    const options = { query: { before: knownInstant(NOW) }, concurrency: () => 1, limit: 30 };
    expect(await idsRead(fetchPage, options)).toHaveLength(30);
    expect(asked).toHaveLength(305);
  });

  test('events that leave between pages take the read back as far as others may have moved up', async () => {
    const all = at('all', 400, NOW - DAY, 1000);
    const changing = [...all];
    const service = serve({
      events: changing,
      order: 'oldest first',
      // Three of the oldest events, which were read long ago, leave one after another.
      before: (answers) => {
        if (answers >= 5 && answers < 8) changing.shift();
      },
    });
    expect(await idsRead(service.fetchPage, { concurrency: () => 1 })).toEqual(
      all.map(({ eventId }) => eventId),
    );
    expect(service.asked).toHaveLength(48);
  });

  test('links are followed past a limit only to the event that fills it', async () => {
    const { fetchPage, asked } = answering((n) => ({
      items: events.slice((n - 1) * 3, n * 3),
      next: `?limit(1,10)&page=${n}`,
    }));
    expect(await idsRead(fetchPage, { limit: 7 })).toEqual(ids.slice(0, 7));
    expect(asked).toHaveLength(3);
  });
});

test('events that change places while others join at the end hide none, although the count is the first one again', async () => {
  // Found by a history: B and C are of one second, and E joins the second that limits the read.
  const changing = ['A', 'B', 'C', 'D'].map((eventId, index) => ({
    eventId,
    createdOn: new Date(NOW - 5000 + Math.floor((index + 1) / 2) * 1000).toISOString(),
  }));
  const { fetchPage } = serve({
    events: changing,
    order: 'oldest first',
    before: (answers) => {
      if (answers !== 2) return;
      const [, b, c] = changing as [Event, Event, Event];
      Object.assign(b, { createdOn: new Date(Date.parse(c.createdOn) + 1).toISOString() });
      changing.push({ eventId: 'E', createdOn: new Date(NOW).toISOString() });
    },
  });
  expect((await idsRead(fetchPage, { pageSize: 1, concurrency: () => 1 })).sort()).toEqual([
    'A',
    'B',
    'C',
    'D',
    'E',
  ]);
});

test('events that change places hide none, although a late event makes up for the one that moved up unseen', async () => {
  // Found by a history.
  const changing = at('event', 6, NOW - 10_000, 1000);
  const ids = changing.map(({ eventId }) => eventId);
  const { fetchPage } = serve({
    events: changing,
    order: 'newest first',
    before: (answers) => {
      const [read, next] = [3, 2].map((index) => changing.find(({ eventId }) => eventId === ids[index]));
      if (answers === 1) changing.push(...at('late', 1, NOW - DAY, 1000));
      if (answers === 3 && read && next)
        Object.assign(read, { createdOn: new Date(Date.parse(next.createdOn) - 1).toISOString() });
    },
  });
  const found = await idsRead(fetchPage, { pageSize: 1, concurrency: () => 1 });
  expect(found.sort()).toEqual([...ids, 'late-0000']);
});

test('an event that leaves while the count is one answer late hides no other', async () => {
  // Found by a history.
  const changing = at('event', 7, NOW - 10_000, 1000);
  const ids = changing.map(({ eventId }) => eventId).reverse();
  const { fetchPage } = serve({
    events: changing,
    order: 'newest first',
    before: after(1, () => changing.splice(5, 1)),
  });
  let late = 7;
  const counting: FetchPage = async (url) => {
    const answer = await fetchPage(url);
    const count = late;
    late = answer.page.count as number;
    return { ...answer, page: { ...answer.page, count } };
  };
  expect((await idsRead(counting, { pageSize: 2, concurrency: () => 1 })).sort()).toEqual(ids.sort());
});

test.each([1, 2, 3])(
  'items in which several members could be the event are doubted once, on %i pages',
  async (count) => {
    const doubtful = (id: string) => ({ a: { eventId: id }, b: { eventId: `${id}b` } });
    const pages = [[{ eventId: '1' }], ...['2', '3', '4'].slice(0, count).map((id) => [doubtful(id)])];
    let answers = 0;
    const fetchPage: FetchPage = async () => ({
      page: readPage(Buffer.from(JSON.stringify({ count: pages.length, items: pages[answers++] }))),
      serviceTime: NOW,
    });
    const doubts: string[] = [];
    await idsRead(fetchPage, { pageSize: 1, concurrency: () => 1, onDoubt: (doubt) => doubts.push(doubt) });
    expect(doubts).toEqual([DOUBTFUL_EVENT]);
    answers = 0;
    expect(await idsRead(fetchPage, { pageSize: 1, concurrency: () => 1 })).toHaveLength(count + 1);
  },
);

test('a result without events is whole, although the service gives no count', async () => {
  const doubts: string[] = [];
  const { fetchPage } = serve({ events: [], counts: false });
  expect(await idsRead(fetchPage, { onDoubt: (doubt) => doubts.push(doubt) })).toEqual([]);
  expect(doubts).toEqual([]);
});
