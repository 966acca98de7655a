import { describe, expect, test } from 'vitest';
import type { FetchPage, PageAnswer } from '../../src/events/page.ts';
import { readPage } from '../../src/events/page.ts';
import { IncompleteError, type ReadOptions, readPages } from '../../src/events/read-pages.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const DAY = 86_400_000;
const baseUrl = new URL('https://events.example.com');

interface Event {
  readonly eventId: string;
  readonly createdOn: string;
}

interface Service {
  readonly events: Event[];
  readonly order: 'newest first' | 'oldest first';
  /** `late` is the count of the answer before. */
  readonly counts?: boolean | 'late';
  /** Called before each answer, with the number of answers so far. */
  readonly before?: (answers: number) => void;
  readonly now?: number;
}

/** An event service in memory; its filters on time are those of the service description (part 4). */
function serve({ events, order, counts = true, before, now = NOW }: Service) {
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
    const [, start = '1', size = '500'] = /limit\((\d+),(\d+)\)/.exec(query) ?? [];
    const items = matching.slice(Number(start) - 1, Number(start) - 1 + Number(size));
    const count = counts === 'late' ? (late ?? matching.length) : matching.length;
    late = matching.length;
    const body = counts ? { count, items } : { items };
    return { page: readPage(Buffer.from(JSON.stringify(body))), serviceTime: now };
  };
  return { fetchPage, asked };
}

const at = (name: string, count: number, from: number, step: number): Event[] =>
  Array.from({ length: count }, (_, index) => ({
    eventId: `${name}-${String(index).padStart(4, '0')}`,
    createdOn: new Date(from + index * step).toISOString(),
  }));

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

test('events that join before all others, more than a page of them, bring none twice although the count is late', async () => {
  const events = at('past', 24, NOW - DAY, 1000);
  const expected = events.map(({ eventId }) => eventId);
  const before = (answers: number) => {
    if (answers === 12) events.push(...at('late', 2, NOW - 2 * DAY, 1000));
  };
  const { fetchPage } = serve({ events, order: 'oldest first', counts: 'late', before });
  const ids = await idsRead(fetchPage, { pageSize: 1, concurrency: () => 1 });
  expect(ids.sort()).toEqual(['late-0000', 'late-0001', ...expected]);
});

describe("events dated after the service's own clock", () => {
  const past = at('past', 24, NOW - DAY, 1000);
  const sorted = (events: readonly Event[]) => events.map(({ eventId }) => eventId);

  test.each([1, 12, 30])('are read, %i of them, in either order, with counts and without', async (number) => {
    const events = [...past, ...at('tomorrow', number, NOW + DAY, 1000)];
    for (const counts of [true, false]) {
      const read = (order: Service['order']) =>
        idsRead(serve({ events: [...events], order, counts }).fetchPage);
      const order = (ids: string[]) => (counts ? ids : ids.sort());
      expect(order(await read('oldest first'))).toEqual(order(sorted(events)));
      expect(order(await read('newest first'))).toEqual(order(sorted(events).reverse()));
    }
  });

  test('in the very second that limits the read are read once', async () => {
    const events = [...past, ...at('now', 20, NOW - 1500, 150)];
    const { fetchPage } = serve({ events: [...events], order: 'oldest first' });
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

  test('count towards the limit', async () => {
    const events = [...past, ...at('tomorrow', 12, NOW + DAY, 1000)];
    const { fetchPage } = serve({ events: [...events], order: 'oldest first' });
    expect(await idsRead(fetchPage, { limit: 30 })).toEqual(sorted(events).slice(0, 30));
  });

  test('are not requested if the first count still holds', async () => {
    const { fetchPage, asked } = serve({ events: [...past], order: 'oldest first' });
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
      before: (answers) => {
        if (answers === 1) events.splice(0, 1);
      },
    });
    const ids = await idsRead(service.fetchPage);
    expect(ids).toEqual(sorted(past).reverse().slice(0, -1));
  });

  test('a service that counts more than it gives is an error', async () => {
    const { fetchPage } = serve({ events: [...past], order: 'oldest first' });
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
    const { fetchPage } = serve({ events: given, order: 'oldest first' });
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

  test('also without its time', async () => {
    const fetchPage = miscounted(20, () => ({ serviceTime: undefined }));
    await expect(idsRead(fetchPage)).rejects.toThrow(surplus(20));
  });

  test('also on one page', async () => {
    await expect(idsRead(miscounted(3), { pageSize: 40 })).rejects.toThrow(surplus(3));
  });
});

describe('the limits of a read', () => {
  /** A service that answers as `page` says: `n` counts requests, `start` is the first item that is asked for. */
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
    const exact = serve({ events: events.slice(0, 20), order: 'oldest first' });
    expect(await idsRead(exact.fetchPage)).toEqual(ids.slice(0, 20));
    expect(exact.asked).toHaveLength(2);
    const single = serve({ events: events.slice(0, 10), order: 'oldest first' });
    expect(await idsRead(single.fetchPage)).toEqual(ids.slice(0, 10));
    expect(single.asked).toHaveLength(1);
    const more = serve({ events: events.slice(0, 21), order: 'oldest first' });
    expect(await idsRead(more.fetchPage)).toEqual(ids.slice(0, 21));
    expect(more.asked).toHaveLength(3);
  });

  test('a result whose count never comes true is read three times, then it is an error', async () => {
    const { fetchPage, asked } = serve({ events: events.slice(0, 30), order: 'oldest first' });
    const counting: FetchPage = async (url) => {
      const answer = await fetchPage(url);
      return { ...answer, page: { ...answer.page, count: 31 } };
    };
    await expect(idsRead(counting, { concurrency: () => 1 })).rejects.toThrow(
      'the result is not complete: 30 events were read, the service counts 31',
    );
    const starts = asked.map((query) => Number(/limit\((\d+)/.exec(query)?.[1]));
    expect(starts).toEqual([1, 11, 21, 31, 1, 11, 21, 31, 1, 11, 21, 31]);
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
    before: (answers) => {
      if (answers === 1) changing.splice(5, 1);
    },
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
