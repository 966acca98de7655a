import { describe, expect, test } from 'vitest';
import { type PageClient, readPage } from '../../src/paging/page.ts';
import { readTail } from '../../src/sources/creation-order.ts';

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
});
