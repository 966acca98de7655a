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
  readonly counts?: boolean;
  /** Called before each answer, with the number of answers so far. */
  readonly before?: (answers: number) => void;
  readonly now?: number;
}

/** An event service in memory; its filters on time are those of the service description (part 4). */
function serve({ events, order, counts = true, before, now = NOW }: Service) {
  const asked: string[] = [];
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
    const body = counts ? { count: matching.length, items } : { items };
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
  const read = { baseUrl, query: {}, pageSize: 10, concurrency: () => 3, signal, ...options };
  const ids: string[] = [];
  for await (const { items } of readPages(fetchPage, read)) {
    const { events } = JSON.parse(`{"events":[${items.texts().join(',')}]}`) as { events: Event[] };
    ids.push(...events.map(({ eventId }) => eventId));
  }
  return ids;
}

describe("events dated after the service's own clock", () => {
  const past = at('past', 24, NOW - DAY, 1000);
  const sorted = (events: readonly Event[]) => events.map(({ eventId }) => eventId);

  test.each([1, 12, 30])('are read, %i of them, oldest first', async (number) => {
    const events = [...past, ...at('tomorrow', number, NOW + DAY, 1000)];
    const { fetchPage } = serve({ events: [...events], order: 'oldest first' });
    expect(await idsRead(fetchPage)).toEqual(sorted(events));
  });

  test.each([1, 12, 30])('are read, %i of them, newest first', async (number) => {
    const events = [...past, ...at('tomorrow', number, NOW + DAY, 1000)];
    const { fetchPage } = serve({ events: [...events], order: 'newest first' });
    expect(await idsRead(fetchPage)).toEqual(sorted(events).reverse());
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

  test.each([1, 12, 30])('are read if the service gives no counts, %i of them', async (number) => {
    const events = [...past, ...at('tomorrow', number, NOW + DAY, 1000)];
    for (const order of ['oldest first', 'newest first'] as const) {
      const { fetchPage } = serve({ events: [...events], order, counts: false });
      const ids = await idsRead(fetchPage);
      expect([...ids].sort()).toEqual(sorted(events).sort());
    }
  });

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
